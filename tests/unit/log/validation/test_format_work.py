"""What is stored has the topic's format, whatever format, codec and grouping a producer has chosen."""

import collections
import itertools
import random
import zlib

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.model.answers import BatchFault, Origin, RecordErrors
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.validation.format_work import ON_LOOP_BYTES, FormatWork, PreparedSet
from kafka_py.log.validation.validation import prepare_leader_append
from kafka_py.records.batch import (
    LOG_APPEND_TIME_FLAG,
    TimestampType,
    decode_records,
    iter_headers,
    read_header,
    verify_crc,
)
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.records.crc32c import crc32c
from kafka_py.records.legacy_builder import LegacyBuilder, encode_entry
from kafka_py.records.legacy_records import read_records

NOW = 1_600_000_000_000
FIRST_OFFSET = 1000
VERSIONS = ("0.9.0", "0.10.2", "2.8")
OLD_CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
ROWS = [(NOW, b"a", b"value"), (NOW + 70, b"b", None), (NOW - 5, b"c", b""), (NOW + 9, b"d", b"v" * 40)]


def sent(magic, codec=Codec.NONE, rows=ROWS):
    builder = BatchBuilder(codec) if magic == 2 else LegacyBuilder(magic, codec)
    for row in rows:
        builder.append(*row)
    return builder.build()


def work_of(data, version, origin=Origin.CLIENT, **settings):
    config = LogConfig.for_topic(None, {"message.format.version": version, **settings})
    work = prepare_leader_append(memoryview(bytearray(data)), config, NOW, origin)
    assert isinstance(work, FormatWork)
    work.first_offset = FIRST_OFFSET
    return work


def run(data, version, **settings):
    return work_of(data, version, **settings).run()


def refused(data, version, code, **settings):
    with pytest.raises(KafkaError) as raised:
        run(data, version, **settings)
    assert raised.value.code is code, raised.value
    return raised.value


def stored(prepared):
    """(headers, records) of what will be in the log."""
    data = bytes(prepared[0])
    headers, records = [], []
    for pos, header in iter_headers(data):
        verify_crc(data, pos, header)
        headers.append(header)
        records += decode_records(data, pos) if header.magic == 2 else read_records(data, pos)
    assert sum(header.size_bytes for header in headers) == len(data)
    return headers, records


CASES = [
    (magic, codec, version)
    for magic, codec, version in itertools.product((0, 1, 2), OLD_CODECS, VERSIONS)
    if (magic, version) != (2, "2.8")
]


@pytest.mark.parametrize(("magic", "codec", "version"), CASES)
def test_every_format_and_codec_is_stored_in_the_topics_format(magic, codec, version):
    prepared = run(sent(magic, codec), version)
    headers, records = stored(prepared)
    target = VERSIONS.index(version)
    assert {(header.magic, header.codec) for header in headers} == {(target, codec)}
    assert len(headers) == (1 if target == 2 or codec else len(ROWS))
    first = 0 if target == 2 else FIRST_OFFSET
    assert [record.offset for record in records] == [first + place for place in range(len(ROWS))]
    keeps_time = magic and target
    assert [record[1:4] for record in records] == [(row[0] if keeps_time else -1, *row[1:]) for row in ROWS]
    if isinstance(prepared, PreparedSet):
        assert (prepared.first_offset, prepared.last_offset) == (FIRST_OFFSET, FIRST_OFFSET + len(ROWS) - 1)
        assert prepared.max_timestamp == (NOW + 70 if keeps_time else -1)
        exact = target == 1 and magic and not codec
        assert prepared.offset_of_max_timestamp == (FIRST_OFFSET + 1 if exact else prepared.last_offset)
        assert prepared.log_append_time == -1


@pytest.mark.parametrize(("magic", "codec", "version"), CASES)
def test_the_brokers_time_is_in_every_format_that_has_one(magic, codec, version):
    prepared = run(sent(magic, codec), version, **{"message.timestamp.type": "LogAppendTime"})
    headers, records = stored(prepared)
    if version != "0.9.0":
        assert {header.timestamp_type for header in headers} == {TimestampType.LOG_APPEND_TIME}
        assert {record.timestamp for record in records} == {NOW}
    if isinstance(prepared, PreparedSet):
        assert prepared.log_append_time == NOW
        assert prepared.max_timestamp == (-1 if version == "0.9.0" else NOW)
        first_counts = version == "0.10.2" and not codec
        assert prepared.offset_of_max_timestamp == (FIRST_OFFSET if first_counts else prepared.last_offset)


@pytest.mark.parametrize("codec", OLD_CODECS)
@pytest.mark.parametrize("target", ["uncompressed", "gzip", "snappy", "lz4"])
@pytest.mark.parametrize("magic", [0, 1])
def test_records_are_stored_with_the_topics_codec(magic, codec, target):
    prepared = run(sent(magic, codec), VERSIONS[magic], **{"compression.type": target})
    headers, records = stored(prepared)
    wanted = Codec.NONE if target == "uncompressed" else Codec.named(target)
    assert {header.codec for header in headers} == {wanted}
    assert [record.offset for record in records] == list(range(FIRST_OFFSET, FIRST_OFFSET + len(ROWS)))
    assert [record.key for record in records] == [row[1] for row in ROWS]


