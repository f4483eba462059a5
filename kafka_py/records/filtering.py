"""A v2 batch without some of its records: what selects them is read, and the bytes of the others are copied.

For compaction, which needs of a record its offset, its key and whether it has a value. Checks the records section as
record.parse_records does, and makes no record objects. Knows nothing of logs.
Source: docs/reference/log.md, section 15; MemoryRecords.filterTo. Layout: see record.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import lt
from typing import NamedTuple

from kafka_py.records import legacy
from kafka_py.records.batch import (
    CODEC_MASK,
    CONTROL_FLAG,
    LOG_APPEND_TIME_FLAG,
    MAGIC,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    Buffer,
    CorruptBatch,
    records_payload,
)
from kafka_py.records.builder import with_records
from kafka_py.records.compression import Codec, compress
from kafka_py.records.record import MalformedRecords, check_end
from kafka_py.records.survey import AT_ONCE, INT64_MAX
from kafka_py.records.varints import INT64_BITS, SHORT_VARINTS, encode_varint, read_unsigned, read_varint

_KNOWN_ATTRIBUTES = CODEC_MASK | LOG_APPEND_TIME_FLAG | TRANSACTIONAL_FLAG | CONTROL_FLAG


class RecordOutlines(NamedTuple):
    """Some records of a batch that follow each other, as columns of the same length.

    timestamp_deltas: as stored, to the batch's base timestamp. rests: position of the offset delta, which follows the
    timestamp delta. ends: position behind the record. tombstones: indexes of the records without a value.
    data: the plain record section, to which the positions belong. start: where the first record begins.
    """

    offsets: list[int]
    keys: list[bytes | None]
    timestamp_deltas: list[int]
    rests: list[int]
    ends: list[int]
    tombstones: list[int]
    data: bytes
    start: int


def outline_records(data: bytes, pos: int, count: int, base_offset: int) -> RecordOutlines:
    """The next `count` records from `pos` on; raises as record.parse_records.

    One flat loop with the varints of one and two bytes read in place, as in record.parse_some.
    """
    found = RecordOutlines([], [], [], [], [], [], data, pos)
    add_offset, add_key, add_delta = found.offsets.append, found.keys.append, found.timestamp_deltas.append
    add_rest, add_end = found.rests.append, found.ends.append
    size = len(data)
    for index in range(count):
        if (z := data[pos]) < 128:
            pos += 1
        elif (b := data[pos + 1]) < 128:
            z += (b << 7) - 128
            pos += 2
        else:
            z, pos = read_unsigned(data, pos)
        end = pos + (z >> 1)
        if z & 1 or end > size:
            raise MalformedRecords("a record is longer than what is left of its batch")
        pos += 1  # attributes, which mean nothing yet
        if (z := data[pos]) < 128:
            pos += 1
        elif (b := data[pos + 1]) < 128:
            z += (b << 7) - 128
            pos += 2
        else:
            z, pos = read_unsigned(data, pos, INT64_BITS)
        add_delta(z >> 1 ^ -(z & 1))
        add_rest(pos)
        if (z := data[pos]) < 128:
            pos += 1
        elif (b := data[pos + 1]) < 128:
            z += (b << 7) - 128
            pos += 2
        else:
            z, pos = read_unsigned(data, pos)
        add_offset(base_offset + (z >> 1 ^ -(z & 1)))
        if (z := data[pos]) < 128:
            pos += 1
        elif (b := data[pos + 1]) < 128:
            z += (b << 7) - 128
            pos += 2
        else:
            z, pos = read_unsigned(data, pos)
        if z & 1:
            add_key(None)
        else:
            key_start = pos
            pos += z >> 1
            add_key(data[key_start:pos])
        if (z := data[pos]) < 128:
            pos += 1
        elif (b := data[pos + 1]) < 128:
            z += (b << 7) - 128
            pos += 2
        else:
            z, pos = read_unsigned(data, pos)
        if z & 1:
            found.tombstones.append(index)
        else:
            pos += z >> 1
        pos = pos + 1 if data[pos] == 0 else _after_headers(data, pos, end)
        if pos != end:
            raise MalformedRecords("a record does not end where its length says")
        add_end(end)
    return found


def _after_headers(data: bytes, pos: int, end: int) -> int:
    """The position behind the headers at `pos` of the record that ends at `end`; raises as record.parse_headers."""
    count, pos = read_varint(data, pos)
    if not 0 <= count <= end - pos:
        raise MalformedRecords(f"a record says it has {count} headers")
    for _ in range(count):
        length, pos = read_varint(data, pos)
        if length < 0:
            raise MalformedRecords("a header has no key")
        length, pos = read_varint(data, pos + length)
        pos += max(length, 0)
    return pos


def iter_outlines(batch: Buffer, header: BatchHeader, at_once: int = AT_ONCE) -> Iterator[RecordOutlines]:
    """The records of a v2 batch, at most `at_once` together. The checksum is not verified (batch.verify_crc).

    Raises CorruptBatch where the records are reached that are malformed, and KafkaError(UNSUPPORTED_FOR_MESSAGE_FORMAT)
    for formats 0 and 1.
    """
    if header.magic != MAGIC:
        legacy.refuse(header.magic)
    data = records_payload(batch, 0, header)
    count, pos = header.record_count, 0
    try:
        for first in range(0, count, at_once):
            found = outline_records(data, pos, min(at_once, count - first), header.base_offset)
            pos = found.ends[-1]
            yield found
        check_end(data, pos, count)
    except IndexError:
        raise CorruptBatch(f"records end before record {count} does") from None
    except ValueError as error:
        raise CorruptBatch(str(error)) from error


Kept = Callable[[], Iterable[tuple[RecordOutlines, list[int]]]]
"""Reads the records of a batch, in order, each list with the indexes of those that stay; at least one does."""


class _TooFarApart(Exception):
    """The timestamps of two records differ by more than a delta holds."""


def batch_of(header: BatchHeader, kept: Kept) -> bytes:
    """The batch with only these records: their offsets and the batch's base and last offset do not change.

    header: of the batch. The first of the records becomes the base timestamp, as in Apache Kafka 2.8.2. Where another
    timestamp is too far from it for a delta of 64 bits, the base does not change: `kept` is called twice then.
    Raises CorruptBatch when there is none, their offsets do not rise or a timestamp has more than 64 bits.
    """
    try:
        return _batch_of(header, kept(), is_base_moved=True)
    except _TooFarApart:
        return _batch_of(header, kept(), is_base_moved=False)


def _batch_of(
    header: BatchHeader, kept: Iterable[tuple[RecordOutlines, list[int]]], *, is_base_moved: bool
) -> bytes:
    """As batch_of. is_base_moved: the first record becomes the base timestamp. Raises _TooFarApart as well."""
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME_FLAG else None
    body = bytearray()
    first_delta: int | None = None
    largest_delta = smallest_delta = count = 0
    last_offset = header.base_offset - 1
    for records, indexes in kept:
        if not indexes:
            continue
        offsets = [last_offset, *(records.offsets[index] for index in indexes)]
        if not all(map(lt, offsets, offsets[1:])):
            raise CorruptBatch(f"offsets do not rise after {last_offset}")
        last_offset = offsets[-1]
        deltas = [records.timestamp_deltas[index] for index in indexes]
        if first_delta is None:
            largest_delta = smallest_delta = deltas[0]
            first_delta = deltas[0] if is_base_moved else 0
        largest_delta, smallest_delta = max(largest_delta, *deltas), min(smallest_delta, *deltas)
        if append_time is not None:
            body += _with_deltas(records, indexes, [0] * len(deltas)) if any(deltas) else _copied(records, indexes)
        elif first_delta:
            if largest_delta - first_delta > INT64_MAX or smallest_delta - first_delta < -1 - INT64_MAX:
                raise _TooFarApart
            body += _with_deltas(records, indexes, [delta - first_delta for delta in deltas])
        else:
            body += _copied(records, indexes)
        count += len(indexes)
    if not count:
        raise CorruptBatch("none of the records of a batch is left")
    base = header.base_timestamp
    if append_time is not None:
        base_timestamp = max_timestamp = append_time
    elif base + largest_delta > INT64_MAX or base + smallest_delta < -1 - INT64_MAX:
        raise CorruptBatch("a record's timestamp is out of range")
    else:
        base_timestamp, max_timestamp = base + (first_delta or 0), base + largest_delta
    made = header._replace(
        attributes=header.attributes & _KNOWN_ATTRIBUTES, base_timestamp=base_timestamp, record_count=count
    )
    codec = header.codec
    return bytes(with_records(made, codec, body if codec is Codec.NONE else compress(codec, body, None), max_timestamp))


def _copied(records: RecordOutlines, indexes: list[int]) -> bytes:
    """The bytes of these records, unchanged."""
    data, ends = records.data, records.ends
    if len(indexes) == len(ends):
        return data[records.start : ends[-1]]
    starts = [records.start, *ends]
    return b"".join([data[starts[index] : ends[index]] for index in indexes])


def _with_deltas(records: RecordOutlines, indexes: list[int], deltas: list[int]) -> bytes:
    """The bytes of these records with other timestamp deltas."""
    data, rests, ends = records.data, records.rests, records.ends
    parts: list[bytes] = []
    for index, delta in zip(indexes, deltas, strict=True):
        rest = data[rests[index] : ends[index]]
        encoded = SHORT_VARINTS[delta] if 0 <= delta < len(SHORT_VARINTS) else encode_varint(delta)
        parts += (encode_varint(1 + len(encoded) + len(rest)), b"\0", encoded, rest)
    return b"".join(parts)
