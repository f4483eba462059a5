"""Checks of the replicas that a request assigns to the partitions of a topic.

Generators that yield after every few replicas (base/turns.py): a request may name hundreds of thousands, also for one
partition. Source: docs/reference/controller.md, section 14.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence, Set
from itertools import islice

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.placement import Placement, require_room

MOST_NAMED = 20
"""Brokers that an error message names."""

STEP_REPLICAS = 1024
"""A step takes some 0.1 ms."""

PARTITION = 4
"""A partition takes as long as so many replicas."""


def copied(assignment: Mapping[int, Sequence[int]]) -> Generator[None, None, Placement]:
    """A copy of its own of each partition's replicas."""
    result: Placement = {}
    left = 0
    for partition, replicas in assignment.items():
        if left <= 0:
            yield
            left = STEP_REPLICAS
        left -= PARTITION + len(replicas)
        result[partition] = yield from _copy(replicas)
    return result


def checking(assignment: Mapping[int, Sequence[int]]) -> Generator[None, None, None]:
    """Raises KafkaError(INVALID_REPLICA_ASSIGNMENT) unless partitions are 0..n-1 with equally many distinct replicas.

    Brokers need not be live or known. Raises KafkaError(INVALID_PARTITIONS) for more than a znode can contain.
    """
    sizes = set()
    for number, replicas in enumerate(assignment.values()):
        if not number % (STEP_REPLICAS // PARTITION):
            yield
        sizes.add(len(replicas))
    if len(sizes) != 1:
        raise invalid_assignment("All partitions should have the same number of replicas.")
    require_room(len(assignment), *sizes)
    left = 0
    is_sequence = True
    for partition, replicas in assignment.items():
        if left <= 0:
            yield
            left = STEP_REPLICAS
        left -= PARTITION + len(replicas)
        is_sequence = is_sequence and 0 <= partition < len(assignment)
        if not replicas:
            raise invalid_assignment(f"Partition {partition} has no replica.")
        if not (yield from _are_distinct(replicas)):
            raise invalid_assignment(
                f"Duplicate replica assignment found: partition {partition} on {_shown(replicas)}."
            )
    if not is_sequence:
        raise invalid_assignment("Partitions should be a consecutive 0-based integer sequence.")


def checking_added(
    replicas: Sequence[Sequence[int]], first: int, wanted: int, factor: int, known: Set[int]
) -> Generator[None, None, Placement]:
    """The replicas of added partitions, from partition `first` on: as many distinct known brokers as partition 0 has.

    Raises KafkaError(INVALID_REPLICA_ASSIGNMENT), or INVALID_PARTITIONS for more than a znode can contain.
    """
    unknown: set[int] = set()
    left = 0
    for row in replicas:
        left -= PARTITION
        for start in range(0, max(len(row), 1), STEP_REPLICAS):
            some = row[start : start + STEP_REPLICAS]
            if left <= 0:
                yield
                left = STEP_REPLICAS
            left -= len(some)
            unknown.update(set(some) - known)
    if unknown:
        named = sorted(islice(unknown, MOST_NAMED))
        raise invalid_assignment(f"Unknown broker(s) in replica assignment: {_shown(named, len(unknown))}.")
    if len(replicas) != wanted:
        raise invalid_assignment(f"{wanted} partitions are to be added but {len(replicas)} assignments are given.")
    require_room(first + wanted, factor)
    added: Placement = {}
    left = 0
    for number, row in enumerate(replicas):
        if left <= 0:
            yield
            left = STEP_REPLICAS
        left -= PARTITION + len(row)
        if not row:
            raise invalid_assignment("A partition cannot have no replica.")
        if not (yield from _are_distinct(row)):
            raise invalid_assignment(f"Duplicate brokers are not allowed in a replica assignment: {_shown(row)}.")
        if len(row) != factor:
            detail = f"Partition 0 has {factor} replicas, so {_shown(row)} cannot be a new partition's."
            raise invalid_assignment(detail)
        added[first + number] = yield from _copy(row)
    return added


def invalid_assignment(detail: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, detail)


def _copy(replicas: Sequence[int]) -> Generator[None, None, list[int]]:
    result = list(replicas[:STEP_REPLICAS])
    for start in range(STEP_REPLICAS, len(replicas), STEP_REPLICAS):
        yield
        result += replicas[start : start + STEP_REPLICAS]
    return result


def _are_distinct(replicas: Sequence[int]) -> Generator[None, None, bool]:
    seen = set(replicas[:STEP_REPLICAS])
    for start in range(STEP_REPLICAS, len(replicas), STEP_REPLICAS):
        yield
        seen.update(replicas[start : start + STEP_REPLICAS])
    return len(seen) == len(replicas)


def _shown(replicas: Sequence[int], count: int | None = None) -> str:
    """The first ones of `count`, or of as many as there are: an error message has less room than a request."""
    more = (len(replicas) if count is None else count) - MOST_NAMED
    return f"{list(replicas[:MOST_NAMED])}{f' and {more} more' if more > 0 else ''}"
