"""Record batches as columns: whole batches decoded at once into NumPy arrays, for readers in bulk.

The lengths in front of the records must be hopped over one after the other, in a tight loop; everything else is read
for all records of all batches together: every other varint in a few array operations, keys and values gathered into
one buffer each with the offsets that Arrow expects. Several times the speed of one Record at a time (record.py), with
the same checks and the same results. Needs NumPy; nothing in the broker imports this file. Knows nothing of Arrow.
Source: docs/reference/record-formats.md, section 2.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafka_py.records.batch import (
    LOG_APPEND_TIME_FLAG,
    MAGIC,
    BatchHeader,
    Buffer,
    CorruptBatch,
    TimestampType,
    read_header,
    records_payload,
)
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import DEFAULT_LIMIT
from kafka_py.records.legacy_records import read_records
from kafka_py.records.record import Header, parse_headers
from kafka_py.records.varints import read_unsigned

Ints = NDArray[np.int64]

_MAX_SHIFT = 63
"""A varlong has ten bytes: nine of seven bits, and one."""

_LONGEST = 10


class Spans(NamedTuple):
    """Where one field of each record lies in the data; a length of -1 stands for null."""

    starts: Ints
    lengths: Ints


class Packed(NamedTuple):
    """A column of byte strings as Arrow lays it out: string i is data[offsets[i]:offsets[i+1]], and null if not valid.

    valid: None when no string is null.
    """

    offsets: NDArray[np.int32]
    data: NDArray[np.uint8]
    valid: NDArray[np.bool_] | None


class Columns(NamedTuple):
    """Records of one partition, in the order of their batches. All columns have the same length.

    data: what the spans point into; shared by every slice. headers_at: where each record's header count begins.
    timestamp_types, producer_ids: of the batch that each record was in.
    """

    offsets: Ints
    timestamps: Ints
    timestamp_types: NDArray[np.int32]
    producer_ids: Ints
    keys: Spans
    values: Spans
    headers_at: Ints
    ends: Ints
    data: bytes

    @property
    def record_count(self) -> int:
        return len(self.offsets)

    def between(self, start: int, end: int) -> Columns:
        """The records whose offset is at least `start` and below `end`; offsets rise, as in any log."""
        if not len(self.offsets) or (self.offsets[0] >= start and self.offsets[-1] < end):
            return self
        first, last = (int(at) for at in np.searchsorted(self.offsets, (start, end)))
        return self.slice(first, last)

    def slice(self, first: int, last: int) -> Columns:
        """Records number `first` to `last` (exclusive)."""
        part = slice(first, last)
        return Columns(
            self.offsets[part], self.timestamps[part], self.timestamp_types[part], self.producer_ids[part],
            Spans(self.keys.starts[part], self.keys.lengths[part]),
            Spans(self.values.starts[part], self.values.lengths[part]),
            self.headers_at[part], self.ends[part], self.data,
        )  # fmt: skip

    def where(self, chosen: NDArray[np.bool_]) -> Columns:
        """Only the chosen records."""
        return Columns(
            self.offsets[chosen], self.timestamps[chosen], self.timestamp_types[chosen], self.producer_ids[chosen],
            Spans(self.keys.starts[chosen], self.keys.lengths[chosen]),
            Spans(self.values.starts[chosen], self.values.lengths[chosen]),
            self.headers_at[chosen], self.ends[chosen], self.data,
        )  # fmt: skip

    def key(self, index: int) -> bytes | None:
        return self._bytes(self.keys, index)

    def value(self, index: int) -> bytes | None:
        return self._bytes(self.values, index)

    def _bytes(self, spans: Spans, index: int) -> bytes | None:
        start, length = int(spans.starts[index]), int(spans.lengths[index])
        return None if length < 0 else self.data[start : start + length]

    def headers(self) -> list[tuple[Header, ...]]:
        """Each record's headers. Raises CorruptBatch where they do not fit the record."""
        data = self.data
        found: list[tuple[Header, ...]] = []
        at, ends = self.headers_at.tolist(), self.ends.tolist()
        try:
            for position, end in zip(at, ends, strict=True):
                if data[position] == 0 and position + 1 == end:
                    found.append(())
                    continue
                headers, after = parse_headers(data, position, end)
                if after != end:
                    raise CorruptBatch("a record does not end where its length says")
                found.append(headers)
        except (ValueError, IndexError) as error:
            raise CorruptBatch(str(error)) from error
        return found


