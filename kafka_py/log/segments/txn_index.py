"""The transaction index: the aborted transactions whose marker is in one segment.

A search reads only the entries that it needs: a segment may have thousands, and every read_committed fetch searches.

Layout: entries of 34 bytes, version i16 (0), producer_id i64, first_offset i64, last_offset i64,
last_stable_offset i64, big-endian; absolute offsets, ordered by last_offset. The file is created with its first entry.
Source: docs/reference/log.md, section 5.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_left
from struct import Struct
from typing import NamedTuple

from kafka_py.log.disk import filenames
from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.segments.segment_file import SegmentFile

_ENTRY = Struct(">hqqqq")
_ENTRIES_AT_ONCE = 64


class AbortedTransaction(NamedTuple):
    """One aborted transaction: its first offset, the offset of its marker, and the LSO when the marker was written."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class CorruptTxnIndex(ValueError):
    """The file is invalid and is rebuilt from the segment."""


class AbortedSearch(NamedTuple):
    """Result of the search in one segment. complete: later segments cannot add results."""

    transactions: list[AbortedTransaction]
    complete: bool


class TxnIndex(SegmentFile):
    """The .txnindex file of one segment."""

    __slots__ = ("_last", "entries")

    SUFFIX = filenames.TXN_INDEX

    def __init__(self, directory: PartitionDirectory, base_offset: int) -> None:
        super().__init__(directory, base_offset)
        self.entries = 0
        self._last: AbortedTransaction | None = None

    def opened(self, file_bytes: int) -> None:
        """Opens the existing file; a partial entry at its end is ignored (and overwritten)."""
        self.entries = file_bytes // _ENTRY.size
        self._last = None

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

    def append(self, aborted: AbortedTransaction) -> None:
        """Adds an entry; its last offset must exceed that of the one before."""
        last = self._last_entry()
        if last is not None and aborted.last_offset <= last.last_offset:
            raise ValueError(f"{self.path}: last offset {aborted.last_offset} is not above {last.last_offset}")
        self.file(create=True).write(_ENTRY.pack(0, *aborted), self.entries * _ENTRY.size)
        self.entries += 1
        self._last = aborted

    def _last_entry(self) -> AbortedTransaction | None:
        if self._last is None and self.entries:
            self._last = self._read(self.entries - 1, 1)[0]
        return self._last

    def _read(self, first: int, count: int) -> list[AbortedTransaction]:
        """`count` entries from number `first` on. Raises CorruptTxnIndex for a version above 0 or a short file."""
        data = self.file().read(count * _ENTRY.size, first * _ENTRY.size)
        if len(data) != count * _ENTRY.size:
            raise CorruptTxnIndex(f"{self.path}: the file is shorter than its {self.entries} entries")
        found = []
        for version, *fields in _ENTRY.iter_unpack(data):
            if version > 0:
                raise CorruptTxnIndex(f"{self.path}: version {version} is not known")
            found.append(AbortedTransaction(*fields))
        return found

    def _first_ending_at(self, offset: int) -> int:
        """The number of the first entry whose last offset is >= `offset`; `entries` when there is none."""
        return bisect_left(range(self.entries), offset, key=lambda number: self._read(number, 1)[0].last_offset)

    def all_entries(self) -> list[AbortedTransaction]:
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
        found = []
        first = self._first_ending_at(fetch_offset)
        if first and self._read(first - 1, 1)[0].last_stable_offset >= upper_offset:
            return AbortedSearch([], complete=True)
        for number in range(first, self.entries, _ENTRIES_AT_ONCE):
            for aborted in self._read(number, min(_ENTRIES_AT_ONCE, self.entries - number)):
                if aborted.first_offset < upper_offset:
                    found.append(aborted)
                if aborted.last_stable_offset >= upper_offset:
                    return AbortedSearch(found, complete=True)
        return AbortedSearch(found, complete=False)

    def truncate_to(self, offset: int) -> None:
        """Drops the entries whose last offset is >= `offset`. Raises CorruptTxnIndex as `search`."""
        kept = self._first_ending_at(offset)
        if kept < self.entries:
            self.entries = kept
            self._last = None
            self.file().truncate(kept * _ENTRY.size)

    def reset(self) -> None:
        """Removes the file, before the segment is read again."""
        self.close()
        self.entries = 0
        self._last = None
        with contextlib.suppress(FileNotFoundError):
            self.directory.files.remove(self.path)
