"""Entries of message formats 0 and 1: found, measured and checked; what is inside them is not read here.

A log or a request may mix formats, so every walk over batches must step over such an entry, and byte 16 tells the
format in all three. To batch.py an entry looks like a batch of one header: its offset, its size, its checksum. For a
compressed entry that offset is the last one inside.

Layout: offset int64, size int32 (bytes after it), crc int32 (CRC-32 from magic to the end), magic int8,
attributes int8, in format 1 timestamp int64; then key and value, each with an int32 length.
"""

import struct
import zlib
from typing import NamedTuple, NoReturn

from kafka_py.base.errors import ErrorCode, KafkaError

# Bytes after the size field in the smallest entry, by magic.
SMALLEST_ENTRY = (14, 22)
# Bytes from the start of an entry that `read_entry` looks at, by magic.
ENTRY_HEADER_SIZE = (18, 26)
NO_TIMESTAMP = -1

_HEAD = struct.Struct(">qiIbb")
_TIMESTAMP = struct.Struct(">q")
_OFFSET = struct.Struct(">q")
_CRC = struct.Struct(">I")
_CRC_START = 16
_CRC_POSITION = 12
_ATTRIBUTES_POSITION = 17
_TIMESTAMP_POSITION = 18


class LegacyEntry(NamedTuple):
    """The head of one entry; size counts the bytes after the size field."""

    offset: int
    size: int
    crc: int
    magic: int
    attributes: int
    timestamp: int


def read_entry(buf: bytes | bytearray | memoryview, pos: int) -> LegacyEntry:
    """The head of the entry at `pos`, whose first ENTRY_HEADER_SIZE bytes are there; format 0 has NO_TIMESTAMP."""
    offset, size, crc, magic, attributes = _HEAD.unpack_from(buf, pos)
    timestamp = _TIMESTAMP.unpack_from(buf, pos + _TIMESTAMP_POSITION)[0] if magic else NO_TIMESTAMP
    return LegacyEntry(offset, size, crc, magic, attributes, timestamp)


def checksum(buf: bytes | bytearray | memoryview, pos: int, end: int) -> int:
    """What the crc field of the entry between `pos` and `end` should say."""
    with memoryview(buf)[pos + _CRC_START : end] as covered:
        return zlib.crc32(covered)


def stamp_offset(buf: bytearray | memoryview, pos: int, offset: int) -> None:
    """Write the offset of the entry at `pos`; it lies outside the checksum."""
    _OFFSET.pack_into(buf, pos, offset)


def stamp_timestamp(buf: bytearray | memoryview, pos: int, end: int, attributes: int, timestamp: int) -> None:
    """Write both into the entry of format 1 between `pos` and `end`, with the checksum that follows from them."""
    buf[pos + _ATTRIBUTES_POSITION] = attributes & 0xFF
    _TIMESTAMP.pack_into(buf, pos + _TIMESTAMP_POSITION, timestamp)
    _CRC.pack_into(buf, pos + _CRC_POSITION, checksum(buf, pos, end))


def refuse(magic: int) -> NoReturn:
    """Raises KafkaError(UNSUPPORTED_FOR_MESSAGE_FORMAT): the records of an old entry were asked for."""
    raise KafkaError(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, f"records of message format {magic} cannot be read")
