"""The compaction side of a log: creates the job, swaps the result in, holds the cleaner offset.

cleaning.py runs the job in a thread or a process that never touches the log.
Source: docs/reference/log.md, section 16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from kafka_py.log.compaction.cleaning import Cleaned, CleanJob
from kafka_py.log.compaction.compaction import MOST_MERGED, Dirtiness, LastBatch, Part
from kafka_py.log.disk import filenames
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.failures import LogFailures
from kafka_py.log.partition.log_files import LogFiles
from kafka_py.log.segments.segment import Segment

_SWAPS_AT_ONCE = 4
"""Segments swapped in per turn of the loop: each needs a dozen renames, and a few for each of its sources."""


class CompactedLog(Protocol):
    """The interface of a log that compaction uses."""

    config: LogConfig


class LogCompaction:
    """The compaction side of one log.

    cleaned_to: the cleaner offset (exclusive); the log below it holds one record per key. Never above the base offset
    of the active segment; 0 before the first compaction. In a future log: that of the present log when the copy began.
    """

    __slots__ = ("_failures", "_files", "_log", "cleaned_to")

    def __init__(self, log: CompactedLog, files: LogFiles, failures: LogFailures, cleaned_to: int) -> None:
        self._log = log
        self._files = files
        self._failures = failures
        self.cleaned_to = cleaned_to
        self.bound()

    # ---- cleaner offset

    def bound(self) -> None:
        """Lowers the cleaner offset to the base offset of the active segment."""
        if not self._files.is_future:
            self.cleaned_to = min(self.cleaned_to, self._files.segments.active.base_offset)

    def begin_copy_of(self, present: LogCompaction) -> None:
        """Takes the cleaner offset of `present`, from which this empty future log will be copied."""
        self.cleaned_to = present.cleaned_to

    def take_over_from(self, present: LogCompaction) -> None:
        """Takes the cleaner offset of `present`, which this log replaces; it was not compacted during the copy."""
        self.cleaned_to = min(present.cleaned_to, self._files.segments.active.base_offset)

    # ---- one compaction

    def clean_job(self, dirtiness: Dirtiness, **limits: Any) -> CleanJob:
        """A compaction of the dirty part: run it in any thread, then pass it to `take_cleaned` on the loop.

        limits: the remaining fields of CleanJob.
        """
        files, context = self._files, self._files.context
        segments = [segment for segment in files.segments.segments if segment.base_offset < dirtiness.end]
        return CleanJob(
            path=files.place.path,
            files=context.files,
            clock=context.clock,
            config=self._log.config,
            parts=[
                Part(one.base_offset, one.size, one.offset_index.size_bytes, one.time_index.size_bytes)
                for one in segments
            ],
            first_dirty=dirtiness.first_dirty,
            end=dirtiness.end,
            index_bases=list(files.segments.bases),
            producers={
                producer_id: LastBatch(known.last_offset, known.epoch)
                for producer_id, known in files.producers.active()
            },
            generation=files.generation,
            **limits,
        )

    def is_unchanged_since(self, job: CleanJob) -> bool:
        """Whether the log was not closed, truncated or moved since the job was captured."""
        files = self._files
        return not self._failures.reason and job.generation == files.generation and job.path == files.place.path

    def take_cleaned(self, job: CleanJob) -> None:
        """Swaps in the next few segments of the result, and removes them from `job.cleaned`.

        The log must be unchanged since the job was captured. A segment whose sources have changed or are not complete
        is skipped, and noted in `job.unused`.
        Raises KafkaError(KAFKA_STORAGE_ERROR).
        """
        try:
            for cleaned in job.take(_fit_for_one_turn(job.cleaned)):
                sources = [self._source(base_offset) for base_offset in cleaned.sources]
                old = [segment for segment in sources if segment is not None]
                is_whole = len(old) == len(sources) and sum(one.size for one in old) == cleaned.source_bytes
                if not (is_whole and self._swap(old, cleaned)):
                    self._remove_cleaned(cleaned.base_offset)
                    job.note_unused(cleaned, is_left=bool(old))
        except OSError as error:
            self._failures.io_failed(error)

    def _remove_cleaned(self, base_offset: int) -> None:
        """Removes an unused `.cleaned` file, because recovery would discard `.swap` files at higher offsets."""
        for suffix in filenames.SEGMENT_SUFFIXES:
            self._files.place.remove_if_present(filenames.segment_file(base_offset, suffix) + filenames.CLEANED)

    def _source(self, base_offset: int) -> Segment | None:
        segment = self._files.segments.at(base_offset)
        return None if segment is self._files.segments.active else segment

    def names_sync(self) -> Callable[[], None]:
        """A job for any thread that makes the new segments' names survive a power failure. It raises OSError."""
        files, path = self._files.context.files, self._files.place.path
        return lambda: files.sync_directory(path)

    def note_cleaned(self, job: CleanJob) -> None:
        """Raises the cleaner offset to the job's end; the whole result is in place and on disk.

        If a segment was skipped the offset does not change, and the next compaction begins where this one did.
        """
        if job.is_complete:
            self.cleaned_to = max(self.cleaned_to, min(job.end_offset, self._files.segments.active.base_offset))

    def _swap(self, old: Sequence[Segment], cleaned: Cleaned) -> bool:
        """Swaps in one segment in crash-safe order: rename to `.swap`, delete the sources, rename to the final names.

        False, without a change, when the new segment's .log file is missing.
        """
        base_offset, place = cleaned.base_offset, self._files.place
        try:
            place.change_state(base_offset, filenames.CLEANED, filenames.SWAP)
        except FileNotFoundError:
            return False
        self._files.delete(old, self._log.config, snapshot_kept=base_offset)
        place.change_state(base_offset, filenames.SWAP, "")
        new = Segment(place, base_offset, size=cleaned.size, created_ms=old[0].created_ms)
        new.open_indexes(self._log.config)
        self._files.segments.replace(old, new)
        self._files.note_new_names()
        return True


def _fit_for_one_turn(cleaned: Sequence[Cleaned]) -> int:
    """Number of results to swap in during this turn of the loop; at least one if there is one."""
    sources = count = 0
    for one in cleaned[:_SWAPS_AT_ONCE]:
        sources += len(one.sources)
        if count and sources > MOST_MERGED:
            break
        count += 1
    return count
