"""The offset checkpoints of all log directories: what is in them, and when they are written.

Four files in every directory, each with a row per log: high watermark, recovery point, log start, and how far the log
is compacted. They are written at intervals; soon after a deletion or a truncation, for a row that says more than is
true would harm the data that is written later under its name; and at once before such data could be harmed.
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
"""How soon lowered rows are written again: a request may delete thousands of logs, over many turns of the loop."""


def start_row(log: PartitionLog) -> int | None:
    """The row of log-start-offset-checkpoint; none where the first segment's name says it already."""
    return log.log_start_offset if log.log_start_offset > log.segments[0].base_offset else None


def cleaned_row(log: PartitionLog) -> int | None:
    """The row of cleaner-offset-checkpoint; none for a log that was never compacted."""
    return log.compaction.cleaned_to or None


_ROWS: dict[str, Callable[[PartitionLog], int | None]] = {
    filenames.HIGH_WATERMARK_CHECKPOINT: lambda log: log.high_watermark,
    filenames.RECOVERY_POINT_CHECKPOINT: lambda log: log.recovery_point,
    filenames.LOG_START_CHECKPOINT: start_row,
    filenames.CLEANER_CHECKPOINT: cleaned_row,
}
_LOWERED = (filenames.RECOVERY_POINT_CHECKPOINT, filenames.LOG_START_CHECKPOINT, filenames.CLEANER_CHECKPOINT)
"""Those that a truncation makes wrong: a high watermark too high is cut to the log end at the start. After a deletion
that one goes as well, for a later log of the name may be longer than what is committed of it."""


class OffsetCheckpoints:
    """Writes the checkpoints of a broker's log directories.

    later: calls back on the loop after some milliseconds. logs: every log there is now. io_failed: takes a directory
    offline.
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
        """The files that the present round has still to write."""
        self._is_stopped = False
        self._written_ms = -float(_PAUSE_MS)
        self._removed: set[TopicPartition] = set()
        self._removed_before: set[TopicPartition] = set()

    def stop(self) -> None:
        """Nothing is written by itself from now on."""
        self._is_stopped = True

    def write(self, name: str, *, now: bool = False, only: str | None = None) -> None:
        """Replaces one kind of checkpoint, in the background or (at the stop) before it returns.

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

    # -- rows that say too much

    def lowered(self) -> None:
        """Offsets of a log have become smaller: what is on disk is replaced soon."""
        if self._is_due or self._is_stopped:
            return
        self._is_due = True
        if self._later is None:
            self._begin_round()
        else:
            waited_ms = self._clock.monotonic_ms() - self._written_ms
            self._later(max(_PAUSE_MS - waited_ms, 0), self._begin_round)

    def removed(self, topic_partition: TopicPartition) -> None:
        """A log is gone: its rows are removed soon."""
        self._removed.add(topic_partition)
        self.lowered()

    def settle(self) -> None:
        """Returns when no row of a truncated or removed log is wrong on disk. Blocks, in the rare case that one is."""
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
        """A log is about to be created: rows that one of this name has left must not become the new one's."""
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
        """One file in one turn of the loop, for each has a row of every log."""
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
