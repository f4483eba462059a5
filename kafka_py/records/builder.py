"""Grows a v2 batch record by record: for producers, control markers, rewrites by the log, and tests.

`append` writes the record's bytes at once, so the size is exact at any time and nothing is walked twice; `build` adds
the header, and compresses if asked to. Layout: see batch.py (header) and record.py (records).
"""

from collections.abc import Iterable
from struct import Struct

from kafka_py.records.batch import (
    CODEC_MASK,
    CONTROL_FLAG,
    CRC_START,
    HEADER,
    HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    Header,
    TimestampType,
)
from kafka_py.records.compression import Codec, compress
from kafka_py.records.crc32c import crc32c
from kafka_py.records.varints import SHORT_VARINTS, encode_varint

Data = bytes | bytearray | memoryview

# Length 5, attributes 1, timestamp delta 10, offset delta 5, header count 5: what a record takes at most beside its
# key, value and headers; each of those has a length of its own.
_MAX_RECORD_OVERHEAD = 26
_MAX_LENGTH_SIZE = 5
_FARTHEST_MS = (1 << 63) - 1

_CRC = Struct(">I")
_CRC_POSITION = 17


def record_size_bound(key: Data | None, value: Data | None, headers: Iterable[Header] = ()) -> int:
    """What one record adds to a batch at most, uncompressed."""
    size = _MAX_RECORD_OVERHEAD + 2 * _MAX_LENGTH_SIZE
    if key is not None:
        size += len(key)
    if value is not None:
        size += len(value)
    for name, content in headers:
        size += 2 * _MAX_LENGTH_SIZE + len(name.encode()) + (0 if content is None else len(content))
    return size


class BatchBuilder:
    """One batch in the making. The header fields are plain attributes, and may be set up to `build`.

    base_offset: of the batch; `append` counts on from it.
    log_append_time_ms: the timestamp of all records when timestamp_type says so.
    level: of the codec; None is Kafka's default.
    compression_ratio: compressed by uncompressed size, as the caller has lately seen it; only estimated_size uses it.
    """

    __slots__ = (
        "_records", "base_offset", "base_sequence", "base_timestamp", "codec", "compression_ratio", "control",
        "last_offset_delta", "leader_epoch", "level", "log_append_time_ms", "max_timestamp", "producer_epoch",
        "producer_id", "record_count", "timestamp_type", "transactional",
    )  # fmt: skip

    def __init__(
        self,
        codec: Codec = Codec.NONE,
        *,
        base_offset: int = 0,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        log_append_time_ms: int = NO_TIMESTAMP,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        transactional: bool = False,
        control: bool = False,
        leader_epoch: int = NO_LEADER_EPOCH,
        level: int | None = None,
        compression_ratio: float = 1.0,
    ) -> None:
        self.codec = codec
        self.base_offset = base_offset
        self.timestamp_type = timestamp_type
        self.log_append_time_ms = log_append_time_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.transactional = transactional
        self.control = control
        self.leader_epoch = leader_epoch
        self.level = level
        self.compression_ratio = compression_ratio
        self.record_count = 0
        self.last_offset_delta = -1
        self.base_timestamp = NO_TIMESTAMP
        self.max_timestamp = NO_TIMESTAMP
        # Header and records; the header's bytes are written by `build`.
        self._records = bytearray(HEADER_SIZE)

    def append(self, timestamp: int, key: Data | None, value: Data | None, headers: Iterable[Header] = ()) -> None:
        """Add a record at the next offset.

        TypeError, and nothing changed, when key or value is not bytes; ValueError when the timestamp is too far from
        that of the first record for a delta of 64 bits.
        """
        delta = self.last_offset_delta + 1
        base_timestamp = self.base_timestamp if delta else timestamp
        short = SHORT_VARINTS
        try:
            # No headers, no number negative or longer than two bytes: most records by far. Else an IndexError.
            if headers or value is None or timestamp < base_timestamp:
                raise IndexError
            if key is None:
                fields: tuple[Data, ...] = (
                    b"\0", short[timestamp - base_timestamp], short[delta], b"\1", short[len(value)], value, b"\0"
                )  # fmt: skip
            else:
                fields = (
                    b"\0", short[timestamp - base_timestamp], short[delta], short[len(key)], key, short[len(value)],
                    value, b"\0",
                )  # fmt: skip
            body = b"".join(fields)
            length = short[len(body)]
        except IndexError:
            if not -_FARTHEST_MS - 1 <= timestamp - base_timestamp <= _FARTHEST_MS:
                detail = f"timestamp {timestamp} is too far from {base_timestamp}, the first of its batch"
                raise ValueError(detail) from None
            body = _encode_record(timestamp - base_timestamp, delta, key, value, headers)
            length = encode_varint(len(body))
        records = self._records
        records += length
        records += body
        if delta == 0:
            self.base_timestamp = self.max_timestamp = timestamp
        elif timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
        self.last_offset_delta = delta
        self.record_count += 1

    def append_at(
        self, offset: int, timestamp: int, key: Data | None, value: Data | None, headers: Iterable[Header] = ()
    ) -> None:
        """Add a record at `offset`, above the last one's: for rewrites that keep gaps."""
        if offset <= self.base_offset + self.last_offset_delta:
            raise ValueError(f"offset {offset} is not above {self.base_offset + self.last_offset_delta}")
        before = self.last_offset_delta
        first = self.record_count == 0
        if first:
            self.base_timestamp = self.max_timestamp = timestamp
        self.last_offset_delta = offset - self.base_offset - 1
        try:
            self.append(timestamp, key, value, headers)
        except (TypeError, ValueError):
            self.last_offset_delta = before
            raise

    def extend(self, timestamp: int, records: Data, count: int) -> None:
        """Add `count` records that were encoded elsewhere: offset deltas from 0 on, timestamp deltas 0.

        Raises ValueError unless the batch is empty.
        """
        if self.record_count:
            raise ValueError("only an empty batch can be filled at once")
        self._records += records
        self.base_timestamp = self.max_timestamp = timestamp
        self.record_count = count
        self.last_offset_delta = count - 1

    @property
    def uncompressed_size(self) -> int:
        """Header included."""
        return len(self._records)

    @property
    def estimated_size(self) -> int:
        """What `build` returns in bytes: exact without a codec, else by compression_ratio."""
        if self.codec is Codec.NONE:
            return len(self._records)
        return HEADER_SIZE + int((len(self._records) - HEADER_SIZE) * self.compression_ratio)

    def build(self) -> bytes:
        """The batch; more may be appended, or header fields changed, and built again.

        Raises ValueError when it has no record.
        """
        if not self.record_count:
            raise ValueError("a batch needs a record")
        records = self._records
        if self.codec is Codec.NONE:
            return self._finish(records)
        with memoryview(records)[HEADER_SIZE:] as plain:
            compressed = compress(self.codec, plain, self.level)
        return self._finish(bytearray(HEADER_SIZE) + compressed)

    def _finish(self, batch: bytearray) -> bytes:
        """`batch` with its header filled in."""
        attributes = int(self.codec)
        max_timestamp = self.max_timestamp
        if self.timestamp_type is TimestampType.LOG_APPEND_TIME:
            attributes |= LOG_APPEND_TIME_FLAG
            max_timestamp = self.log_append_time_ms
        if self.transactional:
            attributes |= TRANSACTIONAL_FLAG
        if self.control:
            attributes |= CONTROL_FLAG
        header = BatchHeader(
            self.base_offset, len(batch) - LOG_OVERHEAD, self.leader_epoch, MAGIC, 0, attributes,
            self.last_offset_delta, self.base_timestamp, max_timestamp,
            self.producer_id, self.producer_epoch, self.base_sequence, self.record_count,
        )  # fmt: skip
        _write_header(batch, header)
        return bytes(batch)


