"""What a batch header may claim: wrong ones are put right or refused, and no reader depends on them."""

import random
import struct
import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.model.answers import MOST_ERRORS, Origin, RecordErrors
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.retention import delete_old_segments
from kafka_py.log.validation import record_work
from kafka_py.log.validation.header_trust import CLOCK_SLACK_MS, VERIFIED_FIRST, HeaderTrust
from kafka_py.log.validation.record_work import LEAST_PLAIN_LIMIT, MOST_RENUMBERED, RecordWork, plain_limit
from kafka_py.log.validation.validation import prepare_leader_append
from kafka_py.records.batch import BatchHeader, decode_records, read_header, verify_crc
from kafka_py.records.builder import BatchBuilder, with_records
from kafka_py.records.compression import Codec, compress
from kafka_py.records.crc32c import crc32c
from kafka_py.records.varints import encode_varint
from kafka_py.testing.fakes.stored_logs import LogWorld, batch, offset_for_timestamp

NOW = 1_600_000_000_000
BASE_TIMESTAMP, MAX_TIMESTAMP, RECORD_COUNT, LAST_OFFSET_DELTA = (27, ">q"), (35, ">q"), (57, ">i"), (23, ">i")


class Loaded(random.Random):
    """Chance that always, or never, asks for a look."""

    def __init__(self, value: float) -> None:
        super().__init__(0)
        self._value = value

    def expovariate(self, lambd: float = 1.0) -> float:
        return self._value


def trust(*, lucky: bool = True, seen: int = VERIFIED_FIRST) -> HeaderTrust:
    """Of a connection that has sent `seen` batches; `lucky`: chance never asks for a look."""
    made = HeaderTrust("client", Loaded(1e9 if lucky else 0.0))
    header = read_header(batch())
    for _ in range(seen):
        made.wants_look(header)
    return made


def patched(data, *fields) -> bytearray:
    """`data` with header fields changed, its checksum made right again."""
    changed = bytearray(data)
    for (position, layout), value in fields:
        struct.pack_into(layout, changed, position, value)
    struct.pack_into(">I", changed, 17, crc32c(memoryview(changed)[21:]))
    return changed


def prepare(data, known: HeaderTrust | None = None, topic=None) -> tuple[memoryview, BatchHeader]:
    config = LogConfig.for_topic(None, topic or {})
    prepared = prepare_leader_append(memoryview(bytearray(data)), config, NOW, Origin.CLIENT, known)
    assert prepared is not None
    return prepared.run() if isinstance(prepared, RecordWork) else prepared


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


def hand_made(body: bytes, count: int, *, base_timestamp: int = NOW, codec: Codec = Codec.NONE) -> bytearray:
    """A batch of these encoded records, its timestamps implausible."""
    header = read_header(batch())._replace(
        record_count=count, last_offset_delta=count - 1, base_timestamp=base_timestamp
    )
    return with_records(header, codec, compress(codec, body), -1)


def encoded(timestamp_delta: int, offset_delta: int, *, headers: int = 0, value: bytes = b"") -> bytes:
    """One record without a key; its headers are empty."""
    body = b"\0" + encode_varint(timestamp_delta) + encode_varint(offset_delta) + b"\1"
    body += encode_varint(len(value)) + value + encode_varint(headers) + b"\0\1" * headers
    return encode_varint(len(body)) + body


def begun(data) -> tuple[RecordWork, object]:
    """The work that a batch needs, and what came of it on the event loop."""
    work = prepare_leader_append(memoryview(data), LogConfig.for_topic(), NOW, Origin.CLIENT, trust())
    assert isinstance(work, RecordWork)
    return work, work.run_on_loop()


def test_a_record_of_very_many_headers_is_left_to_a_thread_that_pauses():
    pauses = []
    work, on_loop = begun(hand_made(encoded(5, 0, headers=50_500), 1))
    assert on_loop is None
    records, header = work.run(lambda: pauses.append(None))
    assert (header.max_timestamp, len(pauses)) == (NOW + 5, 50)
    assert len(decode_records(records)[0].headers) == 50_500