def decode_columns(
    buf: Buffer, batches: Iterable[tuple[int, BatchHeader]], *, limit: int = DEFAULT_LIMIT
) -> Columns:
    """The records of the batches, given as iter_headers gives them, control batches among them or not.

    Formats 0 and 1 are read as well, record by record. Checksums are not looked at (batch.verify_crc).
    limit: how many bytes one batch may have once decompressed.
    Raises CorruptBatch as decode_records does; headers are only looked at by Columns.headers().
    """
    payloads: list[bytes] = []
    starts = array("q")
    counts: list[int] = []
    infos: list[BatchHeader] = []
    buffer: Buffer
    for position, header in batches:
        if header.magic != MAGIC:
            position, header, buffer = _modern(buf, position)
        else:
            buffer = buf
        payload = records_payload(buffer, position, header, limit)
        _hop(payload, header.record_count, starts, position)
        payloads.append(payload)
        counts.append(header.record_count)
        infos.append(header)
    return _columns(payloads, np.frombuffer(starts, np.int64), counts, infos)


def _modern(buf: Buffer, position: int) -> tuple[int, BatchHeader, bytes]:
    """An entry of format 0 or 1 as a v2 batch of its own, in a buffer of its own."""
    records = read_records(buf, position)
    header = read_header(buf, position)
    builder = BatchBuilder(base_offset=records[0].offset)
    for record in records:
        builder.append_at(record.offset, record.timestamp, record.key, record.value)
    batch = builder.build()
    made = read_header(batch)
    if header.magic == 1 and header.timestamp_type is TimestampType.LOG_APPEND_TIME:
        made = made._replace(attributes=LOG_APPEND_TIME_FLAG, max_timestamp=header.max_timestamp)
    return 0, made._replace(magic=header.magic), batch


def _hop(data: bytes, count: int, starts: array[int], position: int) -> None:
    """Adds where each of the `count` records begins, its length included; they must fill `data` exactly."""
    add = starts.append
    pos = 0
    if count < 0:
        raise CorruptBatch(f"record count is {count}", position)
    try:
        for _ in range(count):
            add(pos)
            z = data[pos]
            if z < 128:
                pos += 1
            elif (b := data[pos + 1]) < 128:
                z += (b << 7) - 128
                pos += 2
            else:
                z, pos = read_unsigned(data, pos)
            if z & 1:
                raise CorruptBatch("a record has a negative length", position)
            pos += z >> 1
    except IndexError:
        raise CorruptBatch(f"records end before record {count} does", position) from None
    except ValueError as error:
        raise CorruptBatch(str(error), position) from error
    if pos != len(data):
        raise CorruptBatch(f"{count} records end {pos} bytes on, their section after {len(data)}", position)


def _columns(
    payloads: Sequence[bytes], starts: Ints, counts: Sequence[int], batches: Sequence[BatchHeader]
) -> Columns:
    """Every field behind the lengths, for all records at once."""
    sizes = [len(payload) for payload in payloads]
    # More bytes than there are: a varint cut short is found by the checks, not by an index.
    data = b"".join((*payloads, bytes(_LONGEST)))
    raw = np.frombuffer(data, np.uint8)
    per_batch = np.array(counts, np.int64)
    bases = np.cumsum(np.array([0, *sizes], np.int64))
    starts = starts + np.repeat(bases[:-1], per_batch)
    ends = np.empty_like(starts)
    if len(starts):
        ends[:-1] = starts[1:]
        ends[-1] = bases[-1]
    _, at = _varints(raw, starts)
    timestamps, at = _varints(raw, at + 1)  # one byte of attributes, which mean nothing yet
    offsets, at = _varints(raw, at)
    keys, at = _span(raw, at, ends)
    values, at = _span(raw, at, ends)
    # No headers is one zero byte, and then the record is over; else Columns.headers() looks.
    _check((raw[at] != 0) | (at + 1 == ends))
    timestamps += np.repeat(_of(batches, "base_timestamp"), per_batch)
    offsets += np.repeat(_of(batches, "base_offset"), per_batch)
    stamped = np.array([bool(batch.attributes & LOG_APPEND_TIME_FLAG) for batch in batches], np.bool_)
    if stamped.any():
        of_append = np.repeat(_of(batches, "max_timestamp"), per_batch)
        timestamps = np.where(np.repeat(stamped, per_batch), of_append, timestamps)
    kinds = np.array([int(batch.timestamp_type) for batch in batches], np.int32)
    producers = np.repeat(_of(batches, "producer_id"), per_batch)
    return Columns(offsets, timestamps, np.repeat(kinds, per_batch), producers, keys, values, at, ends, data)


