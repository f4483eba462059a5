from __future__ import annotations

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.groups.commits import check_commit, commit, commit_error, group_error, written
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import Member
from kafka_py.coordinator.groups.offsets import CommittedOffset, GroupOffsets
from kafka_py.coordinator.groups.outcome import TimerChange, TimerKind, TimerName
from kafka_py.coordinator.groups.requests import CommitRequest
from kafka_py.coordinator.groups.states import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    GroupState,
)

APPEND_ERRORS = [
    # append error, what members hear, what committers hear
    ("NONE", "NONE", "NONE"),
    ("UNKNOWN_TOPIC_OR_PARTITION", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_NOT_AVAILABLE"),
    ("NOT_ENOUGH_REPLICAS", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_NOT_AVAILABLE"),
    ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_NOT_AVAILABLE"),
    ("NOT_LEADER_OR_FOLLOWER", "NOT_COORDINATOR", "NOT_COORDINATOR"),
    ("KAFKA_STORAGE_ERROR", "NOT_COORDINATOR", "NOT_COORDINATOR"),
    ("REQUEST_TIMED_OUT", "REBALANCE_IN_PROGRESS", "REQUEST_TIMED_OUT"),
    ("MESSAGE_TOO_LARGE", "UNKNOWN_SERVER_ERROR", "INVALID_COMMIT_OFFSET_SIZE"),
    ("RECORD_LIST_TOO_LARGE", "UNKNOWN_SERVER_ERROR", "INVALID_COMMIT_OFFSET_SIZE"),
    ("INVALID_FETCH_SIZE", "UNKNOWN_SERVER_ERROR", "INVALID_COMMIT_OFFSET_SIZE"),
    ("CORRUPT_MESSAGE", "CORRUPT_MESSAGE", "CORRUPT_MESSAGE"),
]


@pytest.mark.parametrize(("code", "members", "committers"), APPEND_ERRORS)
def test_append_errors_are_translated(code: str, members: str, committers: str) -> None:
    assert group_error(ErrorCode[code]) is ErrorCode[members]
    assert commit_error(ErrorCode[code]) is ErrorCode[committers]


def group_in(state: GroupState) -> Group:
    group = Group("g", GroupOffsets(), 0)
    if state is not EMPTY:
        group.add(Member("m", "i", "c", "/h", 1000, 1000, (("range", b""),)))
    group.generation, group.state = 4, state
    return group


def refusal(group: Group, generation: int = 4, member_id: str = "m", instance_id: str | None = None) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        check_commit(group, generation, member_id, instance_id)
    return caught.value.code


@pytest.mark.parametrize("state", [STABLE, PREPARING_REBALANCE])
def test_a_member_of_this_generation_may_commit(state: GroupState) -> None:
    group = group_in(state)
    assert check_commit(group, 4, "m", "i") is group.members["m"]


def test_a_consumer_without_a_group_may_commit_while_there_are_no_members() -> None:
    assert check_commit(group_in(EMPTY), -1, "", None) is None
    assert refusal(group_in(STABLE), -1, "") is ErrorCode.UNKNOWN_MEMBER_ID


def test_who_may_not() -> None:
    assert refusal(group_in(DEAD)) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert refusal(group_in(STABLE), member_id="other", instance_id="i") is ErrorCode.FENCED_INSTANCE_ID
    assert refusal(group_in(STABLE), member_id="other") is ErrorCode.UNKNOWN_MEMBER_ID
    assert refusal(group_in(STABLE), generation=3) is ErrorCode.ILLEGAL_GENERATION
    assert refusal(group_in(STABLE), generation=-1) is ErrorCode.ILLEGAL_GENERATION
    assert refusal(group_in(EMPTY), generation=4) is ErrorCode.UNKNOWN_MEMBER_ID
    assert refusal(group_in(COMPLETING_REBALANCE)) is ErrorCode.REBALANCE_IN_PROGRESS


P0 = TopicPartition("t", 0)


def request(generation: int = 4, member_id: str = "m", offset: int = 5) -> CommitRequest:
    return CommitRequest(generation, member_id, None, {P0: CommittedOffset(offset, -1, "", 0)})


def test_a_commit_is_a_sign_of_life() -> None:
    group = group_in(STABLE)
    assert commit(group, request(), 500.0) == TimerChange(TimerName(TimerKind.SESSION, "m"), 1000)
    assert group.members["m"].deadline_ms == 1500.0
    assert commit(group, request(), 600.0) is None, "the timer that is armed looks early enough"
    assert commit(group_in(EMPTY), request(-1, ""), 500.0) is None


def test_a_commit_that_is_refused_is_not_pending() -> None:
    group = group_in(STABLE)
    with pytest.raises(KafkaError):
        commit(group, request(generation=3), 0.0)
    assert group.offsets.is_empty


def test_a_commit_is_pending_until_its_record_is_acknowledged() -> None:
    group, asked = group_in(STABLE), request()
    commit(group, asked, 0.0)
    assert group.offsets.is_pending(P0) and not group.offsets.committed
    assert written(group, asked, ErrorCode.NONE, 12) is ErrorCode.NONE
    assert not group.offsets.is_pending(P0)
    assert group.offsets.committed[P0].record_offset == 12


def test_a_commit_that_is_not_written_leaves_what_was_there() -> None:
    group, asked = group_in(STABLE), request()
    written_before = request(offset=1)
    commit(group, written_before, 0.0)
    written(group, written_before, ErrorCode.NONE, 3)
    commit(group, asked, 0.0)
    assert written(group, asked, ErrorCode.MESSAGE_TOO_LARGE, -1) is ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    assert group.offsets.committed[P0].offset == 1 and not group.offsets.is_pending(P0)
