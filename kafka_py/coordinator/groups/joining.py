"""JoinGroup: who may become or stay a member, and whether that starts a rebalance.

The checks are in Kafka's order. Pure.
Source: docs/reference/groups.md, section 3; KIP-62 (rebalance time-out), KIP-345 (static members), KIP-389
(group.max.size), KIP-394 (a member id first).
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.coordinator.groups import sessions
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import NEW_MEMBER_TIMEOUT_MS, Member
from kafka_py.coordinator.groups.moment import GroupConfig, Moment
from kafka_py.coordinator.groups.outcome import GroupOutcome
from kafka_py.coordinator.groups.parked import park_join
from kafka_py.coordinator.groups.rebalancing import joined, maybe_prepare, progress, remove_member
from kafka_py.coordinator.groups.requests import NO_MEMBER_ID, JoinRequest, JoinResult, Ticket, refused_join
from kafka_py.coordinator.groups.states import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
)
from kafka_py.coordinator.groups.static_members import replace_static_member


class Join(NamedTuple):
    """The event. new_id: a random text that is never returned twice, for a member that has no id yet."""

    request: JoinRequest
    new_id: str
    ticket: Ticket


def check_session_timeout(request: JoinRequest, limits: GroupConfig) -> None:
    """Raises KafkaError(INVALID_SESSION_TIMEOUT)."""
    if not limits.group_min_session_timeout_ms <= request.session_timeout_ms <= limits.group_max_session_timeout_ms:
        raise KafkaError(ErrorCode.INVALID_SESSION_TIMEOUT)


def join(group: Group, event: Join, moment: Moment, out: GroupOutcome) -> None:
    """Answers at once, or when the join phase ends."""
    request = event.request
    try:
        if not _has_room(group, request, moment.limits.group_max_size):
            _turn_away(group, event, moment, out)
        elif request.member_id == NO_MEMBER_ID:
            _join_unknown(group, event, moment, out)
        else:
            _join_known(group, event, moment, out)
    except KafkaError as error:
        out.reply(event.ticket, refused_join(request.member_id, error.code))
        return
    progress(group, moment, out)


# ---- group.max.size


def _has_room(group: Group, request: JoinRequest, most: int) -> bool:
    """Whether the group accepts this member. During the join phase only members that have rejoined count.

    A static member that rejoins under a new id replaces its previous id and needs no further place.
    """
    member_id = request.member_id or group.static_members.get(request.group_instance_id or "", NO_MEMBER_ID)
    if group.state in (EMPTY, DEAD):
        return True
    if group.state is PREPARING_REBALANCE:
        return member_id in group.joins or len(group.joins) < most
    return member_id in group.members or len(group.members) < most


def _turn_away(group: Group, event: Join, moment: Moment, out: GroupOutcome) -> None:
    """Refuses a member beyond the limit, and removes it if it was in the group."""
    member_id = event.request.member_id
    member = group.members.get(member_id)
    if member is not None:
        remove_member(group, member, f"group.max.size: no room for {member_id}", moment, out)
    sessions.forget_pending(group, member_id, out)
    out.reply(event.ticket, refused_join(NO_MEMBER_ID, ErrorCode.GROUP_MAX_SIZE_REACHED))


# ---- new members


def _join_unknown(group: Group, event: Join, moment: Moment, out: GroupOutcome) -> None:
    request = event.request
    _check_open(group, request)
    instance_id = request.group_instance_id
    member_id = f"{request.client_id if instance_id is None else instance_id}-{event.new_id}"
    if instance_id is not None and instance_id in group.static_members:
        replace_static_member(group, request, member_id, event.ticket, moment, out)
    elif request.needs_known_id and instance_id is None:
        sessions.expect(group, member_id, request.session_timeout_ms, out)
        out.reply(event.ticket, refused_join(member_id, ErrorCode.MEMBER_ID_REQUIRED))
    else:
        _add(group, event, member_id, moment, out)


def _add(group: Group, event: Join, member_id: str, moment: Moment, out: GroupOutcome) -> None:
    request = event.request
    member = Member(
        member_id,
        request.group_instance_id,
        request.client_id,
        request.client_host,
        request.rebalance_timeout_ms,
        request.session_timeout_ms,
        request.protocols,
        is_new=True,
    )
    if group.state is PREPARING_REBALANCE and group.generation == 0:
        group.new_member_added = True
    if not group.members:
        group.protocol_type = request.protocol_type
    group.add(member)
    park_join(group, member_id, event.ticket, out)
    # It does not know its id yet, so it cannot send heartbeats: it has a longer time-out of its own.
    sessions.keep(member, NEW_MEMBER_TIMEOUT_MS, moment.now_ms, out)
    maybe_prepare(group, f"adding new member {member_id}", moment, out)


# ---- members that have an id


def _join_known(group: Group, event: Join, moment: Moment, out: GroupOutcome) -> None:
    request = event.request
    _check_open(group, request)
    member_id, instance_id = request.member_id, request.group_instance_id
    if instance_id is None and sessions.forget_pending(group, member_id, out):
        _add(group, event, member_id, moment, out)
        return
    if group.is_fenced(instance_id, member_id):
        raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
    member = group.members.get(member_id)
    if member is None or (instance_id is not None and instance_id not in group.static_members):
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    _rejoin(group, member, event, moment, out)


def _rejoin(group: Group, member: Member, event: Join, moment: Moment, out: GroupOutcome) -> None:
    """A member rejoins. This starts a rebalance only with a reason: the leader may have seen new partitions, or the
    member's metadata has changed, which may change the assignment.
    """
    member_id = member.member_id
    unchanged = member.protocols == event.request.protocols
    if group.state is COMPLETING_REBALANCE and unchanged:
        out.reply(event.ticket, joined(group, member_id))  # the response to its first join was lost
    elif group.state is STABLE and unchanged and member_id != group.leader:
        leader = group.leader or ""
        out.reply(event.ticket, JoinResult(member_id, group.generation, group.protocol_type, group.protocol, leader))
    else:
        _update(group, member_id, event, moment, out)


def _update(group: Group, member_id: str, event: Join, moment: Moment, out: GroupOutcome) -> None:
    request = event.request
    group.set_protocols(member_id, request.protocols)
    member = group.changing(member_id)
    member.rebalance_timeout_ms = request.rebalance_timeout_ms
    member.session_timeout_ms = request.session_timeout_ms
    park_join(group, member_id, event.ticket, out)
    maybe_prepare(group, f"member {member_id} joins in {group.state.value}", moment, out)


def _check_open(group: Group, request: JoinRequest) -> None:
    """Raises KafkaError for a removed group, or one with which the member shares no strategy."""
    if group.is_dead:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if not group.supports(request.protocol_type, request.protocol_names):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
