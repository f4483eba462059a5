"""The builder writes what Apache Kafka 2.8.2 writes, and knows its size at any time."""

import pytest

from kafka_py.records.batch import (
    HEADER_SIZE,
    CorruptBatch,
    Record,
    TimestampType,
    decode_records,
    read_header,
    verify_crc,
)
from kafka_py.records.builder import BatchBuilder, empty_batch, record_size_bound
from kafka_py.records.compression import Codec
from kafka_py.records.crc32c import crc32c

NOW = 1_600_000_000_000


def build(*records: tuple[bytes | None, bytes | None]) -> bytes:
    builder = BatchBuilder()
    for key, value in records:
        builder.append(NOW, key, value)
    return builder.build()


class TestWorkedExamples:
    def test_w5_15_one_record_with_key_and_value_takes_76_bytes(self):
        assert len(build((b"key", b"value"))) == 76

    def test_w5_16_its_bytes_and_its_length_field(self):
        data = build((b"key", b"value"))
        assert data[HEADER_SIZE:] == bytes.fromhex("1c 00 00 00 06 6b 65 79 0a 76 61 6c 75 65 00")
        assert read_header(data).batch_length == 64

    def test_w5_17_without_a_key_it_takes_73_bytes(self):
        assert len(build((None, b"value"))) == 73

    def test_w5_18_ten_records_in_one_batch_take_191_bytes_and_alone_740(self):
        ten = [(None, b"value6")] * 10
        assert len(build(*ten)) == 191
        assert sum(len(build(record)) for record in ten) == 740

    def test_w5_19_six_records_take_151_bytes(self):
        data = build(*[(b"key", b"value")] * 6)
        header = read_header(data)
        assert len(data) == 151
        assert (header.last_offset_delta, header.record_count) == (5, 6)
        assert decode_records(data) == [Record(i, NOW, b"key", b"value") for i in range(6)]

    def test_w5_19_every_field_of_the_six_records(self):
        """W5.19: the same batch written down field by field; the checksum covers all from the attributes on."""
        covered = bytes.fromhex(
            "0000 00000005 00000174876e8000 00000174876e8000"  # attributes, last offset delta, base and max timestamp
            "ffffffffffffffff ffff ffffffff 00000006"  # producer id and epoch, base sequence, record count
        ) + b"".join(bytes.fromhex(f"1c 00 00 {2 * number:02x} 06") + b"key" + b"\x0avalue\x00" for number in range(6))
        head = bytes.fromhex("0000000000000000 0000008b ffffffff 02") + crc32c(covered).to_bytes(4, "big")
        assert build(*[(b"key", b"value")] * 6) == head + covered


def test_reference_example_is_written_byte_for_byte():
    builder = BatchBuilder(producer_id=1000, producer_epoch=1, base_sequence=5, leader_epoch=7)
    builder.append(NOW, b"k1", b"v1", [("h", b"\x09")])
    builder.append(NOW + 10, None, b"v2")
    assert builder.build() == bytes.fromhex(
        "0000000000000000 00000049 00000007 02 d417f846 0000 00000001 00000174876e8000 00000174876e800a"
        "00000000000003e8 0001 00000005 00000002"
        "1c 00 00 00 04 6b31 04 7631 02 02 68 02 09 10 00 14 02 01 04 7632 00"
    )


def test_size_is_exact_after_every_append():
    builder = BatchBuilder()
    assert builder.estimated_size == HEADER_SIZE
    shapes = [
        (None, b"v"), (b"k", None), (None, None), (b"", b""), (b"k" * 63, b"v" * 64), (b"k" * 8192, b"v" * 9000),
    ]  # fmt: skip
    for i, (key, value) in enumerate(shapes * 20):
        builder.append(NOW + i * 100, key, value, [("h", None)] if i % 3 == 0 else ())
        assert builder.estimated_size == len(builder.build())
        assert builder.record_count == i + 1


@pytest.mark.parametrize("delta", [0, 63, 64, -64, -65, 8191, 8192, -8192, -8193, 2**40, -(2**40)])
def test_timestamps_may_lie_on_either_side_of_the_first(delta):
    builder = BatchBuilder()
    builder.append(NOW, None, b"a")
    builder.append(NOW + delta, None, b"b")
    data = builder.build()
    header = read_header(data)
    assert (header.base_timestamp, header.max_timestamp) == (NOW, max(NOW, NOW + delta))
    assert [record.timestamp for record in decode_records(data)] == [NOW, NOW + delta]


@pytest.mark.parametrize("timestamps", [(-1,), (0, -1), (-1, -1, 5), (2**62, 0)])
def test_a_record_may_have_no_timestamp(timestamps):
    builder = BatchBuilder()
    for timestamp in timestamps:
        builder.append(timestamp, None, b"a")
    assert tuple(record.timestamp for record in decode_records(builder.build())) == timestamps
    assert builder.max_timestamp == max(timestamps)


@pytest.mark.parametrize("size", [0, 1, 55, 56, 57, 58, 63, 64, 8180, 8185, 8191, 8192, 8193, 100_000, 1_048_576])
def test_every_size_of_key_and_value(size):
    data = build((b"k" * size, b""), (b"", b"v" * size), (None, b"v" * size), (b"k" * size, None))
    assert [(record.key, record.value) for record in decode_records(data)] == [
        (b"k" * size, b""), (b"", b"v" * size), (None, b"v" * size), (b"k" * size, None),
    ]  # fmt: skip


def test_buffers_are_taken_as_they_are():
    builder = BatchBuilder()
    builder.append(NOW, bytearray(b"key"), memoryview(b"value"), [("h", memoryview(b"v"))])
    builder.append(NOW, bytearray(b"key"), memoryview(b"value"))
    assert [record[2:4] for record in decode_records(builder.build())] == [(b"key", b"value")] * 2


