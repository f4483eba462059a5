"""A group's round of joining: how it begins, how long it may take, and the generation in which it ends.

A round ends when every member waits in it, or when its time is over; the first round of a group waits for more members
to come (`group.initial.rebalance.delay.ms`). After the round everybody has to sync; who does not within the rebalance
time-out is removed, and the next round begins. Pure.
Source: docs/reference/groups.md, section 4; KIP-134 (initial delay).
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.coordinator.groups import sessions
from kafka_py.coordinator.groups.group import Group, Round, RoundKind
from kafka_py.coordinator.groups.member import Member
from kafka_py.coordinator.groups.moment import Moment
from kafka_py.coordinator.groups.outcome import ROUND, SYNCS, Emptied, Level, Outcome, Record
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
"""After a failed write of a generation without members, until the next attempt."""

_OPEN = Round(RoundKind.OPEN)
_NEXT_ATTEMPT = Round(RoundKind.NEXT_ATTEMPT)

# ---- how a round begins


def maybe_prepare(group: Group, reason: str, moment: Moment, out: Outcome) -> None:
    """Begins a round unless one is under way (or the group is gone)."""
    if group.state in CAN_REBALANCE:
        prepare(group, reason, moment, out)


def prepare(group: Group, reason: str, moment: Moment, out: Outcome) -> None:
    """Begins a round: whoever waits for an assignment has to join again."""
    if group.state is COMPLETING_REBALANCE:
        withdraw_assignment(group, ErrorCode.REBALANCE_IN_PROGRESS, moment, out)
    out.cancel(SYNCS)
    delay_ms = moment.limits.group_initial_rebalance_delay_ms
    is_first = group.state is EMPTY
    group.become(PREPARING_REBALANCE, moment.wall_ms)
    out.note(f"Group {group.id} rebalances after generation {group.generation}: {reason}")
    if is_first:
        remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
        _await_joins(group, Round(RoundKind.FIRST, delay_ms, remaining_ms), delay_ms, moment, out)
    else:
        _await_joins(group, _OPEN, group.rebalance_timeout_ms, moment, out)


def progress(group: Group, moment: Moment, out: Outcome) -> None:
    """Somebody joined, left or died: perhaps the round can end."""
    if group.round is not None and _can_end(group, group.round):
        group.round = None
        out.cancel(ROUND)
        complete_round(group, moment, out)


def _await_joins(group: Group, joining: Round, timeout_ms: float, moment: Moment, out: Outcome) -> None:
    if _can_end(group, joining):
        complete_round(group, moment, out)
    else:
        group.round = joining
        out.arm(ROUND, timeout_ms)


def _can_end(group: Group, joining: Round) -> bool:
    if joining.kind is RoundKind.FIRST or (joining.kind is RoundKind.NEXT_ATTEMPT and not group.members):
        return False
    return group.has_all_joined


def withdraw_assignment(group: Group, error: ErrorCode, moment: Moment, out: Outcome) -> None:
    """Nobody has anything to work on; those who wait for it are told `error`."""
    for member in group.members.values():
        member.assignment = b""
    answer_syncs(group, moment, out, error)


def answer_syncs(group: Group, moment: Moment, out: Outcome, error: ErrorCode = ErrorCode.NONE) -> None:
    """Gives everybody who waits for it the member's assignment, or the error."""
    failed = refused_sync(error) if error is not ErrorCode.NONE else None
    for member_id in list(group.syncs):
        member = group.members[member_id]
        result = failed or SyncResult(group.protocol_type, group.protocol, member.assignment)
        sessions.touch(member, moment.now_ms, out)
        answer_sync(group, member_id, result, out)


# ---- how it ends


def round_over(group: Group, moment: Moment, out: Outcome) -> None:
    """The time of the round is over. A first round waits again while members keep coming and the limit allows."""
    ended = group.round
    if ended is None:
        return
    group.round = None
    if ended.kind is RoundKind.FIRST and group.new_member_added and ended.remaining_ms:
        group.new_member_added = False
        delay_ms = min(moment.limits.group_initial_rebalance_delay_ms, ended.remaining_ms)
        left_ms = max(ended.remaining_ms - ended.delay_ms, 0)
        _await_joins(group, Round(RoundKind.FIRST, delay_ms, left_ms), delay_ms, moment, out)
    else:
        complete_round(group, moment, out)


