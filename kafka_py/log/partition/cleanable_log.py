"""What a log does for its compaction: describes the job, and puts the result in place.

Between the stored side (stored_log.py) and the log that everyone uses (partition_log.py). The work in between is
cleaning.py's, in a thread or a process that never touches the log. Source: docs/reference/log.md, section 16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kafka_py.log.compaction.cleaning import Cleaned, CleanJob
from kafka_py.log.compaction.compaction import MOST_MERGED, Dirtiness, LastBatch, Part
from kafka_py.log.disk import filenames
from kafka_py.log.partition.stored_log import StoredLog
from kafka_py.log.segments.segment import Segment

_SWAPS_AT_ONCE = 4
"""Segments put in place before others have the loop: each means a dozen renames, and a few for each of its sources."""


class CleanableLog(StoredLog):
    """The compaction side of PartitionLog."""

    __slots__ = ()

    def clean_job(self, dirtiness: Dirtiness, **limits: Any) -> CleanJob:
        """A compaction of what is dirty: run it in any thread, then hand it to `take_cleaned` on the loop.

        limits: the remaining fields of CleanJob.
        """
        segments = [segment for segment in self._segments.segments if segment.base_offset < dirtiness.end]
        return CleanJob(
            self.files.place.path,
            self._context.files,
            self._context.clock,
            self.config,
            [
                Part(one.base_offset, one.size, one.offset_index.size_bytes, one.time_index.size_bytes)
                for one in segments
            ],
            dirtiness.first_dirty,
            dirtiness.end,
            list(self._segments.bases),
            {
                producer_id: LastBatch(known.batches[-1].last_offset if known.batches else -1, known.epoch)
                for producer_id, known in self._producers.active()
            },
            self.files.generation,
            **limits,
        )

    def is_unchanged_since(self, job: CleanJob) -> bool:
        """Whether the log was neither closed, cut nor moved since the job was captured."""
        return not self._failed and job.generation == self.files.generation and job.path == self.files.place.path

    def take_cleaned(self, job: CleanJob) -> None:
        """Puts the next few segments of the result in place, and takes them out of `job.cleaned`.

        The log must be unchanged since the job was captured. A segment whose sources are not all there as they were is
        left out, and noted in `job.unused`.
        Raises KafkaError(KAFKA_STORAGE_ERROR).
        """
        count = _fit_for_one_turn(job.cleaned)
        these, job.cleaned = job.cleaned[:count], job.cleaned[count:]
        try:
            for cleaned in these:
                sources = [self._source(base_offset) for base_offset in cleaned.sources]
                old = [segment for segment in sources if segment is not None]
                is_whole = len(old) == len(sources) and sum(one.size for one in old) == cleaned.source_bytes
                if not (is_whole and self._swap(old, cleaned)):
                    self._remove_cleaned(cleaned.base_offset)
                    job.unused.append(cleaned)
                    job.is_complete = job.is_complete and not old
        except OSError as error:
            self.io_failed(error)

    def _remove_cleaned(self, base_offset: int) -> None:
        """Before the next segment is put in place: a start after a crash would believe in none behind this one."""
        for suffix in filenames.SEGMENT_SUFFIXES:
            self.files.place.remove_if_present(filenames.segment_file(base_offset, suffix) + filenames.CLEANED)

    def _source(self, base_offset: int) -> Segment | None:
        segment = self._segments.at(base_offset)
        return None if segment is self._segments.active else segment

    def names_sync(self) -> Callable[[], None]:
        """A job for any thread: after it the names of the new segments outlive a power failure. It raises OSError."""
        files, path = self._context.files, self.files.place.path
        return lambda: files.sync_directory(path)

    def note_cleaned(self, job: CleanJob) -> None:
        """The whole result is in place and on disk: the log is compacted up to the job's end.

        Unless a segment was left as it was: then the next compaction begins where this one did.
        """
        if job.is_complete:
            self.cleaned_to = max(self.cleaned_to, min(job.end_offset, self._segments.active.base_offset))

    def _swap(self, old: Sequence[Segment], cleaned: Cleaned) -> bool:
        """In the order that a start after a crash understands: `.swap`, then the old ones go, then the final names.

        False when the new segment's data is not there: nothing is changed then.
        """
        base_offset, place = cleaned.base_offset, self.files.place
        try:
            place.change_state(base_offset, filenames.CLEANED, filenames.SWAP)
        except FileNotFoundError:
            return False
        self.files.delete(old, self.config, snapshot_kept=base_offset)
        place.change_state(base_offset, filenames.SWAP, "")
        new = Segment(place, base_offset, size=cleaned.size, created_ms=old[0].created_ms)
        new.open_indexes(self.config)
        self._segments.replace(old, new)
        self.files.names_changed = True
        return True


def _fit_for_one_turn(cleaned: Sequence[Cleaned]) -> int:
    """How many of the next results are put in place before others have the loop; at least one if there is one."""
    sources = count = 0
    for one in cleaned[:_SWAPS_AT_ONCE]:
        sources += len(one.sources)
        if count and sources > MOST_MERGED:
            break
        count += 1
    return count