def _of(batches: Sequence[BatchHeader], field: str) -> Ints:
    return np.array([getattr(batch, field) for batch in batches], np.int64)


def _check(holds: NDArray[np.bool_]) -> None:
    if not holds.all():
        raise CorruptBatch("a record does not end where its length says")


def _span(raw: NDArray[np.uint8], at: Ints, ends: Ints) -> tuple[Spans, Ints]:
    """The byte string at `at` of every record, null for any negative length, and the positions behind it.

    A field that leaves no room for what must follow it inside its record raises CorruptBatch.
    """
    lengths, starts = _varints(raw, at)
    np.maximum(lengths, -1, out=lengths)
    after = starts + np.maximum(lengths, 0)
    _check(after < ends)
    return Spans(starts, lengths), after


def _varints(raw: NDArray[np.uint8], at: Ints) -> tuple[Ints, Ints]:
    """The zig-zag varint at each position, and the positions behind them.

    Positions past the data read as its last byte, a zero. Raises CorruptBatch at one of more than ten bytes.
    """
    last = len(raw) - 1
    if len(at) and int(at.max()) > last:
        at = np.minimum(at, last)
    found = raw[at].astype(np.int64)
    at = at + 1
    more = np.flatnonzero(found & 0x80)
    if len(more):
        # Rounds on the whole column where all go on, as lengths above 63 do; else on those that do.
        bits = found & 0x7F
        shift = 7
        while len(more):
            if shift > _MAX_SHIFT:
                raise CorruptBatch("a varint has more than ten bytes")
            positions = np.minimum(at[more], last)
            byte = raw[positions].astype(np.int64)
            bits[more] |= (byte & 0x7F) << shift
            at[more] += 1
            more = more[byte >= 0x80]
            shift += 7
        found = bits
    unsigned = found.view(np.uint64) >> np.uint64(1)
    return unsigned.view(np.int64) ^ -(found & 1), at


def pack(data: bytes, spans: Spans) -> Packed:
    """The byte strings of a column, one behind the other. Raises OverflowError when they are 2 GiB or more together."""
    lengths = spans.lengths
    count = len(lengths)
    valid = None
    if count and int(lengths.min()) < 0:
        valid = lengths >= 0
        lengths = np.maximum(lengths, 0)
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    total = int(offsets[-1])
    if total >= 1 << 31:
        raise OverflowError(f"a column of {total} bytes does not fit 32-bit offsets")
    return Packed(offsets.astype(np.int32), _gather(np.frombuffer(data, np.uint8), spans.starts, lengths, total), valid)


def _gather(raw: NDArray[np.uint8], starts: Ints, lengths: Ints, total: int) -> NDArray[np.uint8]:
    if not total:
        return np.empty(0, np.uint8)
    size = int(lengths[0])
    if (lengths == size).all():
        rows: NDArray[np.uint8] = np.lib.stride_tricks.sliding_window_view(raw, size)[starts].reshape(-1)
        return rows
    low, high = int(starts[0]), int(starts[-1] + lengths[-1])
    chosen: NDArray[np.uint8] = raw[low:high][inside_mask(starts, lengths, low, high)]
    return chosen


def inside_mask(starts: Ints, lengths: Ints, low: int, high: int) -> NDArray[np.bool_]:
    """For each place from `low` to `high` (exclusive) whether it lies in one of the spans, which rise and are apart."""
    edges = np.zeros(high - low + 1, np.int8)
    held = np.flatnonzero(lengths)
    edges[starts[held] - low] += 1
    edges[starts[held] + lengths[held] - low] -= 1
    return np.cumsum(edges[:-1], dtype=np.int8).view(np.bool_)
