"""Which log is compacted next, and when: the dirtiest of those that are due, as many at once as there are threads.

Runs on the loop; the work itself (cleaning.py) runs in a thread or a process. How far each log is compacted is kept in
its directory's `cleaner-offset-checkpoint`. A log that cannot be compacted is left alone until the next start.
Source: reference replication, sections 12 and 15.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kafka_py.base.clock import Clock
from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.log.background import Background
from kafka_py.log.cleaning import CleanJob, Stopped
from kafka_py.log.cleaning_process import run_cleaning
from kafka_py.log.compaction import Dirtiness
from kafka_py.log.configs import MAX_LONG, LogOptions
from kafka_py.log.context import LATER
from kafka_py.log.partition_log import PartitionLog
from kafka_py.log.segment import Segment

_log = logging.getLogger(__name__)

Checkpoint = Callable[[str, Mapping[TopicPartition, int]], None]
"""Keeps the entries of one log directory."""


def dirtiness_of(log: PartitionLog, checkpointed: int | None, now_ms: int) -> Dirtiness:
    """What of the log could be compacted now.

    Not the active segment, nothing at or beyond the last stable offset, nothing younger than min.compaction.lag.ms.
    checkpointed: up to where it was compacted; one that cannot be counts as none.
    """
    start, config, segments = log.log_start_offset, log.config, log.segments
    first_dirty = checkpointed if checkpointed is not None and start <= checkpointed <= log.log_end_offset else start
    closed = segments[:-1]
    limit = min(log.last_stable_offset, segments[-1].base_offset)
    dirty = [segment for segment, following in zip(closed, segments[1:], strict=False)
             if following.base_offset > first_dirty]  # fmt: skip
    if config.min_compaction_lag_ms > 0:
        young = now_ms - config.min_compaction_lag_ms
        limit = min([limit, *(one.base_offset for one in dirty if one.largest.timestamp > young)])
    end = max((one.base_offset for one in segments if one.base_offset <= limit), default=segments[0].base_offset)
    due = [segment for segment in dirty if segment.base_offset < end]
    return Dirtiness(
        first_dirty,
        end,
        sum(segment.size for segment in closed if segment.base_offset < first_dirty),
        sum(segment.size for segment in due),
        _overdue_ms(due, config.max_compaction_lag_ms, now_ms),
    )


def _overdue_ms(segments: Iterable[Segment], max_lag_ms: int, now_ms: int) -> float:
    if max_lag_ms >= MAX_LONG:
        return 0.0
    return max([0.0, *(one.waited_ms(now_ms, now_ms) - max_lag_ms for one in segments)])


class LastRun(NamedTuple):
    """Figures of the compaction that ended last, for the metrics."""

    fullest_table: float = 0.0
    recopied: float = 0.0
    took_s: float = 0.0
    overdue_s: float = 0.0


class Cleaner:
    """Compacts the logs of a broker.

    options: the settings in force, which may be replaced. later: calls back on the loop after some milliseconds.
    logs: all that live here. is_current: whether a log was not deleted or replaced. io_failed: takes a directory
    offline. uncleanable: logs that failed, with their reason.
    """

    def __init__(
        self,
        options: LogOptions,
        clock: Clock,
        background: Background,
        later: LATER | None,
        *,
        logs: Callable[[], Iterable[PartitionLog]],
        is_current: Callable[[PartitionLog], bool],
        checkpoint: Checkpoint,
        io_failed: Callable[[str, Exception], None],
    ) -> None:
        self.options = options
        self.uncleanable: dict[TopicPartition, str] = {}
        self.clean_to: dict[TopicPartition, int] = {}
        """Up to where each log was compacted (exclusive)."""
        self._clock = clock
        self._background = background
        self._later = later
        self._logs = logs
        self._is_current = is_current
        self._checkpoint = checkpoint
        self._io_failed = io_failed
        self.last_run = LastRun()
        self.dirtiest_ratio = 0.0
        """Of the log that was the dirtiest at the last look."""
        self.looked_ms = clock.wall_ms()
        self.processed_bytes: Callable[[int], None] = lambda _bytes: None
        """Told of what each compaction has read and written."""
        self._running: set[TopicPartition] = set()
        self._stopped = False
        self._waits = 0

    def start(self, clean_to: Mapping[TopicPartition, int]) -> None:
        """Begins to look after the logs. clean_to: what the checkpoints say."""
        here = {log.topic_partition for log in self._logs()}
        self.clean_to.update({where: offset for where, offset in clean_to.items() if where in here})
        if self.options.log_cleaner_enable and self._later is not None:
            self._look_after(self.options.log_cleaner_backoff_ms)

    def forget(self, topic_partition: TopicPartition) -> None:
        """The log is gone; another one of that name begins anew."""
        self.clean_to.pop(topic_partition, None)
        self.uncleanable.pop(topic_partition, None)

    @property
    def since_look_ms(self) -> int:
        return self._clock.wall_ms() - self.looked_ms

    def uncleanable_in(self, log_dir: str) -> list[PartitionLog]:
        """The logs of a directory that failed."""
        return [log for log in self._logs() if log.log_dir == log_dir and log.topic_partition in self.uncleanable]

    def stop(self) -> None:
        """Nothing begins any more, and what runs ends soon without effect."""
        self._stopped = True

    def _look_after(self, delay_ms: float) -> None:
        assert self._later is not None
        self._waits += 1
        wait = self._waits

        def look() -> None:
            if wait == self._waits and not self._stopped:
                self.look()
                self._look_after(self.options.log_cleaner_backoff_ms)

        self._later(delay_ms, look)

    def look(self) -> int:
        """Begins the compactions that are due, as far as the threads go; how many."""
        begun = 0
        while not self._stopped and len(self._running) < self.options.log_cleaner_threads:
            chosen = self._dirtiest()
            if chosen is None:
                break
            self._begin(*chosen)
            begun += 1
        return begun

    def _dirtiest(self) -> tuple[PartitionLog, Dirtiness] | None:
        now_ms = self.looked_ms = self._clock.wall_ms()
        self.dirtiest_ratio = 0.0
        best: tuple[PartitionLog, Dirtiness] | None = None
        for log in self._logs():
            topic_partition = log.topic_partition
            if not log.config.is_compacted or log.is_future or topic_partition in self._running:
                continue
            if topic_partition in self.uncleanable or len(log.segments) < 2:
                continue
            found = dirtiness_of(log, self.clean_to.get(topic_partition), now_ms)
            self.dirtiest_ratio = max(self.dirtiest_ratio, found.ratio)
            if found.is_due(log.config.min_cleanable_dirty_ratio) and (best is None or found.ratio > best[1].ratio):
                best = log, found
        return best

    # ---- one compaction

    def _begin(self, log: PartitionLog, dirtiness: Dirtiness) -> None:
        options, topic_partition = self.options, log.topic_partition
        job = log.clean_job(
            dirtiness,
            buffer_bytes=options.log_cleaner_dedupe_buffer_size // max(options.log_cleaner_threads, 1),
            load_factor=options.log_cleaner_io_buffer_load_factor,
            bytes_per_s=options.log_cleaner_io_max_bytes_per_second,
            is_stopped=lambda: self._stopped,
        )
        self._running.add(topic_partition)
        began_ms = self._clock.monotonic_ms()

        def finished(_: CleanJob) -> None:
            took_s = (self._clock.monotonic_ms() - began_ms) / 1000
            recopied = job.bytes_written / max(job.bytes_read, 1)
            self.last_run = LastRun(job.table_fullness, recopied, took_s, dirtiness.overdue_ms / 1000)
            self.processed_bytes(job.bytes_read + job.bytes_written)
            self._finished(log, job)

        self._background.run(lambda: run_cleaning(job), finished, lambda error: self._failed(log, job, error))

    def _finished(self, log: PartitionLog, job: CleanJob) -> None:
        """Puts the result in place, a few segments at a time."""
        try:
            taken = not self._stopped and self._is_current(log) and log.take_cleaned(job)
        except KafkaError as error:
            _log.error("%s was not compacted: %s", log.topic_partition, error)
            self.uncleanable[log.topic_partition] = str(error)
            self._running.discard(log.topic_partition)
            return
        if taken and job.cleaned:
            if self._later is None:
                self._finished(log, job)
            else:
                self._later(0, lambda: self._finished(log, job))
            return
        self._running.discard(log.topic_partition)
        if not taken:
            self._background.run(job.discard)
            return
        _log.info(
            "%s: compacted offsets %d to %d, kept %d of %d bytes", log.topic_partition, job.first_dirty,
            job.end_offset, job.bytes_written, sum(part.size for part in job.parts),
        )  # fmt: skip
        self.clean_to[log.topic_partition] = job.end_offset
        self._save(log.log_dir)
        self._look_soon()

    def _failed(self, log: PartitionLog, job: CleanJob, error: Exception) -> None:
        self._running.discard(log.topic_partition)
        self._background.run(job.discard)
        if isinstance(error, Stopped) or not self._is_current(log):
            return
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
            self._io_failed(log.log_dir, error)
            return
        if isinstance(error, FileNotFoundError):  # retention took a segment away meanwhile: the next look goes on
            return
        _log.error("%s cannot be compacted and is left alone: %s", log.topic_partition, error, exc_info=error)
        self.uncleanable[log.topic_partition] = str(error)
        self._look_soon()

    def _look_soon(self) -> None:
        if self._later is not None and not self._stopped:
            self._look_after(0)

    def _save(self, log_dir: str) -> None:
        """Keeps how far the directory's logs are compacted."""
        here = {log.topic_partition for log in self._logs() if log.log_dir == log_dir}
        entries = {where: offset for where, offset in self.clean_to.items() if where in here}
        self._checkpoint(log_dir, entries)