def test_what_has_the_topics_format_is_not_written_again():
    for data, version in ((sent(0), "0.9.0"), (sent(1), "0.10.2"), (sent(1, Codec.GZIP), "0.10.2")):
        work = work_of(data, version)
        prepared = work.run()
        assert prepared.records.obj is work._records.obj
        assert (work.converted_count, work.temporary_bytes) == (0, 0)
    work = work_of(sent(0, Codec.GZIP), "0.9.0")  # offsets inside are absolute
    assert stored(work.run())[1][0].offset == FIRST_OFFSET
    assert work.converted_count == 0 < work.temporary_bytes
    work = work_of(sent(1), "2.8")
    work.run()
    assert work.converted_count == len(ROWS)


def test_a_wrapper_with_other_inner_offsets_is_written_again():
    """Some old clients number them wrongly."""
    builder = LegacyBuilder(1, Codec.GZIP, base_offset=0)
    for place, row in enumerate(ROWS):
        builder.append_at(7 + place, *row)
    prepared = run(builder.build(), "0.10.2")
    assert [record.offset for record in stored(prepared)[1]] == [FIRST_OFFSET + place for place in range(len(ROWS))]


def test_the_time_of_a_wrapper_is_put_right():
    """The largest inside, whatever its producer has written."""
    data = bytearray(sent(1, Codec.GZIP))
    inner = read_header(data)
    data = encode_entry(1, inner.base_offset, 5, None, bytes(data[34:]), Codec.GZIP)
    assert stored(run(data, "0.10.2"))[0][0].max_timestamp == NOW + 70


@pytest.mark.parametrize("version", VERSIONS)
def test_a_partial_entry_at_the_end_is_dropped(version):
    data = sent(1) + sent(1)[:-1]
    assert len(stored(run(data, version))[1]) == 2 * len(ROWS) - 1


def test_sets_that_are_refused():
    error = refused(sent(1) + sent(0), "2.8", ErrorCode.INVALID_RECORD)
    assert error.fault is BatchFault.MAGIC
    refused(sent(1) + sent(2), "2.8", ErrorCode.INVALID_RECORD)
    refused(sent(1, Codec.GZIP) * 2, "2.8", ErrorCode.INVALID_RECORD)
    refused(sent(1) + sent(1, Codec.GZIP), "0.10.2", ErrorCode.INVALID_RECORD)
    refused(sent(1) + bytes(11) + b"\3" + bytes(20), "2.8", ErrorCode.CORRUPT_MESSAGE)
    refused(encode_entry(1, 0, NOW, None, b"v", LOG_APPEND_TIME_FLAG), "2.8", ErrorCode.INVALID_TIMESTAMP)
    refused(encode_entry(1, 0, NOW, None, b"v", 4), "2.8", ErrorCode.INVALID_RECORD)
    refused(encode_entry(1, 0, NOW, None, b"v", 5), "2.8", ErrorCode.UNKNOWN_SERVER_ERROR)
    refused(encode_entry(1, 0, NOW, None, b"not gzip", 1), "2.8", ErrorCode.INVALID_RECORD)
    other = LegacyBuilder(1, Codec.GZIP)
    other._entries += sent(0)
    other.record_count, other.last_offset = 1, 3
    assert "format 0 is inside one of format 1" in refused(other.build(), "2.8", ErrorCode.INVALID_RECORD).detail
    nested = LegacyBuilder(1, Codec.GZIP)
    nested._entries += sent(1, Codec.LZ4)
    nested.record_count = 1
    refused(nested.build(), "2.8", ErrorCode.INVALID_RECORD)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_wrong_checksum_is_refused(codec, version):
    data = bytearray(sent(1, codec))
    data[-1] ^= 1
    assert refused(data, version, ErrorCode.CORRUPT_MESSAGE).fault is BatchFault.CHECKSUM


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_compacted_topics_need_keys(version, codec):
    data = sent(1, codec, [(NOW, b"k", b"v"), (NOW, None, b"v")])
    error = refused(data, version, ErrorCode.INVALID_RECORD, **{"cleanup.policy": "compact"})
    assert isinstance(error, RecordErrors)
    assert ([one.batch_index for one in error.record_errors], error.faulty) == ([1], 1)


@pytest.mark.parametrize(("magic", "version"), [(1, "0.10.2"), (1, "2.8"), (2, "0.10.2")])
def test_timestamps_may_be_bounded(magic, version):
    bound = {"message.timestamp.difference.max.ms": 60}
    error = refused(sent(magic), version, ErrorCode.INVALID_TIMESTAMP, **bound)
    assert [one.batch_index for one in error.record_errors] == [1]
    run(sent(0), version, **bound)  # no timestamp is no wrong one
    run(sent(magic), version, **bound, **{"message.timestamp.type": "LogAppendTime"})


