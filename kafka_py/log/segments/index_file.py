"""Base of the offset index and the time index: a sparse file of fixed-size entries, in order.

The active segment's file has its full size from the start (zeroes past the entries) and is trimmed when the segment
is rolled or closed, as Apache Kafka does with its mapped files. Here entries are written at once and looked up with a
few short reads; only the count and the last entry are kept in memory. Does not interpret entries.
Source: docs/reference/log.md, section 4.
"""

from __future__ import annotations

from struct import Struct

from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.segments.segment_file import SegmentFile

_READ_AT_ONCE = 512
"""A binary search reads the last this many entries at once."""


class IndexFile(SegmentFile):
    """One index file. entries: their number. capacity: the largest number of entries.

    is_full: only the last entry at a roll may follow; a field, because every append reads it.
    """

    __slots__ = ("capacity", "entries", "is_full")

    ENTRY: Struct
    KEPT_FOR_CLOSING = 0
    """Slots reserved for the entry that is added at a roll."""

    def __init__(self, directory: PartitionDirectory, base_offset: int) -> None:
        super().__init__(directory, base_offset)
        self._set_size(0, 0)

    def _set_size(self, entries: int, capacity: int) -> None:
        self.entries = entries
        self.capacity = capacity
        self.is_full = entries >= capacity - self.KEPT_FOR_CLOSING

    @property
    def size_bytes(self) -> int:
        """Size of the entries in bytes, not of the file."""
        return self.entries * self.ENTRY.size

    def create(self, max_bytes: int) -> None:
        """Creates an empty index of `max_bytes`, rounded down to whole entries; overwrites an existing file."""
        self._set_size(0, self.capacity)
        self._forget_last()
        self.resize(max_bytes)

    def opened(self, file_bytes: int, max_bytes: int) -> None:
        """Opens the existing file, `file_bytes` long, and treats every whole entry as valid."""
        entries = file_bytes // self.ENTRY.size
        self._set_size(entries, max(max_bytes // self.ENTRY.size, entries))
        self._forget_last()

    def drop_zero_tail(self) -> None:
        """Drops zero entries at the end, which are never written: a power failure may have undone the last trim."""
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
        """Resizes the file to `max_bytes`, with zeroes after the entries; creates it if missing."""
        self._set_size(self.entries, max(max_bytes // self.ENTRY.size, self.entries))
        file = self.file(create=True)
        file.truncate(self.size_bytes)
        file.truncate(self.capacity * self.ENTRY.size)

    def trim(self) -> None:
        """Trims the file to its entries, because the segment is rolled, and releases it."""
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
        """The fields of one entry, as stored; zeroes where the file is shorter than it was."""
        size = self.ENTRY.size
        data = self.file().read(size, slot * size)
        return self.ENTRY.unpack(data if len(data) == size else bytes(size))

    def all_entries(self) -> list[tuple[int, ...]]:
        """All entries, for checks and tools."""
        return list(self.ENTRY.iter_unpack(self.file().read(self.size_bytes, 0))) if self.entries else []

    def _append(self, *fields: int) -> None:
        self.file().write(self.ENTRY.pack(*fields), self.entries * self.ENTRY.size)
        self._set_size(self.entries + 1, self.capacity)

    def _forget_last(self) -> None:
        """Drops the cached last entry."""

    def _slots_up_to(self, target: int, field: int) -> int:
        """Number of entries with `field` <= target; the field rises from entry to entry."""
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
        """A short range of slots (end exclusive): `field` is <= target before it, and above target after it."""
        low, high = 0, self.entries
        while high - low > _READ_AT_ONCE:
            middle = (low + high) // 2
            if self.entry(middle)[field] <= target:
                low = middle + 1
            else:
                high = middle
        return low, high
