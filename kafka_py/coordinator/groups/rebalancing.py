"""The join phase of a rebalance: how it begins, how long it may take, and the generation that it leads to.

It ends when every member has joined, or when its time-out is over; the first one of a group waits for more members
(`group.initial.rebalance.delay.ms`). Afterwards every member has to sync; a member that does not sync within the
rebalance time-out is removed, and the next rebalance begins. Pure.
Source: docs/reference/groups.md, section 4; KIP-134 (initial delay).
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.coordinator.groups import sessions
from kafka_py.coordinator.groups.group import Group, JoinPhase, JoinPhaseKind
from kafka_py.coordinator.groups.member import Member
from kafka_py.coordinator.groups.moment import Moment
from kafka_py.coordinator.groups.outcome import ROUND, SYNCS, Emptied, GroupOutcome, GroupRecord, Level
from kafka_py.coordinator.groups.parked import answer_join, answer_sync
from kafka_py.coordinator.groups.requests import JoinResult, SyncResult, refused_join, refused_sync
from kafka_py.coordinator.groups.states import (
    CAN_REBALANCE,
    COMPLETING_REBALANCE,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
)

WRITE_AGAIN_MS = 1_000
"""The pause after a failed write of a generation without members."""

_OPEN = JoinPhase(JoinPhaseKind.OPEN)
_NEXT_ATTEMPT = JoinPhase(JoinPhaseKind.NEXT_ATTEMPT)
_EMPTYING = JoinPhase(JoinPhaseKind.EMPTYING)

_WAITS = (JoinPhaseKind.FIRST, JoinPhaseKind.EMPTYING)
"""The join phases that do not end although every member has joined."""

# ---- the join phase begins


def maybe_prepare(group: Group, reason: str, moment: Moment, out: GroupOutcome) -> None:
    """Begins a rebalance unless its join phase is in progress or the group is Dead."""
    if group.state in CAN_REBALANCE:
        prepare(group, reason, moment, out)


def prepare(group: Group, reason: str, moment: Moment, out: GroupOutcome) -> None:
    """Begins a rebalance: members whose SyncGroup is parked have to join again."""
    if group.state is COMPLETING_REBALANCE:
        withdraw_assignment(group, ErrorCode.REBALANCE_IN_PROGRESS, moment, out)
    out.cancel(SYNCS)
    delay_ms = moment.limits.group_initial_rebalance_delay_ms
    is_first = group.state is EMPTY
    group.become(PREPARING_REBALANCE, moment.wall_ms)
    out.note(f"Group {group.id} rebalances after generation {group.generation}: {reason}")
    if is_first:
        remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
        _await_joins(group, JoinPhase(JoinPhaseKind.FIRST, delay_ms, remaining_ms), delay_ms, moment, out)
    else:
        _await_joins(group, _OPEN, group.rebalance_timeout_ms, moment, out)


def progress(group: Group, moment: Moment, out: GroupOutcome) -> None:
    """Ends the join phase if it can end; called after a member joined, left or expired."""
    if group.round is not None and _can_end(group, group.round):
        group.round = None
        out.cancel(ROUND)
        complete_round(group, moment, out)


def _await_joins(group: Group, joining: JoinPhase, timeout_ms: float, moment: Moment, out: GroupOutcome) -> None:
    if _can_end(group, joining):
        complete_round(group, moment, out)
    else:
        group.round = joining
        out.arm(ROUND, timeout_ms)


def _can_end(group: Group, joining: JoinPhase) -> bool:
    if joining.kind in _WAITS or (joining.kind is JoinPhaseKind.NEXT_ATTEMPT and not group.members):
        return False
    return group.has_all_joined


def withdraw_assignment(group: Group, error: ErrorCode, moment: Moment, out: GroupOutcome) -> None:
    """Clears all assignments of this generation, and answers the parked SyncGroup requests with `error`."""
    for member_id in group.members:
        group.changing(member_id).assignment = b""
    answer_syncs(group, moment, out, error)


def answer_syncs(group: Group, moment: Moment, out: GroupOutcome, error: ErrorCode = ErrorCode.NONE) -> None:
    """Answers all parked SyncGroup requests, with the member's assignment or with the error."""
    failed = refused_sync(error) if error is not ErrorCode.NONE else None
    for member_id in list(group.syncs):
        member = group.members[member_id]
        result = failed or SyncResult(group.protocol_type, group.protocol, member.assignment)
        sessions.touch(group, member_id, moment.now_ms, out)
        answer_sync(group, member_id, result, out)


# ---- the join phase ends


def round_over(group: Group, moment: Moment, out: GroupOutcome) -> None:
    """The join phase has timed out. A first one is extended while members keep joining and the limit allows it."""
    ended = group.round
    if ended is None or ended.kind is JoinPhaseKind.EMPTYING:
        return
    group.round = None
    if ended.kind is JoinPhaseKind.FIRST and group.new_member_added and ended.remaining_ms:
        group.new_member_added = False
        delay_ms = min(moment.limits.group_initial_rebalance_delay_ms, ended.remaining_ms)
        left_ms = max(ended.remaining_ms - ended.delay_ms, 0)
        _await_joins(group, JoinPhase(JoinPhaseKind.FIRST, delay_ms, left_ms), delay_ms, moment, out)
    else:
        complete_round(group, moment, out)


def complete_round(group: Group, moment: Moment, out: GroupOutcome) -> None:
    """Every member has joined, or the time-out is over: dynamic members that did not join are removed, static ones
    stay, and the next generation begins.
    """
    _remove_absent(group, out)
    if group.members and not _elect_present_leader(group, out):
        out.note(
            f"Group {group.id} could not complete its rebalance, for none of its static members rejoined", Level.ERROR
        )
        _await_joins(group, _OPEN, group.rebalance_timeout_ms, moment, out)
        return
    group.new_member_added = False
    if group.members:
        _begin_generation(group, moment, out)
    else:
        _begin_empty_generation(group, moment, out)