def with_records(header: BatchHeader, codec: Codec, body: Data, max_timestamp: int) -> bytearray:
    """A batch of `header` with another record section.

    body: the section, compressed with `codec`; the header's count, base timestamp and producer fields must fit it.
    """
    batch = bytearray(HEADER_SIZE)
    batch += body
    made = header._replace(
        batch_length=len(batch) - LOG_OVERHEAD,
        attributes=header.attributes & ~CODEC_MASK | codec,
        max_timestamp=max_timestamp,
    )
    _write_header(batch, made)
    return batch


def empty_batch(header: BatchHeader) -> bytes:
    """`header` without its records: what compaction leaves of a batch whose last sequence must stay known.

    The header names no codec then: Java's readers would look for the beginning of a compressed stream.
    """
    batch = bytearray(HEADER_SIZE)
    left = header._replace(
        batch_length=HEADER_SIZE - LOG_OVERHEAD,
        attributes=header.attributes & ~CODEC_MASK,
        base_timestamp=NO_TIMESTAMP,
        record_count=0,
    )
    _write_header(batch, left)
    return bytes(batch)


def _write_header(batch: bytearray, header: BatchHeader) -> None:
    """Put `header` in front of the records in `batch`, with a new crc."""
    HEADER.pack_into(batch, 0, *header)
    with memoryview(batch)[CRC_START:] as covered:
        _CRC.pack_into(batch, _CRC_POSITION, crc32c(covered))


def _encode_record(
    timestamp_delta: int, offset_delta: int, key: Data | None, value: Data | None, headers: Iterable[Header]
) -> bytes:
    """A record behind its length, whatever its shape."""
    parts: list[Data] = [b"\0", encode_varint(timestamp_delta), encode_varint(offset_delta)]
    _add_nullable(parts, key)
    _add_nullable(parts, value)
    headers = tuple(headers)
    parts.append(encode_varint(len(headers)))
    for name, content in headers:
        _add_nullable(parts, name.encode())
        _add_nullable(parts, content)
    return b"".join(parts)


def _add_nullable(parts: list[Data], data: Data | None) -> None:
    if data is None:
        parts.append(b"\1")
    else:
        parts += (encode_varint(len(data)), data)
