"""The segments of one log as one sequence of offsets: find, read, search by time, search aborted transactions.

Read only except for the list itself; knows file positions, but leaders and watermarks only as given bounds.
Source: docs/reference/log.md, sections 3 and 4; docs/reference/replication.md, section 9.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from kafka_py.base.ids import TopicPartition
from kafka_py.base.slices import FileSlice
from kafka_py.log.model.answers import LogRead
from kafka_py.log.segments.segment import Segment
from kafka_py.log.segments.time_search import Search, search_segment
from kafka_py.log.segments.txn_index import AbortedTxn
from kafka_py.records.batch import LOG_OVERHEAD

_new = tuple.__new__

_MARKS_KEPT = 8
_base_offset = attrgetter("base_offset")


def with_following(segments: Sequence[Segment]) -> Iterator[tuple[Segment, Segment | None]]:
    """Each segment with the one after it; None after the last one."""
    return zip(segments, [*segments[1:], None], strict=True)


class LogSegments:
    """The segments of one log, oldest first; the last one is active. `bases`: their base offsets, for binary search."""

    __slots__ = ("_marks", "_with_aborted", "active", "bases", "segments")

    def __init__(self, segments: Iterable[Segment]) -> None:
        self.segments = list(segments)
        self.bases = [segment.base_offset for segment in self.segments]
        self.active = self.segments[-1]
        self._marks: dict[int, tuple[Segment, int]] = {}  # offset -> segment and position of its batch
        self._with_aborted: list[Segment] | None = None  # those that searches look at; None: not known

    def __len__(self) -> int:
        return len(self.segments)

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self.segments)

    def slot(self, offset: int) -> int:
        """The index of the last segment whose base offset is <= `offset`; at least 0."""
        return max(bisect_right(self.bases, offset) - 1, 0)

    def at(self, base_offset: int) -> Segment | None:
        """The segment with exactly this base offset."""
        slot = bisect_left(self.bases, base_offset)
        return self.segments[slot] if slot < len(self.bases) and self.bases[slot] == base_offset else None

    def between(self, start: int, end: int) -> list[Segment]:
        """The segments that may hold offsets from `start` to `end`, both inclusive."""
        return self.segments[self.slot(start) : self.slot(end) + 1]

    def bases_above(self, offset: int) -> list[int]:
        """The base offsets above `offset`."""
        return self.bases[bisect_right(self.bases, offset) :]

    def add(self, segment: Segment) -> None:
        """Adds a new active segment."""
        self.segments.append(segment)
        self.bases.append(segment.base_offset)
        self.active = segment

    def take_oldest(self, count: int) -> list[Segment]:
        """Removes and returns the `count` oldest; one must remain, or the caller must add one at once."""
        return self._take(0, count)

    def take_newer_than(self, offset: int) -> list[Segment]:
        """Removes and returns the segments that begin above `offset`; the one before them becomes active."""
        return self._take(bisect_right(self.bases, offset), len(self.segments))

    def _take(self, first: int, past: int) -> list[Segment]:
        taken = self.segments[first:past]
        del self.segments[first:past]
        del self.bases[first:past]
        if self.segments:
            self.active = self.segments[-1]
        self.forget_positions()
        return taken

    def replace(self, old: Sequence[Segment], new: Segment) -> None:
        """Replaces adjacent inactive segments by one."""
        self._with_aborted = None
        first = bisect_left(self.bases, old[0].base_offset)
        past = first + len(old)
        self.segments[first:past] = [new]
        self.bases[first:past] = [new.base_offset]

    def forget_positions(self) -> None:
        """Drops the cached positions after a truncation."""
        self._marks.clear()
        self._with_aborted = None

    def read(
        self, offset: int, max_bytes: int, up_to_offset: int, log_end_offset: int, min_one_batch: bool
    ) -> LogRead:
        """See PartitionLog.read; offset < min(up_to_offset, log_end_offset)."""
        slot = bisect_right(self.bases, offset) - 1
        segment = self.segments[slot]
        start, first_batch = self._place(segment, offset, log_end_offset)
        active = self.active
        size = segment.size
        while start == size:  # compaction may have left a gap at the segment's end
            if segment is active:
                return LogRead(None, 0, segment.base_offset, size)
            slot += 1
            segment, start, first_batch = self.segments[slot], 0, 0
            size = segment.size
        if up_to_offset >= log_end_offset or (segment is not active and self.bases[slot + 1] <= up_to_offset):
            limit = size
        else:
            limit = self._place(segment, up_to_offset, log_end_offset)[0]
        size = limit - start
        incomplete = False
        if size > max_bytes:
            size = max_bytes if max_bytes > 0 else 0
            if not first_batch:
                head = segment.file().read(LOG_OVERHEAD, start)
                first_batch = int.from_bytes(head[8:12], "big") + LOG_OVERHEAD
            if first_batch > size:
                size, incomplete = (first_batch, False) if min_one_batch else (size, True)
        elif segment is active:
            self._mark(min(up_to_offset, log_end_offset), segment, limit)
        if size <= 0:
            return LogRead(None, 0, segment.base_offset, start, incomplete)
        data = FileSlice(segment.file(), start, size)
        return _new(LogRead, (data, size, segment.base_offset, start, incomplete))

    def position(self, segment: Segment, offset: int, log_end_offset: int) -> int:
        """Position in `segment` of the first batch whose last offset is >= `offset`; its size when there is none."""
        return self._place(segment, offset, log_end_offset)[0]

    def _place(self, segment: Segment, offset: int, log_end_offset: int) -> tuple[int, int]:
        """As `position`, with the size of that batch; 0 when it is unknown or there is none.

        Readers continue where they stopped, so the last few results are cached.
        """
        mark = self._marks.get(offset)
        if mark is not None and mark[0] is segment:
            return mark[1], 0
        if offset >= log_end_offset:
            return segment.size, 0
        place = segment.find(offset)
        if place is None:
            position, batch_size = segment.size, 0
        else:
            position, batch_size = place.position, place.size_bytes
        if segment is self.active:
            self._mark(offset, segment, position)
        return position, batch_size

    def _mark(self, offset: int, segment: Segment, position: int) -> None:
        marks = self._marks
        marks[offset] = segment, position
        if len(marks) > _MARKS_KEPT:
            del marks[next(iter(marks))]

    def bytes_between(self, offset: int, up_to_offset: int, log_end_offset: int) -> int:
        """Bytes from the batch that holds `offset` up to the batch that holds `up_to_offset` (exclusive)."""
        first, last = self.slot(offset), self.slot(up_to_offset)
        start = self.position(self.segments[first], offset, log_end_offset)
        end = self.position(self.segments[last], up_to_offset, log_end_offset)
        return sum(segment.size for segment in self.segments[first:last]) + end - start

    def search_by_time(
        self, topic_partition: TopicPartition, timestamp: int, log_start_offset: int, limit: int
    ) -> Search:
        """The first record at or after the log start whose timestamp is >= `timestamp`; see time_search.py.

        Segments that are deleted between two steps are skipped.
        """
        for segment in list(self.segments):
            yield None
            try:
                if segment.largest.timestamp >= timestamp:
                    found = yield from search_segment(segment, topic_partition, timestamp, log_start_offset, limit)
                    if found is not None:
                        return found
            except FileNotFoundError:
                if segment in self.segments:
                    raise
        return None

    def add_aborted(self, aborted: AbortedTxn) -> bool:
        """The active segment has the marker that aborts a transaction; whether it is its first. Raises OSError."""
        index = self.active.txn_index
        index.append(aborted)
        is_first = index.entries == 1
        if is_first:
            self._with_aborted = None
        return is_first

    def aborted_transactions(self, fetch_offset: int, data: LogRead, log_end_offset: int) -> list[tuple[int, int]]:
        """(producer id, first offset) of the aborted transactions with records in the read data, or just after it."""
        segments = self._with_aborted
        if segments is None:
            segments = self._with_aborted = [segment for segment in self.segments if segment.txn_index.entries]
        found: list[tuple[int, int]] = []
        lowest = self.bases[self.slot(fetch_offset)]
        if not segments or segments[-1].base_offset < lowest:
            return found
        upper_offset = self._upper_offset(data, log_end_offset)
        for segment in segments[bisect_left(segments, lowest, key=_base_offset) :]:
            search = segment.txn_index.search(fetch_offset, upper_offset)
            found += [(aborted.producer_id, aborted.first_offset) for aborted in search.transactions]
            if search.complete:
                break
        return found

    def _upper_offset(self, data: LogRead, log_end_offset: int) -> int:
        """An exclusive upper bound of the offsets in the data that was read, from the offset index."""
        slot = self.slot(data.segment_base)
        entry = self.segments[slot].offset_index.first_at_or_after(data.position + data.size)
        if entry is not None:
            return entry.offset
        return self.bases[slot + 1] if slot + 1 < len(self.bases) else log_end_offset
