"""What an append refuses, and with which code; what it rewrites."""

import struct

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.model.answers import Origin, RecordErrors
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.validation.format_work import FormatWork
from kafka_py.log.validation.record_work import RecordWork
from kafka_py.log.validation.validation import check_follower_batches, prepare_leader_append
from kafka_py.records.batch import TimestampType, decode_records, iter_records, read_header, verify_crc
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.records.crc32c import crc32c
from kafka_py.testing.fakes.stored_logs import batch

NOW = 1_600_000_000_000


def prepare(data, settings=None, origin=Origin.CLIENT, trust=None):
    """What is appended; work on the records is done at once."""
    config = LogConfig.for_topic(None, settings or {})
    prepared = prepare_leader_append(memoryview(bytearray(data)), config, NOW, origin, trust)
    return prepared.run() if isinstance(prepared, (RecordWork, FormatWork)) else prepared


def refused(data, code, settings=None, origin=Origin.CLIENT) -> KafkaError:
    with pytest.raises(KafkaError) as caught:
        prepare(data, settings, origin)
    assert caught.value.code is code
    return caught.value


def patched(data, position, layout, value, *, seal=True) -> bytearray:
    """`data` with one header field changed, its checksum made right again."""
    changed = bytearray(data)
    struct.pack_into(layout, changed, position, value)
    if seal:
        struct.pack_into(">I", changed, 17, crc32c(memoryview(changed)[21:]))
    return changed


def test_a_plain_batch_is_taken_as_it_is():
    data = batch([b"a", b"b"])
    prepared = prepare_leader_append(data, LogConfig.for_topic(), NOW, Origin.CLIENT)
    assert isinstance(prepared, RecordWork)
    prepared = prepared.run()
    assert prepared[0] is data
    assert prepared[1] == read_header(data)


@pytest.mark.parametrize(
    ("position", "layout", "value", "code"),
    [
        (0, ">q", 5, ErrorCode.INVALID_RECORD),  # base offset
        (8, ">i", 13, ErrorCode.CORRUPT_MESSAGE),  # length
        (8, ">i", -1, ErrorCode.CORRUPT_MESSAGE),
        (8, ">i", 48, ErrorCode.CORRUPT_MESSAGE),
        (16, ">b", 3, ErrorCode.CORRUPT_MESSAGE),  # magic
        (16, ">b", 1, ErrorCode.CORRUPT_MESSAGE),  # the older formats have another checksum
        (16, ">b", 0, ErrorCode.CORRUPT_MESSAGE),
        (21, ">h", 0x20, ErrorCode.INVALID_RECORD),  # control
        (21, ">h", 0x05, ErrorCode.UNKNOWN_SERVER_ERROR),  # codec
        (21, ">h", 0x08, ErrorCode.INVALID_TIMESTAMP),  # append time
        (23, ">i", 5, ErrorCode.INVALID_RECORD),  # last offset delta
        (23, ">i", -1, ErrorCode.INVALID_RECORD),
        (57, ">i", 0, ErrorCode.INVALID_RECORD),  # record count
        (57, ">i", -1, ErrorCode.INVALID_RECORD),
        (57, ">i", 7, ErrorCode.INVALID_RECORD),
    ],
)
def test_a_bad_header_field_is_refused_with_its_code(position, layout, value, code):
    refused(patched(batch([b"a", b"b"]), position, layout, value), code)


def test_counts_that_agree_but_cannot_fit_are_refused():
    data = patched(patched(batch([b"a"]), 57, ">i", 1000), 23, ">i", 999)
    refused(data, ErrorCode.INVALID_RECORD)


def test_every_flipped_byte_behind_the_checksum_is_corrupt():
    data = batch([b"some value"])
    for position in [*range(17, 21), *range(21, len(data))]:
        changed = bytearray(data)
        changed[position] ^= 0x40
        refused(changed, ErrorCode.CORRUPT_MESSAGE)


def test_the_size_limit_holds_for_the_batch_as_sent():
    data = batch([b"x" * 1000])
    settings = {"max.message.bytes": len(data) - 1}
    refused(data, ErrorCode.MESSAGE_TOO_LARGE, settings)
    assert prepare(data, {"max.message.bytes": len(data)}) is not None
    small = batch([b"x" * 100_000], codec=Codec.GZIP)
    assert prepare(small, {"max.message.bytes": len(small)}) is not None


def test_a_second_batch_is_refused():
    refused(bytes(batch()) * 2, ErrorCode.INVALID_RECORD)


def test_a_producer_id_needs_a_sequence():
    refused(batch(producer_id=5, producer_epoch=0, base_sequence=-1), ErrorCode.INVALID_RECORD)
    data = batch(producer_id=5, producer_epoch=0, base_sequence=-1, transactional=True)
    assert prepare(data, origin=Origin.COORDINATOR) is not None


