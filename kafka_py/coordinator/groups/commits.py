"""Commits of offsets: who may commit, which commits are pending, and the response once the record is acknowledged.

Pure: `commit` decides, offset_keeper.py has the record appended, `written` applies the result of the append.
Source: docs/reference/groups.md, sections 7 and 9; KIP-98; KIP-345 (fencing of static members); KIP-447.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.coordinator.groups import sessions
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import Member
from kafka_py.coordinator.groups.outcome import TimerChange
from kafka_py.coordinator.groups.requests import CommitRequest
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
    """The error for members when the record of their group was not appended."""
    return _GROUP_ERRORS.get(append_error, append_error)


def commit_error(append_error: ErrorCode) -> ErrorCode:
    """The error for a client when the record of its commit was not appended."""
    return _COMMIT_ERRORS.get(append_error, append_error)


def commit(group: Group, request: CommitRequest, now_ms: float) -> TimerChange | None:
    """Accepts the commits: they are pending until `written` is called with the result of the append.

    now_ms: the monotonic clock. A commit extends the member's session; returns the change of its timer. Commits of a
    transaction come from its producer and extend no session. Raises KafkaError as the checks below do; then no commit
    is pending.
    """
    generation, member_id, instance_id, commits, producer = request
    if producer is not None:
        check_transactional_commit(group, generation, member_id, instance_id)
        if commits:
            group.offsets.prepare_txn(producer.id, commits)
        return None
    member = check_commit(group, generation, member_id, instance_id)
    group.offsets.prepare(commits)
    return None if member is None else sessions.extend(member, member.session_timeout_ms, now_ms)


def written(group: Group, request: CommitRequest, error: ErrorCode, record_offset: int) -> ErrorCode:
    """The result for the client: the record is acknowledged, in the batch at `record_offset`, or was not written."""
    offsets, commits, producer = group.offsets, request.commits, request.producer
    if error is ErrorCode.NONE:
        if producer is None:
            offsets.appended(commits, record_offset)
        else:
            offsets.appended_txn(producer.id, commits, record_offset)
        return error
    if producer is None:
        offsets.failed(commits)
    else:
        offsets.failed_txn(producer.id, commits)
    return commit_error(error)


def check_commit(group: Group, generation: int, member_id: str, instance_id: str | None) -> Member | None:
    """The member that commits, whose session is extended; None for a consumer that only stores its offsets here.

    During the join phase the previous generation may still commit: heartbeats notify it of the rebalance.
    Raises KafkaError: COORDINATOR_NOT_AVAILABLE, FENCED_INSTANCE_ID, UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION,
        REBALANCE_IN_PROGRESS.
    """
    if generation < 0 and group.is_empty:
        return None
    member = group.speaker(member_id, instance_id, generation)
    if group.state is COMPLETING_REBALANCE:
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS, f"group {group.id} waits for its new assignment")
    return member


def check_transactional_commit(group: Group, generation: int, member_id: str, instance_id: str | None) -> None:
    """Whether a transaction may commit offsets for the group.

    Producers before KIP-447 send no membership (-1 and empty): only their transactional id fences them. The append
    checks whether the producer's epoch is the latest.
    Raises KafkaError: COORDINATOR_NOT_AVAILABLE, FENCED_INSTANCE_ID, UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION.
    """
    if group.is_dead:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"group {group.id} was removed")
    if group.is_fenced(instance_id, member_id):
        raise KafkaError(ErrorCode.FENCED_INSTANCE_ID, f"{instance_id} is another member of group {group.id} by now")
    if member_id and member_id not in group.members:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"{member_id!r} is no member of group {group.id}")
    if generation >= 0 and generation != group.generation:
        raise KafkaError(
            ErrorCode.ILLEGAL_GENERATION, f"group {group.id} is in generation {group.generation}, not {generation}"
        )
