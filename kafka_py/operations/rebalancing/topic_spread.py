"""The goal of topics: the replicas of one topic are spread over the brokers.

It comes last: a replica moves where the other goals allow it, or changes places with one of another topic.
"""

from __future__ import annotations

from kafka_py.operations.rebalancing.soft_moves import SoftMoves, nearest

MOST_PARTNERS = 64
"""How many replicas are considered for an exchange with one, the nearest in size first."""
MOST_FAILURES = 8
"""After so many pairs of brokers without a possible change the next topic is looked at."""


def spread_topics(moves: SoftMoves) -> bool:
    """Evens out each topic whose replicas are outside of its band. Returns whether anything changed."""
    place = moves.place
    changed = False
    for topic, band in enumerate(moves.bands.topics):
        counts = place.topic_counts[topic]
        if band.total(counts[broker] for broker in place.targets):
            changed = _spread(moves, topic) or changed
    return changed


def _spread(moves: SoftMoves, topic: int) -> bool:
    counts, band = moves.place.topic_counts[topic], moves.bands.topics[topic]
    changed = False
    failures = 0
    for source in sorted(moves.place.targets, key=lambda each: (-counts[each], each)):
        for target in sorted(moves.into, key=lambda each: (counts[each], each)):
            while target != source and band.change(counts[source], counts[target], 1) < 0:
                if not _spread_one(moves, topic, source, target):
                    failures += 1
                    break
                changed, failures = True, 0
            if failures == MOST_FAILURES:
                return changed
    return changed


def _spread_one(moves: SoftMoves, topic: int, source: int, target: int) -> bool:
    """One replica of the topic moves or changes places."""
    place = moves.place
    held = [
        number for number in place.topic_partitions[topic]
        if place.may_move[number] and source in place.rows[number] and target not in place.rows[number]
    ]  # fmt: skip
    held.sort(key=lambda each: (place.sizes[each], each))
    for number in held:
        if _is_free(moves, number, source, target) and moves.may_move(number, source, target):
            moves.move(number, source, target)
            return True
    if source not in moves.into:
        return False
    others = sorted((place.sizes[number], number) for number in moves.movable_on(target))
    for number in held:
        other = _partner(moves, number, source, target, others)
        if other is not None:
            moves.swap(number, source, other, target)
            return True
    return False


def _is_free(moves: SoftMoves, number: int, source: int, target: int) -> bool:
    """Whether a move makes no goal before this one worse."""
    return (
        moves.replica_cost(source, target) <= 0
        and moves.leader_cost(number, source, target) <= 0
        and moves.byte_cost(source, target, moves.place.sizes[number]) <= 0
    )


def _partner(
    moves: SoftMoves, number: int, source: int, target: int, others: list[tuple[int, int]]
) -> int | None:
    """A replica of another topic whose return costs this goal less than the exchange gains."""
    place = moves.place
    size, topic = place.sizes[number], place.topics[number]
    gain = moves.topic_cost(number, source, target)
    for other_size, other in nearest(others, size, MOST_PARTNERS):
        if (
            place.topics[other] != topic
            and gain + moves.topic_cost(other, target, source) < 0
            and moves.leader_cost(number, source, target, other) <= 0
            and moves.byte_cost(source, target, size - other_size) <= 0
            and moves.may_swap(number, source, other, target)
        ):
            return other
    return None
