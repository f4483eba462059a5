"""The offset index: from an offset to the position in the .log file where the search for it may begin.

Layout: entries of 8 bytes, relative_offset i32 (offset - base offset), position i32, big-endian; offsets strictly
rising. Source: reference formats, section 7.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from kafka_py.log import filenames
from kafka_py.log.directory import PartitionDirectory
from kafka_py.log.index_file import IndexFile


class OffsetPosition(NamedTuple):
    """An absolute offset and the position of the append that held it."""

    offset: int
    position: int


class OffsetIndex(IndexFile):
    """The .index file of one segment; offsets are absolute on this side of the file."""

    __slots__ = ("_last",)

    SUFFIX = filenames.OFFSET_INDEX
    ENTRY = Struct(">ii")

    def __init__(self, directory: PartitionDirectory, base_offset: int) -> None:
        super().__init__(directory, base_offset)
        self._last: OffsetPosition | None = None

    @property
    def is_full(self) -> bool:
        return self.entries >= self.capacity

    @property
    def last(self) -> OffsetPosition:
        """The last entry; (base offset, 0) when there is none."""
        last = self._last
        if last is None:
            last = self._last = self._at(self.entries - 1)
        return last

    def append(self, offset: int, position: int) -> None:
        """offset: the last one of the append that begins at `position`; must exceed the last entry's."""
        if self.entries and offset <= self.last.offset:
            raise ValueError(f"{self.path}: offset {offset} is not above the last entry's {self.last.offset}")
        self._append(offset - self.base_offset, position)
        self._last = OffsetPosition(offset, position)

    def lookup(self, offset: int) -> OffsetPosition:
        """The largest entry with an offset <= `offset`; (base offset, 0) when there is none."""
        if self.entries == 0 or offset < self.base_offset:
            return OffsetPosition(self.base_offset, 0)
        if offset >= self.last.offset:
            return self.last
        found = self._last_up_to(offset - self.base_offset, 0)
        if found is None:
            return OffsetPosition(self.base_offset, 0)
        return OffsetPosition(self.base_offset + found[0], found[1])

    def first_at_or_after(self, position: int) -> OffsetPosition | None:
        """The first entry whose position is >= `position`; None when all lie before it."""
        slot = self._slots_up_to(position - 1, 1)
        return self._at(slot) if slot < self.entries else None

    def truncate_to(self, offset: int) -> None:
        """Drops the entries with an offset >= `offset`."""
        self.truncate_to_entries(self._slots_up_to(offset - 1 - self.base_offset, 0))

    def _at(self, slot: int) -> OffsetPosition:
        if slot < 0:
            return OffsetPosition(self.base_offset, 0)
        relative, position = self.entry(slot)
        return OffsetPosition(self.base_offset + relative, position)

    def _forget_last(self) -> None:
        self._last = None
