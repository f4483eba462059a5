"""Who may commit offsets, and what a client is told when the append of a commit or of a group fails.

Pure. Source: docs/reference/groups.md, sections 7 and 9; KIP-345 (fencing of static members).
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import Member
from kafka_py.coordinator.groups.states import COMPLETING_REBALANCE

_TOO_LARGE = frozenset((ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_FETCH_SIZE))
_COMMON = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
}
_GROUP_ERRORS = {
    **_COMMON,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.REBALANCE_IN_PROGRESS,
    **dict.fromkeys(_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
}
_COMMIT_ERRORS = {**_COMMON, **dict.fromkeys(_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE)}


def group_error(append_error: ErrorCode) -> ErrorCode:
    """What members are told when the record of their group was not appended."""
    return _GROUP_ERRORS.get(append_error, append_error)


def commit_error(append_error: ErrorCode) -> ErrorCode:
    """What a client is told when its commit was not appended."""
    return _COMMIT_ERRORS.get(append_error, append_error)


def check_commit(group: Group, generation: int, member_id: str, instance_id: str | None) -> Member | None:
    """The member that commits, which shows that it lives; None for a consumer that only keeps its offsets here.

    While members still join again the old generation may commit: its heartbeats tell it of the rebalance.
    Raises KafkaError: COORDINATOR_NOT_AVAILABLE, FENCED_INSTANCE_ID, UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION,
        REBALANCE_IN_PROGRESS.
    """
    if generation < 0 and group.is_empty:
        return None
    member = group.speaker(member_id, instance_id, generation)
    if group.state is COMPLETING_REBALANCE:
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS, f"group {group.id} waits for its new assignment")
    return member
