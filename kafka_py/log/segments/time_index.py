"""The time index: maps a timestamp to the offset where a search for it begins.

Layout: entries of 12 bytes, timestamp i64, relative_offset i32, big-endian: the largest timestamp so far and its
offset; timestamps strictly rising. Source: docs/reference/log.md, section 4.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from kafka_py.log.disk import filenames
from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.segments.index_file import IndexFile
from kafka_py.records.batch import NO_TIMESTAMP


class TimeOffset(NamedTuple):
    """A timestamp (ms) and the absolute offset of its record."""

    timestamp: int
    offset: int


class TimeIndex(IndexFile):
    """The .timeindex file of one segment; the methods take and return absolute offsets."""

    __slots__ = ("_last",)

    SUFFIX = filenames.TIME_INDEX
    ENTRY = Struct(">qi")
    KEPT_FOR_CLOSING = 1

    def __init__(self, directory: PartitionDirectory, base_offset: int) -> None:
        super().__init__(directory, base_offset)
        self._last: TimeOffset | None = None

    @property
    def last(self) -> TimeOffset:
        """The last entry; (-1, base offset) when there is none."""
        last = self._last
        if last is None:
            last = self._last = self._at(self.entries - 1)
        return last

    def maybe_append(self, timestamp: int, offset: int, *, closing: bool = False) -> bool:
        """Adds an entry if `timestamp` is above the last one and there is a free slot; whether one was added.

        closing: the entry that a roll or close adds, for which the last slot is reserved.
        """
        if timestamp <= self.last.timestamp:
            return False
        if self.is_full and not (closing and self.entries < self.capacity):
            return False
        self._append(timestamp, offset - self.base_offset)
        self._last = TimeOffset(timestamp, offset)
        return True

    def lookup(self, timestamp: int) -> TimeOffset:
        """The largest entry with a timestamp <= `timestamp`; (-1, base offset) when there is none."""
        if self.entries == 0:
            return TimeOffset(NO_TIMESTAMP, self.base_offset)
        if timestamp >= self.last.timestamp:
            return self.last
        return self._at(self._slots_up_to(timestamp, 0) - 1)

    def truncate_to(self, offset: int) -> None:
        """Drops the entries with an offset >= `offset`; offsets rise with the timestamps."""
        self.truncate_to_entries(self._slots_up_to(offset - 1 - self.base_offset, 1))

    def _at(self, slot: int) -> TimeOffset:
        if slot < 0:
            return TimeOffset(NO_TIMESTAMP, self.base_offset)
        timestamp, relative = self.entry(slot)
        return TimeOffset(timestamp, self.base_offset + relative)

    def _forget_last(self) -> None:
        self._last = None
