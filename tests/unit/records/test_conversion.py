"""Records change their message format and stay the same records."""

import collections
import random

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.records import conversion
from kafka_py.records.batch import (
    CorruptBatch,
    OversizedBatch,
    TimestampType,
    decode_records,
    iter_headers,
    read_header,
    verify_crc,
)
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.records.control import ControlType, end_txn_marker
from kafka_py.records.conversion import WrongChecksum, down_convert, iter_set_records, up_convert
from kafka_py.records.legacy_builder import LegacyBuilder
from kafka_py.records.legacy_records import read_records

NOW = 1_600_000_000_000
OLD_CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
ROWS = [
    (NOW, b"key", b"value"),
    (NOW + 70_000, None, b"no key"),
    (NOW - 5, b"tombstone", None),
    *((NOW + number, b"key-%d" % number, b"again and again " * (number % 9)) for number in range(1500)),
]


def batch(codec=Codec.NONE, base_offset=100, **fields):
    builder = BatchBuilder(codec, base_offset=base_offset, **fields)
    for row in ROWS:
        builder.append(*row, [("header", b"is lost")])
    return builder.build()


def message_set(magic, codec=Codec.NONE, base_offset=0, **fields):
    builder = LegacyBuilder(magic, codec, base_offset=base_offset, **fields)
    for row in ROWS:
        builder.append(*row)
    return builder.build()


def down(data, magic, **options):
    return list(down_convert(data, 0, read_header(data), magic, **options))


def records_of(data):
    found = []
    for pos, header in iter_headers(data):
        verify_crc(data, pos, header)
        found += read_records(data, pos)
    return found


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", OLD_CODECS)
def test_down_keeps_offsets_timestamps_and_codec(magic, codec):
    pieces = down(batch(codec, producer_id=7, producer_epoch=0, base_sequence=0, transactional=True), magic)
    data = b"".join(piece.data for piece in pieces)
    found = records_of(data)
    assert sum(piece.record_count for piece in pieces) == len(ROWS)
    assert [record.offset for record in found] == list(range(100, 100 + len(ROWS)))
    assert [record[1:4] for record in found] == [(row[0] if magic else -1, *row[1:]) for row in ROWS]
    assert {(header.magic, header.codec) for _, header in iter_headers(data)} == {(magic, codec)}


@pytest.mark.parametrize("codec", OLD_CODECS)
def test_down_from_format_1_to_format_0(codec):
    data = message_set(1, codec, base_offset=100)
    found = []
    for pos, header in iter_headers(data):
        for piece in down_convert(data, pos, header, 0):
            found += records_of(piece.data)
    assert [record[:4] for record in found] == [(100 + place, -1, *row[1:]) for place, row in enumerate(ROWS)]


def test_down_keeps_the_brokers_time():
    data = batch(timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time_ms=99)
    assert {record.timestamp for piece in down(data, 1) for record in records_of(piece.data)} == {99}
    assert read_header(down(data, 1)[0].data).timestamp_type is TimestampType.LOG_APPEND_TIME


def test_what_is_old_enough_is_not_converted():
    data = message_set(0, Codec.GZIP)
    assert down(data, 1) == [(data, 0)]


def test_down_leaves_markers_out():
    marker = end_txn_marker(
        ControlType.COMMIT, producer_id=5, producer_epoch=0, coordinator_epoch=1, timestamp=NOW
    )
    assert down(marker, 1) == []


def test_down_refuses_zstd():
    with pytest.raises(KafkaError) as raised:
        down(batch(Codec.ZSTD), 1)
    assert raised.value.code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


def test_plain_records_below_the_readers_offset_are_left_out():
    found = [record for piece in down(batch(), 1, first_offset=150) for record in records_of(piece.data)]
    assert [record.offset for record in found] == list(range(150, 100 + len(ROWS)))
    assert down(batch(), 1, first_offset=100 + len(ROWS)) == []


