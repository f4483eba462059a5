"""Reads, in a thread, the largest timestamps of segments that were not read since the start, for retention.

The first retention pass over many logs would otherwise open thousands of files on the loop, none of them in the page
cache. A copy of the segment is created on the loop and read in a thread; the segment takes the result on the loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.log.segments.segment import Segment
from kafka_py.records.batch import CorruptBatch


class TimestampRead:
    """Reads the largest timestamp of one segment."""

    __slots__ = ("_copy", "_found", "_segment")

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._copy = _read_only_copy(segment)
        self._found = False

    def run(self) -> None:
        """Blocks; in any thread. Errors are ignored here and met again by retention itself."""
        try:
            self._found = self._copy.largest is not None
        except (OSError, CorruptBatch):
            return
        finally:
            self._copy.release_files()

    def settle(self) -> None:
        """Passes the result to the segment; to be called on the loop after `run`."""
        if self._found:
            self._segment.take_largest(self._copy)


def _read_only_copy(segment: Segment) -> Segment:
    """A copy of an inactive segment, to be read in a thread."""
    copy = Segment(
        segment.directory, segment.base_offset, size=segment.size, created_ms=segment.created_ms, is_read_only=True,
    )  # fmt: skip
    copy.offset_index.opened(segment.offset_index.size_bytes, segment.offset_index.size_bytes)
    copy.time_index.opened(segment.time_index.size_bytes, segment.time_index.size_bytes)
    return copy


def timestamp_reads(logs: Iterable[PartitionLog], segments_each: int) -> list[TimestampRead]:
    """The reads that retention by age needs for the oldest segments of these logs; to be called on the loop."""
    return [
        TimestampRead(segment)
        for log in logs
        if log.is_usable and log.config.is_deletable and log.config.retention_ms >= 0
        for segment in islice(log.segments, segments_each)
        if segment.has_unknown_largest
    ]
