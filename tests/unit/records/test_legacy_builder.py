"""Message sets of formats 0 and 1 are written as every other implementation reads them."""

import pytest

from kafka_py.records.batch import LOG_APPEND_TIME_FLAG, TimestampType, iter_headers, read_header, verify_crc
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.records.legacy_builder import ENTRY_OVERHEAD, LegacyBuilder, encode_entry
from kafka_py.records.legacy_records import read_records

NOW = 1_600_000_000_000
OLD_CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
ROWS = [
    (NOW, b"key", b"value"),
    (NOW + 70_000, None, b"no key"),
    (NOW - 5, b"tombstone", None),
    (NOW, b"", b""),
    (NOW, None, None),
    *((NOW + number, b"key-%d" % number, b"again and again " * (number % 9)) for number in range(300)),
]


def built(magic, codec, **fields):
    builder = LegacyBuilder(magic, codec, **fields)
    for row in ROWS:
        builder.append(*row)
    return builder.build()


def records_of(data):
    found = []
    for pos, header in iter_headers(data):
        verify_crc(data, pos, header)
        found += read_records(data, pos)
    assert all(record.is_valid for record in found)
    return found


@pytest.mark.parametrize(
    ("magic", "expected"),
    [
        (0, "0000000000000000 00000012 57e7496e 00 00 00000002 6b31 00000002 7631"),
        (1, "0000000000000000 0000001a 4c891d21 01 00 00000174876e8000 00000002 6b31 00000002 7631"),
    ],
)
def test_golden_entries(magic, expected):
    """As the classes of Apache Kafka 2.8.2 write them."""
    assert encode_entry(magic, 0, 0x174876E8000, b"k1", b"v1") == bytes.fromhex(expected)


def test_w5_4_w5_5_sizes_of_format_0():
    """W5.4, W5.5: 34 bytes with key and value of 3 and 5 bytes, then 31 without the key: a file of 65."""
    builder = LegacyBuilder(0)
    builder.append(NOW, b"key", b"value")
    assert len(builder.build()) == 34
    builder.append(NOW, None, b"value")
    assert len(builder.build()) == 65 == builder.uncompressed_size


def test_w5_6_sizes_of_format_1():
    """W5.6: 42 bytes with key and value of 3 and 5 bytes, 39 without the key."""
    assert len(encode_entry(1, 0, NOW, b"key", b"value")) == 42
    assert len(encode_entry(1, 0, NOW, None, b"value")) == 39
    assert [len(encode_entry(magic, 0, NOW, None, None)) for magic in (0, 1)] == list(ENTRY_OVERHEAD)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", OLD_CODECS)
def test_what_is_written_is_read(magic, codec):
    data = built(magic, codec, base_offset=1000)
    found = records_of(data)
    assert len(list(iter_headers(data))) == (1 if codec else len(ROWS))
    assert [record.offset for record in found] == list(range(1000, 1000 + len(ROWS)))
    assert [record[1:4] for record in found] == [(row[0] if magic else -1, *row[1:]) for row in ROWS]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", OLD_CODECS)
def test_records_added_together_give_the_same_bytes(magic, codec):
    builder = LegacyBuilder(magic, codec, base_offset=7)
    rows = [(7 + place, *row, "further fields are not looked at") for place, row in enumerate(ROWS)]
    builder.extend(rows[:100])
    builder.extend([(0, *row[1:]) for row in rows[100:]], next_offset=107)
    builder.extend([])
    assert builder.build() == built(magic, codec, base_offset=7)
    assert (builder.record_count, builder.last_offset) == (len(ROWS), 6 + len(ROWS))
    assert (builder.max_timestamp, builder.offset_of_max_timestamp) == ((NOW + 70_000, 8) if magic else (-1, -1))


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_gaps_between_offsets_are_kept(codec):
    builder = LegacyBuilder(1, codec, base_offset=10)
    for offset in (12, 20, 21):
        builder.append_at(offset, NOW, None, b"v")
    assert [record.offset for record in records_of(builder.build())] == [12, 20, 21]


