"""kafka_py.wire.frames: headers by hand as they are declared, sizes, file slices in responses, splitting a stream."""

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.slices import FileSlice
from kafka_py.wire.apis import APIS, ENVELOPE, ApiKey
from kafka_py.wire.compiler import counted_decoder, decode, decoder, encode, stepwise_decoder
from kafka_py.wire.frames import (
    RequestHeader,
    decode_response,
    encode_request,
    encode_response,
    read_correlation_id,
    read_request_header,
    split_frames,
)
from kafka_py.wire.messages import headers
from kafka_py.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kafka_py.wire.messages.controlled_shutdown import ControlledShutdownRequest
from kafka_py.wire.messages.envelope import EnvelopeRequest, EnvelopeResponse
from kafka_py.wire.messages.fetch import FetchablePartitionResponse, FetchableTopicResponse, FetchResponse
from kafka_py.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_py.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_py.wire.primitives import MOST_TAGGED_FIELDS, MalformedMessage, MessageTooLarge, write_unsigned_varint


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_request_headers_agree_with_their_declaration(api):
    for version in range(api.max_version + 1):
        header_version = api.request_header_version(version)
        for client_id in ("", "héllo", None):
            declared = headers.RequestHeader(request_api_key=api.key, request_api_version=version, correlation_id=-7)
            declared.client_id = client_id if header_version else ""
            encoded = encode(declared, header_version)
            frame = encode_request(api.request(), version, -7, client_id)
            assert frame[4 : 4 + len(encoded)] == encoded
            assert int.from_bytes(frame[:4], "big") == len(frame) - 4
            header, pos = read_request_header(bytearray(frame[4:]))
            assert header == RequestHeader(api.key, version, -7, client_id if header_version else None)
            assert isinstance(header.api_key, ApiKey)
            assert pos == len(encoded)
            assert decode(api.request, version, frame[4:], pos) == api.request()


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_response_headers_agree_with_their_declaration(api):
    for version in range(api.max_version + 1):
        encoded = encode(headers.ResponseHeader(correlation_id=9), api.response_header_version(version))
        (frame,) = encode_response(api.response(), version, 9)
        assert frame[4:].startswith(encoded)
        assert int.from_bytes(frame[:4], "big") == len(frame) - 4
        assert decode_response(api.response, version, frame[4:]) == (9, api.response())
        assert read_correlation_id(frame[4:]) == 9


def test_a_client_id_that_is_not_utf_8_is_read_as_java_reads_it():
    frame = bytearray(encode_request(HeartbeatRequest(), 4, 1, "??")[4:])
    frame[10:12] = b"\xffx"
    assert read_request_header(frame)[0].client_id == "\ufffdx"


@pytest.mark.parametrize("version", [1, 9])
def test_strings_that_are_not_utf_8_are_read_as_java_reads_them(version):
    encoded = encode(MetadataRequest(topics=[MetadataRequestTopic(name="a??b")]), version).replace(b"??", b"\xff\xc3")
    expected = MetadataRequest(topics=[MetadataRequestTopic(name="a\ufffd\ufffdb")])
    for buf in (encoded, bytearray(encoded), memoryview(encoded)):
        assert decoder(MetadataRequest, version)(buf, 0) == (expected, len(encoded))
    assert counted_decoder(MetadataRequest, version)(encoded, 0, 10) == (expected, len(encoded))
    with pytest.raises(StopIteration) as end:
        next(stepwise_decoder(MetadataRequest, version)(encoded, 0, 10))
    assert end.value.value == (expected, len(encoded))


def test_tagged_fields_of_a_body_count_as_elements():
    start = encode(HeartbeatRequest(group_id="g"), 4)[:-1]
    for count, is_taken in ((10, True), (11, False)):
        body = start + bytes([count]) + b"".join(bytes([100 + number, 0]) for number in range(count))
        for decode_counted in (
            lambda body=body: counted_decoder(HeartbeatRequest, 4)(body, 0, 10),
            lambda body=body: list(stepwise_decoder(HeartbeatRequest, 4)(body, 0, 10)),
        ):
            if is_taken:
                decode_counted()
            else:
                with pytest.raises(MessageTooLarge, match="11 elements, at most 10"):
                    decode_counted()