def test_sizes_are_bounded_before_and_after():
    refused(sent(1), "2.8", ErrorCode.MESSAGE_TOO_LARGE, **{"max.message.bytes": 60})
    refused(sent(1), "2.8", ErrorCode.MESSAGE_TOO_LARGE, **{"max.message.bytes": 80})
    run(sent(1), "0.10.2", **{"max.message.bytes": 80})


def test_what_an_old_format_lacks_is_refused_as_by_apache():
    builder = BatchBuilder()
    builder.append(NOW, b"k", b"v", [("name", b"header")])
    assert "0.10.2" in refused(builder.build(), "0.10.2", ErrorCode.UNKNOWN_SERVER_ERROR).detail
    refused(sent(2, Codec.ZSTD), "0.10.2", ErrorCode.UNKNOWN_SERVER_ERROR)
    refused(sent(1), "0.10.2", ErrorCode.UNKNOWN_SERVER_ERROR, **{"compression.type": "zstd"})
    assert stored(run(sent(1), "2.8", **{"compression.type": "zstd"}))[0][0].codec is Codec.ZSTD


def test_a_negative_timestamp_is_refused_where_it_would_be_written_again():
    """As by Apache, which closes the connections of old readers where it has stored one unchanged."""
    data = encode_entry(1, 0, -2, b"k", b"v")
    refused(data, "2.8", ErrorCode.UNKNOWN_SERVER_ERROR)
    assert stored(run(data, "0.10.2"))[1][0].timestamp == -2


def test_timestamps_that_no_delta_of_a_batch_holds_are_refused():
    """Without a timestamp and at the end of time: 64 bits apart. Nobody could read such a batch."""
    last = (1 << 63) - 1
    refused(sent(1, rows=[(-1, b"a", b"v"), (last, b"b", b"v")]), "2.8", ErrorCode.INVALID_RECORD)
    rows = [(0, b"a", b"v"), (last, b"b", b"v")]
    assert [record.timestamp for record in stored(run(sent(1, rows=rows), "2.8"))[1]] == [0, last]


def test_batches_of_the_broker_itself_are_stored_in_the_topics_format_as_well():
    builder = BatchBuilder()
    builder.append(NOW, None, b"v")
    work = work_of(builder.build(), "0.10.2", Origin.COORDINATOR, **{"cleanup.policy": "compact"})
    assert stored(work.run())[0][0].magic == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_whatever_byte_is_changed_there_is_a_sound_set_or_an_error_of_the_protocol(version):
    chance = random.Random(version)
    sound = [sent(magic, codec) for magic in (0, 1, 2) for codec in OLD_CODECS] + [sent(1) + sent(1)]
    outcomes = collections.Counter()
    for _ in range(1500):
        data = bytearray(chance.choice(sound))
        for _ in range(chance.choice((1, 1, 2, 5))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        if chance.random() < 0.7:
            data = with_right_checksum(data)
        try:
            config = LogConfig.for_topic(None, {"message.format.version": version})
            work = prepare_leader_append(memoryview(data), config, NOW, Origin.CLIENT)
            if isinstance(work, FormatWork):
                stored(work.run())
                outcomes["stored"] += 1
        except KafkaError as error:
            outcomes[error.code] += 1
    assert outcomes["stored"] > 100
    assert outcomes[ErrorCode.CORRUPT_MESSAGE] > 100
    assert outcomes[ErrorCode.INVALID_RECORD] > 20


def with_right_checksum(data):
    """So that what lies behind it is looked at."""
    if data[16] < 2 and len(data) >= 26:
        end = min(12 + max(int.from_bytes(data[8:12], "big", signed=True), 14), len(data))
        data[12:16] = zlib.crc32(data[16:end]).to_bytes(4, "big")
    elif data[16] == 2:
        data[17:21] = crc32c(bytes(data[21:])).to_bytes(4, "big")
    return data


def test_only_small_sets_are_worked_on_on_the_event_loop():
    assert work_of(sent(1), "2.8").run_on_loop() is not None
    assert work_of(sent(1, Codec.GZIP), "2.8").run_on_loop() is not None
    assert work_of(sent(1, rows=[(NOW, b"k", bytes(100))] * (ON_LOOP_BYTES // 100)), "2.8").run_on_loop() is None
    bomb = work_of(sent(1, Codec.GZIP, [(NOW, b"k", bytes(100_000))]), "2.8")
    assert bomb.run_on_loop() is None
    assert len(stored(bomb.run())[1]) == 1


def test_decompression_is_bounded():
    bomb = sent(1, Codec.GZIP, [(NOW, b"k", bytes(70_000_000))])
    refused(bomb, "2.8", ErrorCode.INVALID_RECORD)
