"""kafka_py.wire.compiler: versions, defaults, nulls, tagged fields, records; and what the errors say."""

import traceback
from typing import Any
from uuid import UUID

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.slices import FileSlice
from kafka_py.wire.compiler import decode, decode_versioned, decoder, encode, encode_versioned, encoder, read_version
from kafka_py.wire.messages.api_versions import ApiVersionsResponse, FinalizedFeatureKey
from kafka_py.wire.messages.consumer_protocol import ConsumerProtocolSubscription, TopicPartitions
from kafka_py.wire.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from kafka_py.wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchablePartitionResponse,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
)
from kafka_py.wire.messages.heartbeat import HeartbeatRequest
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_py.wire.messages.offset_commit_record import OffsetCommitValue
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from kafka_py.wire.primitives import MalformedMessage, UnencodableMessage
from kafka_py.wire.schema import Int8, Int32, Int64, String, Uuid, message, since, struct

PRODUCE = ProduceRequest(
    acks=-1,
    timeout_ms=1000,
    topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData(index=2, records=b"batch")])],
)


def test_the_same_function_is_handed_out_again():
    assert encoder(HeartbeatRequest, 3) is encoder(HeartbeatRequest, 3)
    assert decoder(HeartbeatRequest, 3) is decoder(HeartbeatRequest, 3)
    assert decoder(HeartbeatRequest, 3) is not decoder(HeartbeatRequest, 4)


@pytest.mark.parametrize("version", [-1, 5])
def test_versions_that_a_class_lacks(version):
    for make in (encoder, decoder):
        with pytest.raises(KafkaError, match=f"HeartbeatRequest has versions 0-4, not {version}") as caught:
            make(HeartbeatRequest, version)
        assert caught.value.code is ErrorCode.UNSUPPORTED_VERSION


def test_absent_fields_get_their_defaults():
    request = FetchRequest(replica_id=-1, max_wait_ms=5, min_bytes=1)
    decoded = decode(FetchRequest, 0, encode(request, 0))
    assert decoded == request
    assert (decoded.max_bytes, decoded.session_epoch, decoded.rack_id) == (0x7FFFFFFF, -1, "")
    assert decoded.forgotten_topics_data == []


def test_a_set_field_that_the_version_lacks_is_an_error_unless_ignorable():
    request = HeartbeatRequest(group_id="g", group_instance_id="i")
    with pytest.raises(KafkaError, match=r"group_instance_id is set, but version 2 lacks it") as caught:
        encode(request, 2)
    assert caught.value.code is ErrorCode.UNSUPPORTED_VERSION
    throttled = ProduceResponse(throttle_time_ms=5)  # ignorable
    assert decode(ProduceResponse, 0, encode(throttled, 0)).throttle_time_ms == 0


def test_a_set_field_deep_inside_is_named_with_its_path():
    request = MetadataRequest(topics=[MetadataRequestTopic(name=None)])
    with pytest.raises(KafkaError, match=r"MetadataRequest.topics.name may not be null in version 9"):
        encode(request, 9)
    with pytest.raises(KafkaError, match=r"MetadataRequest.topics may not be null in version 0"):
        encode(MetadataRequest(topics=None), 0)


def heartbeat(*, group_id: Any = "", generation_id: Any = 0, member_id: Any = "") -> HeartbeatRequest:
    """With whatever values, of whatever types."""
    return HeartbeatRequest(group_id=group_id, generation_id=generation_id, member_id=member_id)


@pytest.mark.parametrize(
    ("msg", "field"),
    [
        (heartbeat(group_id=None), "group_id"),
        (heartbeat(group_id="x" * 32768), "group_id"),
        (heartbeat(generation_id="1"), "generation_id"),
        (heartbeat(generation_id=2**31), "generation_id"),
        (heartbeat(member_id=5), "member_id"),
    ],
)
@pytest.mark.parametrize("version", [3, 4])
def test_values_that_do_not_fit_are_named(msg, field, version):
    with pytest.raises(UnencodableMessage, match=rf"^HeartbeatRequest v{version}, .*{field}"):
        encode(msg, version)


@pytest.mark.parametrize("version", [4, 5])
def test_error_messages_that_do_not_fit_are_shortened(version):
    """They repeat what a client has sent, which may be a string of the greatest length."""

    def sent(text):
        response = CreateTopicsResponse(topics=[CreatableTopicResult(name="t", error_code=3, error_message=text)])
        [topic] = decode(CreateTopicsResponse, version, encode(response, version)).topics
        return topic.error_message

    assert sent("x" * 32767) == "x" * 32767
    assert sent("x" * 32768) == "x" * 32764 + "..."
    assert sent("\u20ac" * 20_000) == "\u20ac" * 10921 + "..."  # three bytes each, and none is cut
    assert sent("") == ""
    assert sent(None) is None