@pytest.mark.parametrize("version", [5, 7])
def test_numbers_of_an_array_count_as_elements(version):
    for count, is_taken in ((9, True), (10, False)):
        topic = OffsetFetchRequestTopic(name="t", partition_indexes=list(range(count)))
        body = encode(OffsetFetchRequest(group_id="g", topics=[topic]), version)
        if is_taken:
            counted_decoder(OffsetFetchRequest, version)(body, 0, 10)
        else:
            with pytest.raises(MessageTooLarge, match="11 elements, at most 10"):
                counted_decoder(OffsetFetchRequest, version)(body, 0, 10)
            with pytest.raises(MessageTooLarge, match="11 elements, at most 10"):
                list(stepwise_decoder(OffsetFetchRequest, version)(body, 0, 10))


def test_a_header_with_thousands_of_tagged_fields_is_malformed():
    start = encode_request(HeartbeatRequest(), 4, 1, "c")[4:15]
    for count, is_taken in ((MOST_TAGGED_FIELDS, True), (MOST_TAGGED_FIELDS + 1, False)):
        section = bytearray()
        write_unsigned_varint(section, count)
        frame = start + section + b"\x05\x00" * count
        if is_taken:
            assert read_request_header(frame)[1] == len(frame)
        else:
            with pytest.raises(MalformedMessage, match="1001 tagged fields"):
                read_request_header(frame)


def test_only_controlled_shutdown_v0_has_no_client_id():
    frame = encode_request(ControlledShutdownRequest(broker_id=3), 0, 1, "client")
    assert frame.hex() == "0000000c000700000000000100000003"
    assert [api.key for api in APIS.values() if api.request_header_version(0) == 0] == [ApiKey.CONTROLLED_SHUTDOWN]


def test_the_client_id_keeps_its_int16_length_in_flexible_versions():
    frame = encode_request(HeartbeatRequest(), 4, 1, "ab")
    assert frame[4:].hex().startswith("000c0004000000010002616200")


def test_tagged_fields_of_a_header_are_skipped():
    frame = bytes.fromhex("000c 0004 00000001 ffff 01 05 02 6162") + encode(HeartbeatRequest(group_id="g"), 4)
    header, pos = read_request_header(frame)
    assert header == RequestHeader(ApiKey.HEARTBEAT, 4, 1, None)
    assert decode(HeartbeatRequest, 4, frame, pos).group_id == "g"


@pytest.mark.parametrize("cut", range(14))
def test_headers_cut_off(cut):
    frame = encode_request(HeartbeatRequest(), 4, 1, "ab")[4:]
    with pytest.raises(MalformedMessage):
        read_request_header(frame[: min(cut, 12)])


@pytest.mark.parametrize("key", [-1, ApiKey.VOTE, ApiKey.ENVELOPE, ApiKey.UNREGISTER_BROKER, 67, 32767])
def test_apis_that_are_not_served(key):
    with pytest.raises(MalformedMessage, match=f"no API has key {int(key)}"):
        read_request_header(key.to_bytes(2, "big", signed=True) + bytes(20))


def test_a_header_of_an_unknown_version_is_read():
    """An ApiVersions request of a later release is answered, not dropped (KIP-511)."""
    header, _ = read_request_header(bytes.fromhex("0012 0063 00000005 0001 63 00") + b"whatever")
    assert header == RequestHeader(ApiKey.API_VERSIONS, 99, 5, "c")
    assert not APIS[ApiKey.API_VERSIONS].supports(99)


