"""JoinGroup: every guard in its order, new members, members that join again.

Source: docs/reference/groups.md, section 3.
"""

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.coordinator.groups.member import Protocols
from kafka_py.coordinator.groups.requests import JoinResult
from kafka_py.testing.fakes.groups import GROUP, RANGE, AwaitedReply, FakeGroupConfig, GroupWorld

STICKY_TOO = (("sticky", b"topics"), ("range", b"topics"))


def error(reply: AwaitedReply[JoinResult]) -> ErrorCode:
    return reply.value.error


# ---- guards


def test_an_error_names_no_generation_protocol_or_leader_but_the_member() -> None:
    reply = GroupWorld().join(member_id="m-1")
    assert reply.result == JoinResult("m-1", -1, None, None, "", (), ErrorCode.UNKNOWN_MEMBER_ID)


def test_the_group_id_must_not_be_empty() -> None:
    """S3-034."""
    assert error(GroupWorld().join(group_id="")) is ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize("code", ["NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE"])
def test_only_the_coordinator_answers(code: str) -> None:
    """S3-034; before the session time-out is looked at."""
    world = GroupWorld()
    world.store.refusal = ErrorCode[code]
    assert error(world.join(session_ms=1)).name == code


@pytest.mark.parametrize("session_ms", [5999, 1_800_001])
def test_a_session_timeout_outside_the_limits_is_refused(session_ms: int) -> None:
    """S3-034; it is the session time-out that has limits."""
    world = GroupWorld()
    assert error(world.join(session_ms=session_ms)) is ErrorCode.INVALID_SESSION_TIMEOUT
    assert world.store.by_id == {}


@pytest.mark.parametrize("session_ms", [6000, 1_800_000])
def test_the_limits_themselves_are_allowed(session_ms: int) -> None:
    assert GroupWorld().join(session_ms=session_ms).is_parked


def test_a_member_id_does_not_bring_a_group_into_being() -> None:
    world = GroupWorld()
    assert error(world.join(member_id="m-1")) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.store.by_id == {}


def test_a_dead_group_is_not_joined() -> None:
    world = GroupWorld()
    world.joined("a")
    world.membership.on_unloaded(world.group)
    assert error(world.join("b")) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert error(world.join(member_id="a-1")) is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_strategies_must_fit_the_group() -> None:
    world = GroupWorld()
    assert error(world.join(protocols=())) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert error(world.join(protocol_type="")) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    (member,) = world.stable("a")
    assert error(world.join("b", protocols=(("own", b""),))) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert error(world.join("b", protocol_type="connect")) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert error(world.join(member_id=member, protocols=(("own", b""),))) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.state == "Stable"


def test_unknown_members_are_told() -> None:
    world = GroupWorld()
    world.stable("a")
    reply = world.join(member_id="b-9")
    assert error(reply) is ErrorCode.UNKNOWN_MEMBER_ID
    assert reply.value.member_id == "b-9"


def test_an_empty_group_has_no_member_to_join_again() -> None:
    world = GroupWorld()
    (member,) = world.stable("a")
    world.leave(member)
    assert world.state == "Empty"
    assert error(world.join(member_id=member)) is ErrorCode.UNKNOWN_MEMBER_ID


# ---- new members


def test_a_member_id_is_the_client_id_and_something_unique() -> None:
    """W7.16, W7.17."""
    world = GroupWorld()
    assert world.joined("consumer-1", "consumer-1") == ["consumer-1-1", "consumer-1-2"]


def test_the_leader_alone_is_told_of_the_members() -> None:
    """S3-039, S4-030, S4-031, W7.16: the first to join leads and gets everybody's metadata."""
    world = GroupWorld()
    first = world.join("a", protocols=(("range", b"A"),))
    second = world.join("b", protocols=(("range", b"B"),))
    world.pass_ms(6000)
    assert first.value == JoinResult("a-1", 1, "consumer", "range", "a-1", first.value.members)
    assert list(first.value.members) == [("a-1", None, b"A"), ("b-2", None, b"B")]
    assert second.value == JoinResult("b-2", 1, "consumer", "range", "a-1", ())


def test_a_new_member_comes_back_with_the_id_it_is_given() -> None:
    """KIP-394."""
    world = GroupWorld()
    first = world.join("a", needs_known_id=True)
    assert first.value == JoinResult("a-1", error=ErrorCode.MEMBER_ID_REQUIRED)
    assert world.state == "Empty"
    assert set(world.group.pending_members) == {"a-1"}
    second = world.join("a", "a-1", needs_known_id=True)
    assert second.is_parked
    assert not world.group.pending_members
    world.pass_ms(3000)
    assert second.value.error is ErrorCode.NONE
    assert second.value.member_id == "a-1"


