"""In which log directory a new log is made: the one that was asked for, or else the one with the fewest logs.

Source: LogManager.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.log.loading.log_dir import LogDir


class LogDirPlacement:
    """How many logs each directory has, and which directories were asked for.

    counts: by path, kept by whoever makes, moves and deletes logs; of a directory that is offline it says nothing.
    """

    def __init__(self, dirs: Mapping[str, LogDir]) -> None:
        self.counts: Counter[str] = Counter()
        self._dirs = dirs
        self._preferred: dict[TopicPartition, str] = {}

    def prefer(self, topic_partition: TopicPartition, directory: str) -> None:
        """Where the partition's log is to be made when it is made. Raises KafkaError(LOG_DIR_NOT_FOUND)."""
        if directory not in self._dirs or not self._dirs[directory].is_online:
            raise KafkaError(ErrorCode.LOG_DIR_NOT_FOUND, f"{directory} is not a log directory that works")
        self._preferred[topic_partition] = directory

    def directory_for(self, topic_partition: TopicPartition) -> LogDir:
        """The preferred directory, or else the live one with the fewest logs.

        Raises KafkaError(KAFKA_STORAGE_ERROR) when all are offline.
        """
        preferred = self._dirs.get(self._preferred.get(topic_partition, ""))
        if preferred is not None and preferred.is_online:
            return preferred
        live = [log_dir for log_dir in self._dirs.values() if log_dir.is_online]
        if not live:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "all log directories are offline")
        if len(live) == 1:
            return live[0]
        return min(live, key=lambda log_dir: self.counts[log_dir.path])

    def placed(self, topic_partition: TopicPartition, log_dir: LogDir) -> None:
        """Its log has been made there."""
        self.counts[log_dir.path] += 1
        self._preferred.pop(topic_partition, None)
