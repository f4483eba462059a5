"""What a batch header may claim: wrong ones are put right or refused, and no reader depends on them."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.model.answers import Origin
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.validation.header_trust import CLOCK_SLACK_MS, VERIFIED_FIRST, HeaderTrust
from kafka_py.log.validation.record_work import RecordWork
from kafka_py.log.validation.validation import prepare_leader_append
from kafka_py.records.batch import decode_records, read_header, verify_crc
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.testing.fakes.stored_logs import LogWorld, batch

from ..sent_batches import LAST_OFFSET_DELTA, MAX_TIMESTAMP, NOW, RECORD_COUNT, patched, prepare, trust


def is_looked_at(data, known: HeaderTrust) -> bool:
    config = LogConfig.for_topic()
    return isinstance(prepare_leader_append(memoryview(data), config, NOW, Origin.CLIENT, known), RecordWork)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
@pytest.mark.parametrize("claimed", [-1, 0, NOW - 1, 1 << 62, (1 << 63) - 1, NOW + CLOCK_SLACK_MS + 1])
def test_an_implausible_largest_timestamp_is_replaced_by_the_true_one(codec, claimed):
    data = batch([b"a", b"b", b"c"], timestamp=NOW, timestamp_step=10, codec=codec)
    records, header = prepare(patched(data, (MAX_TIMESTAMP, claimed)), trust())
    assert header.max_timestamp == NOW + 20
    assert read_header(records) == header
    verify_crc(records)
    assert decode_records(records) == decode_records(data)


def test_true_timestamps_far_in_the_future_are_kept():
    future = NOW + 10 * CLOCK_SLACK_MS
    assert prepare(batch(timestamp=future), trust())[1].max_timestamp == future


def test_records_without_timestamps_keep_none():
    assert prepare(batch([b"a", b"b"], timestamp=-1), trust())[1].max_timestamp == -1


def test_the_first_batches_of_a_connection_are_verified_and_later_ones_by_chance():
    data = batch([b"x"] * 100, timestamp=NOW)
    known = trust(seen=0)
    assert [is_looked_at(data, known) for _ in range(VERIFIED_FIRST + 3)] == [True] * VERIFIED_FIRST + [False] * 3
    assert is_looked_at(data, trust(lucky=False))
    known = trust(seen=0)
    large = batch([b"x"] * 2000, timestamp=NOW)
    assert [is_looked_at(large, known) for _ in range(3)] == [True, False, False]


def test_a_connection_that_sent_one_wrong_header_is_verified_from_then_on(caplog):
    known = trust(seen=0)
    wrong = patched(batch([b"x"] * 100, timestamp=NOW), (MAX_TIMESTAMP, NOW + 5))
    assert prepare(wrong, known)[1].max_timestamp == NOW
    assert known.wrong == 1
    for _ in range(20):
        assert is_looked_at(batch([b"x"] * 100, timestamp=NOW), known)
    prepare(wrong, known)
    assert [record.message.partition(" sends")[0] for record in caplog.records] == ["client"]


def test_a_wrong_header_that_comes_late_ends_the_trust_that_chance_had_given():
    known = trust()
    assert not is_looked_at(batch([b"x"] * 100, timestamp=NOW), known)
    assert prepare(patched(batch([b"x"] * 100, timestamp=NOW), (MAX_TIMESTAMP, -1)), known)[1].max_timestamp == NOW
    for _ in range(20):
        assert is_looked_at(batch([b"x"] * 100, timestamp=NOW), known)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.ZSTD])
def test_looks_by_chance_cost_little_of_what_large_batches_cost(codec):
    """Walking over a record costs about five times its append: one batch in about three hundred may be walked over."""
    known = HeaderTrust("client", random.Random(7))
    data = batch([b"x" * 100] * 2000, timestamp=NOW, codec=codec)
    looked = sum(is_looked_at(data, known) for _ in range(20_000)) - 1
    assert 20_000 / 400 < looked < 20_000 / 200


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_a_body_that_does_not_hold_the_announced_records_is_refused(codec):
    data = batch([b"some value"] * 4, timestamp=NOW, codec=codec)
    for count in (1, 3, 5):
        wrong = patched(data, (RECORD_COUNT, count), (LAST_OFFSET_DELTA, count - 1))
        with pytest.raises(KafkaError) as refused:
            prepare(wrong)
        assert refused.value.code is ErrorCode.INVALID_RECORD


def test_inner_offsets_that_are_not_the_places_are_put_right():
    builder = BatchBuilder(base_offset=0)
    for offset in (3, 7, 20):
        builder.append_at(offset, NOW, b"k", b"v%d" % offset, [("h", b"x")])
    wrong = patched(builder.build(), (LAST_OFFSET_DELTA, 2))
    for topic in ({}, {"compression.type": "gzip"}, {"message.timestamp.type": "LogAppendTime"}):
        records, _ = prepare(wrong, topic=topic)
        verify_crc(records)
        found = decode_records(records)
        assert [(record.offset, record.value) for record in found] == [(0, b"v3"), (1, b"v7"), (2, b"v20")]
        assert all(record.headers == (("h", b"x"),) for record in found)


def test_an_append_time_topic_does_not_care_for_the_claimed_timestamp():
    data = patched(batch([b"x"] * 100, timestamp=NOW), (MAX_TIMESTAMP, -1))
    config = LogConfig.for_topic(None, {"message.timestamp.type": "LogAppendTime"})
    assert not isinstance(prepare_leader_append(memoryview(data), config, NOW, Origin.CLIENT, trust()), RecordWork)
    assert read_header(data).max_timestamp == NOW


@st.composite
def produced_batches(draw):
    """(batch, timestamps): any codec, any timestamps, keys and headers."""
    timestamps = draw(st.lists(st.integers(-1, NOW * 2), min_size=1, max_size=20))
    builder = BatchBuilder(draw(st.sampled_from(list(Codec))))
    for timestamp in timestamps:
        key = draw(st.none() | st.binary(max_size=4))
        value = draw(st.none() | st.binary(max_size=200))
        headers = draw(st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=2))
        builder.append(timestamp, key, value, headers)
    return builder.build(), timestamps


@settings(max_examples=200, deadline=None)
@given(produced_batches(), st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-2, 25))
def test_what_is_verified_is_true_or_refused(made, claimed, count):
    data, timestamps = made
    wrong = patched(data, (MAX_TIMESTAMP, claimed), (RECORD_COUNT, count), (LAST_OFFSET_DELTA, count - 1))
    try:
        records, header = prepare(wrong)
    except KafkaError as error:
        assert error.code is ErrorCode.INVALID_RECORD
        assert count != len(timestamps)
        return
    assert count == len(timestamps)
    verify_crc(records)
    assert header.max_timestamp == max(timestamps)
    assert [record.timestamp for record in decode_records(records)] == timestamps


@settings(max_examples=200, deadline=None)
@given(produced_batches(), st.data())
def test_whatever_the_records_are_nothing_but_a_refusal_comes_out(made, data):
    """Bytes of the record section are changed under a right checksum: the append refuses, or readers can read it."""
    builder = read_header(made[0])
    plain = bytearray(made[0])
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(61, len(plain) - 1))
        plain[position] = data.draw(st.integers(0, 255))
    try:
        records, header = prepare(patched(plain))
    except KafkaError as error:
        assert error.code in (ErrorCode.INVALID_RECORD, ErrorCode.INVALID_TIMESTAMP)
        return
    assert header.record_count == builder.record_count
    found = decode_records(records)
    assert [record.offset for record in found] == list(range(len(found)))
    assert header.max_timestamp == max(record.timestamp for record in found)


def test_a_future_timestamp_does_not_keep_a_producer_for_ever():
    world = LogWorld()
    future = world.clock.wall_ms() + 10 * CLOCK_SLACK_MS
    world.append(batch(timestamp=future, producer_id=7, producer_epoch=0, base_sequence=0))
    expiration_ms = world.context.producer_expiration_ms
    assert world.log.files.remove_expired_producers(world.clock.wall_ms()) == 0
    world.clock.advance(expiration_ms)
    assert world.log.files.remove_expired_producers(world.clock.wall_ms()) == 1


def test_a_count_of_records_that_cannot_fit_is_refused_without_a_look():
    with pytest.raises(KafkaError, match="do not fit"):
        prepare(patched(batch([b"a"]), (RECORD_COUNT, 1000), (LAST_OFFSET_DELTA, 999)), trust())
