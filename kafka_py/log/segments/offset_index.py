"""The offset index: maps an offset to the position in the .log file where a search for it begins.

Layout: entries of 8 bytes, relative_offset i32 (offset - base offset), position i32, big-endian; offsets strictly
rising. Source: docs/reference/log.md, section 4.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from struct import Struct
from typing import NamedTuple

from kafka_py.log.disk import filenames
from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.segments.index_file import IndexFile

_POSITION_BITS = 32
_LAST_POSITION = (1 << _POSITION_BITS) - 1


class OffsetPosition(NamedTuple):
    """An absolute offset and the position of the append that contained it."""

    offset: int
    position: int


class OffsetIndex(IndexFile):
    """The .index file of one segment; the methods take and return absolute offsets."""

    __slots__ = ("_last", "_near")

    SUFFIX = filenames.OFFSET_INDEX
    ENTRY = Struct(">ii")

    def __init__(self, directory: PartitionDirectory, base_offset: int) -> None:
        super().__init__(directory, base_offset)
        self._last: OffsetPosition | None = None
        self._near = array("Q")
        """The entries around the last look-up, each as one number, because readers continue where they stopped."""

    @property
    def last(self) -> OffsetPosition:
        """The last entry; (base offset, 0) when there is none."""
        last = self._last
        if last is None:
            last = self._last = self._at(self.entries - 1)
        return last

    def append(self, offset: int, position: int) -> None:
        """Adds an entry. offset: last offset of the append at `position`; must exceed that of the last entry."""
        if self.entries and offset <= self.last.offset:
            raise ValueError(f"{self.path}: offset {offset} is not above that of the last entry, {self.last.offset}")
        self._append(offset - self.base_offset, position)
        self._last = OffsetPosition(offset, position)

    def lookup(self, offset: int) -> OffsetPosition:
        """The largest entry with an offset <= `offset`; (base offset, 0) when there is none."""
        return self.around(offset)[0]

    def around(self, offset: int) -> tuple[OffsetPosition, int]:
        """The entry that `lookup` returns, and the position of the entry after it; -1 when there is none."""
        if self.entries == 0 or offset < self.base_offset:
            return OffsetPosition(self.base_offset, 0), -1
        if offset >= self.last.offset:
            return self.last, -1
        relative = offset - self.base_offset
        target = relative << _POSITION_BITS | _LAST_POSITION
        near = self._near
        if not near or not near[0] <= target < near[-1]:
            near = self._near = self._read_near(relative)
        slot = bisect_right(near, target)
        following = near[slot] & _LAST_POSITION if slot < len(near) else -1
        if not slot:
            return OffsetPosition(self.base_offset, 0), following
        entry = near[slot - 1]
        return OffsetPosition(self.base_offset + (entry >> _POSITION_BITS), entry & _LAST_POSITION), following

    def _read_near(self, relative: int) -> array[int]:
        """Some hundred entries, among them the largest <= `relative` and the next one, as far as they exist."""
        low, high = self._narrow(relative, 0)
        low, high = max(low - 1, 0), min(high + 1, self.entries)
        near = array("Q")
        found = self.file().read((high - low) * self.ENTRY.size, low * self.ENTRY.size)
        near.frombytes(found[: len(found) // self.ENTRY.size * self.ENTRY.size])
        if sys.byteorder == "little":
            near.byteswap()
        return near

    def first_at_or_after(self, position: int) -> OffsetPosition | None:
        """The first entry whose position is >= `position`; None when there is none."""
        slot = self._slots_up_to(position - 1, 1)
        entry = self._at(slot) if slot < self.entries else None
        return entry if entry is not None and entry.position >= position else None

    def truncate_to(self, offset: int) -> None:
        """Drops the entries with an offset >= `offset`."""
        self.truncate_to_entries(self._slots_up_to(offset - 1 - self.base_offset, 0))

    def _at(self, slot: int) -> OffsetPosition:
        if slot < 0:
            return OffsetPosition(self.base_offset, 0)
        relative, position = self.entry(slot)
        return OffsetPosition(self.base_offset + relative, position)

    def release(self) -> None:
        super().release()
        self._near = array("Q")

    def _forget_last(self) -> None:
        self._last = None
        self._near = array("Q")