def test_the_longest_string():
    request = HeartbeatRequest(group_id="x" * 32767)
    for version in (3, 4):
        assert decode(HeartbeatRequest, version, encode(request, version)) == request


@pytest.mark.parametrize(
    ("version", "encoded", "reason"),
    [
        (3, "0001", "group_id: length 1, 0 bytes left"),
        (3, "ffff", "group_id: null where none may stand"),
        (3, "fffe", "group_id: length -2"),
        (3, "000000", "generation_id to member_id: cut off"),
        (3, "0000000000010000fe", "group_instance_id: cut off"),
        (3, "0000000000010000fffe", "group_instance_id: length -2"),
        (4, "00", "group_id: null where none may stand"),
        (4, "ffffffffff01", "group_id: varint too long"),
        (4, "81808002", "group_id: length"),  # 32768 bytes
        (4, "0100000001010001", "end: varint cut off"),
        (4, "010000000101000105ff", "end: varint cut off"),
        (4, "01000000010100010501", "end: tagged field cut off"),
        (4, "0100000001010001050201", "end: tagged field cut off"),
    ],
)
def test_malformed_messages_say_where(version, encoded, reason):
    with pytest.raises(MalformedMessage, match=f"^HeartbeatRequest v{version}, {reason}"):
        decode(HeartbeatRequest, version, bytes.fromhex(encoded))


@pytest.mark.parametrize("count", [-2, 2, 0x7FFFFFFF, -0x80000000])
def test_a_count_is_held_against_what_is_left(count):
    body = count.to_bytes(4, "big", signed=True) + b"\x00" * 3
    with pytest.raises(MalformedMessage, match=r"^MetadataRequest v1, topics: length"):
        decode(MetadataRequest, 1, body)


def test_unknown_tagged_fields_are_skipped():
    body = encode(HeartbeatRequest(group_id="g", generation_id=5, member_id="m"), 4)
    tagged = body[:-1] + b"\x02\x09\x02ab\x0a\x00"
    decoded, end = decoder(HeartbeatRequest, 4)(tagged, 0)
    assert decoded == HeartbeatRequest(group_id="g", generation_id=5, member_id="m")
    assert end == len(tagged)


def test_known_tagged_fields():
    """Written in order of their tags, and only when set; read in any order and between unknown ones."""
    response = ApiVersionsResponse(
        finalized_features_epoch=3, finalized_features=[FinalizedFeatureKey(name="f", max_version_level=2)]
    )
    body = encode(response, 3)
    epoch, features = "01 08 0000000000000003", "02 08 02 0266 0002 0000 00"
    assert body.hex() == f"0000 01 00000000 02 {epoch} {features}".replace(" ", "")
    assert decode(ApiVersionsResponse, 3, body) == response
    shuffled = bytes.fromhex(f"0000 01 00000000 03 {features} 09 01 ff {epoch}".replace(" ", ""))
    assert decode(ApiVersionsResponse, 3, shuffled) == response
    assert encode(ApiVersionsResponse(), 3).hex() == "0000" + "01" + "00000000" + "00"


@pytest.mark.parametrize("size", ["07", "09", "ff01"])
def test_a_tagged_field_fills_its_size(size):
    body = bytes.fromhex(f"0000 01 00000000 01 01 {size} 0000000000000003 00")
    with pytest.raises(MalformedMessage, match=r"^ApiVersionsResponse v3"):
        decode(ApiVersionsResponse, 3, body)


def test_tagged_structs():
    part = FetchablePartitionResponse(partition=1, diverging_epoch=EpochEndOffset(epoch=4, end_offset=99))
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partition_responses=[part])])
    decoded = decode(FetchResponse, 12, encode(response, 12))
    assert decoded == response
    with pytest.raises(KafkaError, match=r"FetchResponse.responses.partition_responses.diverging_epoch is set"):
        encode(response, 11)
    part.diverging_epoch = EpochEndOffset()  # the default, though not the shared one
    assert len(encode(response, 12)) == len(encode(response, 11)) - 4 - 2 - 4 - 4 - 4 + 1 + 1 + 1 + 1 + 1 + 3


@pytest.mark.parametrize("version", [7, 9])
def test_records_are_slices_of_the_frame(version):
    body = encode(PRODUCE, version)
    frame = bytearray(b"head" + body)
    records = decode(ProduceRequest, version, frame, 4).topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    records[0] = ord("B")
    assert b"Batch" in frame
    read_only = decode(ProduceRequest, version, body).topic_data[0].partition_data[0].records
    assert read_only.readonly
    assert read_only == b"batch"