@pytest.mark.parametrize("codec", OLD_CODECS)
def test_the_last_record_of_a_batch_can_be_asked_for(codec):
    last = 100 + len(ROWS) - 1
    pieces = down(batch(codec), 1, first_offset=last)
    assert [record.offset for piece in pieces for record in records_of(piece.data)][-1] == last


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4])
def test_a_large_batch_becomes_several_wrappers(codec, monkeypatch):
    """So that no more than one piece of it is held in its old form; those that a reader has had are left out."""
    monkeypatch.setattr(conversion, "PIECE_BYTES", 30_000)
    pieces = down(batch(codec), 1)
    assert len(pieces) > 2
    assert [record.offset for piece in pieces for record in records_of(piece.data)] == list(
        range(100, 100 + len(ROWS))
    )
    last = records_of(pieces[-1].data)
    assert down(batch(codec), 1, first_offset=last[0].offset + 1) == pieces[-1:]


def test_down_pauses_and_is_bounded():
    pauses = []
    down(batch(Codec.GZIP), 1, pause=lambda: pauses.append(1))
    assert len(pauses) == len(ROWS) // conversion.AT_ONCE + 1
    with pytest.raises(OversizedBatch):
        down(batch(Codec.GZIP), 1, limit=1000)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("source", OLD_CODECS)
@pytest.mark.parametrize("target", [Codec.NONE, Codec.ZSTD])
def test_up_makes_one_batch(magic, source, target):
    made = up_convert(message_set(magic, source), target, base_offset=40)
    verify_crc(made)
    header = read_header(made)
    assert (header.size_bytes, header.codec, header.record_count) == (len(made), target, len(ROWS))
    assert header.max_timestamp == (NOW + 70_000 if magic else -1)
    found = decode_records(made)
    assert [record.offset for record in found] == list(range(40, 40 + len(ROWS)))
    assert [record[1:4] for record in found] == [(row[0] if magic else -1, *row[1:]) for row in ROWS]


def test_up_takes_several_wrappers_and_plain_entries_together():
    data = message_set(1, Codec.GZIP) + message_set(1) + message_set(1, Codec.LZ4)
    assert [record.key for record in decode_records(up_convert(data + b"partial"))] == [row[1] for row in ROWS] * 3


def test_up_of_nothing_is_nothing():
    assert up_convert(b"") is None
    assert up_convert(message_set(0)[:20]) is None


def test_up_with_the_brokers_time():
    made = up_convert(message_set(1), timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time_ms=99)
    assert {record.timestamp for record in decode_records(made)} == {99}


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_a_wrong_checksum_is_found(codec):
    data = bytearray(message_set(1, codec))
    data[-1] ^= 1
    with pytest.raises(WrongChecksum):
        list(iter_set_records(data))


def test_a_wrong_checksum_inside_a_wrapper_is_found():
    inner = bytearray(message_set(1))
    inner[12] ^= 1
    outer = LegacyBuilder(1, Codec.GZIP)
    outer.append(NOW, None, b"")
    outer._entries[:] = inner
    with pytest.raises(WrongChecksum):
        list(iter_set_records(outer.build()))


def test_a_set_that_goes_on_with_something_else_is_corrupt():
    with pytest.raises(CorruptBatch):
        list(iter_set_records(message_set(1) + batch()))


@pytest.mark.parametrize("magic", [0, 1])
def test_whatever_byte_is_changed_there_are_whole_entries_or_a_known_error(magic):
    chance = random.Random(magic)
    few = ROWS[:20]
    sound = []
    for codec in OLD_CODECS:
        for made in (BatchBuilder(codec, base_offset=7), LegacyBuilder(1, codec, base_offset=7)):
            for row in few:
                made.append(*row)
            sound.append(made.build())
    outcomes = collections.Counter()
    for _ in range(3000):
        data = bytearray(chance.choice(sound))
        for _ in range(chance.choice((1, 1, 2, 5))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            for pos, header in iter_headers(data):
                for piece in down_convert(data, pos, header, magic, limit=1 << 20):
                    found = records_of(piece.data)
                    outcomes["converted"] += bool(found)
        except CorruptBatch:
            outcomes["corrupt"] += 1
        except KafkaError as error:
            assert error.code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
            outcomes["zstd"] += 1
    assert outcomes["converted"] > 1000
    assert outcomes["corrupt"] > 300