def complete_round(group: Group, moment: Moment, out: Outcome) -> None:
    """Everybody is here, or the time is over: who did not come is out (static members stay), and the next generation
    begins with the rest.
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


def _remove_absent(group: Group, out: Outcome) -> None:
    absent = [
        member for member in group.members.values() if member.member_id not in group.joins and not member.is_static
    ]
    if absent:
        names = ", ".join(member.member_id for member in absent)
        out.note(f"Group {group.id} removes the members that did not rejoin: {names}")
    for member in absent:
        _forget(group, member, out)


def _elect_present_leader(group: Group, out: Outcome) -> bool:
    """A leader who is not here hands over to the eldest who is; False when nobody is."""
    if group.leader not in group.joins:
        present = next((member_id for member_id in group.members if member_id in group.joins), None)
        if present is None:
            return False
        out.note(f"Group {group.id}: leader {group.leader} did not rejoin, {present} leads")
        group.leader = present
    return True


def _begin_generation(group: Group, moment: Moment, out: Outcome) -> None:
    group.generation += 1
    group.protocol = group.select_protocol()
    group.become(COMPLETING_REBALANCE, moment.wall_ms)
    group.pending_syncs = set(group.members)
    out.note(f"Group {group.id} has {len(group.members)} members in generation {group.generation}")
    assert group.leader is not None
    for member in group.members.values():
        member.is_new = False
        sessions.touch(member, moment.now_ms, out)
        answer_join(group, member.member_id, joined(group, member.member_id), out)
    out.arm(SYNCS, group.rebalance_timeout_ms)


def joined(group: Group, member_id: str) -> JoinResult:
    """The answer to a member of the present generation; the leader is told of all."""
    leader = group.leader or ""
    members = group.joined_members() if member_id == leader else ()
    return JoinResult(member_id, group.generation, group.protocol_type, group.protocol, leader, members)


# ---- a generation without members


def _begin_empty_generation(group: Group, moment: Moment, out: Outcome) -> None:
    """No member is left: that is written, and holds once it is. Members may come meanwhile; their round comes after.

    Apache Kafka 2.8.2 has the group empty before it is written: after a failed write and a fail-over the members
    that left are back until they expire.
    """
    following = group.next_without_members(moment.wall_ms)
    group.is_being_emptied = True
    out.records.append(Record(following, {}, Emptied(following.generation)))


def emptied(group: Group, change: Emptied, error: ErrorCode, moment: Moment, out: Outcome) -> None:
    """The record of a generation without members is written, or could not be: then the group stays what it was, and
    the next generation begins when members have come, or after a pause.
    """
    group.is_being_emptied = False
    if group.state is not PREPARING_REBALANCE:
        return  # its coordinator has moved
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


# ---- syncs that do not come


def synced(group: Group, member_id: str, out: Outcome) -> None:
    """The member's sync has come."""
    group.pending_syncs.discard(member_id)
    if not group.pending_syncs:
        out.cancel(SYNCS)


def syncs_overdue(group: Group, moment: Moment, out: Outcome) -> None:
    """A rebalance time-out after the round: members that have not synced are out."""
    if group.state not in (COMPLETING_REBALANCE, STABLE):
        return
    late = [member for member in group.members.values() if member.member_id in group.pending_syncs]
    if not late:
        return
    for member in late:
        _forget(group, member, out)
    names = ", ".join(member.member_id for member in late)
    prepare(group, f"removing members that did not sync in time: {names}", moment, out)


# ---- members that go


def remove_member(group: Group, member: Member, reason: str, moment: Moment, out: Outcome) -> None:
    """A member left, or died: a new round begins without it, or the one under way may end."""
    _forget(group, member, out)
    maybe_prepare(group, reason, moment, out)
    progress(group, moment, out)


def remove_pending(group: Group, member_id: str, moment: Moment, out: Outcome) -> None:
    """The owner of a new id will not come."""
    sessions.forget_pending(group, member_id, out)
    progress(group, moment, out)


def _forget(group: Group, member: Member, out: Outcome) -> None:
    """Out of the group; what it waited for is answered so that a client that is still there joins again."""
    sessions.end(member, out)
    answer_join(group, member.member_id, refused_join("", ErrorCode.UNKNOWN_MEMBER_ID), out)
    answer_sync(group, member.member_id, refused_sync(ErrorCode.UNKNOWN_MEMBER_ID), out)
    group.remove(member.member_id)


def forget_rounds(group: Group, out: Outcome) -> None:
    """The group is gone: nothing of it waits for time to pass any longer."""
    group.round = None
    out.cancel(ROUND)
    out.cancel(SYNCS)
    for member in group.members.values():
        sessions.end(member, out)
    for member_id in list(group.pending_members):
        sessions.forget_pending(group, member_id, out)
