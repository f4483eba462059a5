"""Heartbeats, and what happens without them. Source: docs/reference/groups.md, sections 3 and 5."""

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.coordinator.groups.requests import JoinResult
from kafka_py.testing.fakes.groups import GROUP, GroupWorld


def test_heartbeat_guards_in_their_order() -> None:
    world = GroupWorld()
    assert world.heartbeat("a-1", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    (member,) = world.stable("a")
    assert world.heartbeat(member, 1) is ErrorCode.NONE
    assert world.heartbeat(member, 0) is ErrorCode.ILLEGAL_GENERATION
    assert world.heartbeat("b-2", 0) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.heartbeat(member, 1, group_id="") is ErrorCode.INVALID_GROUP_ID
    world.membership.on_unloaded(world.group)
    assert world.heartbeat("b-2", 0) is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_the_former_self_of_a_static_member_is_fenced() -> None:
    world = GroupWorld()
    world.join(instance="i")
    world.pass_ms(3000)
    world.sync("i-1")
    world.join(instance="i")
    assert world.heartbeat("i-1", 0, instance="i") is ErrorCode.FENCED_INSTANCE_ID
    assert world.heartbeat("i-1", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.heartbeat("i-2", 1, instance="i") is ErrorCode.NONE


@pytest.mark.parametrize(
    ("refusal", "answer"),
    [
        ("COORDINATOR_LOAD_IN_PROGRESS", "NONE"),
        ("NOT_COORDINATOR", "NOT_COORDINATOR"),
        ("COORDINATOR_NOT_AVAILABLE", "COORDINATOR_NOT_AVAILABLE"),
    ],
)
def test_while_the_group_is_loaded_members_carry_on(refusal: str, answer: str) -> None:
    world = GroupWorld()
    world.store.refusal = ErrorCode[refusal]
    assert world.heartbeat("a-1", 1).name == answer


def test_heartbeats_in_each_state() -> None:
    """S1-167, S4-025."""
    world = GroupWorld()
    a, b = world.joined("a", "b")
    assert world.heartbeat(a) is ErrorCode.NONE  # CompletingRebalance
    world.sync_all([a, b])
    assert world.heartbeat(a) is ErrorCode.NONE
    world.join("c")
    assert world.heartbeat(a) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_member_without_a_heartbeat_is_removed_and_the_others_join_again() -> None:
    """S3-025."""
    world = GroupWorld()
    a, b = world.stable("a", "b")
    world.pass_ms(5000)
    world.heartbeat(a)
    world.pass_ms(4999)
    assert world.state == "Stable"
    world.pass_ms(1)
    assert list(world.group.members) == [a]
    assert world.heartbeat(a) is ErrorCode.REBALANCE_IN_PROGRESS
    assert world.heartbeat(b) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.join(member_id=a).value.generation == 2


def test_heartbeats_keep_a_member_for_ever() -> None:
    world = GroupWorld()
    (member,) = world.stable("a")
    for _ in range(1000):
        world.pass_ms(9_999)
        assert world.heartbeat(member) is ErrorCode.NONE


def test_a_heartbeat_touches_no_timer() -> None:
    world = GroupWorld()
    (member,) = world.stable("a")
    known = world.group.members[member]
    looks_at_ms = known.looks_at_ms
    for _ in range(100):
        world.pass_ms(50)
        world.heartbeat(member)
    assert known.looks_at_ms == looks_at_ms
    assert world.membership.sessions.watched == 1
    world.pass_ms(10_000)
    assert world.state == "Empty"
    assert world.membership.sessions.watched == 0


def test_a_shorter_session_counts_from_the_join_on() -> None:
    world = GroupWorld()
    world.join("a", session_ms=100_000)
    world.pass_ms(3000)
    world.sync("a-1")
    world.join(member_id="a-1", session_ms=6000)
    world.sync("a-1")
    world.pass_ms(6000)
    assert world.state == "Empty"


def test_a_member_that_waits_in_a_round_is_alive() -> None:
    world = GroupWorld()
    a, b = world.stable("a", "b")
    world.join("c")
    rejoin = world.join(member_id=a)
    for _ in range(10):
        world.pass_ms(5000)
        world.heartbeat(b)
    assert rejoin.is_parked
    assert a in world.group.members
    world.join(member_id=b)
    assert rejoin.value.generation == 2
    world.pass_ms(9_999)
    assert world.state == "CompletingRebalance"


def test_after_the_round_its_session_runs_again() -> None:
    world = GroupWorld()
    a, b = world.stable("a", "b")
    world.join("c")
    world.join(member_id=a)
    for _ in range(4):
        world.pass_ms(5000)
        world.heartbeat(b)
    world.join(member_id=b)
    world.pass_ms(5000)
    world.heartbeat(b)
    world.pass_ms(5000)
    assert a not in world.group.members


def test_a_member_that_waits_for_its_assignment_is_alive() -> None:
    world = GroupWorld()
    a, b = world.joined("a", "b")
    waiting = world.sync(b)
    for _ in range(10):
        world.pass_ms(5000)
        world.heartbeat(a)
    assert waiting.is_parked
    world.sync(a, assignments={})
    assert waiting.value.error is ErrorCode.NONE
    world.pass_ms(9_999)
    assert world.state == "Stable"
    world.pass_ms(1)
    assert world.group.members == {}


def test_a_new_member_may_wait_five_minutes_for_its_first_round() -> None:
    world = GroupWorld()
    a, b = world.stable("a", "b")
    for member in (a, b):
        world.join(member_id=member, rebalance_ms=900_000)
    world.join(member_id=a, rebalance_ms=900_000)
    world.join(member_id=b, rebalance_ms=900_000)
    world.sync_all([a, b])
    newcomer = world.join("c")
    for _ in range(60):
        world.pass_ms(5000)
        world.heartbeat(a)
        world.heartbeat(b)
    assert newcomer.value == JoinResult("", error=ErrorCode.UNKNOWN_MEMBER_ID)
    assert set(world.group.members) == {a, b}


def test_sessions_of_other_groups_are_their_own() -> None:
    world = GroupWorld()
    (member,) = world.stable("a")
    other = world.join("a", group_id="other")
    world.pass_ms(3000)
    assert other.value.member_id == "a-2"
    world.heartbeat(member)
    world.pass_ms(9_000)
    assert world.heartbeat(member) is ErrorCode.NONE
    assert world.heartbeat("a-2", 1, group_id="other") is ErrorCode.NONE
    world.pass_ms(9_000)
    world.heartbeat(member)
    world.pass_ms(1_000)
    assert {group_id: group.state.value for group_id, group in world.store.by_id.items()} == {
        GROUP: "Stable",
        "other": "Empty",
    }
