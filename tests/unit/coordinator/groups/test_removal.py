"""What a group loses, and when it ends with that."""

from __future__ import annotations

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import Member
from kafka_py.coordinator.groups.offsets import CommittedOffset, GroupOffsets, OpenTransaction
from kafka_py.coordinator.groups.removal import (
    NOTHING,
    Removed,
    remove_expired,
    remove_group,
    remove_offsets,
    remove_topics,
    unsubscribed,
)
from kafka_py.coordinator.groups.states import DEAD, EMPTY, PREPARING_REBALANCE, STABLE
from kafka_py.wire.compiler import encode_versioned
from kafka_py.wire.messages.consumer_protocol import ConsumerProtocolSubscription

P0, P1, OTHER = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def group_with(*committed: TopicPartition, generation: int = 0) -> Group:
    group = Group("g", GroupOffsets(), 0)
    group.generation = generation
    group.offsets.committed = {each: CommittedOffset(5, -1, "", 0, record_offset=1) for each in committed}
    return group


def at_work(group: Group, *topics: str) -> Group:
    """The group with a member that reads these topics."""
    subscription = encode_versioned(ConsumerProtocolSubscription(topics=list(topics), user_data=None), 0)
    group.protocol_type, group.protocol = "consumer", "range"
    group.add(Member("m", None, "c", "/h", 1000, 1000, (("range", subscription),)))
    group.state = STABLE
    return group


# ---- the end of a group


@pytest.mark.parametrize(("generation", "has_record"), [(0, False), (3, True)])
def test_a_group_left_with_nothing_ends(generation: int, has_record: bool) -> None:
    group = group_with(P0, P1, generation=generation)
    assert remove_offsets(group, [P0], 9) == Removed([P0], group=False, has_record=has_record)
    assert remove_offsets(group, [P1], 9) == Removed([P1], group=True, has_record=has_record)
    assert group.state is DEAD


def test_a_group_that_somebody_is_about_to_join_goes_on() -> None:
    group = group_with(P0)
    group.pending_members["m"] = None
    assert not remove_offsets(group, [P0], 9).group
    assert group.state is EMPTY


def test_a_group_with_members_goes_on_without_offsets() -> None:
    group = at_work(group_with(P0), "u")
    assert remove_offsets(group, [P0], 9) == Removed([P0], group=False, has_record=False)
    group.state = PREPARING_REBALANCE
    assert not remove_expired(group, 9, 1).group


def test_a_group_goes_on_while_a_commit_is_on_its_way() -> None:
    group = group_with(P0)
    group.offsets.prepare({P1: CommittedOffset(6, -1, "", 0)})
    assert not remove_offsets(group, [P0], 9).group


def test_a_group_goes_on_while_a_transaction_may_still_commit_its_offsets() -> None:
    group = group_with(P0)
    group.offsets.pending_txn[7] = OpenTransaction({P1: CommittedOffset(6, -1, "", 0, record_offset=2)})
    assert remove_expired(group, 1000, 1000) == Removed([P0], group=False, has_record=False)
    assert group.state is EMPTY and group.offsets.is_pending(P1)
    assert not remove_expired(group, 99_999, 1).group


def test_a_group_that_is_deleted_loses_what_open_transactions_have_committed() -> None:
    group = group_with(P0, generation=2)
    group.offsets.pending_txn[7] = OpenTransaction({P1: CommittedOffset(6, -1, "", 0, record_offset=2)})
    group.become(DEAD, 0)
    assert remove_group(group) == Removed([P0], group=True, has_record=True)
    assert group.offsets.is_empty


# ---- topics


def test_the_offsets_of_a_deleted_topic_go() -> None:
    group = group_with(P0, P1, OTHER)
    assert remove_topics(group, ["t"], 9) == Removed([P0, P1], group=False, has_record=False)
    assert remove_topics(group, ["t"], 9) is NOTHING
    assert remove_topics(group, ["u"], 9).group


def test_a_deleted_topic_takes_what_is_on_its_way_too() -> None:
    group = group_with(OTHER)
    group.offsets.prepare({P0: CommittedOffset(6, -1, "", 0)})
    group.offsets.pending_txn[7] = OpenTransaction({P1: CommittedOffset(6, -1, "", 0, record_offset=2)})
    assert remove_topics(group, ["t"], 9) == Removed([], group=False, has_record=False)
    assert not group.offsets.is_pending(P0) and not group.offsets.pending_txn


def test_a_group_whose_only_offsets_were_pending_ends_with_their_topic() -> None:
    group = group_with()
    group.offsets.pending_txn[7] = OpenTransaction({P1: CommittedOffset(6, -1, "", 0, record_offset=2)})
    assert remove_topics(group, ["t"], 9) == Removed([], group=True, has_record=False)


def test_a_group_that_is_gone_loses_nothing() -> None:
    group = group_with(P0)
    group.become(DEAD, 0)
    assert remove_topics(group, ["t"], 9) is NOTHING
    assert remove_expired(group, 99_999, 1) is NOTHING


# ---- OffsetDelete


def refusal(group: Group | None) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        unsubscribed(group, "g", [P0])
    return caught.value.code


def test_an_empty_group_loses_any_offset() -> None:
    assert unsubscribed(group_with(P0), "g", [P0, OTHER]) == [P0, OTHER]


def test_consumers_at_work_lose_offsets_only_of_topics_that_they_do_not_read() -> None:
    assert unsubscribed(at_work(group_with(P0, OTHER), "t"), "g", [P0, P1, OTHER]) == [OTHER]


def test_nothing_is_removed_when_it_cannot_be_told_what_members_read() -> None:
    group = at_work(group_with(P0))
    group.members["m"].protocols = (("range", b"\0"),)
    assert unsubscribed(group, "g", [P0, OTHER]) == []


def test_groups_that_do_not_exist_or_are_at_work_on_something_else_are_refused() -> None:
    assert refusal(None) is ErrorCode.GROUP_ID_NOT_FOUND
    gone = group_with()
    gone.become(DEAD, 0)
    assert refusal(gone) is ErrorCode.GROUP_ID_NOT_FOUND
    connect = at_work(group_with(P0), "t")
    connect.protocol_type = "connect"
    assert refusal(connect) is ErrorCode.NON_EMPTY_GROUP