def test_a_static_member_needs_no_second_round() -> None:
    """KIP-345: its instance id already tells it apart."""
    world = GroupWorld()
    reply = world.join("client", instance="i", needs_known_id=True)
    world.pass_ms(3000)
    assert reply.value.member_id == "i-1"


def test_an_id_given_to_a_dynamic_member_is_not_one_of_a_static_one() -> None:
    world = GroupWorld()
    world.join("a", needs_known_id=True)
    assert error(world.join("a", "a-1", instance="i")) is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_id_given_out_is_forgotten_after_the_session_timeout() -> None:
    world = GroupWorld()
    world.join("a", needs_known_id=True)
    world.pass_ms(9_999)
    assert world.group.pending_members
    world.pass_ms(1)
    assert not world.group.pending_members
    assert error(world.join("a", "a-1")) is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_id_that_was_used_does_not_expire() -> None:
    world = GroupWorld()
    world.join("a", needs_known_id=True)
    world.join("a", "a-1")
    world.pass_ms(3000)
    world.sync("a-1", assignments={})
    for _ in range(10):
        world.pass_ms(3000)
        assert world.heartbeat("a-1") is ErrorCode.NONE


def test_a_round_waits_for_ids_that_were_given_out() -> None:
    world = GroupWorld()
    (member,) = world.stable("a")
    world.join("b", needs_known_id=True)
    assert world.state == "Stable"
    rejoin = world.join(member_id=member)
    assert rejoin.is_parked
    world.join("b", "b-2")
    assert rejoin.value.generation == 2
    assert len(rejoin.value.members) == 2


def test_a_round_ends_when_the_owner_of_an_id_never_comes() -> None:
    world = GroupWorld()
    (member,) = world.stable("a")
    world.join("b", needs_known_id=True)
    rejoin = world.join(member_id=member)
    world.pass_ms(10_000)
    assert rejoin.value.generation == 2
    assert len(rejoin.value.members) == 1


def test_a_new_member_makes_the_others_join_again() -> None:
    """S4-025, S4-033: they learn it from their heartbeats."""
    world = GroupWorld()
    a, b = world.stable("a", "b")
    newcomer = world.join("c")
    assert world.state == "PreparingRebalance"
    assert world.heartbeat(a) is ErrorCode.REBALANCE_IN_PROGRESS
    replies = [world.join(member_id=member) for member in (a, b)]
    assert [reply.value.generation for reply in (*replies, newcomer)] == [2, 2, 2]
    assert world.state == "CompletingRebalance"


# ---- members that join again


def test_who_missed_the_answer_gets_it_again_while_the_assignment_is_awaited() -> None:
    world = GroupWorld()
    a, b = world.joined("a", "b")
    again = world.join(member_id=a)
    assert len(again.value.members) == 2
    follower = world.join(member_id=b)
    assert follower.value == JoinResult(b, 1, "consumer", "range", a, ())
    assert world.state == "CompletingRebalance"


def test_changed_metadata_while_the_assignment_is_awaited_begins_a_new_round() -> None:
    world = GroupWorld()
    a, b = world.joined("a", "b")
    waiting = world.sync(b)
    assert world.join(member_id=b, protocols=STICKY_TOO).is_parked
    assert world.state == "PreparingRebalance"
    assert waiting.value.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert world.join(member_id=a).value.generation == 2


def test_a_follower_that_joins_unchanged_goes_on_in_a_stable_group() -> None:
    world = GroupWorld()
    a, b = world.stable("a", "b")
    assert world.join(member_id=b).value == JoinResult(b, 1, "consumer", "range", a, ())
    assert world.state == "Stable"


@pytest.mark.parametrize(
    "changed",
    [(STICKY_TOO[0], ("range", b"other")), (*STICKY_TOO, ("own", b"")), RANGE, tuple(reversed(STICKY_TOO))],
    ids=["metadata", "one more", "one less", "order"],
)
def test_a_follower_that_joins_changed_begins_a_new_round(changed: Protocols) -> None:
    """KIP-429: also the second round of a cooperative rebalance comes about this way."""
    world = GroupWorld()
    a, b = world.stable("a", "b", protocols=STICKY_TOO)
    reply = world.join(member_id=b, protocols=changed)
    assert reply.is_parked
    assert world.state == "PreparingRebalance"
    world.join(member_id=a)
    assert reply.value.generation == 2


