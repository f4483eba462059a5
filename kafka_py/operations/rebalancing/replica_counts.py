"""The goal of replica counts: each broker has about as many replicas as the others."""

from __future__ import annotations

from kafka_py.operations.rebalancing.soft_moves import SoftMoves


def balance_replicas(moves: SoftMoves) -> bool:
    """Moves replicas from brokers with many to brokers with few. Returns whether anything changed.

    First brokers give away what they have too much, only then what they can spare.
    """
    replicas, band = moves.place.replicas, moves.bands.replicas
    changed = False
    for kept in (band.highest, band.lowest, 0):
        for source in sorted(moves.place.targets, key=lambda each: (-replicas[each], each)):
            for keep_topics in (True, False):
                changed = _unload(moves, source, kept, keep_topics=keep_topics) or changed
    return changed


def _unload(moves: SoftMoves, source: int, kept: int, *, keep_topics: bool) -> bool:
    """Replicas leave a broker that has more than `kept`, as long as that is an improvement.

    keep_topics: none that its topic would miss there.
    """
    changed = False
    better = _better(moves, source, kept)
    for number in _in_order(moves, source) if better else ():
        found = _destination(moves, number, source, better, keep_topics=keep_topics)
        if found is not None:
            moves.move(number, source, found)
            changed = True
            better = _better(moves, source, kept)
            if not better:
                break
    return changed


def _better(moves: SoftMoves, source: int, kept: int) -> list[int]:
    """The brokers to which a replica of this one may move for the better."""
    if moves.place.replicas[source] <= kept:
        return []
    return [target for target in moves.into if target != source and moves.replica_cost(source, target) < 0]


def _in_order(moves: SoftMoves, source: int) -> list[int]:
    """Small replicas first, for little is copied then; of a broker with too many bytes those that even these out."""
    place = moves.place
    wanted = 0
    excess = place.bytes[source] - moves.bands.bytes.highest
    if excess > 0:
        surplus = max(1, place.replicas[source] - moves.bands.replicas.highest)
        wanted = excess // surplus
    return sorted(
        moves.movable_on(source),
        key=lambda each: (abs(place.sizes[each] - wanted), place.rows[each][0] == source, each),
    )


def _destination(
    moves: SoftMoves, number: int, source: int, better: list[int], *, keep_topics: bool
) -> int | None:
    """The broker that most lacks replicas, among those the one that lacks bytes."""
    best: tuple[int, int, int, int] | None = None
    for target in better:
        topic_cost = moves.topic_cost(number, source, target)
        if keep_topics and topic_cost > 0:
            continue
        key = (moves.place.replicas[target], topic_cost, moves.place.bytes[target], target)
        if (best is None or key < best) and moves.may_move(number, source, target):
            best = key
    return None if best is None else best[-1]
