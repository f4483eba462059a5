"""One flush of a log: which files to sync, and up to where the log is safe when that is done.

Captured on the loop, run in any thread, taken back on the loop by PartitionLog.flushed.
Source: docs/reference/log.md, sections 3, 7 and 12.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from kafka_py.base.clock import Clock
from kafka_py.log.disk import filenames
from kafka_py.log.disk.directory import PartitionDirectory
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
