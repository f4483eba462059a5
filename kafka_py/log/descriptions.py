"""Descriptions of log directories and their logs, as DescribeLogDirs returns them.

Values only; log_manager.py provides the state. Source: docs/reference/log.md, section 18.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.log.loading.log_dir import LogDir
from kafka_py.log.partition.partition_log import PartitionLog


class DescribedLog(NamedTuple):
    """One log as DescribeLogDirs lists it.

    offset_lag: by how much the log end is below the high watermark, or a future log's end below the present one's
        (-1 unknown).
    """

    topic_partition: TopicPartition
    size_bytes: int
    offset_lag: int
    is_future: bool


class DescribedLogDir(NamedTuple):
    """One directory as DescribeLogDirs lists it. error: NONE, or KAFKA_STORAGE_ERROR for one that is offline."""

    path: str
    error: ErrorCode
    logs: list[DescribedLog]


def describe_directory(
    log_dir: LogDir, logs: Iterable[PartitionLog], current: Callable[[TopicPartition], PartitionLog | None]
) -> DescribedLogDir:
    """Describes one directory. logs: of all directories. current: the log that a future replica will replace."""
    inside = [_describe(log, current) for log in logs if log.log_dir == log_dir.path]
    error = ErrorCode.NONE if log_dir.is_online else ErrorCode.KAFKA_STORAGE_ERROR
    return DescribedLogDir(log_dir.path, error, inside)


def _describe(log: PartitionLog, current: Callable[[TopicPartition], PartitionLog | None]) -> DescribedLog:
    tp = log.topic_partition
    if not log.files.is_future:
        return DescribedLog(tp, log.size_bytes, max(log.high_watermark - log.log_end_offset, 0), False)
    present = current(tp)
    lag = present.log_end_offset - log.log_end_offset if present is not None else -1
    return DescribedLog(tp, log.size_bytes, lag, True)
