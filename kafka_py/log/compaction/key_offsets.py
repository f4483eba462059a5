"""The last offset of every key, in a hash table of fixed size, by which compaction selects records.

Open addressing with linear probing over 24-byte entries (16 bytes of MD5, 8 of offset), in memory that the operating
system allocates on first access. Two keys with the same hash count as one key, as in Apache Kafka. Knows no log.
Source: docs/reference/log.md, section 15; SkimpyOffsetMap.
"""

from __future__ import annotations

import mmap
from hashlib import md5
from struct import Struct

ENTRY_BYTES = 24
_OFFSET = Struct(">q")
_NOTHING = bytes(16)


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

    __slots__ = ("_limit", "_slots", "_table", "count", "latest")

    def __init__(self, buffer_bytes: int, load_factor: float) -> None:
        self._slots = max(slots_in(buffer_bytes), 2)
        self._limit = min(max(most_keys(buffer_bytes, load_factor), 1), self._slots - 1)
        self._table = mmap.mmap(-1, self._slots * ENTRY_BYTES)
        self.count = 0
        self.latest = -1

    @property
    def is_full(self) -> bool:
        return self.count >= self._limit

    @property
    def fullness(self) -> float:
        """Used slots divided by all slots, 0 to 1."""
        return self.count / self._slots

    def put(self, key: bytes, offset: int) -> None:
        """Stores the offset as the last one of the key. The table must not be full."""
        digest = md5(key, usedforsecurity=False).digest()
        position, is_new = self._find(digest)
        if is_new:
            self.count += 1
        self._table[position : position + ENTRY_BYTES] = digest + _OFFSET.pack(offset)
        self.latest = offset

    def cover(self, offset: int) -> None:
        """Notes that every key up to this offset (inclusive) has been added."""
        self.latest = max(self.latest, offset)

    def get(self, key: bytes) -> int:
        """The last offset of the key; -1 when it is not in the table."""
        position, is_new = self._find(md5(key, usedforsecurity=False).digest())
        if is_new:
            return -1
        (offset,) = _OFFSET.unpack_from(self._table, position + 16)
        return int(offset)

    def close(self) -> None:
        self._table.close()

    def _find(self, digest: bytes) -> tuple[int, bool]:
        """The position of the key's slot, or of the free slot for it; whether the key is present."""
        table, end = self._table, self._slots * ENTRY_BYTES
        position = int.from_bytes(digest[:8], "big") % self._slots * ENTRY_BYTES
        while True:
            found = table[position : position + 16]
            if found == digest:
                return position, False
            if found == _NOTHING:
                return position, True
            position += ENTRY_BYTES
            if position == end:
                position = 0
