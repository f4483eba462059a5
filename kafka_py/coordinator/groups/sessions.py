"""Sessions of members: every member has a deadline, which each of its requests moves.

Heartbeats are very frequent and must be cheap: a heartbeat only stores the new deadline. The member's one timer checks
the deadline when it fires and is armed again for the rest, so it is touched once a session time-out, not once a
heartbeat. Pure; rebalancing.py handles expired members. Source: docs/reference/groups.md, sections 3 and 5.
"""

from __future__ import annotations

from math import ceil

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.member import Member
from kafka_py.coordinator.groups.outcome import GroupOutcome, TimerChange, TimerKind, TimerName
from kafka_py.coordinator.groups.states import PREPARING_REBALANCE

_ROUNDING_MS = 1.0
_ALIVE = (ErrorCode.NONE, None)
_REBALANCE_IN_PROGRESS = (ErrorCode.REBALANCE_IN_PROGRESS, None)


def heartbeat(
    group: Group, member_id: str, generation: int, group_instance_id: str | None, now_ms: float
) -> tuple[ErrorCode, TimerChange | None]:
    """Heartbeat: extends the session. NONE or the error for the member, and the change of its timer."""
    try:
        member = group.speaker(member_id, group_instance_id, generation)
    except KafkaError as error:
        return error.code, None
    change = extend(member, member.session_timeout_ms, now_ms)
    if change is None:
        return _REBALANCE_IN_PROGRESS if group.state is PREPARING_REBALANCE else _ALIVE
    return (ErrorCode.REBALANCE_IN_PROGRESS if group.state is PREPARING_REBALANCE else ErrorCode.NONE), change


def extend(member: Member, timeout_ms: float, now_ms: float) -> TimerChange | None:
    """Lets the session end `timeout_ms` from now, which may be earlier or later than before.

    A timer that fires before that is left as it is; then the result is None.
    """
    deadline = now_ms + timeout_ms
    member.deadline_ms = deadline
    looks_at_ms = member.looks_at_ms
    if looks_at_ms is not None and looks_at_ms - deadline <= _ROUNDING_MS:
        return None
    member.looks_at_ms = ceil(deadline)
    return TimerChange(TimerName(TimerKind.SESSION, member.member_id), timeout_ms)


def touch(group: Group, member_id: str, now_ms: float, out: GroupOutcome) -> None:
    """Extends the session by its whole time-out from now on."""
    member = group.changing(member_id)
    keep(member, member.session_timeout_ms, now_ms, out)


def keep(member: Member, timeout_ms: float, now_ms: float, out: GroupOutcome) -> None:
    """As `extend`, of a member that is being changed; collects the change of the timer in an outcome."""
    change = extend(member, timeout_ms, now_ms)
    if change is not None:
        out.timers.append(change)


def end(group: Group, member_id: str, out: GroupOutcome) -> None:
    """Cancels the timer of a member that is removed or gets a new id."""
    if group.members[member_id].looks_at_ms is not None:
        group.changing(member_id).looks_at_ms = None
        out.cancel(TimerName(TimerKind.SESSION, member_id))


def look(group: Group, member_id: str, now_ms: float, out: GroupOutcome) -> Member | None:
    """The timer of a member fired: returns the member if its session has expired."""
    if member_id not in group.members or group.is_dead:
        return None
    member = group.changing(member_id)
    member.looks_at_ms = None
    if group.is_waiting(member_id) and not member.is_new:
        return None  # a pending request keeps the session alive; its response restarts the timer
    left_ms = member.deadline_ms - now_ms
    if left_ms <= 0:
        return member
    member.looks_at_ms = ceil(member.deadline_ms)
    out.arm(TimerName(TimerKind.SESSION, member_id), left_ms)
    return None


def expect(group: Group, member_id: str, timeout_ms: float, out: GroupOutcome) -> None:
    """Starts the time-out within which a new member has to join with its issued id."""
    group.pending_members[member_id] = None
    out.arm(TimerName(TimerKind.PENDING, member_id), timeout_ms)


def forget_pending(group: Group, member_id: str, out: GroupOutcome) -> bool:
    """Removes a pending id; False if it was not pending."""
    if member_id not in group.pending_members:
        return False
    del group.pending_members[member_id]
    out.cancel(TimerName(TimerKind.PENDING, member_id))
    return True
