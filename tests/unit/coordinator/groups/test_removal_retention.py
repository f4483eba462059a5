"""Retention by the state of the group (KIP-211)."""

from __future__ import annotations

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import Member
from kafka_py.coordinator.groups.offsets import CommittedOffset, GroupOffsets
from kafka_py.coordinator.groups.removal import expired_offsets, subscribed_topics
from kafka_py.coordinator.groups.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE, GroupState
from kafka_py.wire.compiler import encode_versioned
from kafka_py.wire.messages.consumer_protocol import ConsumerProtocolSubscription

P0, P1 = TopicPartition("t", 0), TopicPartition("u", 0)
RETENTION = 1000


def group_with(committed_ms: int = 0, expires_ms: int = -1) -> Group:
    offsets = GroupOffsets()
    commit = CommittedOffset(1, -1, "", committed_ms, expires_ms, 0)
    offsets.committed = {P0: commit, P1: commit}
    return Group("g", offsets, 0)


def in_state(
    group: Group, state: GroupState, topics: list[str] | None = None, protocol_type: str = "consumer"
) -> Group:
    group.protocol_type, group.protocol = protocol_type, "range"
    if topics is not None:
        metadata = encode_versioned(ConsumerProtocolSubscription(topics=topics), 1)
        group.add(Member("m", None, "c", "/h", 1000, 1000, (("range", metadata),)))
    group.state = state
    return group


def test_a_simple_consumers_commit_is_kept_for_the_retention_from_its_time_on() -> None:
    """Rule: expire_timestamp = commit_timestamp + offsets.retention.minutes."""
    group = group_with(committed_ms=500)
    assert expired_offsets(group, 1499, RETENTION) == []
    assert expired_offsets(group, 1500, RETENTION) == [P0, P1]


def test_an_empty_groups_offsets_are_kept_from_the_moment_it_became_empty() -> None:
    """S4-029: offsets go only while the group is Empty."""
    group = in_state(group_with(), EMPTY)
    group.current_state_timestamp = 2000
    assert expired_offsets(group, 2999, RETENTION) == []
    assert expired_offsets(group, 3000, RETENTION) == [P0, P1]


def test_an_empty_group_of_an_old_record_goes_by_the_commits() -> None:
    group = in_state(group_with(committed_ms=500), EMPTY)
    group.current_state_timestamp = None
    assert expired_offsets(group, 1500, RETENTION) == [P0, P1]


def test_members_at_work_keep_the_offsets_of_what_they_read() -> None:
    assert expired_offsets(in_state(group_with(), STABLE, ["t"]), 5000, RETENTION) == [P1]


@pytest.mark.parametrize("state", [PREPARING_REBALANCE, COMPLETING_REBALANCE])
def test_a_group_that_rebalances_keeps_everything(state: GroupState) -> None:
    assert expired_offsets(in_state(group_with(), state, []), 5000, RETENTION) == []


def test_members_of_another_kind_keep_everything() -> None:
    assert expired_offsets(in_state(group_with(), STABLE, [], "connect"), 5000, RETENTION) == []


def test_members_that_do_not_say_what_they_read_keep_everything() -> None:
    group = in_state(group_with(), STABLE)
    group.add(Member("m", None, "c", "/h", 1000, 1000, (("range", b"\0"),)))
    assert subscribed_topics(group) is None
    assert expired_offsets(group, 5000, RETENTION) == []


def test_an_expiry_that_the_client_asked_for_counts_instead() -> None:
    group = group_with(expires_ms=50)
    assert expired_offsets(group, 49, 1) == []
    assert expired_offsets(group, 50, 1 << 40) == [P0, P1]
    assert expired_offsets(in_state(group, STABLE, ["t"]), 50, 1 << 40) == [P1]


def test_a_partition_with_a_commit_on_its_way_is_kept() -> None:
    group = group_with()
    group.offsets.pending[P0] = CommittedOffset(2, -1, "", 0)
    assert expired_offsets(group, 5000, RETENTION) == [P1]


def test_a_group_without_members_reads_nothing() -> None:
    assert subscribed_topics(in_state(group_with(), EMPTY)) == frozenset()
    assert subscribed_topics(group_with()) is None
