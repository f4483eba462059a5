"""Groups that come and go with their partition of the offsets topic. Source: docs/reference/groups.md, section 9."""

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import Member
from kafka_py.coordinator.groups.offsets import GroupOffsets
from kafka_py.testing.fakes.groups import GROUP, FakeGroupConfig, GroupWorld


def loaded(world: GroupWorld, *member_ids: str) -> Group:
    """A group as it is read back: stable in generation 5, knowing the chosen strategy alone."""
    group = Group(GROUP, GroupOffsets(), world.clock.wall_ms())
    members = [
        Member(each, None, "client", "/127.0.0.1", 60_000, 10_000, (("range", b"topics"),), assignment=each.encode())
        for each in member_ids
    ]
    leader = member_ids[0] if member_ids else None
    group.restore(
        generation=5,
        protocol_type="consumer",
        protocol="range",
        leader=leader,
        current_state_timestamp=1,
        members=members,
    )
    world.store.by_id[GROUP] = group
    world.membership.on_loaded(group)
    return group


def test_members_of_a_loaded_group_carry_on() -> None:
    """A coordinator that takes over knows generation and assignment (S3-028, S4-032)."""
    world = GroupWorld()
    loaded(world, "a", "b")
    assert world.heartbeat("a", 5) is ErrorCode.NONE
    assert world.sync("b", 5).value.assignment == b"b"
    assert world.state == "Stable"


def test_members_of_a_loaded_group_have_a_fresh_session() -> None:
    """S1-172: who finds the new coordinator too late counts as gone."""
    world = GroupWorld()
    loaded(world, "a", "b")
    world.pass_ms(9_999)
    world.heartbeat("a", 5)
    world.pass_ms(1)
    assert list(world.group.members) == ["a"]
    assert world.state == "PreparingRebalance"


def test_a_loaded_group_without_members_is_empty() -> None:
    world = GroupWorld()
    loaded(world)
    assert world.state == "Empty"
    assert world.timers.pending == 0


def test_a_loaded_group_that_is_too_large_joins_again() -> None:
    """KIP-389."""
    world = GroupWorld(FakeGroupConfig(group_max_size=1))
    loaded(world, "a", "b")
    assert world.heartbeat("a", 5) is ErrorCode.REBALANCE_IN_PROGRESS
    first = world.join(member_id="a")
    assert world.join(member_id="b").value.error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert first.value.generation == 6


def test_a_loaded_member_that_joins_with_more_strategies_rebalances() -> None:
    world = GroupWorld()
    loaded(world, "a", "b")
    both = (("range", b"topics"), ("sticky", b""))
    assert world.join(member_id="b", protocols=both).is_parked
    assert world.join(member_id="a", protocols=both).value.generation == 6


def test_who_waits_when_the_group_goes_is_sent_elsewhere() -> None:
    world = GroupWorld()
    a, b = world.joined("a", "b")
    sync = world.sync(b)
    group = world.group
    world.membership.on_unloaded(group)
    assert sync.value.error is ErrorCode.NOT_COORDINATOR
    assert group.is_dead
    assert world.timers.pending == 0
    assert world.heartbeat(a, 1) is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_so_is_who_waits_in_a_round() -> None:
    world = GroupWorld()
    a, _ = world.stable("a", "b")
    newcomer = world.join("c")
    rejoin = world.join(member_id=a)
    world.join("d", needs_known_id=True)
    world.membership.on_unloaded(world.group)
    assert newcomer.value.error is ErrorCode.NOT_COORDINATOR
    assert (rejoin.value.error, rejoin.value.member_id) == (ErrorCode.NOT_COORDINATOR, a)
    assert world.timers.pending == 0


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.NOT_COORDINATOR])
def test_a_write_that_ends_after_the_group_went_changes_nothing(error: ErrorCode) -> None:
    world = GroupWorld()
    world.store.holding = True
    (a,) = world.joined("a")
    sync = world.sync(a, assignments={})
    group = world.group
    world.membership.on_unloaded(group)
    world.store.release(error)
    assert sync.value.error is ErrorCode.NOT_COORDINATOR
    assert group.is_dead


def test_a_group_that_was_removed_may_be_unloaded_too() -> None:
    world = GroupWorld()
    group = loaded(world)
    world.membership.delete(GROUP)
    world.membership.on_unloaded(group)
    assert group.is_dead
