"""The forms of the codec that stop now and then: the same bytes and values as the plain ones, in many steps."""

from collections.abc import Generator
from typing import Any, cast

import pytest

from kafka_py.base.slices import FileSlice, OpenFile
from kafka_py.wire.apis import APIS
from kafka_py.wire.compiler import encode, encoder_in_turns, stepwise_decoder
from kafka_py.wire.decoding import STEP_NUMBERS
from kafka_py.wire.frames import (
    decode_response_in_turns,
    encode_request,
    encode_request_in_turns,
    encode_response,
    encode_response_in_turns,
    put_correlation_id,
)
from kafka_py.wire.messages.fetch import (
    FetchablePartitionResponse,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafka_py.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic

REQUEST = FetchRequest(
    replica_id=-1,
    max_wait_ms=0,
    min_bytes=1,
    topics=[
        FetchTopic(
            topic=f"topic-{topic}",
            partitions=[FetchPartition(partition=n, fetch_offset=n, partition_max_bytes=1) for n in range(10)],
        )
        for topic in range(100)
    ],
)


def run(steps: Generator[None, None, Any]) -> tuple[int, Any]:
    """(how often it stopped, what it returned)."""
    stops = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return stops, end.value
        stops += 1


@pytest.mark.parametrize("version", range(4, 13))
def test_the_bytes_are_the_same_and_it_stops_after_every_few_elements(version: int) -> None:
    out = bytearray()
    stops, _ = run(encoder_in_turns(FetchRequest, version)(REQUEST, out, []))
    assert out == encode(REQUEST, version)
    assert stops == 1100 // 64


def test_a_long_list_of_numbers_is_decoded_in_turns_too() -> None:
    """Numbers are read many at once; very many of them would hold the loop all the same."""
    numbers = list(range(3 * STEP_NUMBERS + 5))
    topics = [OffsetFetchRequestTopic(name=name, partition_indexes=numbers) for name in ("t", "u")]
    request = OffsetFetchRequest(group_id="g", topics=topics)
    encoded = encode(request, 5)
    stops, decoded = run(stepwise_decoder(OffsetFetchRequest, 5)(encoded, 0, len(encoded)))
    assert decoded == (request, len(encoded))
    assert stops == 6


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_every_message_has_both_forms(api: Any) -> None:
    for version in range(api.min_version, api.max_version + 1):
        frame = encode_request(api.request(), version, 9, "c")
        _, made = run(encode_request_in_turns(api.request(), version, 1, "c"))
        put_correlation_id(made, 9)
        assert made == frame
        answer = encode_response(api.response(), version, 9)
        assert run(encode_response_in_turns(api.response(), version, 9))[1] == answer
        decoded = run(decode_response_in_turns(api.response, version, b"".join(cast(list[bytes], answer))[4:]))[1]
        assert decoded == (9, api.response())


def test_file_slices_keep_their_places() -> None:
    file = cast(OpenFile, 7)
    answers = [
        FetchablePartitionResponse(partition=n, error_code=0, high_watermark=0, record_set=FileSlice(file, n, n + 1))
        for n in range(200)
    ]
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partition_responses=answers)])
    assert run(encode_response_in_turns(response, 11, 5))[1] == encode_response(response, 11, 5)
