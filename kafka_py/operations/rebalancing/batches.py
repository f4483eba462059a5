"""The steps in which a plan is carried out: batches bounded by number and bytes."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from kafka_py.operations.rebalancing.model import PartitionChange

DEFAULT_BATCH_PARTITIONS = 50
DEFAULT_BATCH_BYTES = 50 << 30
COPYING_NOTHING = 10
"""A batch of partitions of which nothing is copied may have so many times as many."""


class BatchLimits(NamedTuple):
    """partitions, moved_bytes: the most of one batch; a single partition may be larger."""

    partitions: int = DEFAULT_BATCH_PARTITIONS
    moved_bytes: int = DEFAULT_BATCH_BYTES


def next_batch(pending: Sequence[PartitionChange], limits: BatchLimits) -> list[PartitionChange]:
    """What is to be done next of what is left: at first everything that copies nothing, for that is done at once.

    Partitions are taken in turn by the broker to which they are copied, so that all brokers have some of the work.
    """
    free = [change for change in pending if not change.added]
    if free:
        return free[: limits.partitions * COPYING_NOTHING]
    queues: dict[int, deque[PartitionChange]] = {}
    for change in pending:
        queues.setdefault(change.added[0], deque()).append(change)
    batch: list[PartitionChange] = []
    moved_bytes = 0
    turns = deque(queues[broker] for broker in sorted(queues))
    while turns and len(batch) < limits.partitions:
        queue = turns.popleft()
        if batch and moved_bytes + queue[0].moved_bytes > limits.moved_bytes:
            continue
        change = queue.popleft()
        batch.append(change)
        moved_bytes += change.moved_bytes
        if queue:
            turns.append(queue)
    return batch
