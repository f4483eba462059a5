"""Worked examples of group membership, by their ids."""

from uuid import UUID

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ErrorCode
from kafka_py.coordinator.groups.coordinator import Membership
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import Member
from kafka_py.coordinator.groups.offsets import GroupOffsets
from kafka_py.coordinator.groups.states import PREPARING_REBALANCE
from kafka_py.testing.fakes.groups import GROUP, AwaitedReply, FakeGroupConfig, GroupWorld, MemoryStore


@pytest.mark.parametrize(("session_ms", "allowed"), [(5999, False), (6000, True), (300_000, True), (300_001, False)])
def test_w7_13_session_timeouts_outside_the_limits_are_refused(session_ms: int, allowed: bool) -> None:
    """W7.13, with the upper limit of its time (the default is 1,800,000 now)."""
    world = GroupWorld(FakeGroupConfig(group_max_session_timeout_ms=300_000))
    reply = world.join(session_ms=session_ms)
    assert reply.is_parked is allowed
    assert allowed or reply.value.error is ErrorCode.INVALID_SESSION_TIMEOUT


def chosen(*supported: tuple[str, ...]) -> str:
    """The strategy of a group whose members list these."""
    group = Group("g", GroupOffsets(), 0)
    for number, names in enumerate(supported):
        protocols = tuple((name, b"") for name in names)
        group.add(Member(f"m{number}", None, "", "", 0, 0, protocols))
    group.become(PREPARING_REBALANCE, 0)
    return group.select_protocol()


def test_w7_14_only_what_every_member_supports_is_a_candidate() -> None:
    assert chosen(("range", "roundrobin"), ("roundrobin",), ("range", "roundrobin")) == "roundrobin"


def test_w7_15_each_member_votes_for_its_first_candidate() -> None:
    assert chosen(("range", "roundrobin"), ("range", "roundrobin"), ("roundrobin", "range")) == "range"


def test_w7_16_the_id_is_the_client_id_and_a_uuid() -> None:
    """W7.16, S3-035; and the members are listed for the leader alone."""
    world = GroupWorld()
    world.membership = Membership(
        MemoryStore(world.clock), world.clock, world.timers, lambda: world.limits,
        new_id=lambda: str(Chance().new_uuid()),
    )
    first, second = world.join("consumer-1"), world.join("consumer-1")
    world.pass_ms(6000)
    for reply in (first, second):
        name, _, rest = reply.value.member_id.partition("consumer-1-")
        assert name == ""
        assert UUID(rest).version == 4
    assert (len(first.value.members), len(second.value.members)) == (2, 0)


def test_w7_17_the_whole_round_of_a_joiner() -> None:
    """W7.17, S4-027, X-020: join, sync, heartbeats each three seconds; the states on the way."""
    world = GroupWorld()
    join = world.join("c")
    assert world.state == "PreparingRebalance"
    world.pass_ms(3000)
    assert world.state == "CompletingRebalance"
    sync = world.sync(join.value.member_id, assignments={join.value.member_id: b"partitions"})
    assert (world.state, sync.value.assignment) == ("Stable", b"partitions")
    for _ in range(10):
        world.pass_ms(3000)
        assert world.heartbeat(join.value.member_id) is ErrorCode.NONE


def test_s4_028_what_leads_back() -> None:
    """A join or a leave in Stable: PreparingRebalance, and all must rejoin; all left: Empty."""
    world = GroupWorld()
    a, b = world.stable("a", "b")
    world.leave(b)
    assert world.state == "PreparingRebalance"
    world.join(member_id=a)
    world.sync_all([a])
    c = world.join("c")
    assert world.state == "PreparingRebalance"
    world.join(member_id=a)
    world.sync_all([a, c.value.member_id])
    world.leave(a, c.value.member_id)
    assert world.state == "Empty"


def test_s3_036_the_first_to_join_leads_and_another_when_it_goes() -> None:
    world = GroupWorld()
    a, b, c = world.stable("a", "b", "c")
    assert world.group.leader == a
    world.leave(a)
    replies = [world.join(member_id=member) for member in (b, c)]
    assert {reply.value.leader for reply in replies} == {b}


def test_s3_043_the_assignment_is_stored_before_members_hear_of_it() -> None:
    """S3-043, S1-183: generation and members are one record."""
    world = GroupWorld()
    world.store.holding = True
    a, b = world.joined("a", "b")
    replies: list[AwaitedReply[object]] = [world.sync(b), world.sync(a, assignments={a: b"1", b: b"2"})]  # type: ignore[list-item]
    (written,) = world.store.persisted
    assert (written.generation, written.assignments) == (1, {a: b"1", b: b"2"})
    assert all(reply.is_parked for reply in replies)
    world.store.release()
    assert not any(reply.is_parked for reply in replies)


def test_s1_184_after_a_failover_old_generations_begin_anew() -> None:
    """S1-182 to S1-184: some members know the new generation, the others join, which makes a new round."""
    world = GroupWorld()
    members = [Member(name, None, "", "", 60_000, 10_000, (("range", b""),)) for name in ("a", "b")]
    group = world.store.get_or_create(GROUP)
    group.restore(
        generation=7, protocol_type="consumer", protocol="range", leader="a", current_state_timestamp=0, members=members
    )
    world.membership.on_loaded(group)
    assert world.heartbeat("a", 7) is ErrorCode.NONE
    assert world.heartbeat("b", 6) is ErrorCode.ILLEGAL_GENERATION
    late = world.join(member_id="b", protocols=(("range", b"again"),))
    assert world.heartbeat("a", 7) is ErrorCode.REBALANCE_IN_PROGRESS
    world.join(member_id="a")
    assert late.value.generation == 8
