"""Closing all logs of one log directory, in parallel threads: the counterpart of loading.py.

Blocks. Source: docs/reference/log.md, section 12.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from kafka_py.base.errors import KafkaError
from kafka_py.log.disk import filenames
from kafka_py.log.loading.log_dir import LogDir
from kafka_py.log.loading.offset_checkpoints import start_row
from kafka_py.log.partition.partition_log import PartitionLog

_log = logging.getLogger(__name__)


def close_directory(log_dir: LogDir, logs: Sequence[PartitionLog], threads: int) -> None:
    """Flushes and closes the logs and writes their checkpoints; marks the directory clean if all closed without error.

    logs: those in this directory. Raises nothing; a failing directory goes offline.
    """
    with ThreadPoolExecutor(threads, thread_name_prefix="log-closing") as pool:
        list(pool.map(_close, logs))
    if not log_dir.is_online:
        return
    starts = {log.topic_partition: start_row(log) for log in logs}
    try:
        points = {log.topic_partition: log.recovery_point for log in logs}
        log_dir.checkpoint(filenames.RECOVERY_POINT_CHECKPOINT, points, now=True)
        above = {tp: start for tp, start in starts.items() if start is not None}
        log_dir.checkpoint(filenames.LOG_START_CHECKPOINT, above, now=True)
        if all(log.failures.is_closed for log in logs):
            log_dir.leave_clean_mark()
    except OSError as error:
        log_dir.go_offline(error)
    finally:
        log_dir.close()


def _close(log: PartitionLog) -> None:
    try:
        log.close()
    except KafkaError as error:
        _log.error("closing %s: %s", log.topic_partition, error)
