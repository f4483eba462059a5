"""Opening all logs of one log directory, in parallel threads.

Blocks. recovery.py opens a single log; this file lists the directories, reads the checkpoints and logs the progress.
Source: docs/reference/log.md, section 13.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from kafka_py.base.ids import TopicPartition
from kafka_py.log.disk import filenames
from kafka_py.log.loading.log_dir import LogDir, LogDirError
from kafka_py.log.loading.offset_checkpoints import cleaned_row
from kafka_py.log.loading.recovery import Checkpointed, open_log
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.partition_log import PartitionLog

_log = logging.getLogger(__name__)

_REPORT_EVERY = 100


class LoadedDirectory(NamedTuple):
    """The logs of a directory. error: why it failed; its logs are not used then. is_clean: the last stop was clean."""

    logs: list[PartitionLog]
    futures: list[PartitionLog]
    to_delete: list[str]
    error: OSError | None = None
    is_clean: bool = False

    @property
    def log_count(self) -> int:
        """Number of logs, including future ones."""
        return len(self.logs) + len(self.futures)


class _Checkpoints(NamedTuple):
    start: dict[TopicPartition, int]
    recovery: dict[TopicPartition, int]
    high_watermark: dict[TopicPartition, int]
    cleaned: dict[TopicPartition, int]

    def of(self, name: filenames.PartitionName) -> Checkpointed:
        tp = name.topic_partition
        rows = (self.start, self.recovery, self.high_watermark, self.cleaned)
        return Checkpointed(*(offsets.get(tp, 0) for offsets in rows))


def load_directory(log_dir: LogDir, config_of: Callable[[str], LogConfig], threads: int) -> LoadedDirectory:
    """Opens every log of a directory. An OSError of one log fails the directory, and is returned.

    Raises LogDirError for a subdirectory that does not belong to a partition.
    """
    try:
        return _load(log_dir, config_of, threads)
    except OSError as error:
        return LoadedDirectory([], [], [], error)


def _load(log_dir: LogDir, config_of: Callable[[str], LogConfig], threads: int) -> LoadedDirectory:
    is_clean = log_dir.take_clean_mark()
    checkpoints = _Checkpoints(
        log_dir.read_checkpoint(filenames.LOG_START_CHECKPOINT),
        log_dir.read_checkpoint(filenames.RECOVERY_POINT_CHECKPOINT),
        log_dir.read_checkpoint(filenames.HIGH_WATERMARK_CHECKPOINT),
        log_dir.read_checkpoint(filenames.CLEANER_CHECKPOINT),
    )
    loaded = LoadedDirectory([], [], [], is_clean=is_clean)
    names: list[tuple[str, filenames.PartitionName]] = []
    for entry in log_dir.partition_directories():
        parsed = _parse(log_dir, entry.name)
        if parsed.is_delete:
            loaded.to_delete.append(log_dir.file(entry.name))
        else:
            names.append((entry.name, parsed))
    if names:
        stop = "a clean" if is_clean else "an unclean"
        _log.info("%s: loading %d logs after %s stop", log_dir.path, len(names), stop)
    count = itertools.count(1)

    def load_one(directory: str, name: filenames.PartitionName) -> PartitionLog:
        tp = name.topic_partition
        log = open_log(
            tp, log_dir.file(directory), config_of(tp.topic), log_dir.context,
            checkpointed=checkpoints.of(name), is_clean=is_clean,
        )  # fmt: skip
        number = next(count)
        level = logging.INFO if number % _REPORT_EVERY == 0 else logging.DEBUG
        _log.log(level, "%s: %s ends at offset %d (%d of %d)", log_dir.path, tp, log.log_end_offset, number, len(names))
        return log

    with ThreadPoolExecutor(threads, thread_name_prefix="log-recovery") as pool:
        futures = [pool.submit(load_one, directory, name) for directory, name in names]
        for future, (_, name) in zip(futures, names, strict=True):
            (loaded.futures if name.is_future else loaded.logs).append(future.result())
    _correct_rows(log_dir, [*loaded.logs, *loaded.futures], checkpoints)
    return loaded


def _correct_rows(log_dir: LogDir, logs: Iterable[PartitionLog], rows: _Checkpoints) -> None:
    """Removes rows without a log and lowers rows above the log end: they must not become valid as the log grows."""
    present = {log.topic_partition: log for log in logs}
    cleaned = {tp: row for tp, log in present.items() if (row := cleaned_row(log)) is not None}
    for name, found, valid in (
        (filenames.LOG_START_CHECKPOINT, rows.start, {tp: row for tp, row in rows.start.items() if tp in present}),
        (filenames.RECOVERY_POINT_CHECKPOINT, rows.recovery, _within(rows.recovery, present)),
        (filenames.CLEANER_CHECKPOINT, rows.cleaned, cleaned),
    ):
        if valid != found:
            log_dir.checkpoint(name, valid, now=True)


def _within(rows: dict[TopicPartition, int], present: dict[TopicPartition, PartitionLog]) -> dict[TopicPartition, int]:
    return {tp: min(row, present[tp].log_end_offset) for tp, row in rows.items() if tp in present}


def _parse(log_dir: LogDir, name: str) -> filenames.PartitionName:
    try:
        return filenames.parse_partition_directory(name)
    except ValueError as error:
        raise LogDirError(f"log directory {log_dir.path}: {error}") from error
