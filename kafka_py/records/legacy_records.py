"""The records in entries of message formats 0 and 1, compressed or not.

An uncompressed entry is one record; a compressed one wraps entries of its own in its value. In format 1 the offsets
inside are relative, the wrapper's being that of the last record, and a wrapper with LogAppendTime gives its time to
all. Finding and checking entries is in legacy.py, writing them in legacy_builder.py.
Source: docs/reference/record-formats.md, section 4; KIP-31, KIP-32; AbstractLegacyRecordBatch.
"""

from __future__ import annotations

import struct
import zlib
from array import array
from collections.abc import Callable, Iterator
from typing import NamedTuple

from kafka_py.records import legacy
from kafka_py.records.batch import (
    CODEC_MASK,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    SIZE_UP_TO_MAGIC,
    Buffer,
    CorruptBatch,
    OversizedBatch,
)
from kafka_py.records.compression import DEFAULT_LIMIT, Codec, DecompressionError, LimitExceeded, decompress
from kafka_py.records.survey import AT_ONCE, no_pause

_CRC_START = 16
_PLACE = struct.Struct(">qi")
_LENGTH = struct.Struct(">i")
# Up to the length of the key: offset, size, checksum, format, attributes, in format 1 the timestamp, key length.
_FRONT_0 = struct.Struct(">qiIbbi")
_FRONT_1 = struct.Struct(">qiIbbqi")
_unpack_place, _unpack_length = _PLACE.unpack_from, _LENGTH.unpack_from


