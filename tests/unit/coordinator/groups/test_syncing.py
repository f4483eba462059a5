"""SyncGroup: every guard in its order, and the assignment that is written before it is told.

Source: docs/reference/groups.md, section 5.
"""

from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.coordinator.groups.requests import SyncResult
from kafka_py.testing.fakes.groups import RANGE, GroupWorld


def test_everybody_gets_its_part_of_the_leaders_plan() -> None:
    """S3-041, S4-032."""
    world = GroupWorld()
    a, b = world.joined("a", "b")
    follower = world.sync(b)
    assert follower.is_parked
    leader = world.sync(a, assignments={a: b"A", b: b"B"})
    assert leader.value == SyncResult("consumer", "range", b"A")
    assert follower.value == SyncResult("consumer", "range", b"B")
    assert world.state == "Stable"
    assert world.completed == 1


def test_who_comes_late_gets_what_is_stored() -> None:
    world = GroupWorld()
    a, b = world.joined("a", "b")
    world.sync(a, assignments={a: b"A", b: b"B"})
    assert world.sync(b).value.assignment == b"B"
    assert world.sync(b).value.assignment == b"B"


def test_a_member_that_the_leader_forgot_gets_nothing_and_strangers_are_ignored() -> None:
    world = GroupWorld()
    a, b = world.joined("a", "b")
    world.sync(a, assignments={a: b"A", "stranger": b"S"})
    assert world.sync(b).value == SyncResult("consumer", "range", b"")
    assert world.store.persisted[-1].assignments == {a: b"A", b: b""}


def test_what_a_follower_hands_in_is_not_looked_at() -> None:
    world = GroupWorld()
    a, b = world.joined("a", "b")
    assert world.sync(b, assignments={a: b"mine", b: b"mine"}).is_parked
    assert world.store.persisted == []


def test_nobody_is_told_before_the_assignment_is_written() -> None:
    world = GroupWorld()
    world.store.holding = True
    a, b = world.joined("a", "b")
    replies = [world.sync(a, assignments={a: b"A", b: b"B"}), world.sync(b)]
    assert all(reply.is_parked for reply in replies)
    assert world.state == "CompletingRebalance"
    written = world.store.persisted[-1]
    assert (written.generation, written.protocol, written.leader, written.members) == (1, "range", a, (a, b))
    world.store.release()
    assert [reply.value.assignment for reply in replies] == [b"A", b"B"]
    assert world.state == "Stable"


def test_when_it_cannot_be_written_all_are_told_and_join_again() -> None:
    world = GroupWorld()
    world.store.holding = True
    a, b = world.joined("a", "b")
    replies = [world.sync(a, assignments={a: b"A", b: b"B"}), world.sync(b)]
    world.store.release(ErrorCode.NOT_COORDINATOR)
    assert [reply.value for reply in replies] == [SyncResult(error=ErrorCode.NOT_COORDINATOR)] * 2
    assert world.state == "PreparingRebalance"
    assert all(member.assignment == b"" for member in world.group.members.values())


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.NOT_COORDINATOR])
def test_a_round_that_began_during_the_write_wins(error: ErrorCode) -> None:
    world = GroupWorld()
    world.store.holding = True
    a, b = world.joined("a", "b")
    reply = world.sync(a, assignments={a: b"A", b: b"B"})
    world.join("c")
    assert reply.value.error is ErrorCode.REBALANCE_IN_PROGRESS
    world.store.release(error)
    assert world.state == "PreparingRebalance"
    world.join(member_id=a)
    world.join(member_id=b)
    assert world.state == "CompletingRebalance"
    assert world.group.generation == 2


def test_a_write_that_ends_two_generations_later_changes_nothing() -> None:
    world = GroupWorld()
    world.store.holding = True
    (a,) = world.joined("a")
    world.sync(a, assignments={a: b"old"})
    world.join(member_id=a, protocols=(("range", b"changed"),))
    assert (world.state, world.group.generation) == ("CompletingRebalance", 2)
    world.store.release()
    assert world.state == "CompletingRebalance"
    reply = world.sync(a, assignments={a: b"new"})
    world.store.release()
    assert reply.value.assignment == b"new"


def test_guards_in_their_order() -> None:
    world = GroupWorld()
    assert world.sync("a-1", 1).value == SyncResult(error=ErrorCode.UNKNOWN_MEMBER_ID)
    a, b = world.joined("a", "b")
    wrong: dict[str, Any] = {"protocol_type": "connect", "protocol": "own"}
    assert world.sync("c-3", 0, **wrong).value.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.sync(a, 0, **wrong).value.error is ErrorCode.ILLEGAL_GENERATION
    assert world.sync(a, 2, **wrong).value.error is ErrorCode.ILLEGAL_GENERATION
    assert world.sync(a, protocol_type="connect").value.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.sync(a, protocol="own").value.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.sync(b, protocol_type="consumer", protocol="range").is_parked
    assert world.sync("a-1", 1, group_id="").value.error is ErrorCode.INVALID_GROUP_ID
    world.membership.on_unloaded(world.group)
    assert world.sync("c-3", 0).value.error is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_in_a_round_of_joining_there_is_nothing_to_sync() -> None:
    world = GroupWorld()
    a, _ = world.stable("a", "b")
    world.join("c")
    assert world.sync(a).value.error is ErrorCode.REBALANCE_IN_PROGRESS


def test_the_former_self_of_a_static_member_is_fenced() -> None:
    world = GroupWorld()
    world.join(instance="i")
    world.pass_ms(3000)
    world.sync("i-1")
    world.join(instance="i")
    assert world.sync("i-1", 7, instance="i").value.error is ErrorCode.FENCED_INSTANCE_ID


@pytest.mark.parametrize(
    ("refusal", "answer"),
    [("COORDINATOR_LOAD_IN_PROGRESS", "REBALANCE_IN_PROGRESS"), ("NOT_COORDINATOR", "NOT_COORDINATOR")],
)
def test_while_the_group_is_loaded_members_are_sent_to_join(refusal: str, answer: str) -> None:
    world = GroupWorld()
    world.store.refusal = ErrorCode[refusal]
    assert world.sync("a-1", 1).value.error.name == answer


def test_a_member_removed_while_it_waits_is_told() -> None:
    world = GroupWorld()
    a, b = world.joined("a", "b")
    waiting = world.sync(b)
    world.leave(b)
    assert waiting.value.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.join(member_id=a, protocols=RANGE).value.generation == 2
