"""How the offsets of a read are shared among Spark's tasks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from kafka_py.base.ids import TopicPartition


class OffsetRange(NamedTuple):
    """Offsets `start` to `end` (exclusive) of one partition."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def size(self) -> int:
        return self.end - self.start


def divide(
    ranges: Sequence[OffsetRange], min_partitions: int | None = None, most_records: int | None = None
) -> list[OffsetRange]:
    """The ranges that hold anything, split where more tasks are wanted than there are ranges.

    min_partitions: how many to have at least, each range getting parts in proportion to its size; a range is never
    split below one offset. most_records: no part is larger.
    """
    wanted = [each for each in ranges if each.size > 0]
    if most_records is not None:
        wanted = [part for each in wanted for part in _split(each, -(-each.size // most_records))]
    if min_partitions is None or min_partitions <= len(wanted):
        return wanted
    total = sum(each.size for each in wanted)
    parts: list[OffsetRange] = []
    # Shares are rounded up: it is the least number of tasks that was asked for.
    for each in wanted:
        parts += _split(each, -(-each.size * min_partitions // total))
    return parts


def _split(whole: OffsetRange, count: int) -> list[OffsetRange]:
    count = max(1, min(count, whole.size))
    edges = [whole.start + whole.size * number // count for number in range(count + 1)]
    return [whole._replace(start=low, end=high) for low, high in pairwise(edges)]
