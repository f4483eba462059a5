"""Log cleaner: compacts the logs with the highest dirty ratio first, as many at once as there are threads.

Runs on the loop, a few logs at a time; the work itself (cleaning.py) runs in a thread or a process. The log itself
holds the offset up to which it is compacted. A corrupt log is not compacted until the next start; one whose compaction
failed for another reason is retried, each time after a longer delay. Other logs are not affected.
Source: LogCleaner, LogCleanerManager; docs/reference/log.md, section 15.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from threading import Event
from typing import NamedTuple, Protocol

from kafka_py.base.clock import Clock
from kafka_py.base.ids import TopicPartition
from kafka_py.base.supervision import NEVER, Backoff, Supervisor
from kafka_py.log.compaction.cleaning import CleanJob, Stopped
from kafka_py.log.compaction.cleaning_process import run_cleaning
from kafka_py.log.compaction.compaction import Dirtiness
from kafka_py.log.dirtiness import dirtiness_of
from kafka_py.log.disk.background import Background
from kafka_py.log.disk.context import LATER
from kafka_py.log.disk.files import is_shortage
from kafka_py.log.model.broker_options import LogOptions
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.log.segments.txn_index import CorruptTxnIndex
from kafka_py.records.batch import CorruptBatch

_log = logging.getLogger(__name__)

_ACTIVITY = "log cleaner"
_BACKOFF = Backoff(first_ms=15_000.0, longest_ms=900_000.0)
_TURN_MS = 2.0
"""How long a scan of the logs may hold the event loop in one turn."""


class LastRun(NamedTuple):
    """Figures of the last finished compaction, for the metrics."""

    fullest_table: float = 0.0
    recopied: float = 0.0
    took_s: float = 0.0
    overdue_s: float = 0.0


@dataclass(slots=True, eq=False)
class _Compaction:
    """One running compaction. cancelled: it stops soon and changes nothing."""

    log: PartitionLog
    job: CleanJob
    overdue_ms: float
    began_ms: float
    cancelled: Event


class LogsToClean(Protocol):
    """The logs of a broker; see LogRegistry."""

    def all(self) -> Iterable[PartitionLog]: ...

    def is_current(self, log: PartitionLog) -> bool: ...

    def is_moving(self, log: PartitionLog) -> bool: ...


class Cleaner:
    """Compacts the logs of a broker.

    options: the current settings. background: a pool for compactions only. later: calls back on the loop after a delay
        in ms; None runs everything at once.
    save: writes the cleaner offset checkpoint of a directory. io_failed: takes a directory offline. after: called with
        a log when its compaction has ended. processed: called with the bytes that each compaction has read and written.
    """

    def __init__(
        self,
        options: LogOptions,
        clock: Clock,
        background: Background,
        later: LATER | None,
        *,
        logs: LogsToClean,
        save: Callable[[str], None],
        io_failed: Callable[[str, Exception], None],
        after: Callable[[PartitionLog], None],
        supervisor: Supervisor,
        processed: Callable[[int], None] | None = None,
    ) -> None:
        self._options = options
        self._clock = clock
        self._background = background
        self._later = later
        self._logs = logs
        self._save = save
        self._io_failed = io_failed
        self._after = after
        self._supervisor = supervisor
        self._processed = processed
        self._corrupt = supervisor.quarantine(_ACTIVITY, NEVER)
        self._failing = supervisor.quarantine(_ACTIVITY, _BACKOFF)
        self.started_count = 0
        """Number of compactions started."""
        self.last_run = LastRun()
        self.dirtiest_ratio = 0.0
        """The highest dirty ratio at the last scan."""
        self.scanned_ms = clock.wall_ms()
        self._running: dict[TopicPartition, _Compaction] = {}
        self._stopped = False
        self._waits = 0
        self._is_scanning = False

    # ---- interface

    def reconfigure(self, options: LogOptions) -> None:
        """Replaces the settings."""
        self._options = options

    def start(self) -> None:
        """Starts the periodic scans."""
        if self._options.log_cleaner_enable:
            self._scan_after(self._options.log_cleaner_backoff_ms)

    def stop(self) -> None:
        """Stops starting compactions and cancels the running ones."""
        self._stopped = True

    def abort(self, topic_partition: TopicPartition) -> None:
        """Cancels the compaction of the log, if one is running; from now on it changes nothing."""
        run = self._running.get(topic_partition)
        if run is not None:
            run.cancelled.set()

    def forget(self, topic_partition: TopicPartition) -> None:
        """Drops all state of a deleted log, so that it does not apply to a later log of the same partition."""
        self.abort(topic_partition)
        self._corrupt.release(topic_partition)
        self._failing.release(topic_partition)

    def is_compacting(self, log: PartitionLog) -> bool:
        """Whether a compaction of the log is running; its inactive segments should not be deleted until it ends."""
        return log.topic_partition in self._running

    @property
    def uncleanable(self) -> dict[TopicPartition, str]:
        """The logs whose last compaction failed, with the reason."""
        faults = {**self._failing.faults, **self._corrupt.faults}
        return {topic_partition: str(fault.error) for topic_partition, fault in faults.items()}

    def uncleanable_in(self, log_dir: str) -> list[PartitionLog]:
        """The uncleanable logs of a directory."""
        failed = self.uncleanable
        return [log for log in self._logs.all() if log.topic_partition in failed and log.log_dir == log_dir]

    @property
    def since_scan_ms(self) -> int:
        return self._clock.wall_ms() - self.scanned_ms

    # ---- scans

    def scan(self) -> None:
        """Starts the compactions that are due, as many as there are free threads, before it returns."""
        for _ in self._scan_steps():
            pass

    def _scan_after(self, delay_ms: float) -> None:
        if self._later is None or self._stopped:
            return
        self._waits += 1
        wait = self._waits
        self._later(delay_ms, lambda: self._scan_in_turns(wait, self._scan_steps()))

    def _scan_soon(self) -> None:
        """Schedules a scan, because a thread is free; a scan that is already running uses the thread at its end."""
        if not self._is_scanning:
            self._scan_after(0)

    def _scan_in_turns(self, wait: int, steps: Iterator[None]) -> None:
        """Runs a scan one turn at a time; the next scan is scheduled even if this one fails."""
        if wait != self._waits or self._stopped or self._later is None:
            return
        is_over = True
        try:
            is_over = next(steps, True) is True
        except Exception as error:
            self._supervisor.report(_ACTIVITY, error)
        if is_over:
            self._scan_after(self._options.log_cleaner_backoff_ms)
        else:
            self._later(0, lambda: self._scan_in_turns(wait, steps))

    def _scan_steps(self) -> Iterator[None]:
        """Examines every log, yielding to the event loop in between, then starts with the dirtiest ones."""
        self._is_scanning = True
        try:
            now_ms = self.scanned_ms = self._clock.wall_ms()
            turn_ends_ms = self._clock.monotonic_ms() + _TURN_MS
            due: list[tuple[float, PartitionLog]] = []
            dirtiest_ratio = 0.0
            for log in self._logs.all():
                if self._clock.monotonic_ms() >= turn_ends_ms:
                    yield
                    turn_ends_ms = self._clock.monotonic_ms() + _TURN_MS
                found = self._examined(log, now_ms)
                if found is not None:
                    dirtiest_ratio = max(dirtiest_ratio, found.ratio)
                    if found.is_due(log.config.min_cleanable_dirty_ratio):
                        due.append((found.ratio, log))
            self.dirtiest_ratio = dirtiest_ratio
        finally:
            self._is_scanning = False
        self._begin_with_the_dirtiest(due, now_ms)

    def _examined(self, log: PartitionLog, now_ms: int) -> Dirtiness | None:
        """The dirtiness of a log; None if it must not be compacted now."""
        where = log.topic_partition
        if not log.config.is_compacted or log.files.is_future or len(log.segments) < 2 or where in self._running:
            return None
        if self._logs.is_moving(log) or not self._logs.is_current(log):
            return None
        if self._corrupt.is_aside(where) or self._failing.is_aside(where):
            return None
        try:
            return dirtiness_of(log, now_ms)
        except Exception as error:
            self._set_aside(log, error)
            return None

    def _begin_with_the_dirtiest(self, due: list[tuple[float, PartitionLog]], now_ms: int) -> None:
        due.sort(key=lambda one: one[0], reverse=True)
        for _, log in due:
            if self._stopped or len(self._running) >= self._options.log_cleaner_threads:
                return
            found = self._examined(log, now_ms)  # again, because it may have changed since
            if found is not None and found.is_due(log.config.min_cleanable_dirty_ratio):
                self._begin(log, found)

    # ---- one compaction

    def _begin(self, log: PartitionLog, dirtiness: Dirtiness) -> None:
        options = self._options
        began_ms, cancelled = self._clock.monotonic_ms(), Event()
        try:
            job = log.compaction.clean_job(
                dirtiness,
                buffer_bytes=options.log_cleaner_dedupe_buffer_size // max(options.log_cleaner_threads, 1),
                load_factor=options.log_cleaner_io_buffer_load_factor,
                bytes_per_s=options.log_cleaner_io_max_bytes_per_second,
                is_stopped=lambda: self._stopped or cancelled.is_set(),
            )
        except Exception as error:
            self._set_aside(log, error)
            return
        run = self._running[log.topic_partition] = _Compaction(log, job, dirtiness.overdue_ms, began_ms, cancelled)
        self.started_count += 1
        self._background.run(lambda: run_cleaning(job), lambda _: self._ran(run), lambda e: self._failed(run, e))

    def _ran(self, run: _Compaction) -> None:
        job = run.job
        took_s = (self._clock.monotonic_ms() - run.began_ms) / 1000
        recopied = job.bytes_written / max(job.bytes_read, 1)
        self.last_run = LastRun(job.table_fullness, recopied, took_s, run.overdue_ms / 1000)
        if self._processed is not None:
            self._processed(job.bytes_read + job.bytes_written)
        self._put_in_place(run)

    def _has_effect(self, run: _Compaction) -> bool:
        """Whether the log is unchanged since the compaction was started, and not cancelled."""
        is_wanted = not self._stopped and not run.cancelled.is_set()
        return is_wanted and self._logs.is_current(run.log) and run.log.compaction.is_unchanged_since(run.job)

    def _put_in_place(self, run: _Compaction) -> None:
        """Replaces segments by the compacted ones, a few per turn."""
        try:
            if not self._has_effect(run):
                self._discard(run)
                return
            run.log.compaction.take_cleaned(run.job)
        except Exception as error:
            self._failed(run, error)
            return
        if not run.job.cleaned:
            sync = run.log.compaction.names_sync()
            self._background.run(sync, lambda _: self._done(run), lambda e: self._failed(run, e))
        elif self._later is None:
            self._put_in_place(run)
        else:
            self._later(0, lambda: self._put_in_place(run))

    def _done(self, run: _Compaction) -> None:
        """Advances the cleaner offset: the new segments are on disk under their final names."""
        log, job = run.log, run.job
        if self._has_effect(run):
            log.compaction.note_cleaned(job)
            self._supervisor.call(_ACTIVITY, lambda: self._save(log.log_dir), log.topic_partition)
            self._failing.release(log.topic_partition)
            _log.info(
                "%s: compacted offsets %d to %d, kept %d of %d bytes", log.topic_partition, job.first_dirty,
                log.compaction.cleaned_to, job.bytes_written, sum(part.size for part in job.parts),
            )  # fmt: skip
        if job.unused:
            self._discard(run)
        else:
            self._end(run)

    def _failed(self, run: _Compaction, error: Exception) -> None:
        if not isinstance(error, Stopped) and self._has_effect(run):
            if _is_failed_disk(error):
                self._io_failed(run.log.log_dir, error)
            else:
                self._set_aside(run.log, error)
        self._discard(run)

    def _set_aside(self, log: PartitionLog, error: Exception) -> None:
        is_corrupt = isinstance(error, (CorruptBatch, CorruptTxnIndex))
        (self._corrupt if is_corrupt else self._failing).failed(log.topic_partition, error)

    def _discard(self, run: _Compaction) -> None:
        """Removes unused result files before the next compaction of the log, which may use the same names."""
        self._background.run(run.job.discard, lambda _: self._end(run), lambda _: self._end(run))

    def _end(self, run: _Compaction) -> None:
        self._running.pop(run.log.topic_partition, None)
        if self._logs.is_current(run.log):
            self._supervisor.call(_ACTIVITY, lambda: self._after(run.log), run.log.topic_partition)
        self._scan_soon()


def _is_failed_disk(error: Exception) -> bool:
    """Whether an error while reading or writing segments is a disk failure, which takes the directory offline."""
    return isinstance(error, OSError) and not isinstance(error, FileNotFoundError) and not is_shortage(error)
