"""How consumers shared partitions before brokers had group coordinators, each computing its own part.

History, kept as a function because its results are still asked about. A consumer registered in ZooKeeper at
/consumers/<group>/ids, watched that path and /brokers/ids, and at every change gave up what it had and took what the
formula gave it. Unlike range.py it rounds the share up, so late consumers may go without: five partitions among four
consumers are 2, 2, 1 and 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kafka_py.base.ids import TopicPartition


def owned_by(consumer: str, consumers: Collection[str], partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """What one consumer of a group owns.

    With N = ceil(partitions / consumers), both sorted, consumer i owns partitions i * N up to (i + 1) * N - 1.
    """
    ordered = sorted(partitions)
    share = -(-len(ordered) // len(consumers))
    position = sorted(consumers).index(consumer)
    return ordered[position * share : (position + 1) * share]
