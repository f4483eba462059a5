"""What is done with the records of a batch, on the event loop or in a thread, and within which bounds."""

import tracemalloc

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.model.answers import MOST_ERRORS, Origin, RecordErrors
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.validation import record_work
from kafka_py.log.validation.record_work import LEAST_PLAIN_LIMIT, MOST_RENUMBERED, RecordWork, plain_limit
from kafka_py.log.validation.validation import prepare_leader_append
from kafka_py.records.batch import decode_records, read_header, verify_crc
from kafka_py.records.builder import BatchBuilder, with_records
from kafka_py.records.compression import Codec
from kafka_py.records.varints import encode_varint
from kafka_py.testing.fakes.stored_logs import batch

from ..sent_batches import (
    LAST_OFFSET_DELTA,
    MAX_TIMESTAMP,
    NOW,
    RECORD_COUNT,
    begun,
    bomb,
    encoded,
    hand_made,
    patched,
    prepare,
    trust,
)


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

    def test_timestamps_that_are_too_far_apart_are_refused(self):
        body = encoded(-(1 << 62), 3) + encoded(1 << 62, 3)
        with pytest.raises(KafkaError) as refused:
            prepare(hand_made(body, 2, base_timestamp=0), trust())
        assert refused.value.code is ErrorCode.INVALID_RECORD

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
