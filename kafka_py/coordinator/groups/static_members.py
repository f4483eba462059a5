"""A static member rejoins after a restart: it replaces its previous member id, mostly without a rebalance.

Pure. Source: docs/reference/groups.md, section 6; KIP-345.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.coordinator.groups import sessions
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.moment import Moment
from kafka_py.coordinator.groups.outcome import GroupOutcome, GroupRecord, Level, Replaced
from kafka_py.coordinator.groups.parked import answer_join, answer_sync, park_join
from kafka_py.coordinator.groups.rebalancing import prepare
from kafka_py.coordinator.groups.requests import (
    NO_MEMBER_ID,
    JoinRequest,
    JoinResult,
    Ticket,
    refused_join,
    refused_sync,
)
from kafka_py.coordinator.groups.states import COMPLETING_REBALANCE, STABLE


def replace_static_member(
    group: Group, request: JoinRequest, new_id: str, ticket: Ticket, moment: Moment, out: GroupOutcome
) -> None:
    """A registered instance id joins without a member id: it becomes `new_id`, and its previous member id is fenced.

    In a stable group whose chosen strategy stays the same, the member keeps its previous assignment as soon as its new
    id is written. Otherwise it takes part in the rebalance in progress, or begins one. Unlike an assignment, the new id
    counts before it is written: requests under the previous one are refused from now on, and a failed write restores
    it.
    """
    instance_id = request.group_instance_id
    assert instance_id is not None
    old_id = group.static_members[instance_id]
    old_leader = group.leader
    old_protocols = group.members[old_id].protocols
    out.note(f"Static member {instance_id} of group {group.id} rejoins as {new_id} in place of {old_id}")
    answer_join(group, old_id, refused_join(old_id, ErrorCode.FENCED_INSTANCE_ID), out)
    answer_sync(group, old_id, refused_sync(ErrorCode.FENCED_INSTANCE_ID), out)
    sessions.end(group, old_id, out)
    member = group.rename(old_id, new_id)
    group.set_protocols(new_id, request.protocols)
    member.session_timeout_ms = request.session_timeout_ms
    member.rebalance_timeout_ms = request.rebalance_timeout_ms
    sessions.touch(group, new_id, moment.now_ms, out)
    park_join(group, new_id, ticket, out)
    if group.state is STABLE and group.select_protocol() == group.protocol:
        assignments = {each.member_id: each.assignment for each in group.members.values()}
        change = Replaced(group.generation, new_id, old_id, old_leader, old_protocols)
        out.records.append(GroupRecord(group, assignments, change))
    elif group.state in (STABLE, COMPLETING_REBALANCE):
        # The leader may be computing an assignment for the former id, which would leave the new one without any.
        prepare(group, f"static member {instance_id} came back as {new_id}", moment, out)


def replaced(group: Group, change: Replaced, error: ErrorCode, moment: Moment, out: GroupOutcome) -> None:
    """The new id is written and the member continues, or the write failed and the member keeps its previous id."""
    new_id = member_id = change.member_id
    if group.state is not STABLE or group.generation != change.generation or new_id not in group.members:
        return  # a rebalance that began meanwhile answers it, or its removal already has
    leader = change.former_leader or NO_MEMBER_ID
    if error is not ErrorCode.NONE:
        out.note(
            f"Group {group.id}: the new id {new_id} of a static member was not written: {error.name}", Level.WARNING
        )
        failed = JoinResult(NO_MEMBER_ID, change.generation, leader=leader, error=error)
        answer_join(group, new_id, failed, out)
        sessions.end(group, new_id, out)
        member_id = change.former_id
        group.rename(new_id, member_id)
        group.set_protocols(member_id, change.former_protocols)
    else:
        # With the former leader's id in the response a returning leader computes no assignment, which would be lost.
        result = JoinResult(new_id, change.generation, group.protocol_type, group.protocol, leader)
        answer_join(group, new_id, result, out)
    sessions.touch(group, member_id, moment.now_ms, out)
