"""Whatever is written reads back; whatever is broken is CorruptBatch and nothing else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_py.base.errors import KafkaError
from kafka_py.records.batch import (
    CorruptBatch,
    Record,
    decode_records,
    iter_headers,
    read_header,
    stamp_log_append_time,
    stamp_offset,
    verify_crc,
)
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.records.varints import encode_varint, read_varint, read_varlong, size_of_varint

data = st.none() | st.binary(max_size=200) | st.binary(min_size=60, max_size=70) | st.just(b"x" * 8190)
headers = st.lists(st.tuples(st.text(max_size=10), st.none() | st.binary(max_size=70)), max_size=4).map(tuple)
timestamps = st.integers(-1, 2**62) | st.integers(1_600_000_000_000, 1_600_000_020_000)
records = st.lists(st.tuples(timestamps, data, data, headers), min_size=1, max_size=20)
codecs = st.sampled_from(list(Codec))


def build(codec: Codec, rows: list[tuple], **fields: object) -> bytes:
    builder = BatchBuilder(codec, **fields)  # type: ignore[arg-type]
    for row in rows:
        builder.append(*row)
    return builder.build()


@given(codecs, records, st.integers(0, 2**62), st.integers(-1, 2**31 - 1))
def test_any_records_round_trip_with_any_codec(codec, rows, base_offset, leader_epoch):
    batch = bytearray(build(codec, rows))
    stamp_offset(batch, 0, base_offset, leader_epoch)
    header = read_header(batch)
    verify_crc(batch, 0, header)
    expected = [Record(base_offset + i, *row) for i, row in enumerate(rows)]
    assert decode_records(batch) == expected
    assert decode_records(memoryview(b"before" + batch + b"behind"), 6, header=header) == expected
    assert (header.record_count, header.next_offset) == (len(rows), base_offset + len(rows))
    assert header.max_timestamp == max(row[0] for row in rows)
    assert header.size_bytes == len(batch)


@given(codecs, records, st.integers(0, 2**62))
def test_append_time_overrides_any_timestamps(codec, rows, now_ms):
    batch = bytearray(build(codec, rows))
    stamp_log_append_time(batch, 0, now_ms)
    verify_crc(batch)
    assert {record.timestamp for record in decode_records(batch)} == {now_ms}


@given(codecs, records, st.data())
def test_any_flipped_bits_are_corrupt(codec, rows, draw):
    """Base offset and leader epoch lie outside the checksum: there, the records stay the same."""
    batch = bytearray(build(codec, rows))
    position = draw.draw(st.integers(0, len(batch) - 1))
    batch[position] ^= draw.draw(st.integers(1, 255))
    if position < 8 or 12 <= position < 16:
        verify_crc(batch)
        assert [record[1:] for record in decode_records(batch)] == rows
    else:
        with pytest.raises(CorruptBatch):
            verify_crc(batch)


@given(codecs, records, st.data())
def test_any_truncation_is_corrupt(codec, rows, draw):
    batch = build(codec, rows)
    cut = batch[: draw.draw(st.integers(0, len(batch) - 1))]
    with pytest.raises(CorruptBatch):
        verify_crc(cut)
    with pytest.raises(CorruptBatch):
        decode_records(cut)
    assert list(iter_headers(cut)) == []


@settings(max_examples=300)
@given(codecs, records, st.data())
def test_without_the_checksum_broken_records_still_raise_nothing_but_corrupt(codec, rows, draw):
    batch = bytearray(build(codec, rows))
    for _ in range(draw.draw(st.integers(1, 3))):
        batch[draw.draw(st.integers(57, len(batch) - 1))] = draw.draw(st.integers(0, 255))
    try:
        decode_records(batch, limit=1 << 20)
    except CorruptBatch:
        pass


@given(st.binary(max_size=200))
def test_any_bytes_at_all(noise):
    for read in (read_header, verify_crc, decode_records, lambda buf: list(iter_headers(buf))):
        try:
            read(noise)
        except CorruptBatch:
            pass
        except KafkaError:
            assert noise[16] < 2


@given(st.integers(-(2**31), 2**31 - 1))
def test_any_int32_round_trips(n):
    assert read_varint(encode_varint(n), 0) == (n, size_of_varint(n))


@given(st.integers(-(2**63), 2**63 - 1))
def test_any_int64_round_trips(n):
    assert read_varlong(encode_varint(n), 0) == (n, size_of_varint(n))
