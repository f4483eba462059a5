"""The v2 record batch: its header, its records, and the few fields that a broker rewrites in place.

Knows bytes only; which offsets or times are right is decided above (log/validation/validation.py). What a record looks
like inside is in record.py; entries of formats 0 and 1 are recognised and walked over (legacy.py).
Source: docs/reference/record-formats.md, section 1; KIP-98.

Layout: 61 bytes, big-endian: base_offset i64, batch_length i32 (bytes after it), partition_leader_epoch i32,
magic i8, crc u32 (CRC-32C from attributes to the end), attributes i16, last_offset_delta i32, base_timestamp i64,
max_timestamp i64, producer_id i64, producer_epoch i16, base_sequence i32, record_count i32; then the records,
compressed as a whole when a codec is set.
"""

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.records import legacy
from kafka_py.records.compression import DEFAULT_LIMIT, Codec, DecompressionError, LimitExceeded, decompress
from kafka_py.records.crc32c import crc32c
from kafka_py.records.record import Header as Header
from kafka_py.records.record import Record as Record
from kafka_py.records.record import check_end, parse_records, parse_some

Buffer = bytes | bytearray | memoryview

HEADER_SIZE = 61
# Offset and size fields, which batch_length does not count; the same in all formats.
LOG_OVERHEAD = 12
# Bytes that must be there to tell the format of an entry.
SIZE_UP_TO_MAGIC = 17
MAGIC = 2

NO_TIMESTAMP = legacy.NO_TIMESTAMP
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_LEADER_EPOCH = -1

CODEC_MASK = 0x07
LOG_APPEND_TIME_FLAG = 0x08
TRANSACTIONAL_FLAG = 0x10
CONTROL_FLAG = 0x20

HEADER = struct.Struct(">qiibIhiqqqhii")
CRC_START = 21

_SMALLEST_LENGTH = HEADER_SIZE - LOG_OVERHEAD
_SMALLEST_SIZE_FIELD = legacy.SMALLEST_ENTRY[0]
_INT32 = struct.Struct(">i")
_OFFSET = struct.Struct(">q")
_CRC = struct.Struct(">I")
_ATTRIBUTES = struct.Struct(">h")

_unpack_header = HEADER.unpack_from
_new = tuple.__new__


class CorruptBatch(Exception):
    """Bytes that are no whole, sound batch.

    reason: what is wrong, for people.
    position: where the batch starts in the buffer that was given; None when only its header was.
    """

    def __init__(self, reason: str, position: int | None = None) -> None:
        super().__init__(reason, position)
        self.reason = reason
        self.position = position

    def __str__(self) -> str:
        return self.reason if self.position is None else f"{self.reason} (batch at position {self.position})"


class OversizedBatch(CorruptBatch):
    """A batch whose records hold more bytes, once decompressed, than the caller allows."""


class TimestampType(IntEnum):
    """Who set the timestamps of a batch. Format 0 has none."""

    NO_TIMESTAMP_TYPE = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class BatchHeader(NamedTuple):
    """The header as it stands. For an entry of format 0 or 1: base_offset is the entry's own offset,
    record_count -1 (unknown), and what the format lacks reads as -1."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_bytes(self) -> int:
        return self.batch_length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec_id(self) -> int:
        """0 to 7; 5 to 7 mean nothing."""
        return self.attributes & CODEC_MASK

    @property
    def codec(self) -> Codec:
        """Raises CorruptBatch for the ids 5 to 7."""
        codec_id = self.attributes & CODEC_MASK
        try:
            return _CODECS[codec_id]
        except IndexError:
            raise CorruptBatch(f"compression id {codec_id} does not exist") from None

    @property
    def timestamp_type(self) -> TimestampType:
        if self.magic == 0:
            return TimestampType.NO_TIMESTAMP_TYPE
        return TimestampType.LOG_APPEND_TIME if self.attributes & LOG_APPEND_TIME_FLAG else TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return self.magic == MAGIC and self.attributes & TRANSACTIONAL_FLAG != 0

    @property
    def is_control(self) -> bool:
        return self.magic == MAGIC and self.attributes & CONTROL_FLAG != 0

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    @property
    def last_sequence(self) -> int:
        """Sequences go on at 0 after 2147483647; NO_SEQUENCE when the batch has none."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF


_CODECS = tuple(Codec)


def read_header(buf: Buffer, pos: int = 0) -> BatchHeader:
    """The header at `pos`; the records behind it need not be there.

    Raises CorruptBatch when the header is cut short, its size is impossible or its magic unknown.
    """
    try:
        header: BatchHeader = _new(BatchHeader, _unpack_header(buf, pos))
    except struct.error:
        return _read_unusual_header(buf, pos)
    if header[3] != MAGIC or header[1] < _SMALLEST_LENGTH:
        return _read_unusual_header(buf, pos)
    return header


