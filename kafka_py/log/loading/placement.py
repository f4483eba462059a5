"""Selects the log directory of a new log: the requested one, or else the one with the fewest logs.

Source: LogManager.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.log.loading.log_dir import LogDir


class LogDirPlacement:
    """Selects directories for new logs. counts: number of logs by directory path; no entry for an empty directory."""

    def __init__(self, dirs: Mapping[str, LogDir], counts: Mapping[str, int]) -> None:
        self._dirs = dirs
        self._counts = counts
        self._preferred: dict[TopicPartition, str] = {}

    def is_live(self, directory: str) -> bool:
        """Whether the log directory is online. Raises KafkaError(LOG_DIR_NOT_FOUND) for an unknown one."""
        if directory not in self._dirs:
            raise KafkaError(ErrorCode.LOG_DIR_NOT_FOUND, f"{directory} is not a log directory of this broker")
        return self._dirs[directory].is_online

    def prefer(self, topic_partition: TopicPartition, directory: str) -> None:
        """Sets the directory in which the partition's log will be created. Raises KafkaError(LOG_DIR_NOT_FOUND)."""
        if directory not in self._dirs or not self._dirs[directory].is_online:
            raise KafkaError(ErrorCode.LOG_DIR_NOT_FOUND, f"{directory} is not an online log directory of this broker")
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
        return min(live, key=lambda log_dir: self._counts.get(log_dir.path, 0))

    def placed(self, topic_partition: TopicPartition) -> None:
        """Drops the preference, because the partition's log has been created."""
        self._preferred.pop(topic_partition, None)