def test_the_leader_begins_a_new_round_whenever_it_joins() -> None:
    """It may have seen new partitions."""
    world = GroupWorld()
    a, b = world.stable("a", "b")
    leader = world.join(member_id=a)
    assert leader.is_parked
    assert world.state == "PreparingRebalance"
    world.join(member_id=b)
    assert leader.value.generation == 2


def test_a_single_member_that_leads_joins_again_at_once() -> None:
    world = GroupWorld()
    (member,) = world.stable("a")
    assert world.join(member_id=member).value.generation == 2


def test_a_member_has_the_timeouts_of_its_latest_join() -> None:
    world = GroupWorld()
    (member,) = world.stable("a")
    world.join(member_id=member, session_ms=20_000, rebalance_ms=70_000)
    known = world.group.members[member]
    assert (known.session_timeout_ms, known.rebalance_timeout_ms) == (20_000, 70_000)


# ---- group.max.size


def test_a_full_group_turns_newcomers_away() -> None:
    """KIP-389."""
    world = GroupWorld(FakeGroupConfig(group_max_size=2))
    world.stable("a", "b")
    reply = world.join("c")
    assert reply.value == JoinResult("", error=ErrorCode.GROUP_MAX_SIZE_REACHED)
    assert world.state == "Stable"


@pytest.mark.parametrize("state", ["CompletingRebalance", "Stable"])
def test_members_of_a_full_group_may_join_again(state: str) -> None:
    world = GroupWorld(FakeGroupConfig(group_max_size=2))
    _, b = (world.joined if state == "CompletingRebalance" else world.stable)("a", "b")
    assert world.state == state
    assert world.join(member_id=b).value.error is ErrorCode.NONE


def test_while_members_join_those_count_who_are_here() -> None:
    world = GroupWorld(FakeGroupConfig(group_max_size=2))
    a, b = world.stable("a", "b")
    first = world.join(member_id=a)
    newcomer = world.join("c", "", protocols=RANGE)
    assert newcomer.is_parked
    late = world.join(member_id=b)
    assert late.value == JoinResult("", error=ErrorCode.GROUP_MAX_SIZE_REACHED)
    assert b not in world.group.members
    assert first.value.generation == newcomer.value.generation == 2


def test_who_is_awaited_already_is_not_turned_away() -> None:
    world = GroupWorld(FakeGroupConfig(group_max_size=1))
    first = world.join("a", needs_known_id=False)
    assert error(world.join("b")) is ErrorCode.GROUP_MAX_SIZE_REACHED
    again = world.join(member_id="a-1")
    assert first.value.error is ErrorCode.REBALANCE_IN_PROGRESS
    world.pass_ms(3000)
    assert again.value.generation == 1


def test_an_id_given_out_is_void_when_the_group_has_filled_up() -> None:
    world = GroupWorld(FakeGroupConfig(group_max_size=1))
    world.join("a", needs_known_id=True)
    world.stable("b")
    assert error(world.join("a", "a-1")) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert not world.group.pending_members


def test_a_static_member_of_a_full_group_may_come_back() -> None:
    world = GroupWorld(FakeGroupConfig(group_max_size=1))
    world.join(instance="i")
    world.pass_ms(3000)
    world.sync("i-1")
    assert world.join(instance="i").value.error is ErrorCode.NONE


# ---- the initial delay


def test_a_new_group_waits_for_more_members() -> None:
    """KIP-134."""
    world = GroupWorld()
    first = world.join("a")
    world.pass_ms(2999)
    assert first.is_parked
    world.pass_ms(1)
    assert first.value.generation == 1


def test_whoever_comes_meanwhile_makes_it_wait_once_more() -> None:
    world = GroupWorld()
    first = world.join("a")
    world.pass_ms(2000)
    world.join("b")
    world.pass_ms(1000)
    assert first.is_parked
    world.pass_ms(3000)
    assert len(first.value.members) == 2


def test_the_wait_ends_with_the_rebalance_timeout_though_members_keep_coming() -> None:
    world = GroupWorld()
    first = world.join("a", rebalance_ms=8000)
    waited = 0
    while first.is_parked:
        world.join("more", rebalance_ms=8000)
        world.pass_ms(500)
        waited += 500
    assert waited == 8000


def test_without_a_delay_the_group_starts_at_once() -> None:
    world = GroupWorld(FakeGroupConfig(group_initial_rebalance_delay_ms=0))
    first = world.join("a")
    world.pass_ms(1)
    assert first.value.generation == 1


def test_a_group_that_became_empty_waits_again() -> None:
    world = GroupWorld()
    (member,) = world.stable("a")
    world.leave(member)
    again = world.join("b")
    world.pass_ms(2999)
    assert again.is_parked
    world.pass_ms(1)
    assert again.value.generation == 3
    assert world.group.id == GROUP
