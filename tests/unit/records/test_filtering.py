"""Batches with some of their records left out, against the same done record by record."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_py.records.batch import (
    HEADER_SIZE,
    BatchHeader,
    CorruptBatch,
    Record,
    TimestampType,
    decode_records,
    read_header,
    stamp_log_append_time,
    verify_crc,
)
from kafka_py.records.builder import BatchBuilder, with_records
from kafka_py.records.compression import Codec
from kafka_py.records.filtering import batch_of, iter_outlines, outline_records
from kafka_py.records.record import parse_records

NOW_MS = 1_700_000_000_000
SHORT = st.none() | st.binary(max_size=3) | st.binary(min_size=60, max_size=70)
TIMES = st.integers(NOW_MS, NOW_MS + 3) | st.integers(-1, 1 << 62)
HEADERS = st.lists(st.tuples(st.text(max_size=3), SHORT), max_size=3).map(tuple)
ROWS = st.lists(st.tuples(st.integers(1, 9000), TIMES, SHORT, SHORT, HEADERS, st.booleans()), min_size=1, max_size=8)


def rebuilt(header: BatchHeader, records: Sequence[Record]) -> bytes:
    """What a builder makes of the decoded records: the rule that batch_of must follow byte for byte."""
    is_stamped = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    builder = BatchBuilder(
        header.codec, base_offset=header.base_offset, timestamp_type=header.timestamp_type,
        log_append_time_ms=header.max_timestamp if is_stamped else -1, producer_id=header.producer_id,
        producer_epoch=header.producer_epoch, base_sequence=header.base_sequence,
        transactional=header.is_transactional, control=header.is_control, leader_epoch=header.partition_leader_epoch,
    )  # fmt: skip
    for record in records:
        builder.append_at(*record)
    builder.last_offset_delta = header.last_offset_delta
    return builder.build()


@given(
    rows=ROWS,
    codec=st.sampled_from([Codec.NONE, Codec.NONE, *Codec]),
    transactional=st.booleans(),
    append_time=st.none() | st.integers(0, NOW_MS),
    at_once=st.sampled_from([1, 2, 1000]),
)
def test_the_rest_of_a_batch_is_what_its_records_one_by_one_come_to(
    rows: list[tuple[int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...], bool]],
    codec: Codec,
    transactional: bool,
    append_time: int | None,
    at_once: int,
) -> None:
    """Gaps, null keys and values, headers, long fields, all codecs and both kinds of timestamps."""
    builder = BatchBuilder(codec, base_offset=7, transactional=transactional, producer_id=5 if transactional else -1,
                           producer_epoch=1, base_sequence=3, leader_epoch=9)  # fmt: skip
    offset = 6
    for gap, timestamp, key, value, headers, _ in rows:
        offset += gap
        builder.append_at(offset, timestamp, key, value, headers)
    batch = bytearray(builder.build())
    if append_time is not None:
        stamp_log_append_time(batch, 0, append_time)
    header = read_header(batch)
    records = decode_records(batch)
    outlines = list(iter_outlines(batch, header, at_once))
    assert [offset for piece in outlines for offset in piece.offsets] == [record.offset for record in records]
    assert [key for piece in outlines for key in piece.keys] == [record.key for record in records]
    nulls = [piece.offsets[index] for piece in outlines for index in piece.tombstones]
    assert nulls == [record.offset for record in records if record.value is None]
    chosen = [row[-1] for row in rows]
    if not any(chosen):
        return
    staying = {record.offset for record, stays in zip(records, chosen, strict=True) if stays}
    kept = [(piece, [at for at, offset in enumerate(piece.offsets) if offset in staying]) for piece in outlines]
    made = batch_of(header, lambda: kept)
    assert made == rebuilt(header, [record for record in records if record.offset in staying])
    verify_crc(made)


@given(
    data=st.data(),
    rows=st.lists(st.tuples(SHORT, SHORT, HEADERS), min_size=1, max_size=4),
    count=st.none() | st.integers(-1, 6),
)
def test_malformed_records_are_refused_where_the_decoder_refuses_them(
    data: st.DataObject, rows: list[tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]],
    count: int | None,
) -> None:  # fmt: skip
    """Bytes that are changed, cut off or added: both raise CorruptBatch, or both find the same records."""
    builder = BatchBuilder(base_offset=4)
    for key, value, headers in rows:
        builder.append(NOW_MS, key, value, headers)
    body = bytearray(builder.build()[HEADER_SIZE:])
    for _ in range(data.draw(st.integers(0, 2))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    body = body[: data.draw(st.sampled_from([len(body), len(body) - 1, len(body) // 2]))]
    body += data.draw(st.sampled_from([b"", b"", b"\0", bytes(20)]))
    header = read_header(builder.build())._replace(record_count=builder.record_count if count is None else count)
    batch = bytes(with_records(header, Codec.NONE, body, NOW_MS))
    header = read_header(batch)
    try:
        expected = [(record.offset, record.key, record.value is None) for record in decode_records(batch)]
    except CorruptBatch:
        if header.record_count < 0 and not body:
            return  # no record is read of a count below 0, and none is there
        with pytest.raises(CorruptBatch):
            list(iter_outlines(batch, header))
        return
    pieces = list(iter_outlines(batch, header, 2))
    found = [
        (offset, key, index in piece.tombstones)
        for piece in pieces
        for index, (offset, key) in enumerate(zip(piece.offsets, piece.keys, strict=True))
    ]
    assert found == expected


def test_random_bytes_are_a_record_to_both_or_to_neither() -> None:
    rng = random.Random(11)
    agreed = 0
    for _ in range(20_000):
        fields = (rng.choice((0, 0, 1, 2, 3, 128)) for _ in range(rng.choice((5, 6, 7, 8))))
        body = bytes((rng.choice((10, 12, 14, 16)), *fields))
        outcome = one_record(body)
        assert one_outline(body) == outcome, body.hex()
        agreed += outcome is not None
    assert agreed > 100


def one_record(body: bytes) -> tuple[int, bytes | None] | None:
    try:
        (record,) = parse_records(body, 1, 0, 0, None)
    except (ValueError, IndexError):
        return None
    return record.offset, record.key


def one_outline(body: bytes) -> tuple[int, bytes | None] | None:
    try:
        found = outline_records(body, 0, 1, 0)
    except (ValueError, IndexError):
        return None
    return (found.offsets[0], found.keys[0]) if found.ends[0] == len(body) else None


def test_offsets_that_do_not_rise_are_damage() -> None:
    one, other = BatchBuilder(base_offset=5), BatchBuilder(base_offset=5)
    for builder in (one, other):
        builder.append(NOW_MS, b"a", b"v")
    body = one.build()[HEADER_SIZE:] + other.build()[HEADER_SIZE:]
    batch = bytes(with_records(read_header(one.build())._replace(record_count=2), Codec.NONE, body, NOW_MS))
    header = read_header(batch)
    (piece,) = iter_outlines(batch, header)
    assert piece.offsets == [5, 5]
    with pytest.raises(CorruptBatch, match="offsets do not rise after 4"):
        batch_of(header, lambda: [(piece, [0, 1])])
    assert decode_records(batch_of(header, lambda: [(piece, [1])]))[0].offset == 5
    with pytest.raises(CorruptBatch, match="none of the records"):
        batch_of(header, lambda: [(piece, [])])


@pytest.mark.parametrize(("base", "delta", "is_good"), [
    ((1 << 63) - 6, 5, True), ((1 << 63) - 5, 5, False), (-(1 << 63) + 5, -5, True), (-(1 << 63) + 4, -5, False),
])  # fmt: skip
def test_a_timestamp_of_more_than_64_bits_is_damage(base: int, delta: int, is_good: bool) -> None:
    builder = BatchBuilder()
    builder.append(0, b"a", b"v")
    builder.append(delta, b"b", b"v")
    data = builder.build()
    header = read_header(data)._replace(base_timestamp=base)
    batch = bytes(with_records(header, Codec.NONE, data[HEADER_SIZE:], 0))
    (piece,) = iter_outlines(batch, read_header(batch))
    if is_good:
        made = batch_of(read_header(batch), lambda: [(piece, [1])])
        assert decode_records(made)[0].timestamp == base + delta
        return
    with pytest.raises(CorruptBatch, match="timestamp"):
        batch_of(read_header(batch), lambda: [(piece, [1])])


@pytest.mark.parametrize("times", [(0, -1, (1 << 63) - 1), (5, -(1 << 62), 1 << 62), (-5, 1 << 62, -(1 << 63) + 9)])
def test_timestamps_that_are_too_far_apart_for_a_delta_keep_the_base(times: tuple[int, int, int]) -> None:
    """All of them fit the base timestamp of the batch, but the last one does not fit the second as base."""
    builder = BatchBuilder()
    for timestamp in times:
        builder.append(timestamp, b"k", b"v")
    header = read_header(data := builder.build())
    pieces = list(iter_outlines(data, header, 2))
    made = batch_of(header, lambda: [(pieces[0], [1]), (pieces[1], [0])])
    verify_crc(made)
    assert [record.timestamp for record in decode_records(made)] == list(times[1:])
    assert read_header(made).max_timestamp == max(times[1:])


def test_attributes_that_later_versions_define_do_not_stay() -> None:
    """Bit 6 says in Apache Kafka 3.1 that the base timestamp is the time at which tombstones go (KIP-534)."""
    builder = BatchBuilder()
    builder.append(NOW_MS, b"a", b"v")
    data = builder.build()
    header = read_header(data)._replace(attributes=0x40)
    batch = bytes(with_records(header, Codec.NONE, data[HEADER_SIZE:], NOW_MS))
    (piece,) = iter_outlines(batch, read_header(batch))
    assert batch_of(read_header(batch), lambda: [(piece, [0])]) == data
