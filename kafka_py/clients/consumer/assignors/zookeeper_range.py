"""The assignment of consumers before there were group coordinators: each consumer computed its own partitions.

Not used by this consumer; kept as a function for comparison. A consumer registered in ZooKeeper at
/consumers/<group>/ids, watched that path and /brokers/ids, and after every change released its partitions and took
those of the formula. Unlike range.py it rounds the share up, so that the last consumers may get none: five partitions
among four consumers are 2, 2, 1 and 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kafka_py.base.ids import TopicPartition


def owned_by(consumer: str, consumers: Collection[str], partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """The partitions that one consumer of a group owns.

    With N = ceil(partitions / consumers), both sorted, consumer i owns partitions i * N up to (i + 1) * N - 1.
    """
    ordered = sorted(partitions)
    share = -(-len(ordered) // len(consumers))
    position = sorted(consumers).index(consumer)
    return ordered[position * share : (position + 1) * share]
