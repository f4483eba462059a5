"""Rounds of joining: how they end, who is out, who leads. Source: docs/reference/groups.md, section 4."""

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.coordinator.groups.rebalancing import WRITE_AGAIN_MS
from kafka_py.coordinator.groups.requests import JoinResult
from kafka_py.testing.fakes.groups import GroupWorld


def test_static_members_stay_though_they_do_not_rejoin() -> None:
    """KIP-345."""
    world = GroupWorld()
    world.join(instance="i", session_ms=600_000)
    world.join("b", session_ms=600_000)
    world.pass_ms(6000)
    world.sync_all(["i-1", "b-2"])
    rejoin = world.join(member_id="b-2", protocols=(("range", b"changed"),))
    world.pass_ms(60_000)
    assert rejoin.value.leader == "b-2"
    assert [member_id for member_id, _, _ in rejoin.value.members] == ["i-1", "b-2"]
    assert world.state == "CompletingRebalance"


def test_a_group_whose_members_all_left_is_empty_and_that_is_written() -> None:
    """S4-028."""
    world = GroupWorld()
    a, b = world.stable("a", "b")
    world.store.persisted.clear()
    world.leave(a, b)
    assert world.state == "Empty"
    group = world.group
    assert (group.generation, group.protocol, group.protocol_type, group.leader) == (2, None, "consumer", None)
    (written,) = world.store.persisted
    assert (written.generation, written.members, written.assignments) == (2, (), {})


def test_a_write_that_failed_leaves_the_former_generation_and_is_tried_again_after_a_pause() -> None:
    world = GroupWorld()
    (member,) = world.stable("a")
    world.store.error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.leave(member)
    for attempt in range(1, 4):
        assert (world.state, world.group.generation, world.group.protocol) == ("PreparingRebalance", 1, "range")
        assert [one.generation for one in world.store.persisted[1:]] == [2] * attempt
        world.pass_ms(WRITE_AGAIN_MS)
    world.store.error = ErrorCode.NONE
    world.pass_ms(WRITE_AGAIN_MS)
    assert (world.state, world.group.generation, world.group.protocol) == ("Empty", 2, None)
    writes = len(world.store.persisted)
    world.pass_ms(100 * WRITE_AGAIN_MS)
    assert len(world.store.persisted) == writes


@pytest.mark.parametrize(
    ("error", "generation"), [(ErrorCode.NONE, 3), (ErrorCode.COORDINATOR_NOT_AVAILABLE, 2)], ids=["written", "failed"]
)
def test_a_member_that_comes_while_it_is_written_joins_in_a_round_afterwards(error: ErrorCode, generation: int) -> None:
    world = GroupWorld()
    (member,) = world.stable("a")
    world.store.holding = True
    world.leave(member)
    reply = world.join("b")
    assert reply.is_parked
    world.store.release(error)
    world.pass_ms(world.limits.group_initial_rebalance_delay_ms)
    assert (reply.value.error, reply.value.generation) == (ErrorCode.NONE, generation)
    assert [member_id for member_id, _, _ in reply.value.members] == [reply.value.member_id]


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.NOT_COORDINATOR])
def test_a_group_that_is_unloaded_while_it_is_written_stays_dead(error: ErrorCode) -> None:
    world = GroupWorld()
    (member,) = world.stable("a")
    world.store.holding = True
    world.leave(member)
    group = world.group
    world.membership.on_unloaded(group)
    world.store.release(error)
    world.pass_ms(10 * WRITE_AGAIN_MS)
    assert group.is_dead
    assert not world.store.supervisor.failures
    assert len(world.store.persisted) == 2


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_who_waits_for_the_write_is_called_when_it_is_over(error: ErrorCode) -> None:
    """The answer to the last member that leaves: a client that deletes the group next finds it empty."""
    world = GroupWorld()
    (member,) = world.stable("a")
    called: list[str] = []
    assert not world.membership.once_written("g", lambda: called.append(world.state))
    world.store.holding = True
    world.leave(member)
    assert world.membership.once_written("g", lambda: called.append(world.state))
    assert not called
    world.store.release(error)
    assert called == ["Empty" if error is ErrorCode.NONE else "PreparingRebalance"]
    assert not world.membership.once_written("no such group", lambda: called.append("never"))


