"""LeaveGroup: who goes, and how it is told. Source: docs/reference/groups.md, section 5; KIP-345."""

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.coordinator.groups.requests import Leaver
from kafka_py.testing.fakes.groups import GroupWorld

NONE = ErrorCode.NONE
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID


def with_static_member(world: GroupWorld) -> None:
    """Members i-1 (instance i, the leader) and b-2."""
    world.join(instance="i")
    world.join("b")
    world.pass_ms(6000)
    world.sync_all(["i-1", "b-2"])


def test_when_a_member_leaves_the_others_join_again() -> None:
    """S3-025, S4-028."""
    world = GroupWorld()
    a, b = world.stable("a", "b")
    assert world.leave(b) == [NONE]
    assert world.state == "PreparingRebalance"
    assert len(world.join(member_id=a).value.members) == 1


def test_a_member_that_leaves_during_a_round_lets_it_end() -> None:
    world = GroupWorld()
    a, b = world.stable("a", "b")
    rejoin = world.join(member_id=a)
    assert world.leave(b) == [NONE]
    assert rejoin.value.generation == 2


def test_several_leave_at_once_each_with_its_own_error() -> None:
    world = GroupWorld()
    with_static_member(world)
    world.join("p", needs_known_id=True)
    leavers = [
        Leaver("b-2", "i"),
        Leaver("i-1", "elsewhere"),
        Leaver("nobody"),
        Leaver("", "nobody"),
        Leaver("p-3"),
        Leaver("", "i"),
        Leaver("b-2"),
    ]
    assert world.leave(*leavers) == [ErrorCode.FENCED_INSTANCE_ID, NONE, UNKNOWN, UNKNOWN, NONE, UNKNOWN, NONE]
    assert world.state == "Empty"


def test_an_administrator_removes_a_static_member_by_its_instance_id() -> None:
    world = GroupWorld()
    with_static_member(world)
    assert world.leave(Leaver("", "i")) == [NONE]
    assert list(world.group.members) == ["b-2"]
    assert world.group.static_members == {}
    assert world.group.leader == "b-2"


def test_its_own_id_and_instance_id_do_as_well() -> None:
    world = GroupWorld()
    with_static_member(world)
    assert world.leave(Leaver("i-1", "i")) == [NONE]
    assert list(world.group.members) == ["b-2"]


def test_a_former_self_cannot_leave_for_the_present_one() -> None:
    world = GroupWorld()
    with_static_member(world)
    world.join(instance="i")
    assert world.leave(Leaver("i-1", "i")) == [ErrorCode.FENCED_INSTANCE_ID]
    assert "i-3" in world.group.members


def test_in_an_unknown_group_nobody_is_known() -> None:
    assert GroupWorld().leave("a-1", "b-2") == [UNKNOWN, UNKNOWN]


@pytest.mark.parametrize("code", ["NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE"])
def test_what_concerns_the_group_is_raised(code: str) -> None:
    world = GroupWorld()
    (member,) = world.stable("a")
    world.store.refusal = ErrorCode[code]
    with pytest.raises(KafkaError) as raised:
        world.leave(member)
    assert raised.value.code.name == code


def test_an_empty_group_id_and_a_dead_group_are_refused() -> None:
    world = GroupWorld()
    (member,) = world.stable("a")
    with pytest.raises(KafkaError) as raised:
        world.leave(member, group_id="")
    assert raised.value.code is ErrorCode.INVALID_GROUP_ID
    world.membership.on_unloaded(world.group)
    with pytest.raises(KafkaError) as raised:
        world.leave(member)
    assert raised.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_who_waits_in_a_round_and_leaves_is_answered() -> None:
    world = GroupWorld()
    a, b = world.stable("a", "b")
    rejoin = world.join(member_id=b, protocols=(("range", b"changed"),))
    world.leave(b)
    assert rejoin.value.error is UNKNOWN
    assert world.join(member_id=a).value.generation == 2
