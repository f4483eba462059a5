"""Which logs a broker holds: the present log of each partition, and the future one of a partition that moves.

Knows where each log is, but makes, opens and deletes none. Source: docs/reference/log.md, section 18.
"""

from __future__ import annotations

from collections import Counter

from kafka_py.base.ids import TopicPartition
from kafka_py.log.partition.partition_log import PartitionLog


class LogRegistry:
    """The logs by partition; present, future: read only.

    counts: how many logs each directory has, by its path; of a directory that is offline it says nothing.
    """

    def __init__(self) -> None:
        self.present: dict[TopicPartition, PartitionLog] = {}
        self.future: dict[TopicPartition, PartitionLog] = {}
        self.counts: Counter[str] = Counter()

    def all(self) -> list[PartitionLog]:
        """Every log, those being moved included."""
        return [*self.present.values(), *self.future.values()]

    def in_directory(self, path: str) -> list[PartitionLog]:
        """The logs of one log directory, the present ones first."""
        return [log for log in self.all() if log.log_dir == path]

    def is_current(self, log: PartitionLog) -> bool:
        """Whether the log was neither removed nor replaced."""
        return log in (self.present.get(log.topic_partition), self.future.get(log.topic_partition))

    def add(self, log: PartitionLog) -> PartitionLog:
        """Adds a log unless there is one of its kind for the partition; the one that is there now."""
        held = (self.future if log.files.is_future else self.present).setdefault(log.topic_partition, log)
        if held is log:
            self.counts[log.log_dir] += 1
        return held

    def remove(self, log: PartitionLog) -> None:
        """Removes a log that was added."""
        for logs in (self.present, self.future):
            if logs.get(log.topic_partition) is log:
                del logs[log.topic_partition]
                self.counts[log.log_dir] -= 1

    def promote(self, topic_partition: TopicPartition) -> None:
        """Puts the partition's future log in the place of the present one."""
        self.counts[self.present[topic_partition].log_dir] -= 1
        self.present[topic_partition] = self.future.pop(topic_partition)
