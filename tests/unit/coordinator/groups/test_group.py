"""The group as a value: members and their mappings, strategies and the vote."""

from collections.abc import Iterable

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import Member, Protocols
from kafka_py.coordinator.groups.offsets import GroupOffsets
from kafka_py.coordinator.groups.outcome import GroupOutcome
from kafka_py.coordinator.groups.parked import answer_join, park_join
from kafka_py.coordinator.groups.requests import JoinResult, refused_join
from kafka_py.coordinator.groups.states import DEAD, EMPTY, PREPARING_REBALANCE, STABLE


def member(member_id: str, *names: str, instance: str | None = None, rebalance_ms: int = 1000) -> Member:
    protocols: Protocols = tuple((name, f"{member_id}:{name}".encode()) for name in names or ("range",))
    return Member(member_id, instance, "client", "/127.0.0.1", rebalance_ms, 10_000, protocols)


def group_of(members: Iterable[Member]) -> Group:
    group = Group("g", GroupOffsets(), 0)
    group.protocol_type = "consumer"
    for each in members:
        group.add(each)
    group.become(PREPARING_REBALANCE, 0)
    return group


def test_the_first_member_leads_and_the_eldest_follows_it() -> None:
    group = group_of([member("a"), member("b"), member("c")])
    assert group.leader == "a"
    group.remove("a")
    assert group.leader == "b"
    group.remove("c")
    assert group.leader == "b"
    group.remove("b")
    assert group.leader is None


def test_a_static_member_takes_its_instance_id_along() -> None:
    group = group_of([member("a", instance="i"), member("b")])
    assert group.static_members == {"i": "a"}
    with pytest.raises(ValueError, match="already"):
        group.add(member("c", instance="i"))
    group.remove("a")
    assert group.static_members == {}


def test_a_renamed_member_keeps_place_and_leadership() -> None:
    group = group_of([member("a", instance="i"), member("b")])
    group.pending_syncs = {"a", "b"}
    group.rename("a", "a2")
    assert list(group.members) == ["a2", "b"]
    assert group.members["a2"].member_id == group.leader == "a2"
    assert group.static_members == {"i": "a2"}
    assert group.pending_syncs == {"a2", "b"}


def test_fenced_is_whose_instance_id_belongs_to_another() -> None:
    group = group_of([member("a", instance="i")])
    assert not group.is_fenced("i", "a")
    assert group.is_fenced("i", "b")
    assert group.is_fenced("i", "")
    assert not group.is_fenced(None, "b")
    assert not group.is_fenced("unheard of", "b")


def test_the_chosen_strategy_is_common_to_all_and_has_most_votes() -> None:
    """Each votes for the first on its list that all support."""
    group = group_of([member("a", "sticky", "range"), member("b", "range", "sticky"), member("c", "range", "sticky")])
    assert group.common_protocols == {"range", "sticky"}
    assert group.select_protocol() == "range"
    group.add(member("d", "own", "sticky"))
    assert group.common_protocols == {"sticky"}
    assert group.select_protocol() == "sticky"
    group.remove("d")
    assert group.select_protocol() == "range"


def test_of_equal_votes_the_first_counts() -> None:
    group = group_of([member("a", "one", "two"), member("b", "two", "one")])
    assert group.select_protocol() == "one"


def test_changed_strategies_count_anew() -> None:
    group = group_of([member("a", "one"), member("b", "one")])
    group.set_protocols("a", (("two", b""), ("one", b""), ("one", b"again")))
    assert group.common_protocols == {"one"}
    group.set_protocols("b", (("two", b""),))
    assert group.common_protocols == {"two"}


def test_an_empty_group_takes_any_strategy_others_need_a_common_one() -> None:
    empty = Group("g", GroupOffsets(), 0)
    assert empty.supports("consumer", ["range"])
    assert not empty.supports("", ["range"])
    assert not empty.supports("consumer", [])
    group = group_of([member("a", "one", "two"), member("b", "two")])
    assert group.supports("consumer", ["two", "three"])
    assert not group.supports("consumer", ["one"])
    assert not group.supports("connect", ["two"])
    assert not group.supports("consumer", [])


def test_a_group_that_lost_all_members_while_they_join_takes_its_own_kind() -> None:
    group = group_of([member("a")])
    group.remove("a")
    assert group.supports("consumer", ["anything"])
    assert not group.supports("connect", ["anything"])


def test_the_leader_is_told_of_all_with_the_chosen_metadata() -> None:
    group = group_of([member("a", "range", "sticky", instance="i"), member("b", "sticky")])
    group.protocol = group.select_protocol()
    assert group.joined_members() == [("a", "i", b"a:sticky"), ("b", None, b"b:sticky")]


def test_the_longest_rebalance_timeout_counts() -> None:
    group = group_of([member("a", rebalance_ms=5), member("b", rebalance_ms=7)])
    assert group.rebalance_timeout_ms == 7
    assert Group("g", GroupOffsets(), 0).rebalance_timeout_ms == 0


def test_a_second_request_while_one_is_parked_answers_the_first() -> None:
    group = group_of([member("a")])
    out = GroupOutcome(group)
    park_join(group, "a", 1, out)
    assert group.has_all_joined
    park_join(group, "a", 2, out)
    assert out.replies == [(1, refused_join("a", ErrorCode.REBALANCE_IN_PROGRESS))]
    answer_join(group, "a", JoinResult("a", 1), out)
    assert out.replies[1:] == [(2, JoinResult("a", 1))]
    answer_join(group, "a", JoinResult("a", 1), out)
    assert len(out.replies) == 2
    assert not group.has_all_joined


@pytest.mark.parametrize(("members", "state"), [([member("a", instance="i"), member("b")], STABLE), ([], EMPTY)])
def test_a_restored_group_is_stable_with_members_and_empty_without(members: list[Member], state: object) -> None:
    group = Group("g", GroupOffsets(), 0)
    group.restore(
        generation=4,
        protocol_type="",
        protocol="range",
        leader="b",
        current_state_timestamp=None,
        members=members,
    )
    assert group.state is state
    assert (group.generation, group.protocol_type, group.leader) == (4, None, "b")
    assert group.current_state_timestamp is None
    assert list(group.members) == [each.member_id for each in members]
    group.become(DEAD, 5)
    assert group.is_dead
