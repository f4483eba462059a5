"""The records in entries of message formats 0 and 1, compressed or not, for tools that read old logs.

An uncompressed entry is one record; a compressed one wraps entries of its own in its value. In format 1 the offsets
inside are relative, the wrapper's being that of the last record, and a wrapper with LogAppendTime gives its time to
all. Finding and checking entries is in legacy.py. Source: docs/reference/record-formats.md, section 4; KIP-31, KIP-32.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from kafka_py.records import legacy
from kafka_py.records.batch import CODEC_MASK, LOG_APPEND_TIME_FLAG, LOG_OVERHEAD, Buffer, CorruptBatch
from kafka_py.records.compression import DEFAULT_LIMIT, Codec, DecompressionError, decompress

_LENGTH = struct.Struct(">i")


class LegacyRecord(NamedTuple):
    """One record; the checksum is its own entry's, as stored. Format 0 has no timestamp (-1)."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    crc: int
    is_valid: bool


def read_records(buf: Buffer, pos: int) -> list[LegacyRecord]:
    """The records of the whole entry at `pos`, with absolute offsets. Raises CorruptBatch."""
    try:
        outer, codec = _read_record(buf, pos)
        if codec is Codec.NONE:
            return [outer]
        entry = legacy.read_entry(buf, pos)
        if outer.value is None:
            raise CorruptBatch("a compressed entry has no value", pos)
        data = decompress(codec, outer.value, DEFAULT_LIMIT, magic=entry.magic)
        inner = []
        at = 0
        while at < len(data):
            inner.append(_read_record(data, at)[0])
            at += legacy.read_entry(data, at).size + LOG_OVERHEAD
    except (struct.error, IndexError) as error:
        raise CorruptBatch("an entry does not end where its lengths say", pos) from error
    except DecompressionError as error:
        raise CorruptBatch(str(error), pos) from error
    if not inner:
        raise CorruptBatch("a compressed entry holds nothing", pos)
    if entry.magic == 0:
        return inner
    first = entry.offset - inner[-1].offset
    stamped = entry.attributes & LOG_APPEND_TIME_FLAG
    return [
        one._replace(offset=first + one.offset, timestamp=entry.timestamp if stamped else one.timestamp)
        for one in inner
    ]


def _read_record(buf: Buffer, pos: int) -> tuple[LegacyRecord, Codec]:
    """The entry at `pos` as one record, its value as it is, and its codec."""
    entry = legacy.read_entry(buf, pos)
    if entry.magic not in (0, 1):
        raise CorruptBatch(f"an entry of format {entry.magic} among older ones", pos)
    end = pos + entry.size + LOG_OVERHEAD
    key, at = _read_bytes(buf, pos + legacy.ENTRY_HEADER_SIZE[entry.magic], end)
    value, at = _read_bytes(buf, at, end)
    codec_id = entry.attributes & CODEC_MASK
    if codec_id > Codec.LZ4:
        raise CorruptBatch(f"compression id {codec_id} does not exist in format {entry.magic}", pos)
    is_valid = legacy.checksum(buf, pos, end) == entry.crc
    return LegacyRecord(entry.offset, entry.timestamp, key, value, entry.crc, is_valid), Codec(codec_id)


def _read_bytes(buf: Buffer, pos: int, end: int) -> tuple[bytes | None, int]:
    """Bytes after their length, -1 being null, and the position behind them."""
    (length,) = _LENGTH.unpack_from(buf, pos)
    pos += _LENGTH.size
    if length < 0:
        return None, pos
    if pos + length > end or end > len(buf):
        raise IndexError(f"{length} bytes where {end - pos} are left")
    return bytes(buf[pos : pos + length]), pos + length
