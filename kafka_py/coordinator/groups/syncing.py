"""SyncGroup: the leader sends the assignment of all members, and every member fetches its own.

The assignment is in the log before any member receives it, so that a new coordinator knows it too. Pure.
Source: docs/reference/groups.md, section 5; KIP-559 (protocol type and name are checked).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.coordinator.groups import sessions
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import Member
from kafka_py.coordinator.groups.moment import Moment
from kafka_py.coordinator.groups.outcome import Assigned, GroupOutcome, GroupRecord
from kafka_py.coordinator.groups.parked import park_sync
from kafka_py.coordinator.groups.rebalancing import answer_syncs, maybe_prepare, synced, withdraw_assignment
from kafka_py.coordinator.groups.requests import SyncRequest, SyncResult, Ticket, refused_sync
from kafka_py.coordinator.groups.states import COMPLETING_REBALANCE, PREPARING_REBALANCE, STABLE


class Sync(NamedTuple):
    """The event."""

    request: SyncRequest
    ticket: Ticket


def sync(group: Group, event: Sync, moment: Moment, out: GroupOutcome) -> None:
    """Answers at once, or when the leader's assignment is written."""
    request, ticket = event
    try:
        member = _member(group, request)
    except KafkaError as error:
        out.reply(ticket, refused_sync(error.code))
        return
    member_id = member.member_id
    if group.state is STABLE:
        synced(group, member_id, out)
        sessions.touch(group, member_id, moment.now_ms, out)
        out.reply(ticket, SyncResult(group.protocol_type, group.protocol, member.assignment))
        return
    park_sync(group, member_id, ticket, out)
    synced(group, member_id, out)
    if member_id == group.leader:
        _take_assignment(group, request.assignments, out)


def _member(group: Group, request: SyncRequest) -> Member:
    """The member, if the group has or awaits an assignment. Raises KafkaError."""
    member = group.speaker(request.member_id, request.group_instance_id, request.generation)
    if request.protocol_type is not None and request.protocol_type != group.protocol_type:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if request.protocol is not None and request.protocol != group.protocol:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if group.state is PREPARING_REBALANCE:
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
    return member


def _take_assignment(group: Group, given: Mapping[str, bytes], out: GroupOutcome) -> None:
    """Has the leader's assignment written. Members that it omits get an empty one, unknown member ids are ignored."""
    assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
    out.note(
        f"Group {group.id}: the leader has assigned generation {group.generation}, {len(assignments)} members"
    )
    out.records.append(GroupRecord(group, assignments, Assigned(group.generation, assignments)))


def assigned(group: Group, change: Assigned, error: ErrorCode, moment: Moment, out: GroupOutcome) -> None:
    """The assignment is written and becomes valid, or the write failed: then all members have to join again."""
    if group.state is not COMPLETING_REBALANCE or group.generation != change.generation:
        return  # another rebalance began meanwhile and has answered the parked requests
    if error is not ErrorCode.NONE:
        withdraw_assignment(group, error, moment, out)
        maybe_prepare(group, f"the assignment was not written: {error.name}", moment, out)
        return
    for member_id in group.members:
        group.changing(member_id).assignment = change.assignments.get(member_id, b"")
    group.become(STABLE, moment.wall_ms)
    answer_syncs(group, moment, out)
