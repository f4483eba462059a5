"""What administrators see and do: describe, list, delete. Source: docs/reference/groups.md, sections 2 and 8."""

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.coordinator.groups.overview import DescribedMember, GroupDescription, GroupOverview
from kafka_py.testing.fakes.groups import GROUP, GroupWorld


def code_of(call: object, *arguments: object) -> ErrorCode:
    with pytest.raises(KafkaError) as raised:
        call(*arguments)  # type: ignore[operator]
    return raised.value.code


def test_a_stable_group_shows_its_protocol_and_what_members_do() -> None:
    world = GroupWorld()
    world.join("a", instance="i")
    world.pass_ms(3000)
    world.sync("i-1", assignments={"i-1": b"work"})
    member = DescribedMember("i-1", "i", "a", "/127.0.0.1", b"topics", b"work")
    assert world.membership.describe(GROUP) == GroupDescription("Stable", "consumer", "range", (member,))


def test_any_other_state_shows_members_alone() -> None:
    world = GroupWorld()
    world.joined("a")
    member = DescribedMember("a-1", None, "a", "/127.0.0.1", b"", b"")
    assert world.membership.describe(GROUP) == GroupDescription("CompletingRebalance", "consumer", "", (member,))
    world.leave("a-1")
    assert world.membership.describe(GROUP) == GroupDescription("Empty", "consumer", "", ())


def test_an_unknown_group_is_dead() -> None:
    assert GroupWorld().membership.describe("nobody's") == GroupDescription("Dead", "", "", ())
    assert GroupWorld().membership.describe("") == GroupDescription("Dead", "", "", ())


def test_describing_and_deleting_need_the_coordinator() -> None:
    world = GroupWorld()
    world.store.refusal = ErrorCode.NOT_COORDINATOR
    assert code_of(world.membership.describe, GROUP) is ErrorCode.NOT_COORDINATOR
    assert code_of(world.membership.delete, GROUP) is ErrorCode.NOT_COORDINATOR


def test_groups_are_listed_all_or_by_state() -> None:
    """KIP-518."""
    world = GroupWorld()
    world.join("a", group_id="one")
    world.pass_ms(3000)
    world.join("b", group_id="two", protocol_type="connect")
    world.store.get_or_create("three")
    listed = [
        GroupOverview("one", "consumer", "CompletingRebalance"),
        GroupOverview("two", "connect", "PreparingRebalance"),
        GroupOverview("three", "", "Empty"),
    ]
    assert world.membership.list_groups() == listed
    assert world.membership.list_groups(["Empty", "PreparingRebalance"]) == listed[1:]
    assert world.membership.list_groups(["empty", "Nonsense"]) == []


def test_an_empty_group_is_deleted() -> None:
    """KIP-229."""
    world = GroupWorld()
    (member,) = world.stable("a")
    world.leave(member)
    group = world.group
    world.membership.delete(GROUP)
    assert world.store.removed == [GROUP]
    assert group.is_dead
    assert world.membership.describe(GROUP).state == "Dead"


def test_a_group_in_use_is_not_deleted() -> None:
    world = GroupWorld()
    for step in range(3):
        if step == 0:
            world.join("a")
        elif step == 1:
            world.pass_ms(3000)
        else:
            world.sync("a-1", assignments={})
        assert code_of(world.membership.delete, GROUP) is ErrorCode.NON_EMPTY_GROUP
    assert world.store.removed == []


def test_what_is_not_there_cannot_be_deleted() -> None:
    assert code_of(GroupWorld().membership.delete, "nobody's") is ErrorCode.GROUP_ID_NOT_FOUND
    assert code_of(GroupWorld().membership.delete, "") is ErrorCode.GROUP_ID_NOT_FOUND


def test_ids_given_out_by_a_deleted_group_expire_without_a_trace() -> None:
    world = GroupWorld()
    world.join("a", needs_known_id=True)
    world.membership.delete(GROUP)
    assert world.timers.pending == 0
    assert world.join("a", "a-1").value.error is ErrorCode.UNKNOWN_MEMBER_ID
