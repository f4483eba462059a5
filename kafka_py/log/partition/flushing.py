"""Flushes of a log: the files to sync, and the recovery point afterwards.

A job is captured on the loop, runs in any thread, and its result is applied on the loop.
Source: docs/reference/log.md, sections 3, 7 and 12.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from kafka_py.base.clock import Clock
from kafka_py.log.disk import filenames
from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.partition.failures import LogFailures
from kafka_py.log.partition.log_files import LogFiles


@dataclass(slots=True, eq=False)
class FlushJob:
    """Syncs the segments that hold unsynced data, by their base offsets.

    path: of the directory when the job was captured. up_to: the new recovery point after `run` (exclusive). generation:
        that of the log when the job was captured; after a later truncation the result is not applied. names_changed:
        whether files were created since the last flush, so that the directory and its parent need a sync too.
    """

    place: PartitionDirectory
    path: str
    base_offsets: Sequence[int]
    up_to: int
    generation: int
    names_changed: bool
    clock: Clock
    took_ms: float = 0.0

    def run(self) -> None:
        """Syncs the files and measures the duration. Blocks; any thread. Raises OSError.

        A file that has been renamed or removed meanwhile is being deleted and needs no sync.
        """
        begun_ms = self.clock.monotonic_ms()
        for base_offset in self.base_offsets:
            for suffix in filenames.SEGMENT_SUFFIXES:
                self._sync(filenames.segment_file(base_offset, suffix))
        self._sync(filenames.segment_file(self.up_to, filenames.SNAPSHOT))
        if self.names_changed:
            self._sync_names()
        self.took_ms = self.clock.monotonic_ms() - begun_ms

    def _sync_names(self) -> None:
        for path in (self.path, self.path.rpartition("/")[0]):
            with contextlib.suppress(FileNotFoundError):
                self.place.files.sync_directory(path)

    def _sync(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            file = self.place.files.open(f"{self.path}/{name}")
            try:
                file.sync()
            finally:
                file.close()


class FlushedLog(Protocol):
    """The interface of a log that flushing uses."""

    log_end_offset: int
    recovery_point: int

    def flushed(self, up_to: int) -> None:
        """Sets the recovery point to `up_to`, which is above the previous one."""

    @property
    def owes_flush(self) -> bool:
        """Whether flush.messages asks for a flush that has not ended yet."""


class Flushing:
    """The flushes of one log. last_ms: end of the last flush (wall clock)."""

    __slots__ = ("_failures", "_files", "_log", "last_ms")

    def __init__(self, log: FlushedLog, files: LogFiles, failures: LogFailures) -> None:
        self._log = log
        self._files = files
        self._failures = failures
        self.last_ms = files.context.clock.wall_ms()

    def now(self, up_to: int | None = None) -> None:
        """Syncs in the caller's thread; blocks. up_to: exclusive. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
        job = self.job(up_to)
        if job is None:
            return
        try:
            job.run()
        except OSError as error:
            self._failures.io_failed(error)
        self.take(job)

    def in_background(self, up_to: int | None = None, then: Callable[[bool], None] | None = None) -> None:
        """Syncs in a pool thread, then raises the recovery point.

        then: called with whether the flush succeeded, also when there was nothing to sync.
        """
        job = self.job(up_to)
        if job is None:
            if then is not None:
                then(True)
            return

        def done(_: None) -> None:
            self.take(job)
            if job.generation != self._files.generation and self._log.owes_flush:  # moved meanwhile
                self.in_background(None, then)
            elif then is not None:
                then(True)

        def failed(error: Exception) -> None:
            self._files.note_new_names()  # it is unknown whether this flush has synced them
            self._failures.in_background(error)
            if then is not None:
                then(False)

        self._files.context.background.run(job.run, done, failed)

    def job(self, up_to: int | None = None) -> FlushJob | None:
        """The job that syncs everything below `up_to` (default: the log end); None when that is synced already."""
        log, files = self._log, self._files
        up_to = log.log_end_offset if up_to is None else up_to
        if up_to <= log.recovery_point:
            return None
        bases = [segment.base_offset for segment in files.segments.between(log.recovery_point, up_to - 1)]
        return FlushJob(
            files.place, files.place.path, bases, up_to, generation=files.generation,
            names_changed=files.take_new_names(), clock=files.context.clock,
        )  # fmt: skip

    def take(self, job: FlushJob) -> None:
        """Applies the result of a job that has run: only a finished flush raises the recovery point."""
        context = self._files.context
        context.flushed(job.took_ms)
        if job.generation == self._files.generation and job.up_to > self._log.recovery_point:
            self._log.flushed(job.up_to)
            self.last_ms = context.clock.wall_ms()