def _read_unusual_header(buf: Buffer, pos: int) -> BatchHeader:
    """The header of an entry of format 0 or 1, or the reason why there is none."""
    left = len(buf) - pos
    if left < SIZE_UP_TO_MAGIC:
        raise CorruptBatch(f"{left} bytes are too few for a batch header", pos)
    size = _check_size(buf, pos)
    magic = _check_magic(buf, pos)
    if magic == MAGIC and size < _SMALLEST_LENGTH:
        raise CorruptBatch(f"batch length {size} is below {_SMALLEST_LENGTH}", pos)
    if magic < MAGIC and size < legacy.SMALLEST_ENTRY[magic]:
        raise CorruptBatch(f"entry size {size} is below {legacy.SMALLEST_ENTRY[magic]}", pos)
    if magic == MAGIC or left < legacy.ENTRY_HEADER_SIZE[magic]:
        raise CorruptBatch(f"{left} bytes are too few for a batch header", pos)
    entry = legacy.read_entry(buf, pos)
    return BatchHeader(
        entry.offset, entry.size, NO_LEADER_EPOCH, entry.magic, entry.crc, entry.attributes, 0,
        entry.timestamp, entry.timestamp, NO_PRODUCER_ID, NO_PRODUCER_EPOCH, NO_SEQUENCE, -1,
    )  # fmt: skip


def _check_size(buf: Buffer, pos: int) -> int:
    size: int = _INT32.unpack_from(buf, pos + 8)[0]
    if size < _SMALLEST_SIZE_FIELD:
        raise CorruptBatch(f"size {size} is below {_SMALLEST_SIZE_FIELD}", pos)
    return size


def _check_magic(buf: Buffer, pos: int) -> int:
    magic = buf[pos + 16]
    if magic > MAGIC:
        raise CorruptBatch(f"magic {magic} does not exist", pos)
    return magic


