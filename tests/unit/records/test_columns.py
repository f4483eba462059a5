"""Columns hold exactly what the record iterator finds, for every codec, shape and fault."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("numpy")

import numpy as np

from kafka_py.records.batch import (
    CONTROL_FLAG,
    HEADER_SIZE,
    CorruptBatch,
    TimestampType,
    decode_records,
    iter_headers,
    read_header,
)
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.columns import Columns, Spans, decode_columns, pack
from kafka_py.records.compression import Codec

TIMES = st.one_of(st.just(-1), st.integers(0, 1 << 45))
FIELDS = st.one_of(st.none(), st.binary(max_size=200), st.integers(0, 9000).map(bytes))
HEADERS = st.lists(st.tuples(st.text(max_size=5), st.one_of(st.none(), st.binary(max_size=5))), max_size=3)
RECORDS = st.lists(st.tuples(TIMES, FIELDS, FIELDS, st.one_of(st.just([]), HEADERS), st.integers(1, 300)), min_size=1,
                   max_size=12)  # fmt: skip
BATCHES = st.lists(st.tuples(st.sampled_from(list(Codec)), st.booleans(), RECORDS), min_size=1, max_size=4)


def build(batches: list, first: int = 1 << 40) -> bytes:
    out, offset = bytearray(), first
    for codec, stamped, records in batches:
        builder = BatchBuilder(
            codec,
            base_offset=offset,
            timestamp_type=TimestampType.LOG_APPEND_TIME if stamped else TimestampType.CREATE_TIME,
            log_append_time_ms=77,
            producer_id=9,
        )
        for timestamp, key, value, headers, gap in records:
            offset += gap
            builder.append_at(offset, timestamp, key, value, headers)
        offset += 1
        out += builder.build()
    return bytes(out)


def rows(columns: Columns) -> list:
    return [
        (int(columns.offsets[i]), int(columns.timestamps[i]), columns.key(i), columns.value(i), headers)
        for i, headers in enumerate(columns.headers())
    ]


def packed(columns: Columns, spans: Spans) -> list:
    offsets, data, valid = pack(columns.data, spans)
    raw = data.tobytes()
    nulls = [False] * columns.record_count if valid is None else (~valid).tolist()
    return [None if null else raw[offsets[i] : offsets[i + 1]] for i, null in enumerate(nulls)]


@settings(max_examples=60, deadline=None)
@given(BATCHES)
def test_columns_are_what_the_record_iterator_finds(batches: list) -> None:
    data = build(batches)
    expected = [tuple(record) for position, _ in iter_headers(data) for record in decode_records(data, position)]
    columns = decode_columns(data, iter_headers(data))
    assert rows(columns) == expected
    assert packed(columns, columns.keys) == [row[2] for row in expected]
    assert packed(columns, columns.values) == [row[3] for row in expected]
    assert set(columns.producer_ids.tolist()) == {9}
    stamped = [flag for _, flag, records in batches for _ in records]
    assert columns.timestamp_types.tolist() == [int(flag) for flag in stamped]


@settings(max_examples=40, deadline=None)
@given(BATCHES, st.integers(0, 3000), st.integers(0, 3000))
def test_a_range_is_cut_by_offset(batches: list, low: int, high: int) -> None:
    data = build(batches, 0)
    columns = decode_columns(data, iter_headers(data))
    expected = [row for row in rows(columns) if low <= row[0] < high]
    part = columns.between(low, high)
    assert rows(part) == expected
    assert packed(part, part.values) == [row[3] for row in expected]
    chosen = np.array([row[0] % 2 == 0 for row in rows(columns)], np.bool_)
    assert rows(columns.where(chosen)) == [row for row in rows(columns) if row[0] % 2 == 0]


@settings(max_examples=120, deadline=None)
@given(RECORDS, st.data())
def test_damage_is_found_wherever_the_record_iterator_finds_it(records: list, data: st.DataObject) -> None:
    """Bytes are changed behind the header. Header fields inside a record are only looked at by headers()."""
    whole = bytearray(build([(Codec.NONE, False, records)]))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(HEADER_SIZE, len(whole) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    try:
        expected = [tuple(record) for record in decode_records(whole)]
    except CorruptBatch:
        expected = None
    try:
        found = rows(decode_columns(whole, iter_headers(whole)))
    except CorruptBatch:
        found = None
    if expected is not None:
        assert found == expected
    else:
        assert found is None or all(len(row) == 5 for row in found)


def test_a_payload_cut_short_or_too_long_is_corrupt() -> None:
    whole = build([(Codec.NONE, False, [(0, b"k", b"value", [], 1)] * 3)])
    header = read_header(whole)
    for count in (2, 4, -1):
        with pytest.raises(CorruptBatch):
            decode_columns(whole, [(0, header._replace(record_count=count))])
    with pytest.raises(CorruptBatch):
        decode_columns(whole[:-1], [(0, header)])


def test_a_record_longer_than_its_length_says_is_corrupt() -> None:
    whole = bytearray(build([(Codec.NONE, False, [(0, None, b"abc", [], 1)] * 2)]))
    whole[HEADER_SIZE + 5] += 2  # the value's length
    with pytest.raises(CorruptBatch, match="does not end where its length says"):
        decode_columns(whole, iter_headers(whole))


def test_no_batch_and_an_empty_batch_give_no_records() -> None:
    assert decode_columns(b"", []).record_count == 0
    whole = build([(Codec.NONE, False, [(0, None, b"", [], 1)])])
    empty = read_header(whole)._replace(record_count=0, batch_length=HEADER_SIZE - 12)
    columns = decode_columns(whole[:HEADER_SIZE], [(0, empty)])
    assert columns.record_count == 0
    assert packed(columns, columns.keys) == []
    assert CONTROL_FLAG


def test_old_formats_are_read_record_by_record() -> None:
    import zlib

    def entry(magic: int, offset: int, key: bytes | None, value: bytes) -> bytes:
        time = struct.pack(">q", 5) if magic else b""
        field = lambda data: struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data  # noqa: E731
        body = bytes((magic, 0)) + time + field(key) + field(value)
        return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body

    new = build([(Codec.GZIP, False, [(9, None, b"x", [], 1)])], 5)
    data = entry(0, 3, b"k", b"old") + entry(1, 4, None, b"less old") + new
    assert rows(decode_columns(data, iter_headers(data))) == [
        (3, -1, b"k", b"old", ()),
        (4, 5, None, b"less old", ()),
        (6, 9, None, b"x", ()),
    ]
