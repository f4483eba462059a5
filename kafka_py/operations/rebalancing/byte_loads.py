"""The goal of bytes: each broker's replicas take about as much room as those of the others.

A replica moves where the counts allow it; otherwise a large one changes places with a small one.
"""

from __future__ import annotations

from kafka_py.operations.rebalancing.soft_moves import SoftMoves, nearest

MOST_PARTNERS = 16
"""How many replicas are considered for an exchange with one, nearest in size first."""
MOST_FAILURES = 64
"""After so many replicas in a row that can neither move nor change places the next pair of brokers is looked at."""
LEAST_GAIN = 10
"""An exchange must bring over at least this part of the bytes that it copies: one tenth."""


def balance_bytes(moves: SoftMoves) -> bool:
    """Evens bytes out between every pair of brokers of which one is outside of the band."""
    held = moves.place.bytes
    changed = False
    for source in sorted(moves.place.targets, key=lambda each: (-held[each], each)):
        for target in sorted(moves.into, key=lambda each: (held[each], each)):
            if target != source:
                changed = _even_out(moves, source, target) or changed
    return changed


def _wanted(moves: SoftMoves, source: int, target: int) -> int:
    """How many bytes should move from one to the other; 0 for none."""
    half = (moves.place.bytes[source] - moves.place.bytes[target]) // 2
    band, held = moves.bands.bytes, moves.place.bytes
    middle = (band.lowest + band.highest) // 2
    return max(0, min(half, max(held[source] - middle, middle - held[target])))


def _even_out(moves: SoftMoves, source: int, target: int) -> bool:
    changed = False
    wanted = _wanted(moves, source, target)
    if wanted == 0 or moves.byte_cost(source, target, wanted) >= 0:
        return False
    place = moves.place
    partners = sorted((place.sizes[number], number) for number in moves.movable_on(target))
    failures = 0
    for number in _large_enough(moves, source, wanted):
        wanted = _wanted(moves, source, target)
        if wanted == 0 or moves.byte_cost(source, target, wanted) >= 0 or failures == MOST_FAILURES:
            break
        failures += 1
        if _move_one(moves, number, source, target):
            changed, failures = True, 0
        elif source in moves.into and (other := _partner(moves, number, source, target, partners, wanted)) is not None:
            moves.swap(number, source, other, target)
            partners.remove((place.sizes[other], other))
            changed, failures = True, 0
    return changed


def _large_enough(moves: SoftMoves, source: int, wanted: int) -> list[int]:
    """The replicas of a broker: those that are not too large, largest first, then the others, smallest first."""
    sizes = moves.place.sizes
    held = [number for number in moves.movable_on(source) if sizes[number]]
    held.sort(key=lambda each: (sizes[each], each))
    small = [number for number in held if sizes[number] <= wanted]
    return [*reversed(small), *(number for number in held if sizes[number] > wanted)]


def _move_one(moves: SoftMoves, number: int, source: int, target: int) -> bool:
    allowed = (
        moves.byte_cost(source, target, moves.place.sizes[number]) < 0
        and moves.replica_cost(source, target) <= 0
        and moves.leader_cost(number, source, target) <= 0
        and moves.may_move(number, source, target)
    )
    if allowed:
        moves.move(number, source, target)
    return allowed


def _partner(
    moves: SoftMoves, number: int, source: int, target: int, partners: list[tuple[int, int]], wanted: int
) -> int | None:
    """The replica that comes back in exchange."""
    size = moves.place.sizes[number]
    for other_size, other in nearest(partners, size - wanted, MOST_PARTNERS):
        gain = size - other_size
        if gain <= 0 or gain * LEAST_GAIN < size + other_size or moves.byte_cost(source, target, gain) >= 0:
            continue
        if moves.leader_cost(number, source, target, other) > 0:
            continue
        if moves.may_swap(number, source, other, target):
            return other
    return None
