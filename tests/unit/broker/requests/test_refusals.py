"""Every API can say an error, in every version, about everything that was asked for."""

from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.requests.error_responses import SHAPES, refuse, refusing
from kafka_py.broker.requests.routes import ROUTES
from kafka_py.wire.apis import APIS, Api, ApiKey
from kafka_py.wire.compiler import decode, encode
from kafka_py.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_py.wire.messages.join_group import JoinGroupRequest
from kafka_py.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kafka_py.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from kafka_py.wire.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaPartitionV0,
    StopReplicaRequest,
    StopReplicaResponse,
    StopReplicaTopicState,
    StopReplicaTopicV1,
)
from kafka_py.wire.schema import Scalar, schema_of

CODE = ErrorCode.COORDINATOR_NOT_AVAILABLE


def filled(cls: Any, version: int) -> Any:
    """A message with one item in every list, at every level, as far as the version has the field."""
    made = cls()
    for field in schema_of(cls).fields:
        if version not in field.versions:
            continue
        if field.is_array:
            element = field.element
            item = element.zero if isinstance(element, Scalar) else filled(element, version)
            setattr(made, field.name, [item])
    return made


CASES = [pytest.param(api, version, id=f"{api.name}-v{version}") for api in APIS.values()
         for version in range(api.min_version, api.max_version + 1)]  # fmt: skip


def codes_in(response: Any) -> set[int]:
    """Every error code, at whatever level."""
    found = set()
    for field in schema_of(type(response)).fields:
        value = getattr(response, field.name)
        if field.name == "error_code":
            found.add(value)
        elif field.is_array and value and not isinstance(field.element, Scalar):
            for item in value:
                found |= codes_in(item)
    return found


@pytest.mark.parametrize(("api", "version"), CASES)
def test_the_refusal_encodes_and_carries_the_code(api: Api, version: int) -> None:
    request = filled(api.request, version)
    response = decode(api.response, version, encode(refuse(api, version, request, CODE, "why"), version))
    expected = set() if api.key is ApiKey.DESCRIBE_LOG_DIRS else {int(CODE)}
    assert codes_in(response) - {0} == expected


def test_every_api_has_a_shape_and_a_route() -> None:
    assert set(SHAPES) == set(APIS) == set(ROUTES)


def test_a_refused_fetch_names_its_partitions_with_a_high_watermark_of_minus_one() -> None:
    asked = FetchPartition(partition=3, fetch_offset=7, partition_max_bytes=1)
    topics = [FetchTopic(topic="t", partitions=[asked])]
    request = FetchRequest(replica_id=-1, max_wait_ms=0, min_bytes=0, topics=topics)
    [topic] = refuse(APIS[ApiKey.FETCH], 4, request, CODE).responses
    [row] = topic.partition_responses
    assert (topic.topic, row.partition, row.error_code, row.high_watermark) == ("t", 3, CODE, -1)


def test_offset_fetch_carries_the_code_at_the_top_from_v2_on_and_per_partition_before() -> None:
    request = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[5])])
    new = refuse(APIS[ApiKey.OFFSET_FETCH], 2, request, CODE)
    assert (new.error_code, new.topics) == (CODE, [])
    old = refuse(APIS[ApiKey.OFFSET_FETCH], 1, request, CODE)
    row = old.topics[0].partitions[0]
    assert (row.partition_index, row.committed_offset, row.error_code) == (5, -1, CODE)


def test_a_refused_leader_and_isr_repeats_the_code_per_partition() -> None:
    state = LeaderAndIsrPartitionState(
        partition_index=2, controller_epoch=1, leader=1, leader_epoch=0, isr=[], zk_version=0, replicas=[]
    )
    request = LeaderAndIsrRequest(
        controller_id=1, controller_epoch=1, live_leaders=[],
        topic_states=[LeaderAndIsrTopicState(topic_name="t", partition_states=[state])],
    )  # fmt: skip
    api = APIS[ApiKey.LEADER_AND_ISR]
    [row] = refuse(api, 4, request, CODE).partition_errors
    assert (row.topic_name, row.partition_index, row.error_code) == ("t", 2, CODE)
    newest = refuse(api, 5, request, CODE)
    assert (newest.error_code, newest.partition_errors) == (CODE, [])
    [topic] = newest.topics
    assert [(each.partition_index, each.error_code) for each in topic.partition_errors] == [(2, CODE)]


def test_a_refused_join_echoes_the_member_id() -> None:
    request = JoinGroupRequest(group_id="g", session_timeout_ms=1, member_id="m", protocol_type="c", protocols=[])
    api = APIS[ApiKey.JOIN_GROUP]
    assert refuse(api, 5, request, CODE).member_id == "m"
    assert refuse(api, 5, request, CODE).protocol_name == ""
    assert refuse(api, 7, request, CODE).protocol_name is None


class TestStopReplica:
    """By the rows of the partitions a controller knows which replicas were not deleted (StopReplicaRequest)."""

    def refused(self, version: int, code: ErrorCode) -> StopReplicaResponse:
        api = APIS[ApiKey.STOP_REPLICA]
        request = StopReplicaRequest(
            controller_id=0,
            controller_epoch=0,
            ungrouped_partitions=[StopReplicaPartitionV0(topic_name="t", partition_index=1)],
            topics=[StopReplicaTopicV1(name="t", partition_indexes=[1])],
            topic_states=[
                StopReplicaTopicState(
                    topic_name="t",
                    partition_states=[StopReplicaPartitionState(partition_index=1, delete_partition=False)],
                )
            ],
        )
        held = {0: "ungrouped_partitions", 1: "topics", 2: "topics", 3: "topic_states"}[version]
        for name in {"ungrouped_partitions", "topics", "topic_states"} - {held}:
            setattr(request, name, [])
        return decode(StopReplicaResponse, version, encode(refuse(api, version, request, code), version))

    @pytest.mark.parametrize("version", range(4))
    def test_an_error_is_at_the_top_and_at_every_partition(self, version: int) -> None:
        response = self.refused(version, ErrorCode.UNKNOWN_SERVER_ERROR)
        rows = [(row.topic_name, row.partition_index, row.error_code) for row in response.partition_errors]
        assert (response.error_code, rows) == (-1, [("t", 1, -1)])

    @pytest.mark.parametrize("code", [ErrorCode.STALE_BROKER_EPOCH, ErrorCode.STALE_CONTROLLER_EPOCH])
    def test_what_was_meant_for_another_life_says_nothing_of_partitions(self, code: ErrorCode) -> None:
        response = self.refused(3, code)
        assert (response.error_code, response.partition_errors) == (code, [])


def test_the_refusal_of_very_many_items_is_made_in_steps() -> None:
    topics = [OffsetFetchRequestTopic(name="t", partition_indexes=list(range(10_000)))]
    steps = refusing(APIS[ApiKey.OFFSET_FETCH], 1, OffsetFetchRequest(group_id="g", topics=topics), CODE)
    assert sum(1 for _ in steps) > 100
