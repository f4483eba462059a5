"""What clients that have not logged in yet are answered."""

import struct

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.requests.large_requests import PLAIN_BYTES
from kafka_py.broker.requests.login_answers import ConnectionAnswers
from kafka_py.wire.frames import decode_response, encode_request, read_request_header
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse


def refusal(frame: bytearray) -> bytes | None:
    header, pos = read_request_header(frame)
    answers = ConnectionAnswers(None)  # type: ignore[arg-type]  # refusals do not look at it
    parts = answers.refusal(header, frame, pos, ErrorCode.ILLEGAL_SASL_STATE, "no part of a login")
    return None if parts is None else b"".join(bytes(part) for part in parts if isinstance(part, bytes | bytearray))


def test_a_refusal_names_what_was_asked_for() -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    answered = refusal(bytearray(encode_request(request, 1, 7, "c")[4:]))
    assert answered is not None
    [topic] = decode_response(MetadataResponse, 1, memoryview(answered)[4:])[1].topics
    assert (topic.name, topic.error_code) == ("t", ErrorCode.ILLEGAL_SASL_STATE)


@pytest.mark.parametrize("topics", [2000, 250_000])
def test_a_large_request_is_neither_decoded_nor_answered(topics: int) -> None:
    """The response to 250,000 topics took two thirds of a second of the event loop, before any login."""
    header = bytes(encode_request(MetadataRequest(topics=[]), 1, 7, "c")[4:-4])
    frame = bytearray(header + struct.pack(">i", topics) + bytes(2 * topics))
    assert len(frame) > PLAIN_BYTES
    assert refusal(frame) is None