def iter_headers(buf: Buffer, pos: int = 0, end: int | None = None) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of every whole batch between `pos` and `end`; an incomplete one at the end is left out.

    Raises CorruptBatch at the first header that cannot be one; checksums are not looked at.
    """
    if end is None:
        end = len(buf)
    while end - pos >= LOG_OVERHEAD:
        size = _check_size(buf, pos) + LOG_OVERHEAD
        if end - pos < SIZE_UP_TO_MAGIC:
            return
        _check_magic(buf, pos)
        if end - pos < size:
            return
        yield pos, read_header(buf, pos)
        pos += size


def verify_crc(buf: Buffer, pos: int = 0, header: BatchHeader | None = None) -> None:
    """Raises CorruptBatch when the batch at `pos` is not all there or its checksum does not fit.

    header: what read_header gave, where it is at hand.
    """
    if header is None:
        header = read_header(buf, pos)
    end = pos + header.batch_length + LOG_OVERHEAD
    if end > len(buf):
        raise CorruptBatch(f"batch of {header.size_bytes} bytes has only {len(buf) - pos}", pos)
    actual = computed_crc(buf, pos, header)
    if actual != header.crc:
        raise CorruptBatch(f"checksum is {actual}, stored is {header.crc}", pos)


def computed_crc(buf: Buffer, pos: int, header: BatchHeader) -> int:
    """What the crc field of the batch at `pos`, which is all there, should say."""
    end = pos + header.batch_length + LOG_OVERHEAD
    return _checksum(buf, pos, end) if header.magic == MAGIC else legacy.checksum(buf, pos, end)


def _checksum(buf: Buffer, pos: int, end: int) -> int:
    with memoryview(buf)[pos + CRC_START : end] as covered:
        return int(crc32c(covered))


def stamp_offset(buf: bytearray | memoryview, pos: int, base_offset: int, leader_epoch: int) -> None:
    """Write both into the v2 batch at `pos`. They lie outside the checksum.

    Raises KafkaError(UNSUPPORTED_FOR_MESSAGE_FORMAT) for older formats, which keep other things in those bytes.
    """
    if buf[pos + 16] != MAGIC:
        _refuse_to_stamp(buf[pos + 16])
    _OFFSET.pack_into(buf, pos, base_offset)
    _INT32.pack_into(buf, pos + 12, leader_epoch)


def stamp_log_append_time(buf: bytearray | memoryview, pos: int, now_ms: int) -> None:
    """Make `now_ms` the timestamp of every record of the v2 batch at `pos`, checksum included."""
    stamp_max_timestamp(buf, pos, TimestampType.LOG_APPEND_TIME, now_ms)


def stamp_max_timestamp(
    buf: bytearray | memoryview, pos: int, timestamp_type: TimestampType, max_timestamp: int
) -> None:
    """Set type and largest timestamp of the v2 batch at `pos`; the checksum follows if that changes anything.

    Raises KafkaError(UNSUPPORTED_FOR_MESSAGE_FORMAT) for older formats.
    """
    header = read_header(buf, pos)
    if header.magic != MAGIC:
        _refuse_to_stamp(header.magic)
    if header.timestamp_type == timestamp_type and header.max_timestamp == max_timestamp:
        return
    attributes = header.attributes & ~LOG_APPEND_TIME_FLAG
    if timestamp_type is TimestampType.LOG_APPEND_TIME:
        attributes |= LOG_APPEND_TIME_FLAG
    _ATTRIBUTES.pack_into(buf, pos + CRC_START, attributes)
    _OFFSET.pack_into(buf, pos + 35, max_timestamp)
    _stamp_crc(buf, pos, header)


def _stamp_crc(buf: bytearray | memoryview, pos: int, header: BatchHeader) -> None:
    _CRC.pack_into(buf, pos + 17, _checksum(buf, pos, pos + header.size_bytes))


def _refuse_to_stamp(magic: int) -> None:
    raise KafkaError(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, f"a batch of message format {magic} cannot be stamped")


def iter_records(buf: Buffer, pos: int = 0) -> Iterator[Record]:
    """The records of the batch at `pos`; raises as decode_records, at once."""
    return iter(decode_records(buf, pos))


def decode_records(
    buf: Buffer, pos: int = 0, *, header: BatchHeader | None = None, limit: int = DEFAULT_LIMIT
) -> list[Record]:
    """All records of the batch at `pos`, keys and values copied out. The checksum is not looked at (verify_crc).

    header: what read_header gave, where it is at hand.
    limit: how many bytes the records may have once decompressed.
    Raises CorruptBatch, and KafkaError(UNSUPPORTED_FOR_MESSAGE_FORMAT) for formats 0 and 1.
    """
    if header is None:
        header = read_header(buf, pos)
    if header.magic != MAGIC:
        legacy.refuse(header.magic)
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME_FLAG else None
    data = records_payload(buf, pos, header, limit)
    try:
        return parse_records(data, header.record_count, header.base_offset, header.base_timestamp, append_time)
    except IndexError:
        raise CorruptBatch(f"records end before record {header.record_count} does", pos) from None
    except ValueError as e:
        raise CorruptBatch(str(e), pos) from e


def iter_record_pieces(
    buf: Buffer, pos: int = 0, *, header: BatchHeader, limit: int = DEFAULT_LIMIT, at_once: int = 1000
) -> Iterator[list[Record]]:
    """The records of the batch at `pos`, at most `at_once` in a list: memory for the plain bytes and one list.

    Raises as decode_records, where the records are decoded: the lists before that were good.
    """
    if header.magic != MAGIC:
        legacy.refuse(header.magic)
    data = records_payload(buf, pos, header, limit)
    yield from iter_plain_records(data, header, at_once)


def iter_plain_records(data: bytes, header: BatchHeader, at_once: int = 1000) -> Iterator[list[Record]]:
    """As iter_record_pieces, for a record section that has been decompressed (records_payload)."""
    count = header.record_count
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME_FLAG else None
    at = 0
    try:
        for first in range(0, count, at_once):
            piece, at = parse_some(
                data, at, min(at_once, count - first), header.base_offset, header.base_timestamp, append_time
            )
            yield piece
        check_end(data, at, count)
    except IndexError:
        raise CorruptBatch(f"records end before record {count} does") from None
    except ValueError as e:
        raise CorruptBatch(str(e)) from e


def records_payload(buf: Buffer, pos: int, header: BatchHeader, limit: int = DEFAULT_LIMIT) -> bytes:
    """The records section of the v2 batch at `pos`, decompressed.

    Raises CorruptBatch when the batch is not all there or its codec cannot read it, OversizedBatch (a CorruptBatch)
        beyond `limit` bytes.
    """
    end = pos + header.size_bytes
    if end > len(buf):
        raise CorruptBatch(f"batch of {header.size_bytes} bytes has only {len(buf) - pos}", pos)
    payload = bytes(buf[pos + HEADER_SIZE : end])
    codec = header.codec
    # A batch that compaction emptied keeps its codec, but there is nothing to decompress.
    if codec is Codec.NONE or not payload:
        return payload
    try:
        return decompress(codec, payload, limit)
    except LimitExceeded as e:
        raise OversizedBatch(str(e), pos) from e
    except DecompressionError as e:
        raise CorruptBatch(str(e), pos) from e
