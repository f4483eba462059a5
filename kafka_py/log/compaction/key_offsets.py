"""The last offset of every key, in a hash table of fixed size, by which compaction selects records.

Open addressing with linear probing over 24-byte entries (Python's 64-bit hash of the key, its CRC-32C and its length,
the offset), in memory that the operating system allocates on first access. Two keys that agree in all three count as
one key, as keys with the same MD5 do in Apache Kafka. Records come in lists, because a call for each record would cost
as much as the table. Knows no log.
Source: docs/reference/log.md, section 15; SkimpyOffsetMap.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence

from crc32c import crc32c

from kafka_py.records.batch import Record
from kafka_py.records.legacy_records import LegacyRecord

ENTRY_BYTES = 24
_WORDS = 3
"""Of an entry: the hash, the check (0 in a free entry), the offset."""
_CHECK_SHIFT = 31

Records = Sequence[Record] | Sequence[LegacyRecord]


def slots_in(buffer_bytes: int) -> int:
    """How many entries a buffer of that size has room for."""
    return buffer_bytes // ENTRY_BYTES


def most_keys(buffer_bytes: int, load_factor: float) -> int:
    """How many keys a buffer holds before it counts as full."""
    return int(slots_in(buffer_bytes) * load_factor)


class KeyOffsets:
    """Keys with the last offset stored for each.

    buffer_bytes: size of the table. load_factor: maximum fullness. latest: the last offset added (inclusive).
    """

    __slots__ = ("_limit", "_memory", "_slots", "_table", "count", "latest")

    def __init__(self, buffer_bytes: int, load_factor: float) -> None:
        self._slots = max(slots_in(buffer_bytes), 2)
        self._limit = min(max(most_keys(buffer_bytes, load_factor), 1), self._slots - 1)
        self._memory = mmap.mmap(-1, self._slots * ENTRY_BYTES)
        self._table = memoryview(self._memory).cast("q")
        self.count = 0
        self.latest = -1

    @property
    def fullness(self) -> float:
        """Used slots divided by all slots, 0 to 1."""
        return self.count / self._slots

    def add(self, records: Records, first_offset: int) -> bool:
        """Stores the offsets of the records with a key, from `first_offset` on, as the last ones of their keys.

        False when the table was full before the last of them: `latest` tells how far it came.
        """
        table, slots, limit, count, latest = self._table, self._slots, self._limit, self.count, self.latest
        end = slots * _WORDS
        is_all = True
        for record in records:
            offset, key = record[0], record[2]
            if key is None or offset < first_offset:
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

    def last_offsets(self, records: Records) -> list[int]:
        """For each record the last offset of its key; -1 when it has no key, or one that is not in the table."""
        table, slots = self._table, self._slots
        end = slots * _WORDS
        found: list[int] = []
        add = found.append
        for record in records:
            key = record[2]
            if key is None:
                add(-1)
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

    def close(self) -> None:
        self._table.release()
        self._memory.close()
