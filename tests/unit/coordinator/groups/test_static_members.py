"""Static members that come back: KIP-345. Source: docs/reference/groups.md, section 6."""

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.coordinator.groups.requests import JoinResult
from kafka_py.testing.fakes.groups import RANGE, GroupWorld

OWN_AND_RANGE = (("own", b""), ("range", b"topics"))


def static_group(world: GroupWorld, protocols: tuple[tuple[str, bytes], ...] = RANGE) -> None:
    """Members i-1, the leader, and j-2; stable in generation 1, each with its id for an assignment."""
    world.join(instance="i", protocols=protocols)
    world.join(instance="j", protocols=protocols)
    world.pass_ms(6000)
    world.sync_all(["i-1", "j-2"])


@pytest.mark.parametrize("instance", ["i", "j"])
def test_it_goes_on_with_its_assignment_and_without_a_rebalance(instance: str) -> None:
    """The leader of before is named, so that a leader that came back does not assign."""
    world = GroupWorld()
    static_group(world)
    reply = world.join(instance=instance)
    new_id = f"{instance}-3"
    assert reply.value == JoinResult(new_id, 1, "consumer", "range", "i-1", ())
    assert (world.state, world.group.generation) == ("Stable", 1)
    former = {"i": b"i-1", "j": b"j-2"}[instance]
    assert world.sync(new_id, instance=instance).value.assignment == former
    assert world.heartbeat(new_id, instance=instance) is ErrorCode.NONE
    assert world.store.persisted[-1].assignments[new_id] == former
    assert world.group.leader == ("i-3" if instance == "i" else "i-1")


def test_its_former_self_is_fenced_everywhere() -> None:
    world = GroupWorld()
    static_group(world)
    world.join(instance="j")
    assert world.join(member_id="j-2", instance="j").value.error is ErrorCode.FENCED_INSTANCE_ID
    assert world.heartbeat("j-2", instance="j") is ErrorCode.FENCED_INSTANCE_ID
    assert world.sync("j-2", instance="j").value.error is ErrorCode.FENCED_INSTANCE_ID
    assert world.heartbeat("j-3", instance="j") is ErrorCode.NONE


def test_an_instance_id_that_is_not_registered_is_no_member() -> None:
    world = GroupWorld()
    static_group(world)
    assert world.join(member_id="j-2", instance="other").value.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rejoin_that_changes_the_chosen_strategy_rebalances() -> None:
    world = GroupWorld()
    static_group(world, protocols=OWN_AND_RANGE)
    assert world.group.protocol == "own"
    reply = world.join(instance="j")  # knows range alone
    assert reply.is_parked
    assert world.state == "PreparingRebalance"
    other = world.join(member_id="i-1", instance="i", protocols=OWN_AND_RANGE)
    assert reply.value.protocol == other.value.protocol == "range"
    assert reply.value.generation == 2


def test_what_waits_for_its_former_self_is_fenced() -> None:
    world = GroupWorld()
    world.join(instance="i")
    first = world.join(instance="j")
    second = world.join(instance="j")
    assert first.value == JoinResult("j-2", error=ErrorCode.FENCED_INSTANCE_ID)
    world.pass_ms(6000)
    assert second.value.member_id == "j-3"
    waiting = world.sync("j-3", instance="j")
    third = world.join(instance="j")
    assert waiting.value.error is ErrorCode.FENCED_INSTANCE_ID
    assert third.is_parked


def test_during_a_round_it_takes_part() -> None:
    world = GroupWorld()
    static_group(world)
    world.join("c")
    reply = world.join(instance="j")
    assert reply.is_parked
    world.join(member_id="i-1", instance="i")
    assert (reply.value.member_id, reply.value.generation) == ("j-4", 2)


def test_it_stays_what_it_was_when_its_new_id_cannot_be_written() -> None:
    world = GroupWorld()
    static_group(world)
    world.store.holding = True
    reply = world.join(instance="i", protocols=OWN_AND_RANGE)
    assert reply.is_parked
    world.store.release(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert reply.value.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (reply.value.member_id, reply.value.leader) == ("", "i-1")
    group = world.group
    assert list(group.members) == ["i-1", "j-2"]
    assert (group.leader, group.static_members["i"]) == ("i-1", "i-1")
    assert group.members["i-1"].protocols == RANGE
    assert world.heartbeat("i-1", instance="i") is ErrorCode.NONE


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_a_round_that_begins_during_the_write_answers_it(error: ErrorCode) -> None:
    world = GroupWorld()
    static_group(world)
    world.store.holding = True
    reply = world.join(instance="j")
    world.join("c")
    world.store.release(error)
    assert reply.is_parked
    world.join(member_id="i-1", instance="i")
    assert (reply.value.error, reply.value.generation) == (ErrorCode.NONE, 2)


def test_who_comes_back_twice_during_the_write_is_fenced_once() -> None:
    world = GroupWorld()
    static_group(world)
    world.store.holding = True
    first = world.join(instance="j")
    second = world.join(instance="j")
    assert first.value.error is ErrorCode.FENCED_INSTANCE_ID
    world.store.release()
    assert second.value.member_id == "j-4"
    assert list(world.group.members) == ["i-1", "j-4"]


def test_it_expires_like_any_other() -> None:
    world = GroupWorld()
    static_group(world)
    world.pass_ms(5000)
    world.heartbeat("i-1", instance="i")
    world.pass_ms(5000)
    assert world.state == "PreparingRebalance"
    assert world.group.static_members == {"i": "i-1"}


def test_its_session_lasts_through_a_restart() -> None:
    world = GroupWorld()
    static_group(world)
    world.pass_ms(9_000)
    world.heartbeat("i-1", instance="i")
    world.join(instance="j")
    world.pass_ms(9_999)
    assert world.state == "Stable"
