"""The logs of a broker: the present log of each partition, and the future log of a partition that is being moved.

Knows where each log is; does not create, open or delete logs. Source: docs/reference/log.md, section 18.
"""

from __future__ import annotations

from collections import Counter

from kafka_py.base.ids import TopicPartition
from kafka_py.log.partition.partition_log import PartitionLog


class LogRegistry:
    """The logs by partition. present, future: read only.

    counts: number of logs by directory path; undefined for an offline directory.
    """

    def __init__(self) -> None:
        self.present: dict[TopicPartition, PartitionLog] = {}
        self.future: dict[TopicPartition, PartitionLog] = {}
        self.counts: Counter[str] = Counter()

    def all(self) -> list[PartitionLog]:
        """Every log, including future ones."""
        return [*self.present.values(), *self.future.values()]

    def in_directory(self, path: str) -> list[PartitionLog]:
        """The logs of one log directory, the present ones first."""
        return [log for log in self.all() if log.log_dir == path]

    def is_current(self, log: PartitionLog) -> bool:
        """Whether the log was neither removed nor replaced."""
        return log in (self.present.get(log.topic_partition), self.future.get(log.topic_partition))

    def is_moving(self, log: PartitionLog) -> bool:
        """Whether the partition has a future log: neither of its logs may be compacted."""
        return log.topic_partition in self.future

    def add(self, log: PartitionLog) -> PartitionLog:
        """Adds a log unless the partition has one of its kind; returns the registered one."""
        held = (self.future if log.files.is_future else self.present).setdefault(log.topic_partition, log)
        if held is log:
            self.counts[log.log_dir] += 1
        return held

    def remove(self, log: PartitionLog) -> None:
        """Removes a registered log."""
        for logs in (self.present, self.future):
            if logs.get(log.topic_partition) is log:
                del logs[log.topic_partition]
                self.counts[log.log_dir] -= 1

    def promote(self, topic_partition: TopicPartition) -> None:
        """Replaces the partition's present log by its future log."""
        self.counts[self.present[topic_partition].log_dir] -= 1
        self.present[topic_partition] = self.future.pop(topic_partition)