def test_headers_of_many_records_count_together():
    body = b"".join(encoded(0, number, headers=60) for number in range(100))
    assert begun(hand_made(body, 100))[1] is None
    assert begun(hand_made(encoded(0, 0, headers=1500), 1))[1] is not None


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_records_are_not_written_again_on_the_event_loop(codec):
    work, on_loop = begun(hand_made(b"".join(encoded(0, 7, value=bytes(500)) for _ in range(1500)), 1500, codec=codec))
    assert on_loop is None
    records, header = work.run()
    assert [record.offset for record in decode_records(records)] == list(range(1500))
    assert header.codec is codec


@pytest.mark.parametrize("offset_delta", [0, 1])
@pytest.mark.parametrize("base_timestamp, delta", [((1 << 63) - 1, 1), (-(1 << 63), -1)])
def test_timestamps_out_of_range_are_refused_whatever_the_offsets_are(base_timestamp, delta, offset_delta):
    with pytest.raises(KafkaError) as refused:
        prepare(hand_made(encoded(delta, offset_delta), 1, base_timestamp=base_timestamp), trust())
    assert refused.value.code is ErrorCode.INVALID_RECORD


def test_a_batch_whose_first_record_has_no_timestamp_is_not_believed_to_have_none():
    body = encoded(0, 0) + encoded(NOW + 1, 1)
    data = hand_made(body, 2, base_timestamp=-1)
    assert prepare(data, trust())[1].max_timestamp == NOW


class TestWrittenAgain:
    """Batches whose offset deltas are wrong."""

    WRONG = encoded(0, 3) + encoded(0, 3)

    def test_the_fields_of_the_producer_stay(self):
        fields = {"producer_id": 7, "producer_epoch": 2, "base_sequence": 40}
        header = read_header(batch(**fields))._replace(record_count=2, last_offset_delta=1)
        _, made = prepare(with_records(header, Codec.NONE, self.WRONG, -1), trust())
        assert {name: getattr(made, name) for name in fields} == fields

    def test_keys_of_compacted_topics_are_still_asked_for(self):
        with pytest.raises(RecordErrors, match="2 have no key"):
            prepare(hand_made(self.WRONG, 2), trust(), {"cleanup.policy": "compact"})

    def test_more_of_them_than_can_be_written_again_are_refused(self):
        count = MOST_RENUMBERED + 1
        with pytest.raises(KafkaError, match="offset deltas") as refused:
            prepare(hand_made(encoded(0, 3) * count, count), trust())
        assert refused.value.code is ErrorCode.INVALID_RECORD

    def test_what_is_larger_afterwards_may_be_too_large(self):
        """Offset deltas from 64 on take a byte more than the one that stood there."""
        body = encoded(0, 3) * 301
        data = hand_made(body, 301)
        with pytest.raises(KafkaError) as refused:
            prepare(data, trust(), {"max.message.bytes": len(data) + 10})
        assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("late_key, code", [(b"k", ErrorCode.INVALID_TIMESTAMP), (None, ErrorCode.INVALID_RECORD)])
def test_of_a_record_without_a_key_the_timestamp_is_not_looked_at(late_key, code):
    """INVALID_TIMESTAMP as soon as one record has no other fault."""
    builder = BatchBuilder()
    builder.append(NOW, None, b"no key")
    builder.append(NOW - 5000, late_key, b"late")
    topic = {"cleanup.policy": "compact", "message.timestamp.difference.max.ms": 1000}
    with pytest.raises(RecordErrors) as refused:
        prepare(builder.build(), trust(), topic)
    assert refused.value.code is code
    assert [error.batch_index for error in refused.value.record_errors] == [0, 1]


def test_a_batch_that_is_too_large_in_the_codec_of_the_topic_is_refused():
    data = batch([bytes(5000)], timestamp=NOW, codec=Codec.GZIP)
    with pytest.raises(KafkaError) as refused:
        prepare(data, trust(), {"compression.type": "uncompressed", "max.message.bytes": 1000})
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE


def test_the_largest_timestamp_is_put_right_in_another_codec_too():
    data = batch([b"a", b"b"], timestamp=NOW, timestamp_step=10, codec=Codec.GZIP)
    records, header = prepare(patched(data, (MAX_TIMESTAMP, NOW + 5)), trust(), {"compression.type": "zstd"})
    assert (header.codec, header.max_timestamp) == (Codec.ZSTD, NOW + 10)
    verify_crc(records)


@pytest.mark.parametrize("count_bytes", [encode_varint(-1), encode_varint(1 << 30), encode_varint(5)])
def test_headers_that_cannot_be_are_refused(count_bytes):
    body = b"\0\0\0\1\0" + count_bytes
    with pytest.raises(KafkaError) as refused:
        prepare(hand_made(encode_varint(len(body)) + body + bytes(8), 1), trust())
    assert refused.value.code is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(
    "header, is_sound",
    [(b"\0\0", True), (b"\0\1", True), (b"\1\0", False), (b"\x02k\x02v", True), (b"\x08k\0", False)],
)
def test_headers_need_a_key_and_fit_their_record(header, is_sound):
    body = b"\0\0\0\1\0" + encode_varint(1) + header
    data = hand_made(encode_varint(len(body)) + body, 1)
    if is_sound:
        assert len(decode_records(prepare(data, trust())[0])[0].headers) == 1
    else:
        with pytest.raises(KafkaError) as refused:
            prepare(data, trust())
        assert refused.value.code is ErrorCode.INVALID_RECORD


# ---- readers


def stored_with(world: LogWorld, data: bytearray) -> None:
    """Appends as a broker that does not verify headers once did."""
    world.append(memoryview(data), origin=Origin.COORDINATOR)


def test_a_future_timestamp_that_no_record_has_does_not_postpone_retention():
    world = LogWorld({"retention.ms": 1000})
    stored_with(world, patched(batch([b"x"] * 3, timestamp=world.clock.wall_ms()), (MAX_TIMESTAMP, 1 << 62)))
    world.log.roll(world.clock.wall_ms())
    world.log.update_high_watermark(3)
    assert delete_old_segments(world.log, world.clock.wall_ms()) == 0
    world.clock.advance(1001)
    assert delete_old_segments(world.log, world.clock.wall_ms()) == 1


def test_a_future_timestamp_that_a_record_has_postpones_retention_as_ever():
    world = LogWorld({"retention.ms": 1000})
    world.append(batch([b"x"] * 3, timestamp=world.clock.wall_ms() + 10 * CLOCK_SLACK_MS))
    world.log.roll(world.clock.wall_ms())
    world.log.update_high_watermark(3)
    world.clock.advance(2000)
    assert delete_old_segments(world.log, world.clock.wall_ms()) == 0


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
@pytest.mark.parametrize("is_base_future, kept", [(True, True), (False, False)])
def test_a_future_timestamp_of_a_very_large_batch_is_not_looked_for_record_by_record(codec, is_base_future, kept):
    """The records go on with timestamps of now; what stands at their end would take long to find."""
    count = 200_000
    world = LogWorld({"segment.bytes": 1 << 24, "retention.ms": 1000, "max.message.bytes": 1 << 23})
    now_ms = world.clock.wall_ms()
    base = now_ms + 10 * CLOCK_SLACK_MS if is_base_future else now_ms
    header = read_header(batch())._replace(record_count=count, last_offset_delta=count - 1, base_timestamp=base)
    body = b"".join(encoded(0, number) for number in range(count))
    stored_with(world, with_records(header, codec, compress(codec, body), now_ms + 20 * CLOCK_SLACK_MS))
    world.log.roll(now_ms)
    world.log.update_high_watermark(world.log.log_end_offset)
    world.clock.advance(2000)
    before = time.thread_time()
    deleted = delete_old_segments(world.log, world.clock.wall_ms())
    assert time.thread_time() - before < 0.05
    assert (deleted == 0) is kept


