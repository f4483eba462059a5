"""The offset checkpoints of all log directories: their rows, and when they are written.

Four files in every directory, each with a row per log: high watermark, recovery point, log start offset and cleaner
offset. They are written at intervals; also soon after a deletion or a truncation, because a row that is too high would
be applied to data that is written later; and at once before such data could be affected.
Source: LogManager, LogCleanerManager (which write them within each deletion and truncation); docs/reference/log.md,
section 12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kafka_py.base.clock import Clock
from kafka_py.base.ids import TopicPartition
from kafka_py.log.disk import filenames
from kafka_py.log.disk.context import LATER
from kafka_py.log.loading.log_dir import LogDir
from kafka_py.log.partition.partition_log import PartitionLog

_PAUSE_MS = 200
"""Delay before lowered rows are written: a request may delete thousands of logs, over many turns of the loop."""


def start_row(log: PartitionLog) -> int | None:
    """The row of log-start-offset-checkpoint; None where it equals the first segment's base offset."""
    return log.log_start_offset if log.log_start_offset > log.segments[0].base_offset else None


def cleaned_row(log: PartitionLog) -> int | None:
    """The row of cleaner-offset-checkpoint; None for a log that was never compacted."""
    return log.compaction.cleaned_to or None


_ROWS: dict[str, Callable[[PartitionLog], int | None]] = {
    filenames.HIGH_WATERMARK_CHECKPOINT: lambda log: log.high_watermark,
    filenames.RECOVERY_POINT_CHECKPOINT: lambda log: log.recovery_point,
    filenames.LOG_START_CHECKPOINT: start_row,
    filenames.CLEANER_CHECKPOINT: cleaned_row,
}
_LOWERED = (filenames.RECOVERY_POINT_CHECKPOINT, filenames.LOG_START_CHECKPOINT, filenames.CLEANER_CHECKPOINT)
"""The checkpoints that a truncation invalidates; a high watermark above the log end is corrected at start-up. After a
deletion the high watermark is invalid as well, because a later log of the same partition may be longer than what is
committed of it."""


class OffsetCheckpoints:
    """Writes the checkpoints of a broker's log directories.

    later: calls back on the loop after a delay in ms. logs: all current logs. io_failed: takes a directory offline.
    """

    def __init__(
        self,
        dirs: Mapping[str, LogDir],
        clock: Clock,
        later: LATER | None,
        logs: Callable[[], Iterable[PartitionLog]],
        io_failed: Callable[[str, Exception], None],
    ) -> None:
        self._dirs = dirs
        self._clock = clock
        self._later = later
        self._logs = logs
        self._io_failed = io_failed
        self._is_due = False
        self._left: list[str] = []
        """The files that the current round has not written yet."""
        self._is_stopped = False
        self._written_ms = -float(_PAUSE_MS)
        self._removed: set[TopicPartition] = set()
        self._removed_before: set[TopicPartition] = set()

    def stop(self) -> None:
        """Stops the scheduled writes."""
        self._is_stopped = True

    def write(self, name: str, *, now: bool = False, only: str | None = None) -> None:
        """Replaces one kind of checkpoint, in the background or with `now` (at shutdown) before it returns.

        only: the path of the directory; None for all of them.
        """
        row_of = _ROWS[name]
        rows: dict[str, dict[TopicPartition, int]] = {
            path: {} for path, log_dir in self._dirs.items() if log_dir.is_online and only in (None, path)
        }
        for log in self._logs():
            offset = row_of(log)
            if offset is not None and log.log_dir in rows:
                rows[log.log_dir][log.topic_partition] = offset
        for path, offsets in rows.items():
            try:
                self._dirs[path].checkpoint(name, offsets, now=now)
            except OSError as error:
                self._io_failed(path, error)

    # ---- rows that are too high

    def lowered(self) -> None:
        """Schedules a write, because offsets of a log have become smaller."""
        if self._is_due or self._is_stopped:
            return
        self._is_due = True
        if self._later is None:
            self._begin_round()
        else:
            waited_ms = self._clock.monotonic_ms() - self._written_ms
            self._later(max(_PAUSE_MS - waited_ms, 0), self._begin_round)

    def removed(self, topic_partition: TopicPartition) -> None:
        """Schedules the removal of a deleted log's rows."""
        self._removed.add(topic_partition)
        self.lowered()

    def settle(self) -> None:
        """Returns when no row of a truncated or removed log is wrong on disk. Blocks only if one is."""
        if self._is_stopped:
            return
        if self._is_due or self._left:
            self._is_due = False
            self._left.clear()
            for name in _ROWS:
                self.write(name, now=True)
        else:
            self._finish_writes()
        self._removed.clear()
        self._removed_before.clear()

    def settle_before_creation(self, topic_partition: TopicPartition) -> None:
        """Removes rows of an earlier log of the partition before a new log is created."""
        if topic_partition in self._removed or topic_partition in self._removed_before:
            self.settle()

    def _begin_round(self) -> None:
        if not self._is_due or self._is_stopped:
            return
        self._is_due = False
        self._written_ms = self._clock.monotonic_ms()
        if all(log_dir.is_checkpointed for log_dir in self._dirs.values()):
            self._removed_before.clear()
        self._left = list(_ROWS if self._removed else _LOWERED)
        self._removed_before |= self._removed
        self._removed.clear()
        self._write_next()

    def _write_next(self) -> None:
        """Writes one file per turn of the loop, because each file has a row for every log."""
        while self._left and not self._is_stopped:
            self.write(self._left.pop())
            if self._later is not None:
                self._later(0, self._write_next)
                return

    def _finish_writes(self) -> None:
        for path, log_dir in self._dirs.items():
            try:
                log_dir.settle_checkpoints(_ROWS)
            except OSError as error:
                self._io_failed(path, error)