class LegacyRecord(NamedTuple):
    """One record; the checksum is its own entry's, as stored. Format 0 has no timestamp (-1)."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    crc: int
    is_valid: bool


class EntryContents(NamedTuple):
    """The entries of one message set, decompressed: of a wrapper those inside, else the entry itself.

    data: holds them. starts: where each begins, and last where the last one ends. shift: is added to their offsets.
    append_time: overrides the timestamps of format 1; None to keep them. last_offset: of the last record.
    """

    data: bytes
    starts: array[int]
    shift: int
    append_time: int | None
    last_offset: int

    @property
    def record_count(self) -> int:
        return len(self.starts) - 1


def read_records(buf: Buffer, pos: int, limit: int = DEFAULT_LIMIT) -> list[LegacyRecord]:
    """The records of the whole entry at `pos`, with absolute offsets.

    limit: how many bytes they may have once decompressed. Raises CorruptBatch, OversizedBatch beyond the limit. A wrong
    checksum is no error: is_valid says so.
    """
    contents = open_entry(buf, pos, limit)
    return parse_entries(contents, 0, contents.record_count)


def iter_record_pieces(
    buf: Buffer, pos: int, *, limit: int = DEFAULT_LIMIT, at_once: int = AT_ONCE
) -> Iterator[list[LegacyRecord]]:
    """As read_records, at most `at_once` in a list: memory for the plain bytes and one list."""
    contents = open_entry(buf, pos, limit)
    for first in range(0, contents.record_count, at_once):
        yield parse_entries(contents, first, first + at_once)


class SetOutline(NamedTuple):
    """What the heads of the entries of a message set say.

    size: bytes of the whole entries. largest: of the largest one. magic: of the first; other_magic: of the first entry
    that differs, None when there is none. codec_id: of the last compressed one, else 0. has_append_time: whether any
    says that the broker's clock has stamped it.
    """

    entry_count: int
    size: int
    largest: int
    magic: int
    other_magic: int | None
    codec_id: int
    has_append_time: bool


def outline(buf: Buffer, *, pause: Callable[[], None] = no_pause) -> SetOutline:
    """The whole entries in `buf`; raises CorruptBatch where the next one cannot be one. Checksums are not looked at.

    pause: called every AT_ONCE entries; may raise.
    """
    pos, end = 0, len(buf)
    count = largest = codec_id = 0
    magic, other_magic, stamped = -1, None, 0
    while end - pos > SIZE_UP_TO_MAGIC:
        size = _unpack_place(buf, pos)[1] + LOG_OVERHEAD
        if size < LOG_OVERHEAD + legacy.SMALLEST_ENTRY[0]:
            raise CorruptBatch(f"entry size {size - LOG_OVERHEAD} is below {legacy.SMALLEST_ENTRY[0]}", pos)
        if size > end - pos:
            break
        if buf[pos + 16] != magic:
            if magic < 0:
                magic = buf[pos + 16]
            elif other_magic is None:
                other_magic = buf[pos + 16]
        attributes = buf[pos + 17]
        if attributes & CODEC_MASK:
            codec_id = attributes & CODEC_MASK
        stamped |= attributes
        if size > largest:
            largest = size
        count += 1
        pos += size
        if not count % AT_ONCE:
            pause()
    has_append_time = magic == 1 and stamped & LOG_APPEND_TIME_FLAG != 0
    return SetOutline(count, pos, largest, magic, other_magic, codec_id, has_append_time)


def open_entry(
    buf: Buffer, pos: int, limit: int = DEFAULT_LIMIT, *, pause: Callable[[], None] = no_pause
) -> EntryContents:
    """What the whole entry at `pos` holds, its records found but not read; raises as read_records.

    An incomplete entry at the end of a wrapper is left out, as Apache Kafka 2.8.2 does.
    pause: called every AT_ONCE records, for walks beside an event loop; may raise.
    """
    entry, end = _whole_entry(buf, pos)
    codec = _codec_of(entry, pos)
    if codec is Codec.NONE:
        data = bytes(buf[pos:end])
        return EntryContents(data, array("q", (0, len(data))), 0, None, entry.offset)
    data = _unwrapped(buf, pos, end, entry.magic, codec, limit)
    starts = _hop(data, pos, pause)
    last_inner = _unpack_place(data, starts[-2])[0]
    if entry.magic == 0:
        return EntryContents(data, starts, 0, None, last_inner)
    append_time = entry.timestamp if entry.attributes & LOG_APPEND_TIME_FLAG else None
    # Some producers leave the wrapper's offset at 0; the records inside count from 0 then.
    if 0 != entry.offset < last_inner:
        raise CorruptBatch(f"offset {entry.offset} of a wrapper is below {last_inner}, the last one inside", pos)
    shift = entry.offset - last_inner if entry.offset else 0
    return EntryContents(data, starts, shift, append_time, last_inner + shift)


def open_run(buf: Buffer, pos: int, end: int, most: int = AT_ONCE) -> tuple[EntryContents, int] | None:
    """The uncompressed entries from `pos` on, at most `most`, as one set, and the position behind them.

    It ends before a wrapper, a batch of format 2, an incomplete entry or `end`; None when there is no entry before.
    """
    starts = array("q", (0,))
    at = pos
    while len(starts) <= most and end - at > SIZE_UP_TO_MAGIC:
        offset, size = _unpack_place(buf, at)
        magic = buf[at + 16]
        if magic > 1 or size < legacy.SMALLEST_ENTRY[magic] or buf[at + 17] & CODEC_MASK:
            break
        if at + size + LOG_OVERHEAD > end:
            break
        at += size + LOG_OVERHEAD
        starts.append(at - pos)
        last_offset = offset
    if at == pos:
        return None
    return EntryContents(bytes(buf[pos:at]), starts, 0, None, last_offset), at


def parse_entries(contents: EntryContents, first: int, past: int) -> list[LegacyRecord]:
    """The records number `first` to `past` (exclusive, or the last one); raises CorruptBatch."""
    data, starts, shift, append_time, _ = contents
    records: list[LegacyRecord] = []
    add, new, checksum = records.append, tuple.__new__, zlib.crc32
    places = starts[first : past + 1]
    pos = 0
    try:
        for number in range(len(places) - 1):
            pos, end = places[number], places[number + 1]
            if data[pos + 16] == 1:
                offset, _, crc, _, attributes, timestamp, length = _FRONT_1.unpack_from(data, pos)
                at = pos + _FRONT_1.size
                if append_time is not None:
                    timestamp = append_time
            else:
                offset, _, crc, _, attributes, length = _FRONT_0.unpack_from(data, pos)
                timestamp = NO_TIMESTAMP
                at = pos + _FRONT_0.size
            if attributes & CODEC_MASK:
                raise CorruptBatch("a compressed entry is inside a compressed entry", pos)
            if length < 0:
                key = None
            else:
                key = data[at : at + length]
                at += length
            (length,) = _unpack_length(data, at)
            at += 4
            if length < 0:
                value = None
            else:
                value = data[at : at + length]
                at += length
            if at > end:
                raise CorruptBatch("an entry does not end where its lengths say", pos)
            is_valid = checksum(data[pos + _CRC_START : end]) == crc
            add(new(LegacyRecord, (offset + shift, timestamp, key, value, crc, is_valid)))
    except struct.error:
        raise CorruptBatch("an entry does not end where its lengths say", pos) from None
    return records


def _whole_entry(buf: Buffer, pos: int) -> tuple[legacy.LegacyEntry, int]:
    """The head of the entry at `pos`, and where it ends; all of it is there."""
    left = len(buf) - pos
    if left <= SIZE_UP_TO_MAGIC:
        raise CorruptBatch(f"{left} bytes are too few for an entry", pos)
    size = _check_entry(buf, pos, pos)
    if size > left:
        raise CorruptBatch(f"an entry of {size} bytes has only {left}", pos)
    return legacy.read_entry(buf, pos), pos + size


def _check_entry(buf: Buffer, at: int, pos: int) -> int:
    """The size of the entry at `at`, overhead included. pos: of the outer entry."""
    size: int = _unpack_place(buf, at)[1]
    magic = buf[at + 16]
    if magic > 1:
        raise CorruptBatch(f"an entry of format {magic} among older ones", pos)
    if size < legacy.SMALLEST_ENTRY[magic]:
        raise CorruptBatch(f"entry size {size} is below {legacy.SMALLEST_ENTRY[magic]}", pos)
    return size + LOG_OVERHEAD


def _codec_of(entry: legacy.LegacyEntry, pos: int) -> Codec:
    codec_id = entry.attributes & CODEC_MASK
    if codec_id > Codec.LZ4:
        raise CorruptBatch(f"compression id {codec_id} does not exist in format {entry.magic}", pos)
    return Codec(codec_id)


def _unwrapped(buf: Buffer, pos: int, end: int, magic: int, codec: Codec, limit: int) -> bytes:
    """The entries inside the wrapper between `pos` and `end`, decompressed."""
    at = pos + legacy.ENTRY_HEADER_SIZE[magic]
    (key_length,) = _unpack_length(buf, at)
    at += 4 + max(key_length, 0)
    if at + 4 > end:
        raise CorruptBatch("an entry does not end where its lengths say", pos)
    (length,) = _unpack_length(buf, at)
    if length < 0:
        raise CorruptBatch("a compressed entry has no value", pos)
    if at + 4 + length > end:
        raise CorruptBatch("an entry does not end where its lengths say", pos)
    try:
        return decompress(codec, buf[at + 4 : at + 4 + length], limit, magic=magic)
    except LimitExceeded as error:
        raise OversizedBatch(str(error), pos) from error
    except DecompressionError as error:
        raise CorruptBatch(str(error), pos) from error


def _hop(data: bytes, pos: int, pause: Callable[[], None]) -> array[int]:
    """Where each entry inside a wrapper begins, and last where the last one ends. pos: of the wrapper."""
    starts = array("q", (0,))
    at, size = 0, len(data)
    while size - at > SIZE_UP_TO_MAGIC:
        end = at + _check_entry(data, at, pos)
        if end > size:
            break
        starts.append(end)
        at = end
        if len(starts) % AT_ONCE == 0:
            pause()
    if not at:
        raise CorruptBatch("a compressed entry holds nothing", pos)
    return starts
