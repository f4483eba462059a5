"""What a span needs of messages: topics, partitions, error codes, up to a bound."""

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.observe.tracing.traced import MOST_CHARACTERS, MOST_ELEMENTS, TracedRequest
from kafka_py.wire.messages.create_topics import CreatableTopic, CreateableTopicConfig, CreateTopicsRequest
from kafka_py.wire.messages.delete_topics import DeleteTopicsRequest
from kafka_py.wire.messages.fetch import FetchablePartitionResponse, FetchableTopicResponse, FetchRequest, FetchResponse
from kafka_py.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_py.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from kafka_py.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)


def produce(*topics: str, partitions: int = 1) -> ProduceRequest:
    rows = [PartitionProduceData(index=index, records=None) for index in range(3, 3 + partitions)]
    data = [TopicProduceData(name=topic, partition_data=rows) for topic in topics]
    return ProduceRequest(acks=1, timeout_ms=1, topic_data=data)


def test_topics_and_partitions_of_a_produce_request() -> None:
    traced = TracedRequest(produce("a", "b", partitions=2))
    assert (list(traced.topics), list(traced.partitions), traced.is_partial) == (["a", "b"], [3, 4], False)


def test_error_codes_and_throttle_time_are_those_of_the_response() -> None:
    traced = TracedRequest(produce("a"))
    rows = [
        PartitionProduceResponse(index=index, error_code=code, base_offset=-1)
        for index, code in ((3, 0), (4, ErrorCode.NOT_LEADER_OR_FOLLOWER), (5, ErrorCode.NOT_LEADER_OR_FOLLOWER))
    ]
    response = ProduceResponse(responses=[TopicProduceResponse(name="a", partition_responses=rows)])
    response.throttle_time_ms = 70
    traced.note_response(response, 99)
    assert list(traced.errors) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert (traced.throttle_time_ms, traced.response_bytes) == (70, 99)


def test_a_fetch_of_a_session_has_its_topic_in_the_response() -> None:
    traced = TracedRequest(FetchRequest(replica_id=-1, max_wait_ms=1, min_bytes=1, topics=[]))
    assert not traced.topics
    row = FetchablePartitionResponse(partition=7, error_code=0, high_watermark=0, record_set=None)
    traced.note_response(FetchResponse(responses=[FetchableTopicResponse(topic="a", partition_responses=[row])]), 1)
    assert (list(traced.topics), list(traced.partitions), list(traced.errors)) == (["a"], [7], [])


@pytest.mark.parametrize(
    ("request_", "topics", "partitions", "group"),
    [
        (MetadataRequest(topics=None), [], [], None),
        (MetadataRequest(topics=[MetadataRequestTopic(name="a")]), ["a"], [], None),
        (DeleteTopicsRequest(topic_names=["a", "b"], timeout_ms=1), ["a", "b"], [], None),
        (HeartbeatRequest(group_id="g" * 999, generation_id=1, member_id="m"), [], [], "g" * MOST_CHARACTERS),
        (
            OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name="a", partition_indexes=[5, 6])]),
            ["a"], [5, 6], "g",
        ),
        (
            CreateTopicsRequest(
                topics=[
                    CreatableTopic(
                        name="a", num_partitions=1, replication_factor=1, assignments=[],
                        configs=[CreateableTopicConfig(name="retention.ms", value="1")],
                    )
                ],
                timeout_ms=1,
            ),
            ["a"], [], None,
        ),
    ],
)  # fmt: skip
def test_names_in_requests_of_other_kinds(
    request_: object, topics: list[str], partitions: list[int], group: str | None
) -> None:
    traced = TracedRequest(request_)
    assert (list(traced.topics), list(traced.partitions), traced.group) == (topics, partitions, group)


def test_a_code_at_the_top_of_a_response_counts() -> None:
    traced = TracedRequest(HeartbeatRequest(group_id="g", generation_id=1, member_id="m"))
    traced.note_response(HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS), 1)
    assert list(traced.errors) == [ErrorCode.REBALANCE_IN_PROGRESS]
    traced.note_response(None, 0)  # no response (acks=0)


@pytest.mark.parametrize(("partitions", "is_partial"), [(MOST_ELEMENTS - 1, False), (MOST_ELEMENTS, True)])
def test_a_message_of_very_many_elements_is_looked_at_in_part(partitions: int, is_partial: bool) -> None:
    traced = TracedRequest(produce("a", partitions=partitions))
    assert traced.is_partial is is_partial and len(traced.partitions) == MOST_ELEMENTS - 1
    names = [f"t{number}" for number in range(5000)]
    many = TracedRequest(DeleteTopicsRequest(topic_names=names, timeout_ms=1))
    assert many.is_partial and len(many.topics) == MOST_ELEMENTS


def test_a_topic_that_a_request_names_by_very_many_characters_is_cut() -> None:
    """No topic has such a name, but a request may, and thousands of requests wait while a collector is down."""
    name = "t" * 30_000
    for request in (produce(name), DeleteTopicsRequest(topic_names=[name], timeout_ms=1)):
        assert list(TracedRequest(request).topics) == ["t" * MOST_CHARACTERS]
