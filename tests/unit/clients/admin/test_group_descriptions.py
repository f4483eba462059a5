"""An answer of DescribeGroups as a value: what is no consumer group, and assignments that nobody here can read."""

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients import ConsumerGroupState
from kafka_py.clients.admin.group_descriptions import described
from kafka_py.clients.metadata import Node
from kafka_py.testing.fakes.fake_groups import FakeMember
from kafka_py.wire.messages.describe_groups import DescribedGroup

NODE = Node(0, "h", 1)


def group(*members: FakeMember, kind: str = "consumer", code: int = 0, state: str = "Stable") -> DescribedGroup:
    return DescribedGroup(
        error_code=code, group_id="g", group_state=state, protocol_type=kind, protocol_data="range",
        members=[each.described() for each in members],
    )  # fmt: skip


def test_members_have_the_partitions_that_they_are_assigned() -> None:
    found = described(group(FakeMember("m", "c", "i", {"t": [0, 2]})), NODE)
    assert not isinstance(found, KafkaError)
    [member] = found.members
    assert member.assignment == (TopicPartition("t", 0), TopicPartition("t", 2))
    assert (member.member_id, member.client_id, member.group_instance_id) == ("m", "c", "i")


def test_an_assignment_of_another_make_is_none() -> None:
    answer = group(FakeMember("m", assignment={"t": [0]}))
    answer.members[0].member_assignment = b"\x00\x01\xff"
    found = described(answer, NODE)
    assert not isinstance(found, KafkaError)
    assert found.members[0].assignment == ()


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (group(code=ErrorCode.GROUP_AUTHORIZATION_FAILED), ErrorCode.GROUP_AUTHORIZATION_FAILED),
        (group(kind="connect"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_an_error_or_a_group_of_another_kind_is_an_error(answer: DescribedGroup, code: ErrorCode) -> None:
    found = described(answer, NODE)
    assert isinstance(found, KafkaError)
    assert found.code is code


def test_a_group_that_only_stores_offsets_is_simple() -> None:
    found = described(group(kind="", state="Empty"), NODE)
    assert not isinstance(found, KafkaError)
    assert found.is_simple
    assert (found.state, found.authorized_operations) == (ConsumerGroupState.EMPTY, None)


def test_a_state_of_the_future_is_unknown() -> None:
    assert ConsumerGroupState.of("Hibernating") is ConsumerGroupState.UNKNOWN
