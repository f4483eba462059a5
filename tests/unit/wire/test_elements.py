"""Which messages have so many elements that they are encoded in turns."""

import pytest

from kafka_py.wire.compiler import encoder_in_turns
from kafka_py.wire.elements import needs_turns
from kafka_py.wire.encoding import STEP_ELEMENTS
from kafka_py.wire.messages.fetch import (
    AbortedTransaction,
    FetchablePartitionResponse,
    FetchableTopicResponse,
    FetchResponse,
)
from kafka_py.wire.messages.heartbeat import HeartbeatResponse
from kafka_py.wire.messages.metadata import MetadataResponse, MetadataResponseBroker


def stops(message: object, version: int) -> bool:
    """Whether the encoder in turns stops before its end."""
    return next(encoder_in_turns(type(message), version)(message, bytearray(), []), "end") is None


def fetch(topics: int, partitions: int, aborted: int) -> FetchResponse:
    def partition(number: int) -> FetchablePartitionResponse:
        transactions = [AbortedTransaction(producer_id=1, first_offset=2) for _ in range(aborted)]
        return FetchablePartitionResponse(
            partition=number, error_code=0, high_watermark=5, record_set=b"", aborted_transactions=transactions
        )

    return FetchResponse(
        responses=[
            FetchableTopicResponse(topic="t", partition_responses=[partition(n) for n in range(partitions)])
            for _ in range(topics)
        ]
    )


@pytest.mark.parametrize("topics", [0, 1, 3, 7, STEP_ELEMENTS - 1, STEP_ELEMENTS])
@pytest.mark.parametrize("partitions", [0, 1, 8, STEP_ELEMENTS - 2, STEP_ELEMENTS - 1])
@pytest.mark.parametrize("aborted", [0, 1, STEP_ELEMENTS - 3, STEP_ELEMENTS - 2])
def test_a_message_needs_turns_when_its_encoder_in_turns_stops(topics: int, partitions: int, aborted: int) -> None:
    message = fetch(topics, partitions, aborted)
    assert needs_turns(message) is stops(message, 11)


def test_null_arrays_and_messages_without_arrays_need_none() -> None:
    message = fetch(1, 1, 0)
    message.responses[0].partition_responses[0].aborted_transactions = None
    assert not needs_turns(message)
    assert not needs_turns(HeartbeatResponse(error_code=0))


def test_all_arrays_count_together() -> None:
    def brokers(count: int) -> MetadataResponse:
        made = [MetadataResponseBroker(node_id=n, host="h", port=1) for n in range(count)]
        return MetadataResponse(brokers=made, controller_id=0, topics=[])

    assert not needs_turns(brokers(STEP_ELEMENTS - 1))
    assert needs_turns(brokers(STEP_ELEMENTS))