@pytest.mark.parametrize("record", [("key", b"v"), (b"k", "value"), (None, "value"), (5, b"v"), (None, 5), ("k", None)])
def test_what_is_not_bytes_is_refused_and_changes_nothing(record):
    builder = BatchBuilder()
    builder.append(NOW, b"k", b"v")
    before = builder.build()
    for headers in ((), [("h", b"v")]):
        with pytest.raises(TypeError):
            builder.append(NOW + 5, *record, headers)
        with pytest.raises(TypeError):
            builder.append_at(7, NOW + 5, *record, headers)
    with pytest.raises(TypeError):
        builder.append(NOW + 5, b"k", b"v", [("h", "text")])
    assert builder.build() == before


def test_header_fields_may_be_set_until_the_batch_is_built():
    builder = BatchBuilder(Codec.ZSTD)
    builder.append(NOW, b"k", b"v")
    builder.build()
    builder.append(NOW, b"k", b"w")
    builder.producer_id, builder.producer_epoch, builder.base_sequence = 5, 6, 7
    builder.transactional = True
    data = builder.build()
    header = read_header(data)
    verify_crc(data)
    assert (header.producer_id, header.producer_epoch, header.base_sequence, header.attributes) == (5, 6, 7, 0x14)
    assert len(decode_records(data)) == 2


def test_append_time_is_what_every_record_says():
    builder = BatchBuilder(timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time_ms=NOW + 99)
    builder.append(NOW, None, b"v")
    data = builder.build()
    assert read_header(data).timestamp_type is TimestampType.LOG_APPEND_TIME
    assert (read_header(data).base_timestamp, read_header(data).max_timestamp) == (NOW, NOW + 99)
    assert decode_records(data) == [Record(0, NOW + 99, None, b"v")]


def test_gaps_between_offsets_are_kept():
    builder = BatchBuilder(base_offset=100)
    for offset in (103, 104, 20_000):
        builder.append_at(offset, NOW + offset, b"k", b"v")
    builder.append(NOW, b"k", b"v")
    data = builder.build()
    header = read_header(data)
    assert (header.base_offset, header.last_offset, header.record_count) == (100, 20_001, 4)
    assert header.base_timestamp == NOW + 103
    assert [record.offset for record in decode_records(data)] == [103, 104, 20_000, 20_001]
    for offset in (20_001, 99):
        with pytest.raises(ValueError, match="not above"):
            builder.append_at(offset, NOW, b"k", b"v")


@pytest.mark.parametrize("codec", list(Codec))
def test_compressed_batches_read_back_and_the_estimate_follows_the_ratio(codec):
    builder = BatchBuilder(codec, compression_ratio=0.5)
    for i in range(100):
        builder.append(NOW + i, b"key", b"some text that comes again and again")
    data = builder.build()
    verify_crc(data)
    assert read_header(data).codec is codec
    assert len(decode_records(data)) == 100
    if codec is Codec.NONE:
        assert builder.estimated_size == len(data)
    else:
        assert len(data) < builder.uncompressed_size
        assert builder.estimated_size == HEADER_SIZE + (builder.uncompressed_size - HEADER_SIZE) // 2


def test_a_batch_without_records_cannot_be_built():
    with pytest.raises(ValueError, match="needs a record"):
        BatchBuilder().build()


def test_the_bound_of_a_record_holds():
    shapes = [
        (None, None, ()), (b"k", b"v", ()), (b"k" * 9000, b"v" * 70_000, (("h" * 100, None), ("ü", b"x" * 9000))),
    ]  # fmt: skip
    for key, value, headers in shapes:
        builder = BatchBuilder()
        builder.append(0, None, b"")
        before = builder.estimated_size
        builder.append_at(2**31 - 1, 2**62, key, value, headers)
        assert builder.estimated_size - before <= record_size_bound(key, value, headers)


def test_an_emptied_batch_keeps_offsets_and_sequence_but_no_codec():
    """First timestamp -1, length 49, no codec (Java's readers would look for a stream), the rest as it was."""
    builder = BatchBuilder(Codec.LZ4, base_offset=50, producer_id=9, producer_epoch=2, base_sequence=11, leader_epoch=4)
    builder.append(NOW, b"k", b"v")
    builder.append(NOW + 7, b"k", b"v")
    before = read_header(builder.build())
    data = empty_batch(before)
    header = read_header(data)
    verify_crc(data)
    assert len(data) == HEADER_SIZE
    assert header == before._replace(batch_length=49, attributes=0, base_timestamp=-1, record_count=0, crc=header.crc)
    assert (header.last_offset, header.last_sequence, header.max_timestamp) == (51, 12, NOW + 7)
    assert decode_records(data) == []
    with pytest.raises(CorruptBatch):
        decode_records(data[:-1])


@pytest.mark.parametrize("first", [-1, 0, 1 << 62])
def test_a_timestamp_is_as_far_from_the_first_as_a_delta_of_64_bits_reaches(first: int) -> None:
    for farthest, step in ((first + (1 << 63) - 1, 1), (first - (1 << 63), -1)):
        builder = BatchBuilder()
        builder.append(first, None, b"v")
        size = builder.uncompressed_size
        with pytest.raises(ValueError, match="too far"):
            builder.append_at(5, farthest + step, None, b"v")
        assert (builder.last_offset_delta, builder.uncompressed_size) == (0, size)
        builder.append(farthest, None, b"v")
        if abs(farthest) < 1 << 63:
            assert [record.timestamp for record in decode_records(builder.build())] == [first, farthest]