def test_an_older_brokers_answer_to_api_versions_is_understood():
    """Asked for v3, a broker that has v0-2 answers v0 with UNSUPPORTED_VERSION."""
    answer = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    answer.api_keys = [ApiVersion(api_key=18, min_version=0, max_version=2)]
    (frame,) = encode_response(answer, 0, 5)
    assert decode_response(ApiVersionsResponse, 3, frame[4:]) == (5, answer)


def test_the_api_versions_response_header_is_never_flexible():
    (frame,) = encode_response(ApiVersionsResponse(), 3, 5)
    assert frame[4:].hex() == "00000005" + encode(ApiVersionsResponse(), 3).hex()
    assert encode_request(ApiVersionsRequest(), 3, 5, None)[4:].hex() == "0012000300000005ffff00010100"


def fetch_response(*record_sets):
    parts = [FetchablePartitionResponse(partition=i, record_set=records) for i, records in enumerate(record_sets)]
    return FetchResponse(responses=[FetchableTopicResponse(topic="t", partition_responses=parts)])


@pytest.mark.parametrize("version", [4, 11, 12])
def test_a_response_with_file_slices_comes_in_parts(version):
    one, two = FileSlice(None, 0, 5), FileSlice(None, 5, 700)
    parts = encode_response(fetch_response(one, b"mem", [two, one], None), version, 77)
    assert [type(part) for part in parts] == [bytes, FileSlice, bytes, FileSlice, FileSlice, bytes]
    sent = b"".join(b"x" * part.size if isinstance(part, FileSlice) else part for part in parts)
    assert int.from_bytes(sent[:4], "big") == len(sent) - 4
    correlation_id, decoded = decode_response(FetchResponse, version, sent[4:])
    assert correlation_id == 77
    records = [part.record_set for part in decoded.responses[0].partition_responses]
    assert records == [b"x" * 5, b"mem", b"x" * 705, None]


def test_a_file_slice_at_the_very_end():
    one = FileSlice(None, 0, 5)
    parts = encode_response(fetch_response(one), 4, 77)
    assert parts[1:] == [one]


def test_a_request_takes_no_file_slices():
    part = PartitionProduceData(index=0, records=FileSlice(None, 0, 5))
    request = ProduceRequest(acks=1, timeout_ms=1, topic_data=[TopicProduceData(name="t", partition_data=[part])])
    with pytest.raises(TypeError, match="file slices"):
        encode_request(request, 7, 1, None)


def test_the_envelope_can_be_written_though_it_is_not_served():
    frame = encode_request(EnvelopeRequest(request_data=b"r", client_host_address=b"\x7f\x00\x00\x01"), 0, 1, None)
    assert frame[4:6] == ApiKey.ENVELOPE.to_bytes(2, "big")
    (answer,) = encode_response(EnvelopeResponse(), 0, 1)
    assert decode_response(EnvelopeResponse, 0, answer[4:]) == (1, EnvelopeResponse())
    assert ENVELOPE.key not in APIS


@pytest.mark.parametrize("payload", [b"", b"\x00\x00\x00"])
def test_response_headers_cut_off(payload):
    with pytest.raises(MalformedMessage):
        decode_response(HeartbeatResponse, 0, payload)
    with pytest.raises(MalformedMessage):
        read_correlation_id(payload)


def test_a_stream_is_split_into_frames():
    stream = b"\x00\x00\x00\x02ab\x00\x00\x00\x00\x00\x00\x00\x03cde\x00\x00\x00\x05fg"
    for step in (1, 3, len(stream)):
        received, frames = bytearray(), []
        for start in range(0, len(stream), step):
            received += stream[start : start + step]
            frames += split_frames(received)
        assert frames == [b"ab", b"", b"cde"]
        assert received == b"\x00\x00\x00\x05fg"
        assert all(isinstance(frame, bytearray) for frame in frames)


@pytest.mark.parametrize("size", ["ffffffff", "80000000", "0000000b"])
def test_frame_sizes_that_cannot_be(size):
    with pytest.raises(MalformedMessage, match="frame size"):
        split_frames(bytearray.fromhex(size), max_size=10)
