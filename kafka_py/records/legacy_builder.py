"""Writes message sets of formats 0 and 1: single entries, and whole sets with or without a codec.

Without a codec a set is one entry per record; with one it is a single wrapper whose value is the compressed entries.
For readers of an old format, for topics that are stored in one, and for tests. Reading is in legacy_records.py.
Layout: see legacy.py. Source: docs/reference/record-formats.md, section 4; MemoryRecordsBuilder.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from struct import Struct
from typing import Any

from kafka_py.records.batch import LOG_APPEND_TIME_FLAG, NO_TIMESTAMP, TimestampType
from kafka_py.records.compression import Codec, compress

Data = bytes | bytearray | memoryview

ENTRY_OVERHEAD = (26, 34)
"""Bytes of an entry without key and value, by format."""

_CRC_SIZE = 4
_INT32 = Struct(">i")
_NULL = -1
_NULL_LENGTH = _INT32.pack(_NULL)
# Offset, size and checksum; then format, attributes, in format 1 the timestamp, and the length of the key.
_START = Struct(">qiI")
_BODY_0 = Struct(">bbi")
_BODY_1 = Struct(">bbqi")
_pack_start, _pack_length = _START.pack, _INT32.pack


def encode_entry(
    magic: int, offset: int, timestamp: int, key: Data | None, value: Data | None, attributes: int = 0
) -> bytes:
    """One entry of format 0 or 1, checksum included. timestamp: ms, which format 0 drops. attributes: as stored."""
    key_size = _NULL if key is None else len(key)
    front = (
        _BODY_1.pack(1, attributes, timestamp, key_size) if magic else _BODY_0.pack(0, attributes, key_size)
    )
    value_size = _pack_length(_NULL if value is None else len(value))
    body = b"".join((front, b"" if key is None else key, value_size, b"" if value is None else value))
    return _pack_start(offset, len(body) + _CRC_SIZE, zlib.crc32(body)) + body


class LegacyBuilder:
    """One message set in the making; its interface is that of BatchBuilder as far as the formats allow.

    base_offset: of the first record; inner offsets of format 1 count from it. log_append_time_ms: the timestamp of all
    records when timestamp_type says so. level: of the codec; None is Kafka's default.
    Raises ValueError for a format other than 0 and 1, and for zstd, which these formats do not have.
    """

    __slots__ = (
        "_codec", "_entries", "_entry_attributes", "_level", "base_offset", "last_offset", "log_append_time_ms",
        "magic", "max_timestamp", "offset_of_max_timestamp", "record_count",
    )  # fmt: skip

    def __init__(
        self,
        magic: int,
        codec: Codec = Codec.NONE,
        *,
        base_offset: int = 0,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        log_append_time_ms: int = NO_TIMESTAMP,
        level: int | None = None,
    ) -> None:
        if magic not in (0, 1):
            raise ValueError(f"message format {magic} is not one of 0 and 1")
        if codec is Codec.ZSTD:
            raise ValueError(f"message format {magic} has no zstd compression")
        self.magic = magic
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.record_count = 0
        self.last_offset = base_offset - 1
        self.max_timestamp = NO_TIMESTAMP
        self.offset_of_max_timestamp = -1
        """Of the first record that has the largest timestamp; -1 in format 0."""
        self._codec = codec
        self._level = level
        stamped = magic and timestamp_type is TimestampType.LOG_APPEND_TIME
        self._entry_attributes = LOG_APPEND_TIME_FLAG if stamped else 0
        self._entries = bytearray()

    def append(self, timestamp: int, key: Data | None, value: Data | None) -> None:
        """Add a record at the next offset."""
        self.append_at(self.last_offset + 1, timestamp, key, value)

    def append_at(self, offset: int, timestamp: int, key: Data | None, value: Data | None) -> None:
        """Add a record at `offset`. Raises ValueError unless it is above the last one's."""
        if offset <= self.last_offset:
            raise ValueError(f"offset {offset} is not above {self.last_offset}")
        if self._entry_attributes:
            timestamp = self.log_append_time_ms
        magic = self.magic
        inner = offset - self.base_offset if magic and self._codec else offset
        self._entries += encode_entry(magic, inner, timestamp, key, value, self._entry_attributes)
        self.last_offset = offset
        self.record_count += 1
        if magic and timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
            self.offset_of_max_timestamp = offset

    def extend(self, records: Sequence[tuple[Any, ...]], next_offset: int | None = None) -> None:
        """Add records, tuples that begin with offset, timestamp, key and value, such as Record and LegacyRecord.

        next_offset: gives them consecutive offsets from there on; None keeps their own. Both are above the last
        record's, or ValueError is raised and nothing changed.
        """
        if not records:
            return
        first = records[0][0] if next_offset is None else next_offset
        if first <= self.last_offset:
            raise ValueError(f"offset {first} is not above {self.last_offset}")
        magic, attributes = self.magic, self._entry_attributes
        stamped, crc32, pack_1, pack_0 = self.log_append_time_ms, zlib.crc32, _BODY_1.pack, _BODY_0.pack
        base = self.base_offset if magic and self._codec else 0
        largest, offset = self.max_timestamp, first - 1
        parts: list[Data] = []
        add = parts.append
        for record in records:
            own, timestamp, key, value = record[:4]
            offset = own if next_offset is None else offset + 1
            if attributes:
                timestamp = stamped
            size = _NULL if key is None else len(key)
            front = pack_1(1, attributes, timestamp, size) if magic else pack_0(0, 0, size)
            if value is None:
                body = b"".join((front, key or b"", _NULL_LENGTH))
            else:
                body = b"".join((front, key or b"", _pack_length(len(value)), value))
            add(_pack_start(offset - base, len(body) + _CRC_SIZE, crc32(body)))
            add(body)
            if timestamp > largest and magic:
                largest = timestamp
                self.offset_of_max_timestamp = offset
        self._entries += b"".join(parts)
        self.max_timestamp = largest
        self.last_offset = offset
        self.record_count += len(records)

    @property
    def uncompressed_size(self) -> int:
        """Bytes of all entries, without a wrapper."""
        return len(self._entries)

    def build(self) -> bytes:
        """The set; more may be appended, and built again. Raises ValueError when it has no record."""
        if not self.record_count:
            raise ValueError("a message set needs a record")
        if self._codec is Codec.NONE:
            return bytes(self._entries)
        payload = compress(self._codec, self._entries, self._level, magic=self.magic)
        attributes = self._entry_attributes | self._codec
        return encode_entry(self.magic, self.last_offset, self.max_timestamp, None, payload, attributes)

