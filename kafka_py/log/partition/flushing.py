"""One flush of a log: which files to sync, and up to where the log is safe when that is done.

A job is captured on the loop, run in any thread, and taken back on the loop (`flushed`).
Source: docs/reference/log.md, sections 3, 7 and 12.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from kafka_py.base.clock import Clock
from kafka_py.log.disk import filenames
from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.partition.log_files import OpenLog
from kafka_py.log.segments.segment import Segment


class FlushJob:
    """Syncs the segments that hold unsynced data.

    up_to: the offset below which everything is safe after `run`. generation: of the log's truncations when the job
    was captured; after another truncation the result says nothing. names_changed: whether files were made since
    the last flush, so that the directory, and the one that holds it, need a sync too.
    """

    __slots__ = (
        "_base_offsets", "_clock", "_directory", "_names_changed", "_path", "generation", "took_ms", "up_to",
    )  # fmt: skip

    def __init__(
        self,
        directory: PartitionDirectory,
        segments: Sequence[Segment],
        up_to: int,
        generation: int,
        *,
        names_changed: bool,
        clock: Clock,
    ) -> None:
        self._directory = directory
        self._path = directory.path
        self._base_offsets = [segment.base_offset for segment in segments]
        self._names_changed = names_changed
        self._clock = clock
        self.took_ms = 0.0
        self.up_to = up_to
        self.generation = generation

    def run(self) -> None:
        """Blocks until everything is on disk, and notes how long that took; any thread. Raises OSError.

        A file that has been renamed or removed meanwhile is being deleted and needs no sync.
        """
        begun_ms = self._clock.monotonic_ms()
        for base_offset in self._base_offsets:
            for suffix in filenames.SEGMENT_SUFFIXES:
                self._sync(filenames.segment_file(base_offset, suffix))
        self._sync(filenames.segment_file(self.up_to, filenames.SNAPSHOT))
        if self._names_changed:
            self._sync_names()
        self.took_ms = self._clock.monotonic_ms() - begun_ms

    def _sync_names(self) -> None:
        for path in (self._path, self._path.rpartition("/")[0]):
            with contextlib.suppress(FileNotFoundError):
                self._directory.files.sync_directory(path)

    def _sync(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            file = self._directory.files.open(f"{self._path}/{name}")
            try:
                file.sync()
            finally:
                file.close()


def flush_job(log: OpenLog, up_to: int | None = None) -> FlushJob | None:
    """What to sync so that everything below `up_to` (the log end) is safe; None when it is already."""
    files = log.files
    up_to = log.log_end_offset if up_to is None else up_to
    if up_to <= log.recovery_point:
        return None
    segments = files.segments.between(log.recovery_point, up_to - 1)
    names_changed, files.names_changed = files.names_changed, False
    return FlushJob(
        files.place, segments, up_to, files.generation, names_changed=names_changed, clock=files.context.clock
    )


def flushed(log: OpenLog, job: FlushJob) -> None:
    """Takes the result of a job that has run: only a finished flush raises the recovery point."""
    context = log.files.context
    context.flushed(job.took_ms)
    if job.generation == log.files.generation and job.up_to > log.recovery_point:
        log.recovery_point = job.up_to
        if log.held_end is not None:
            is_due = log.log_end_offset - job.up_to >= log.config.flush_messages
            log.held_end = max(log.held_end, job.up_to) if is_due else None
        log.last_flush_ms = context.clock.wall_ms()


def flush(log: OpenLog, up_to: int | None) -> None:
    """Syncs at once, in the caller's thread; blocks. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
    job = flush_job(log, up_to)
    if job is None:
        return
    try:
        job.run()
    except OSError as error:
        log.io_failed(error)
    flushed(log, job)


def flush_in_background(log: OpenLog, up_to: int | None, then: Callable[[bool], None] | None) -> None:
    """Syncs in a pool thread; the recovery point follows when that is done. then: as PartitionLog says."""
    job = flush_job(log, up_to)
    if job is None:
        if then is not None:
            then(True)
        return

    def done(_: None) -> None:
        flushed(log, job)
        if job.generation != log.files.generation and log.owes_flush:  # moved meanwhile: that flush counts for nothing
            flush_in_background(log, None, then)
        elif then is not None:
            then(True)

    def failed(error: Exception) -> None:
        log.background_failed(error)
        if then is not None:
            then(False)

    log.files.context.background.run(job.run, done, failed)
