"""Admin calls on replicas: elections and reassignments, by the controller."""

from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.clients.admin.replicas import PartitionReassignment
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages import list_partition_reassignments as listing
from kafka_py.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

A = TopicPartition("t", 0)


def elected(code: ErrorCode) -> ElectLeadersResponse:
    row = PartitionResult(partition_id=0, error_code=code, error_message=None)
    results = [ReplicaElectionResult(topic="t", partition_result=[row])]
    return ElectLeadersResponse(throttle_time_ms=0, error_code=0, replica_election_results=results)


def test_without_partitions_the_result_has_those_for_which_something_was_done(world: Any) -> None:
    world.cluster.answers[ApiKey.ELECT_LEADERS] = lambda _: elected(ErrorCode.NONE)
    assert world.ask(lambda admin: admin.elect_leaders(ElectionType.PREFERRED)) == {A: None}
    assert world.asked(ElectLeadersRequest)[0][1].topic_partitions is None


def test_an_election_without_partitions_is_asked_for_again_when_the_controller_has_changed(world: Any) -> None:
    codes = [ErrorCode.NOT_CONTROLLER, ErrorCode.NONE]
    world.cluster.answers[ApiKey.ELECT_LEADERS] = lambda _: elected(codes.pop(0))
    assert world.ask(lambda admin: admin.elect_leaders(ElectionType.PREFERRED)) == {A: None}
    assert codes == []


def test_an_old_broker_holds_preferred_elections_only(world: Any) -> None:
    world.cluster.versions[ApiKey.ELECT_LEADERS] = 0
    with pytest.raises(KafkaError) as caught:
        world.ask(lambda admin: admin.elect_leaders(ElectionType.UNCLEAN, [A]))
    assert caught.value.code is ErrorCode.UNSUPPORTED_VERSION
    assert world.asked(ElectLeadersRequest) == []


def test_partitions_being_moved_are_listed_with_all_their_replicas(world: Any) -> None:
    def answer(request: listing.ListPartitionReassignmentsRequest) -> listing.ListPartitionReassignmentsResponse:
        assert request.topics is not None
        assert [(each.name, each.partition_indexes) for each in request.topics] == [("t", [0])]
        row = listing.OngoingPartitionReassignment(
            partition_index=0, replicas=[0, 1, 2], adding_replicas=[2], removing_replicas=[0]
        )
        topics = [listing.OngoingTopicReassignment(name="t", partitions=[row])]
        return listing.ListPartitionReassignmentsResponse(
            throttle_time_ms=0, error_code=0, error_message=None, topics=topics
        )

    world.cluster.answers[ApiKey.LIST_PARTITION_REASSIGNMENTS] = answer
    found = world.ask(lambda admin: admin.list_partition_reassignments([A]))
    assert found == {A: PartitionReassignment([0, 1, 2], [2], [0])}
