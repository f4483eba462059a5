"""What a log does for its compaction: describes the job, and puts the result in place.

Between the stored side (stored_log.py) and the log that everyone uses (partition_log.py). The work in between is
cleaning.py's, in a thread or a process that never touches the log. Source: reference replication, section 15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka_py.log import filenames
from kafka_py.log.cleaning import Cleaned, CleanJob
from kafka_py.log.compaction import Dirtiness, LastBatch, Part
from kafka_py.log.segment import Segment
from kafka_py.log.stored_log import StoredLog

_SWAPS_AT_ONCE = 4
"""Segments put in place before others have the loop: each means a dozen renames."""


class CleanableLog(StoredLog):
    """The compaction side of PartitionLog."""

    __slots__ = ()

    def clean_job(self, dirtiness: Dirtiness, **limits: Any) -> CleanJob:
        """A compaction of what is dirty: run it in any thread, then hand it to `take_cleaned` on the loop.

        limits: the remaining fields of CleanJob.
        """
        segments = [segment for segment in self._segments.segments if segment.base_offset < dirtiness.end]
        return CleanJob(
            self._place.path,
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
            self._generation,
            **limits,
        )

    def take_cleaned(self, job: CleanJob) -> bool:
        """Puts the next few segments of the result in place, and takes them out of `job.cleaned`.

        False when the log has changed meanwhile: what is left of the result is to be discarded.
        Raises KafkaError(KAFKA_STORAGE_ERROR).
        """
        present = {segment.base_offset: segment for segment in self._segments.segments[:-1]}
        sources = {base_offset for cleaned in job.cleaned for base_offset in cleaned.sources}
        sizes_hold = all(
            part.base_offset in present and present[part.base_offset].size == part.size
            for part in job.parts
            if part.base_offset in sources
        )
        if self._failed or job.generation != self._generation or job.path != self._place.path or not sizes_hold:
            return False
        these, job.cleaned = job.cleaned[:_SWAPS_AT_ONCE], job.cleaned[_SWAPS_AT_ONCE:]
        try:
            for cleaned in these:
                self._swap([present[base_offset] for base_offset in cleaned.sources], cleaned)
        except OSError as error:
            self._io_failed(error)
        return True

    def _swap(self, old: Sequence[Segment], cleaned: Cleaned) -> None:
        """In the order that a start after a crash understands: `.swap`, then the old ones go, then the final names."""
        base_offset, place = cleaned.base_offset, self._place
        place.change_state(base_offset, filenames.CLEANED, filenames.SWAP)
        self._delete_files(old, snapshot_kept=base_offset)
        place.change_state(base_offset, filenames.SWAP, "")
        new = Segment(place, base_offset, size=cleaned.size, created_ms=old[0].created_ms)
        new.open_indexes(self.config)
        self._segments.replace(old, new)
        self._names_changed = True