def test_a_write_that_nobody_foresaw_to_fail_is_tried_again_and_keeps_nobody_waiting() -> None:
    world = GroupWorld()
    (member,) = world.stable("a")
    world.store.fault = ZeroDivisionError("nobody foresaw this")
    assert world.leave(member) == [ErrorCode.NONE]
    assert not world.membership.once_written("g", lambda: None)
    world.store.fault = None
    world.pass_ms(WRITE_AGAIN_MS)
    assert (world.state, world.group.generation) == ("Empty", 2)


def test_one_of_those_who_wait_for_the_write_that_raises_leaves_the_others_their_answers() -> None:
    world = GroupWorld()
    (member,) = world.stable("a")
    world.store.holding = True
    world.leave(member)
    called: list[str] = []

    def fail() -> None:
        raise ConnectionResetError("the client has gone")

    for then in (fail, lambda: called.append(world.state)):
        world.membership.once_written("g", then)
    world.store.release()
    assert called == ["Empty"]


def test_a_group_whose_only_newcomer_gave_up_is_empty_after_the_delay() -> None:
    world = GroupWorld()
    reply = world.join("a")
    world.leave("a-1")
    assert reply.value == JoinResult("", error=ErrorCode.UNKNOWN_MEMBER_ID)
    assert world.state == "PreparingRebalance"
    world.pass_ms(3000)
    assert world.state == "Empty"
    assert world.group.generation == 1


def test_members_that_do_not_sync_are_out_after_the_rebalance_timeout() -> None:
    world = GroupWorld()
    a, b = world.joined("a", "b")
    waiting = world.sync(a, assignments={a: b"A", b: b"B"})
    assert waiting.value.error is ErrorCode.NONE
    for _ in range(20):  # b is alive, but does not ask for its work
        world.pass_ms(3000)
        world.heartbeat(a)
        world.heartbeat(b)
    assert b not in world.group.members
    assert world.state == "PreparingRebalance"
    assert world.join(member_id=a).value.generation == 2


def test_a_leader_that_does_not_sync_is_replaced() -> None:
    world = GroupWorld()
    a, b = world.joined("a", "b")
    waiting = world.sync(b)
    for _ in range(20):
        world.pass_ms(3000)
        world.heartbeat(a)
    assert waiting.value.error is ErrorCode.REBALANCE_IN_PROGRESS
    again = world.join(member_id=b)
    assert again.value.leader == b


def test_a_group_of_which_nobody_syncs_is_empty_in_the_end() -> None:
    world = GroupWorld()
    replies = [world.join(name, session_ms=600_000) for name in ("a", "b")]
    world.pass_ms(6000)
    assert all(not reply.is_parked for reply in replies)
    world.pass_ms(60_000)
    assert world.state == "Empty"


def test_rounds_that_follow_each_other_leave_no_timer_behind() -> None:
    world = GroupWorld()
    a, b = world.stable("a", "b")
    for _ in range(50):
        world.join(member_id=a)
        world.join(member_id=b)
        world.sync_all([a, b])
    assert world.group.generation == 51
    assert world.timers.pending == 2  # one session each


def test_all_that_can_be_awaited_ends_with_the_group() -> None:
    world = GroupWorld()
    a, b = world.stable("a", "b")
    world.join("c", needs_known_id=True)
    world.leave(a, b)
    world.pass_ms(60_000)
    assert world.state == "Empty"
    assert world.timers.pending == 0


def test_a_hundred_members_join_one_generation() -> None:
    world = GroupWorld()
    members = world.stable(*(f"c{number}" for number in range(100)))
    newcomer = world.join("late")
    rejoins = [world.join(member_id=member) for member in members]
    assert newcomer.value.generation == 2
    assert len(rejoins[0].value.members) == 101
    assert all(not reply.value.members for reply in rejoins[1:])