def test_offsets_must_rise():
    builder = LegacyBuilder(1, base_offset=10)
    builder.append(NOW, None, b"v")
    with pytest.raises(ValueError, match="offset 10 is not above 10"):
        builder.append_at(10, NOW, None, b"v")
    with pytest.raises(ValueError, match="offset 9 is not above 10"):
        builder.extend([(9, NOW, None, b"v")])
    assert builder.record_count == 1


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_w5_8_the_time_of_a_wrapper(codec):
    """W5.8: with CreateTime the largest inside; with LogAppendTime the broker's, which all records then have."""
    header = read_header(built(1, codec))
    if codec:
        assert (header.max_timestamp, header.timestamp_type) == (NOW + 70_000, TimestampType.CREATE_TIME)
    stamped = built(1, codec, timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time_ms=99)
    assert read_header(stamped).attributes == LOG_APPEND_TIME_FLAG | codec
    assert read_header(stamped).max_timestamp == 99
    assert {record.timestamp for record in records_of(stamped)} == {99}


def test_what_the_formats_lack_is_refused():
    with pytest.raises(ValueError, match="no zstd"):
        LegacyBuilder(1, Codec.ZSTD)
    with pytest.raises(ValueError, match="format 2"):
        LegacyBuilder(2)
    with pytest.raises(ValueError, match="needs a record"):
        LegacyBuilder(1).build()


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", OLD_CODECS)
def test_their_reader_takes_what_we_write(magic, codec):
    """kafka-python."""
    memory_records = pytest.importorskip("kafka.record.memory_records")
    if (magic, codec) == (0, Codec.LZ4):
        pytest.importorskip("xxhash")
    found, left = [], memory_records.MemoryRecords(built(magic, codec))
    while (batch := left.next_batch()) is not None:
        assert batch.validate_crc()
        found += batch
    assert [record.offset for record in found] == list(range(len(ROWS)))
    assert [(record.timestamp if magic else -1, record.key, record.value) for record in found] == [
        (timestamp if magic else -1, key, value) for timestamp, key, value in ROWS
    ]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", OLD_CODECS)
def test_we_take_what_their_builder_writes(magic, codec):
    """kafka-python. Without a codec the bytes are the same as ours."""
    legacy_records = pytest.importorskip("kafka.record.legacy_records")
    if (magic, codec) == (0, Codec.LZ4):
        pytest.importorskip("xxhash")
    builder = legacy_records.LegacyRecordBatchBuilder(magic=magic, compression_type=int(codec), batch_size=1 << 24)
    for offset, (timestamp, key, value) in enumerate(ROWS):
        builder.append(offset, timestamp=timestamp, key=key, value=value)
    theirs = bytes(builder.build())
    assert [record[1:4] for record in records_of(theirs)] == [(row[0] if magic else -1, *row[1:]) for row in ROWS]
    if codec is Codec.NONE:
        assert theirs == built(magic, codec)


def test_messages_of_1_kb_take_less_room_in_format_2():
    """W5.20: a thousand messages without keys, 15 to a batch, as a producer with batch.size=16384 sends them.

    Entries have 26 and 34 bytes of their own; a batch has 61, and each of its records 9.
    """

    def size_bytes(make):
        total = 0
        for first in range(0, 1000, 15):
            builder = make(first)
            for offset in range(first, min(first + 15, 1000)):
                builder.append(NOW + offset, None, bytes(1024))
            total += len(builder.build())
        return total

    assert size_bytes(lambda first: LegacyBuilder(0, base_offset=first)) == 1000 * (26 + 1024)
    assert size_bytes(lambda first: LegacyBuilder(1, base_offset=first)) == 1000 * (34 + 1024)
    assert size_bytes(lambda first: BatchBuilder(base_offset=first)) == 67 * 61 + 1000 * (9 + 1024)
