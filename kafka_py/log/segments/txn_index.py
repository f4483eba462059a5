"""The transaction index: the aborted transactions whose marker is in one segment.

Every read_committed fetch searches, and a segment may have thousands of entries: they are kept in memory, 32 bytes
each, from the first search until the file is released.

Layout: entries of 34 bytes, version i16 (0), producer_id i64, first_offset i64, last_offset i64,
last_stable_offset i64, big-endian; absolute offsets, ordered by last_offset. The file is created with its first entry.
Source: docs/reference/log.md, section 5.
"""

from __future__ import annotations

import contextlib
import sys
from array import array
from bisect import bisect_left
from struct import Struct
from typing import NamedTuple

from kafka_py.log.disk import filenames
from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.segments.segment_file import SegmentFile

_ENTRY = Struct(">hqqqq")
_VERSION_BYTES = 2
_OFFSET_BYTES = 8


class AbortedTxn(NamedTuple):
    """One aborted transaction: its first offset, the offset of its marker, and the LSO when the marker was written."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class CorruptTxnIndex(ValueError):
    """The file is invalid and is rebuilt from the segment."""


class AbortedSearch(NamedTuple):
    """Result of the search in one segment. complete: later segments cannot add results."""

    transactions: list[AbortedTxn]
    complete: bool


class _EntryColumns(NamedTuple):
    """The fields of all entries."""

    producer_ids: array[int]
    first_offsets: array[int]
    last_offsets: array[int]
    last_stable_offsets: array[int]


class TxnIndex(SegmentFile):
    """The .txnindex file of one segment."""

    __slots__ = ("_columns", "_last", "entries")

    SUFFIX = filenames.TXN_INDEX

    def __init__(self, directory: PartitionDirectory, base_offset: int) -> None:
        super().__init__(directory, base_offset)
        self.entries = 0
        self._last: AbortedTxn | None = None
        self._columns: _EntryColumns | None = None

    def opened(self, file_bytes: int) -> None:
        """Opens the existing file; a partial entry at its end is ignored (and overwritten)."""
        self._has_now(file_bytes // _ENTRY.size)

    def _has_now(self, entries: int) -> None:
        self.entries = entries
        self._last = None
        self._columns = None

    def release(self) -> None:
        super().release()
        self._columns = None

    def check(self) -> None:
        """Raises CorruptTxnIndex for entries that cannot belong to this segment, or not in this order."""
        last_offset = self.base_offset - 1
        for aborted in self.all_entries():
            if aborted.last_offset < self.base_offset:
                raise CorruptTxnIndex(f"{self.path}: last offset {aborted.last_offset} is below the base offset")
            if aborted.last_offset <= last_offset:
                raise CorruptTxnIndex(f"{self.path}: last offset {aborted.last_offset} is not above {last_offset}")
            if aborted.producer_id < 0 or not 0 <= aborted.first_offset <= aborted.last_offset:
                raise CorruptTxnIndex(f"{self.path}: the fields of {aborted} contradict each other")
            last_offset = aborted.last_offset

    def append(self, aborted: AbortedTxn) -> None:
        """Adds an entry; its last offset must exceed that of the one before, unless that cannot be read."""
        with contextlib.suppress(CorruptTxnIndex):  # who searches it says so; the log has the marker already
            last = self._last_entry()
            if last is not None and aborted.last_offset <= last.last_offset:
                raise ValueError(f"{self.path}: last offset {aborted.last_offset} is not above {last.last_offset}")
        self.file(create=True).write(_ENTRY.pack(0, *aborted), self.entries * _ENTRY.size)
        self.entries += 1
        self._last = aborted
        if self._columns is not None:
            for column, value in zip(self._columns, aborted, strict=True):
                column.append(value)

    def _last_entry(self) -> AbortedTxn | None:
        if self._last is None and self.entries:
            self._last = self._read(self.entries - 1, 1)[0]
        return self._last

    def _read(self, first: int, count: int) -> list[AbortedTxn]:
        """`count` entries from number `first` on. Raises CorruptTxnIndex for a version above 0 or a short file."""
        found = []
        for version, *fields in _ENTRY.iter_unpack(self._bytes(first, count)):
            if version > 0:
                raise CorruptTxnIndex(f"{self.path}: version {version} is not known")
            found.append(AbortedTxn(*fields))
        return found

    def _bytes(self, first: int, count: int) -> bytes:
        data = self.file().read(count * _ENTRY.size, first * _ENTRY.size)
        if len(data) != count * _ENTRY.size:
            raise CorruptTxnIndex(f"{self.path}: the file is shorter than its {self.entries} entries")
        return data

    def _load(self) -> _EntryColumns:
        """All entries, into memory. Raises CorruptTxnIndex as `_read`."""
        data = self._bytes(0, self.entries)
        if data[:: _ENTRY.size].count(0) != self.entries or data[1 :: _ENTRY.size].count(0) != self.entries:
            self._read(0, self.entries)
        columns = _EntryColumns(*(_column(data, _VERSION_BYTES + _OFFSET_BYTES * number) for number in range(4)))
        self._columns = columns
        return columns

    def all_entries(self) -> list[AbortedTxn]:
        """Every entry in order. Raises CorruptTxnIndex as `search`."""
        return self._read(0, self.entries) if self.entries else []

    def search(self, fetch_offset: int, upper_offset: int) -> AbortedSearch:
        """Transactions with a record in [fetch_offset, upper_offset) that were aborted in this segment.

        Raises CorruptTxnIndex for entries of a version above 0, and for a file that is too short.
        """
        last = self._last_entry()
        if last is None:
            return AbortedSearch([], complete=False)
        if last.last_offset < fetch_offset:
            return AbortedSearch([], complete=last.last_stable_offset >= upper_offset)
        producer_ids, first_offsets, last_offsets, stable_offsets = self._columns or self._load()
        first = bisect_left(last_offsets, fetch_offset)
        if first and stable_offsets[first - 1] >= upper_offset:
            return AbortedSearch([], complete=True)
        found = []
        for number in range(first, self.entries):
            stable_offset = stable_offsets[number]
            if first_offsets[number] < upper_offset:
                fields = producer_ids[number], first_offsets[number], last_offsets[number], stable_offset
                found.append(AbortedTxn(*fields))
            if stable_offset >= upper_offset:
                return AbortedSearch(found, complete=True)
        return AbortedSearch(found, complete=False)

    def truncate_to(self, offset: int) -> None:
        """Drops the entries whose last offset is >= `offset`. One of a version that is not known is not looked at."""
        if not self.entries:
            return
        file = self.file()
        data = file.read(self.entries * _ENTRY.size, 0)
        last_offsets = _column(data[: len(data) // _ENTRY.size * _ENTRY.size], _VERSION_BYTES + 2 * _OFFSET_BYTES)
        kept = bisect_left(last_offsets, offset)
        if kept < self.entries:
            self._has_now(kept)
            file.truncate(kept * _ENTRY.size)

    def reset(self) -> None:
        """Removes the file, before the segment is read again."""
        self.close()
        self._has_now(0)
        with contextlib.suppress(FileNotFoundError):
            self.directory.files.remove(self.path)


def _column(data: bytes, at: int) -> array[int]:
    """One field of all entries, which begins at byte `at` of each.

    Copied byte by byte for all entries at once: many times faster than one entry after the other.
    """
    count = len(data) // _ENTRY.size
    packed = bytearray(count * _OFFSET_BYTES)
    for byte in range(_OFFSET_BYTES):
        packed[byte::_OFFSET_BYTES] = data[at + byte :: _ENTRY.size]
    column = array("q")
    column.frombytes(packed)
    if sys.byteorder == "little":
        column.byteswap()
    return column