def _remove_absent(group: Group, out: GroupOutcome) -> None:
    absent = [
        member for member in group.members.values() if member.member_id not in group.joins and not member.is_static
    ]
    if absent:
        names = ", ".join(member.member_id for member in absent)
        out.note(f"Group {group.id} removes the members that did not rejoin: {names}")
    for member in absent:
        _forget(group, member, out)


def _elect_present_leader(group: Group, out: GroupOutcome) -> bool:
    """Replaces a leader that has not joined by the longest-standing member that has; False if no member has."""
    if group.leader not in group.joins:
        present = next((member_id for member_id in group.members if member_id in group.joins), None)
        if present is None:
            return False
        out.note(f"Group {group.id}: leader {group.leader} did not rejoin, {present} leads")
        group.leader = present
    return True


def _begin_generation(group: Group, moment: Moment, out: GroupOutcome) -> None:
    group.generation += 1
    group.protocol = group.select_protocol()
    group.become(COMPLETING_REBALANCE, moment.wall_ms)
    group.pending_syncs = set(group.members)
    out.note(f"Group {group.id} has {len(group.members)} members in generation {group.generation}")
    assert group.leader is not None
    for member_id in group.members:
        group.changing(member_id).is_new = False
        sessions.touch(group, member_id, moment.now_ms, out)
        answer_join(group, member_id, joined(group, member_id), out)
    out.arm(SYNCS, group.rebalance_timeout_ms)


def joined(group: Group, member_id: str) -> JoinResult:
    """The JoinGroup response for a member of the current generation; only the leader's lists all members."""
    leader = group.leader or ""
    members = group.joined_members() if member_id == leader else ()
    return JoinResult(member_id, group.generation, group.protocol_type, group.protocol, leader, members)


# ---- a generation without members


def _begin_empty_generation(group: Group, moment: Moment, out: GroupOutcome) -> None:
    """No member is left: the group becomes Empty once the record of that is written. Members that join meanwhile
    take part in the next rebalance.

    Apache Kafka 2.8.2 changes the state before the record is written: if the write fails and the coordinator changes,
    members that left are in the group again until they expire.
    """
    following = group.next_without_members(moment.wall_ms)
    group.round = _EMPTYING
    out.records.append(GroupRecord(following, {}, Emptied(following.generation)))


def emptied(group: Group, change: Emptied, error: ErrorCode, moment: Moment, out: GroupOutcome) -> None:
    """The record of a generation without members is written, or failed: then the group keeps its state, and the next
    generation begins when members have joined, or after a pause.
    """
    if not group.is_being_emptied:
        return  # the group was unloaded
    group.round = None
    if error is ErrorCode.NONE:
        group.generation = change.generation
        group.protocol = None
        group.become(EMPTY, moment.wall_ms)
        out.note(f"Group {group.id} has no members left; generation {group.generation}")
        if group.members:
            prepare(group, "members came while it became empty", moment, out)
        return
    out.note(f"Group {group.id}: that it is empty was not written: {error.name}", Level.WARNING)
    if group.members:
        _await_joins(group, _OPEN, group.rebalance_timeout_ms, moment, out)
    else:
        _await_joins(group, _NEXT_ATTEMPT, WRITE_AGAIN_MS, moment, out)


# ---- missing syncs


def synced(group: Group, member_id: str, out: GroupOutcome) -> None:
    """The member's SyncGroup has arrived."""
    group.pending_syncs.discard(member_id)
    if not group.pending_syncs:
        out.cancel(SYNCS)


def syncs_overdue(group: Group, moment: Moment, out: GroupOutcome) -> None:
    """The rebalance time-out after the join phase is over: members that have not synced are removed."""
    if group.state not in (COMPLETING_REBALANCE, STABLE):
        return
    late = [member for member in group.members.values() if member.member_id in group.pending_syncs]
    if not late:
        return
    for member in late:
        _forget(group, member, out)
    names = ", ".join(member.member_id for member in late)
    prepare(group, f"removing members that did not sync in time: {names}", moment, out)


# ---- members that leave


def remove_member(group: Group, member: Member, reason: str, moment: Moment, out: GroupOutcome) -> None:
    """A member left or expired: a rebalance begins without it, or the join phase in progress may end."""
    _forget(group, member, out)
    maybe_prepare(group, reason, moment, out)
    progress(group, moment, out)


def remove_pending(group: Group, member_id: str, moment: Moment, out: GroupOutcome) -> None:
    """A new member did not join with its issued id in time."""
    sessions.forget_pending(group, member_id, out)
    progress(group, moment, out)


def _forget(group: Group, member: Member, out: GroupOutcome) -> None:
    """Removes a member; its parked requests are answered, so that a client that is still alive joins again."""
    sessions.end(group, member.member_id, out)
    answer_join(group, member.member_id, refused_join("", ErrorCode.UNKNOWN_MEMBER_ID), out)
    answer_sync(group, member.member_id, refused_sync(ErrorCode.UNKNOWN_MEMBER_ID), out)
    group.remove(member.member_id)


def forget_rounds(group: Group, out: GroupOutcome) -> None:
    """Cancels all timers of a removed group."""
    group.round = None
    out.cancel(ROUND)
    out.cancel(SYNCS)
    for member_id in group.members:
        sessions.end(group, member_id, out)
    for member_id in list(group.pending_members):
        sessions.forget_pending(group, member_id, out)
