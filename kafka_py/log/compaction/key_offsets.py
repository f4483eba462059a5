"""The last offset of every key, in a hash table of fixed size, by which compaction selects records.

Open addressing with linear probing over 24-byte entries (Python's 64-bit hash of the key, its CRC-32C and its length,
the offset), in memory that the operating system allocates on first access. Two keys that agree in all three count as
one key, as keys with the same MD5 do in Apache Kafka. Records come in lists, because a call for each record would cost
as much as the table. LatestOffsets is the table the other way round: for records that were added, the offset alone
tells whether they are the last ones of their keys. Knows no log.
Source: docs/reference/log.md, section 15; SkimpyOffsetMap.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Sequence
from itertools import compress

from crc32c import crc32c

from kafka_py.records.survey import no_pause

ENTRY_BYTES = 24
_WORDS = 3
"""Of an entry: the hash, the check (0 in a free entry), the offset."""
_CHECK_SHIFT = 31
NO_KEY = (1 << 63) - 1
"""Takes the place of the last offset of a record without a key: no offset reaches it."""
MARKS = 1 << 24
"""Offsets that LatestOffsets has marks for at a time, of one byte each."""
_SLOTS_AT_ONCE = 1 << 14
_SLOTS_OF_A_RECORD = 8
"""Slots that are read for marks in the time in which one record is read and its key looked up."""


def slots_in(buffer_bytes: int) -> int:
    """How many entries a buffer of that size has room for."""
    return buffer_bytes // ENTRY_BYTES


def most_keys(buffer_bytes: int, load_factor: float) -> int:
    """How many keys a buffer holds before it counts as full."""
    return int(slots_in(buffer_bytes) * load_factor)


class KeyOffsets:
    """Keys with the last offset stored for each.

    buffer_bytes: size of the table. load_factor: maximum fullness. latest: the last offset added (inclusive).
    is_ordered: whether every offset was above the one before and within its batch, as in any log that is not damaged.
        `add` notes the first, its caller the second. added: records that it was given.
    """

    __slots__ = ("_limit", "_memory", "_slots", "_table", "added", "count", "is_ordered", "latest")

    def __init__(self, buffer_bytes: int, load_factor: float) -> None:
        self._slots = max(slots_in(buffer_bytes), 2)
        self._limit = min(max(most_keys(buffer_bytes, load_factor), 1), self._slots - 1)
        self._memory = mmap.mmap(-1, self._slots * ENTRY_BYTES)
        self._table = memoryview(self._memory).cast("q")
        self.added = 0
        self.count = 0
        self.latest = -1
        self.is_ordered = True

    @property
    def fullness(self) -> float:
        """Used slots divided by all slots, 0 to 1."""
        return self.count / self._slots

    def add(self, offsets: Sequence[int], keys: Sequence[bytes | None], first_offset: int) -> bool:
        """Stores the offsets of the records with a key, from `first_offset` on, as the last ones of their keys.

        False when the table was full before the last of them: `latest` tells how far it came.
        """
        table, slots, limit, count, latest = self._table, self._slots, self._limit, self.count, self.latest
        end = slots * _WORDS
        is_all = True
        highest = max(latest, first_offset - 1)
        self.added += len(offsets)
        for offset, key in zip(offsets, keys, strict=True):
            if offset <= highest:
                if offset < first_offset:
                    continue
                self.is_ordered = False
            highest = offset
            if key is None:
                continue
            if count >= limit:
                is_all = False
                break
            hashed = hash(key)
            check = crc32c(key) << _CHECK_SHIFT | len(key) + 1
            at = hashed % slots * _WORDS
            while (found := table[at + 1]) != check or table[at] != hashed:
                if not found:
                    table[at], table[at + 1] = hashed, check
                    count += 1
                    break
                at += _WORDS
                if at == end:
                    at = 0
            table[at + 2] = latest = offset
        self.count, self.latest = count, latest
        return is_all

    def cover(self, offset: int) -> None:
        """Notes that every key up to this offset (inclusive) has been added."""
        self.latest = max(self.latest, offset)

    def last_offsets(self, keys: Sequence[bytes | None]) -> list[int]:
        """The last offset of each key; -1 for one that is not in the table, NO_KEY for None."""
        table, slots = self._table, self._slots
        end = slots * _WORDS
        found: list[int] = []
        add = found.append
        for key in keys:
            if key is None:
                add(NO_KEY)
                continue
            hashed = hash(key)
            check = crc32c(key) << _CHECK_SHIFT | len(key) + 1
            at = hashed % slots * _WORDS
            while (there := table[at + 1]) != check or table[at] != hashed:
                if not there:
                    add(-1)
                    break
                at += _WORDS
                if at == end:
                    at = 0
            else:
                add(table[at + 2])
        return found

    def is_worth_marks(self, first_offset: int) -> bool:
        """Whether marks of all windows from this offset on cost less than looking up the keys that were added.

        Not where a replica has copied a compacted log, few records of which are left among very many offsets.
        """
        windows = (self.latest - first_offset) // MARKS + 1
        return windows == 1 or windows * self._slots <= self.added * _SLOTS_OF_A_RECORD

    def stored(self) -> Iterator[Iterator[int]]:
        """The last offsets of all keys, in no order, some thousand slots at a time."""
        step = _SLOTS_AT_ONCE * _WORDS
        for at in range(0, self._slots * _WORDS, step):
            with self._table[at : at + step] as part:
                yield compress(part[2::_WORDS].tolist(), part[1::_WORDS].tolist())

    def close(self) -> None:
        self._table.release()
        self._memory.close()


class LatestOffsets:
    """Tells by their offsets which records of the dirty part are the last ones of their keys.

    keys: which have been added. first_offset: from which on. pause: called often while marks are made; may raise.
        All have been added when it is made.
    Marks are kept for a window of offsets that follows the batches, so that memory is bounded and the table is read
    once for each window.
    """

    __slots__ = ("_end", "_first_offset", "_is_used", "_keys", "_marks", "_pause", "_start")

    def __init__(self, keys: KeyOffsets, first_offset: int, pause: Callable[[], None] = no_pause) -> None:
        self._keys = keys
        self._first_offset = first_offset
        self._pause = pause
        self._marks = bytearray()
        self._start = self._end = first_offset
        self._is_used = keys.is_worth_marks(first_offset)

    def covers(self, base_offset: int, last_offset: int) -> bool:
        """Whether it tells of every record of a batch with these offsets; makes its marks."""
        keys = self._keys
        if not (keys.is_ordered and self._first_offset <= base_offset <= last_offset <= keys.latest):
            return False
        if not self._is_used or last_offset - base_offset >= MARKS:
            return False
        if base_offset < self._start or last_offset >= self._end:
            self._mark_from(base_offset)
        return True

    def _mark_from(self, start: int) -> None:
        end = min(start + MARKS, self._keys.latest + 1)
        self._marks = marks = bytearray(end - start)
        for offsets in self._keys.stored():
            for offset in offsets:
                if start <= offset < end:
                    marks[offset - start] = 1
            self._pause()
        self._start, self._end = start, end

    def count(self, base_offset: int, last_offset: int) -> int:
        """How many offsets from the base to the last one (inclusive), which it covers, are last ones."""
        return self._marks.count(1, base_offset - self._start, last_offset + 1 - self._start)

    def chosen(self, offsets: Sequence[int]) -> list[int]:
        """Indexes of those that are last ones; all of them are covered."""
        marks, start = self._marks, self._start
        return [index for index, offset in enumerate(offsets) if marks[offset - start]]