def test_a_future_timestamp_does_not_keep_a_producer_for_ever():
    world = LogWorld()
    future = world.clock.wall_ms() + 10 * CLOCK_SLACK_MS
    world.append(batch(timestamp=future, producer_id=7, producer_epoch=0, base_sequence=0))
    expiration_ms = world.context.producer_expiration_ms
    assert world.log.files.remove_expired_producers(world.clock.wall_ms()) == 0
    world.clock.advance(expiration_ms)
    assert world.log.files.remove_expired_producers(world.clock.wall_ms()) == 1


def test_an_unreadable_batch_is_skipped_in_a_search_by_time_and_named(caplog):
    claimed = MAX_TIMESTAMP, 2600
    world = LogWorld()
    world.append(batch([b"a"], timestamp=1000))
    stored_with(world, patched(batch([b"b"] * 3, timestamp=2000), (RECORD_COUNT, 5), (LAST_OFFSET_DELTA, 4), claimed))
    world.append(batch([b"c"], timestamp=3000))
    assert offset_for_timestamp(world.log, 2500) == (3000, 6, 0)
    assert any(f"{world.topic_partition}: the batch at offset 1 is skipped" in line for line in caplog.messages)


# ---- decompression bombs


def bomb(plain_bytes: int, count: int, codec: Codec, max_timestamp: int = NOW) -> bytearray:
    """A batch of which so many bytes come out."""
    header = read_header(batch(timestamp=NOW))._replace(record_count=count, last_offset_delta=count - 1)
    return with_records(header, codec, compress(codec, bytes(plain_bytes)), max_timestamp)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_no_batch_makes_more_memory_than_the_limit(codec):
    data = bomb(LEAST_PLAIN_LIMIT + (1 << 20), 1000, codec, max_timestamp=-1)
    config = LogConfig.for_topic(None, {"max.message.bytes": 8 << 20})
    assert plain_limit(config.max_message_bytes) == LEAST_PLAIN_LIMIT
    work = prepare_leader_append(memoryview(data), config, NOW, Origin.CLIENT, trust())
    assert isinstance(work, RecordWork)
    assert work.run_on_loop() is None
    tracemalloc.start()
    try:
        with pytest.raises(KafkaError) as refused:
            work.run()
        assert refused.value.code is ErrorCode.INVALID_RECORD
        assert tracemalloc.get_traced_memory()[1] < 2.5 * LEAST_PLAIN_LIMIT
    finally:
        tracemalloc.stop()


def test_more_records_than_the_limit_can_hold_are_refused_before_anything_is_decompressed(monkeypatch):
    monkeypatch.setattr(record_work, "records_payload", None)
    data = bomb(1000, LEAST_PLAIN_LIMIT // 7 + 1, Codec.ZSTD, max_timestamp=-1)
    with pytest.raises(KafkaError, match="do not fit"):
        prepare(data, trust())


def test_a_batch_looked_at_by_chance_is_taken_as_it_is_when_it_is_too_large_to_verify():
    data = bomb(LEAST_PLAIN_LIMIT + 1, 100, Codec.ZSTD)
    assert prepare(data, trust(lucky=False))[1].record_count == 100


def test_a_refusal_lists_no_more_records_than_an_answer_can_hold():
    """The count in a header is a claim: of a compressed batch nothing shows yet whether it is true."""
    attributes = (21, ">h")
    data = patched(
        batch(codec=Codec.GZIP),
        (RECORD_COUNT, 2**31 - 1),
        (LAST_OFFSET_DELTA, 2**31 - 2),
        (attributes, 0x08 | Codec.GZIP),
    )
    with pytest.raises(RecordErrors) as refused:
        prepare(data)
    assert refused.value.code is ErrorCode.INVALID_TIMESTAMP
    assert len(refused.value.record_errors) == MOST_ERRORS
