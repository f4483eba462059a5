"""Rounds of joining: how they end, who is out, who leads. Source: group facts, section 3."""

from kafka_py.base.errors import ErrorCode
from kafka_py.coordinator.groups.answers import JoinResult
from kafka_py.testing.groups import GroupWorld, Limits


def test_who_does_not_rejoin_within_the_rebalance_timeout_is_out() -> None:
    world = GroupWorld(Limits(group_max_session_timeout_ms=1_800_000))
    a = world.join("a", session_ms=600_000)
    b = world.join("b", session_ms=600_000)
    world.pass_ms(6000)
    world.sync_all([a.value.member_id, b.value.member_id])
    newcomer = world.join("c")
    rejoin = world.join(member_id="a-1")
    world.pass_ms(59_999)
    assert rejoin.is_parked
    world.pass_ms(1)
    assert rejoin.value.generation == newcomer.value.generation == 2
    assert [member_id for member_id, _, _ in rejoin.value.members] == ["a-1", "c-3"]


def test_a_leader_that_does_not_rejoin_hands_over() -> None:
    world = GroupWorld()
    replies = [world.join(name, session_ms=600_000) for name in ("a", "b", "c")]
    world.pass_ms(6000)
    world.sync_all(reply.value.member_id for reply in replies)
    c = world.join(member_id="c-3", protocols=(("range", b"changed"),))
    b = world.join(member_id="b-2")
    world.pass_ms(60_000)
    assert b.value.leader == c.value.leader == "b-2"
    assert len(b.value.members) == 2


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


def test_a_round_without_anybody_but_absent_static_members_is_prolonged() -> None:
    world = GroupWorld()
    world.join(instance="i", session_ms=600_000)
    world.join("b", session_ms=600_000)
    world.pass_ms(6000)
    world.sync_all(["i-1", "b-2"])
    world.leave("b-2")
    assert world.state == "PreparingRebalance"
    world.pass_ms(60_000)
    assert world.state == "PreparingRebalance"
    again = world.join(member_id="i-1", instance="i")
    assert again.value.generation == 2


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


def test_an_empty_group_stays_empty_though_that_could_not_be_written() -> None:
    world = GroupWorld()
    (member,) = world.stable("a")
    world.store.error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.leave(member)
    assert world.state == "Empty"


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
