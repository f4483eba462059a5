"""What the offset index and the time index share: a sparse file of fixed-size entries, in order.

The active segment's file has its full size from the start (zeroes past the entries) and is trimmed when the segment
is rolled or closed, as the classic does with its mapped files. Here entries are written as they come and looked up
with a few short reads; nothing but the count and the last entry is kept in memory. Knows no entry's meaning.
Source: docs/reference/log.md, section 4.
"""

from __future__ import annotations

from struct import Struct

from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.segments.segment_file import SegmentFile

_READ_AT_ONCE = 512
"""A search that has come down to this many entries reads them in one go."""


class IndexFile(SegmentFile):
    """One index file; `entries` counts those in it, `capacity` those it may hold.

    is_full: no entry but one that closes the segment may follow; a field, for every append asks.
    """

    __slots__ = ("capacity", "entries", "is_full")

    ENTRY: Struct
    KEPT_FOR_CLOSING = 0
    """Places that are left for the entry that closes the segment."""

    def __init__(self, directory: PartitionDirectory, base_offset: int) -> None:
        super().__init__(directory, base_offset)
        self._set_size(0, 0)

    def _set_size(self, entries: int, capacity: int) -> None:
        self.entries = entries
        self.capacity = capacity
        self.is_full = entries >= capacity - self.KEPT_FOR_CLOSING

    @property
    def size_bytes(self) -> int:
        """Bytes of the entries, whatever the file's size."""
        return self.entries * self.ENTRY.size

    def create(self, max_bytes: int) -> None:
        """An empty index with room for `max_bytes`, rounded down to whole entries; overwrites what is there."""
        self._set_size(0, self.capacity)
        self._forget_last()
        self.resize(max_bytes)

    def opened(self, file_bytes: int, max_bytes: int) -> None:
        """Takes the file as it lies on disk, `file_bytes` long, every whole entry of it as valid."""
        entries = file_bytes // self.ENTRY.size
        self._set_size(entries, max(max_bytes // self.ENTRY.size, entries))
        self._forget_last()

    def drop_zero_tail(self) -> None:
        """Forgets entries of zeroes at the end: a file that lost its last trim with the power. None is ever written."""
        if not self.entries or any(self.entry(self.entries - 1)):
            return
        low, high = 0, self.entries - 1
        while low < high:
            middle = (low + high) // 2
            if any(self.entry(middle)):
                low = middle + 1
            else:
                high = middle
        self._set_size(low, self.capacity)
        self._forget_last()

    def resize(self, max_bytes: int) -> None:
        """Gives the file room for `max_bytes`, whatever is past the entries now being zero; makes it if missing."""
        self._set_size(self.entries, max(max_bytes // self.ENTRY.size, self.entries))
        file = self.file(create=True)
        file.truncate(self.size_bytes)
        file.truncate(self.capacity * self.ENTRY.size)

    def trim(self) -> None:
        """Cuts the file to its entries: the segment takes no more. The file is let go."""
        self.file(create=True).truncate(self.size_bytes)
        self._set_size(self.entries, self.entries)
        self.close()

    def truncate_to_entries(self, entries: int) -> None:
        """Drops the entries from number `entries` on; their bytes read as zeroes."""
        if entries >= self.entries:
            return
        self._set_size(entries, self.capacity)
        self._forget_last()
        file = self.file()
        file.truncate(self.size_bytes)
        file.truncate(self.capacity * self.ENTRY.size)

    def entry(self, slot: int) -> tuple[int, ...]:
        """The fields of one entry, as stored."""
        return self.ENTRY.unpack(self.file().read(self.ENTRY.size, slot * self.ENTRY.size))

    def all_entries(self) -> list[tuple[int, ...]]:
        """Every entry, for checks and tools."""
        return list(self.ENTRY.iter_unpack(self.file().read(self.size_bytes, 0))) if self.entries else []

    def _append(self, *fields: int) -> None:
        self.file().write(self.ENTRY.pack(*fields), self.entries * self.ENTRY.size)
        self._set_size(self.entries + 1, self.capacity)

    def _forget_last(self) -> None:
        """The last entry is no longer known."""

    def _slots_up_to(self, target: int, field: int) -> int:
        """How many entries have `field` <= target; the field rises from entry to entry."""
        low, high = self._narrow(target, field)
        if high > low:
            size = self.ENTRY.size
            part = self.file().read((high - low) * size, low * size)
            first, past = 0, len(part) // size
            while first < past:
                middle = (first + past) // 2
                if self.ENTRY.unpack_from(part, middle * size)[field] <= target:
                    first = middle + 1
                else:
                    past = middle
            low += first
        return low

    def _narrow(self, target: int, field: int) -> tuple[int, int]:
        """A short range of slots, end exclusive: `field` is <= target in all before it and above it in all behind."""
        low, high = 0, self.entries
        size = self.ENTRY.size
        while high - low > _READ_AT_ONCE:
            middle = (low + high) // 2
            if self.ENTRY.unpack(self.file().read(size, middle * size))[field] <= target:
                low = middle + 1
            else:
                high = middle
        return low, high
