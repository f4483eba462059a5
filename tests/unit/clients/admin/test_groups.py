"""Admin calls on groups: each coordinator is asked about its groups, and looked for again when it has moved."""

from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients import ConsumerGroupState, MemberToRemove, OffsetAndMetadata
from kafka_py.testing.fakes.fake_groups import FakeGroup, FakeMember
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.describe_groups import DescribeGroupsRequest
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafka_py.wire.messages.leave_group import LeaveGroupRequest
from kafka_py.wire.messages.list_groups import ListGroupsRequest

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def test_groups_of_all_brokers_are_listed_without_those_of_other_kinds(world: Any) -> None:
    world.cluster.groups = {
        "b": FakeGroup([FakeMember("m")], coordinator=1), "a": FakeGroup(), "c": FakeGroup(protocol_type="connect"),
    }  # fmt: skip
    listed = world.ask(lambda admin: admin.list_consumer_groups())
    found = [(each.group_id, each.state) for each in listed]
    assert found == [("a", ConsumerGroupState.EMPTY), ("b", ConsumerGroupState.STABLE)]
    assert sorted(node_id for node_id, _ in world.asked(ListGroupsRequest)) == [0, 1]


def test_each_coordinator_is_asked_once_for_all_of_its_groups(world: Any) -> None:
    world.cluster.groups = {name: FakeGroup(coordinator=number % 2) for number, name in enumerate("abc")}
    described = world.ask(lambda admin: admin.describe_consumer_groups("abcd")).all()
    assert [each.state for each in described.values()] == [ConsumerGroupState.EMPTY] * 3 + [ConsumerGroupState.DEAD]
    asked = {node_id: request.groups for node_id, request in world.asked(DescribeGroupsRequest)}
    assert asked == {0: ["a", "c", "d"], 1: ["b"]}


def test_the_coordinator_is_looked_for_again_when_it_has_moved(world: Any) -> None:
    world.cluster.groups = {"g": FakeGroup(coordinator=1)}
    found = [0, 1]

    def find(_request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        node_id = found.pop(0)
        port = world.cluster.ports[node_id]
        return FindCoordinatorResponse(error_code=0, error_message=None, node_id=node_id, host="h", port=port)

    world.cluster.answers[ApiKey.FIND_COORDINATOR] = find
    assert world.ask(lambda admin: admin.describe_consumer_groups(["g"])).value("g").coordinator.id == 1
    assert [node_id for node_id, _ in world.asked(DescribeGroupsRequest)] == [0, 1]


def test_what_a_group_committed_is_none_where_there_is_nothing(world: Any) -> None:
    world.cluster.groups = {"g": FakeGroup(offsets={A: (7, "m")})}
    found = world.ask(lambda admin: admin.list_consumer_group_offsets("g", [A, B])).all()
    assert found == {A: OffsetAndMetadata(7, "m"), B: None}
    assert set(world.ask(lambda admin: admin.list_consumer_group_offsets("g"))) == {A}


def test_a_plain_number_is_an_offset_to_commit(world: Any) -> None:
    world.cluster.create_topic("t", 2)
    offsets = {A: 5, B: OffsetAndMetadata(6, "by hand")}
    world.ask(lambda admin: admin.alter_consumer_group_offsets("new", offsets)).all()
    assert world.cluster.groups["new"].offsets == {A: (5, ""), B: (6, "by hand")}


def test_an_error_about_the_group_is_raised(world: Any) -> None:
    with pytest.raises(KafkaError) as caught:
        world.ask(lambda admin: admin.delete_consumer_group_offsets("nobody", [A]))
    assert caught.value.code is ErrorCode.GROUP_ID_NOT_FOUND


def test_all_members_are_sent_away_static_ones_by_their_instance(world: Any) -> None:
    members = [FakeMember("m-1"), FakeMember("m-2", group_instance_id="i")]
    world.cluster.groups = {"g": FakeGroup(members)}
    gone = world.ask(lambda admin: admin.remove_members_from_consumer_group("g")).all()
    assert set(gone) == {MemberToRemove(None, "m-1"), MemberToRemove("i", "m-2")}
    [(_, request)] = world.asked(LeaveGroupRequest)
    assert [(each.member_id, each.group_instance_id) for each in request.members] == [("m-1", None), ("", "i")]


def test_a_group_without_members_has_nobody_to_send_away(world: Any) -> None:
    world.cluster.groups = {"g": FakeGroup()}
    assert world.ask(lambda admin: admin.remove_members_from_consumer_group("g")) == {}
    assert world.asked(LeaveGroupRequest) == []