def test_a_transactional_batch_needs_a_producer():
    """No marker could end what it begins."""
    data = batch([b"a"], producer_id=5, producer_epoch=0, base_sequence=0, transactional=True)
    assert prepare(data) is not None
    refused(patched(data, 43, ">q", -1), ErrorCode.INVALID_RECORD)


@pytest.mark.parametrize(("transactional", "kind"), [(False, "idempotent"), (True, "transactional")])
def test_an_old_message_format_has_no_producers(transactional, kind):
    data = batch([b"a"], producer_id=5, producer_epoch=0, base_sequence=0, transactional=transactional)
    old = {"message.format.version": "0.10.2"}
    error = refused(data, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, old)
    assert error.detail.startswith(f"{kind} records need message.format.version 0.11.0")
    assert prepare(batch(), old) is not None
    assert prepare(data, {"message.format.version": "0.11.0"}) is not None


def test_a_compacted_topic_wants_keys():
    builder = BatchBuilder()
    for key in (b"k", None, b"l", None):
        builder.append(1, key, b"v")
    error = refused(builder.build(), ErrorCode.INVALID_RECORD, {"cleanup.policy": "compact"})
    assert isinstance(error, RecordErrors)
    assert [record.batch_index for record in error.record_errors] == [1, 3]
    assert prepare(batch(key=b"k"), {"cleanup.policy": "compact,delete"}) is not None


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_timestamps_may_be_bounded(codec):
    settings = {"message.timestamp.difference.max.ms": "1000"}
    good = batch([b"a"] * 3, timestamp=NOW - 1000, timestamp_step=1000, codec=codec)
    assert prepare(good, settings) is not None
    error = refused(
        batch([b"a"] * 3, timestamp=NOW - 1001, timestamp_step=1001, codec=codec), ErrorCode.INVALID_TIMESTAMP, settings
    )
    assert isinstance(error, RecordErrors)
    assert [record.batch_index for record in error.record_errors] == [0, 2]
    assert prepare(batch(timestamp=-1), settings) is not None
    assert prepare(batch(timestamp=5), {**settings, "message.timestamp.type": "LogAppendTime"}) is not None


def test_append_time_is_stamped_in_place():
    data = batch([b"a", b"b"], timestamp=5, timestamp_step=5)
    work = prepare_leader_append(
        data, LogConfig.for_topic(None, {"message.timestamp.type": "LogAppendTime"}), NOW, Origin.CLIENT
    )
    assert isinstance(work, RecordWork)
    prepared = work.run()
    header = read_header(data)
    assert prepared[1] == header
    assert (header.timestamp_type, header.max_timestamp) == (TimestampType.LOG_APPEND_TIME, NOW)
    verify_crc(data)
    assert [record.timestamp for record in iter_records(data)] == [NOW, NOW]


@pytest.mark.parametrize("source", list(Codec))
@pytest.mark.parametrize(
    ("name", "target"),
    [("uncompressed", Codec.NONE), *((codec.label, codec) for codec in Codec if codec is not Codec.NONE)],
)
def test_a_topic_with_a_codec_stores_every_batch_in_it(source, name, target):
    data = batch(
        [b"a", None, b"c" * 300], key=b"k", timestamp=100, timestamp_step=7, codec=source, producer_id=3,
        producer_epoch=1, base_sequence=9, transactional=True,
    )  # fmt: skip
    before = decode_records(data)
    prepared = prepare(data, {"compression.type": name})
    assert prepared is not None
    records, header = prepared
    assert header.codec is target
    verify_crc(records)
    assert decode_records(records) == before
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (3, 1, 9)
    assert header.is_transactional
    assert header.max_timestamp == 114


def test_the_producers_codec_is_kept_by_default():
    data = batch([b"c" * 300], codec=Codec.LZ4)
    prepared = prepare(data)
    assert prepared is not None
    assert bytes(prepared[0]) == bytes(data)


def test_a_rebuilt_batch_may_have_become_too_large():
    data = batch([b"x" * 100_000], codec=Codec.GZIP)
    refused(data, ErrorCode.MESSAGE_TOO_LARGE, {"compression.type": "uncompressed", "max.message.bytes": 10_000})


def test_records_that_cannot_be_decoded_are_refused_where_they_must_be_read():
    broken = patched(batch([b"some value"]), 61, ">b", 0x7F)
    refused(broken, ErrorCode.INVALID_RECORD, {"cleanup.policy": "compact"})
    refused(broken, ErrorCode.INVALID_RECORD, {"compression.type": "gzip"})


def test_a_followers_batches_are_checked_one_by_one():
    first, second = batch(base_offset=5), batch(base_offset=6)
    data = memoryview(bytearray(bytes(first) + bytes(second) + b"\0" * 8))
    assert [(position, header.base_offset) for position, header in check_follower_batches(data, 0, 5)] == [
        (0, 5), (len(first), 6),
    ]  # fmt: skip
    assert check_follower_batches(memoryview(b""), 0, 0) == []