@pytest.mark.parametrize("version", [7, 9])
def test_decoding_a_memoryview(version):
    body = encode(PRODUCE, version)
    view = memoryview(bytearray(b"head" + body))
    for _ in range(2):  # the decoder for views is made the first time
        assert decode(ProduceRequest, version, view, 4) == PRODUCE
    with pytest.raises(MalformedMessage, match="ProduceRequest"):
        decode(ProduceRequest, version, view[:-6], 4)


@pytest.mark.parametrize("version", [11, 12])
def test_file_slices_are_left_out_and_counted(version):
    piece, empty = FileSlice(None, 0, 1000), FileSlice(None, 0, 0)
    parts = [
        FetchablePartitionResponse(partition=0, record_set=piece),
        FetchablePartitionResponse(partition=1, record_set=empty),
        FetchablePartitionResponse(partition=2, record_set=[b"ab", piece]),
        FetchablePartitionResponse(partition=3, record_set=None),
    ]
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partition_responses=parts)])
    out, slices = bytearray(), []
    encoder(FetchResponse, version)(response, out, slices)
    assert [s for _, s in slices] == [piece, piece]
    for position, _ in reversed(slices):
        out[position:position] = b"x" * 1000
    decoded = decode(FetchResponse, version, out).responses[0].partition_responses
    assert [p.record_set for p in decoded] == [b"x" * 1000, b"", b"ab" + b"x" * 1000, None]
    with pytest.raises(TypeError, match="file slices"):
        encode(response, version)


def test_versioned_data():
    """Keys and values of internal topics carry their version in front."""
    value = OffsetCommitValue(offset=5, leader_epoch=2, metadata="m", commit_timestamp=7)
    encoded = encode_versioned(value, 3)
    assert encoded.hex() == "000300000000000000050000000200016d0000000000000007"
    assert decode_versioned(OffsetCommitValue, encoded) == (3, value)
    assert read_version(encoded) == 3
    with pytest.raises(KafkaError, match="not 4"):
        decode_versioned(OffsetCommitValue, b"\x00\x04" + encoded[2:])
    with pytest.raises(MalformedMessage, match="no room"):
        read_version(b"\x00")


def test_a_newer_subscription_is_read_as_the_newest_known():
    subscription = ConsumerProtocolSubscription(
        topics=["a"], owned_partitions=[TopicPartitions(topic="a", partitions=[1])]
    )
    encoded = b"\x00\x09" + encode_versioned(subscription, 1)[2:] + b"new fields"
    assert decode_versioned(ConsumerProtocolSubscription, encoded, newest_known=True) == (9, subscription)


@struct
class Inner:
    a: Int8
    b: Uuid


@message(versions=(0, 1), flexible=1)
class Odd:
    """Shapes that Kafka's messages do not have today."""

    first: Inner
    second: Inner
    ids: list[Uuid]
    names: list[String] | None
    tagged: Int32 = since(1, tag=3)
    words: list[String] = since(1, tag=0)
    longs: list[Int64]


@pytest.mark.parametrize("version", [0, 1])
def test_shapes_that_no_message_has_yet(version):
    one, two = UUID(int=1), UUID(int=2**128 - 2)
    odd = Odd(first=Inner(a=1, b=one), second=Inner(a=-2, b=two), ids=[one, two], names=["", "x"], longs=[-1, 2**62])
    if version:
        odd.tagged, odd.words = 9, ["w"]
    for value in (odd, Odd(names=None), Odd()):
        body = encode(value, version)
        assert decode(Odd, version, body) == value
        assert decode(Odd, version, memoryview(body)) == value
        for cut in range(len(body)):
            with pytest.raises(MalformedMessage):
                decode(Odd, version, body[:cut])


def test_aborted_transactions_null_and_empty_differ():
    for given in (None, [], [AbortedTransaction(producer_id=1, first_offset=2)]):
        part = FetchablePartitionResponse(partition=1, aborted_transactions=given)
        response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partition_responses=[part])])
        for version in (4, 12):
            decoded = decode(FetchResponse, version, encode(response, version))
            assert decoded.responses[0].partition_responses[0].aborted_transactions == given


def test_error_codes_may_be_given_as_enum():
    body = encode(ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION), 0)
    assert decode(ApiVersionsResponse, 0, body).error_code == 35


def test_tracebacks_show_the_made_code():
    try:
        encode(HeartbeatRequest(generation_id="1"), 3)
    except UnencodableMessage as error:
        text = "".join(traceback.format_exception(error.__cause__))
    assert "out += pack_ih(o0.generation_id, n)" in text
