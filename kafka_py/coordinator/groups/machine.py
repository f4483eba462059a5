"""The group as a state machine: an event is the input, a GroupOutcome the output.

`handle` leaves the group as it is and returns a GroupOutcome: the group as it is to be from now on, and what has to
happen. driver.py supplies the events, and applies and carries out the outcomes. Everything that `handle` calls is pure:
no store, no clock, no callbacks, no logging; it changes only the copy that becomes the outcome.
Source: docs/reference/groups.md, sections 2 to 6 and 10.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_py.base.errors import ErrorCode
from kafka_py.coordinator.groups import sessions
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.joining import Join, join
from kafka_py.coordinator.groups.leaving import Leave, leave
from kafka_py.coordinator.groups.moment import Moment
from kafka_py.coordinator.groups.outcome import Assigned, Change, Emptied, GroupOutcome, TimerKind, TimerName
from kafka_py.coordinator.groups.parked import answer_join, answer_sync
from kafka_py.coordinator.groups.rebalancing import (
    emptied,
    forget_rounds,
    prepare,
    remove_member,
    remove_pending,
    round_over,
    syncs_overdue,
)
from kafka_py.coordinator.groups.requests import refused_join, refused_sync
from kafka_py.coordinator.groups.states import DEAD
from kafka_py.coordinator.groups.static_members import replaced
from kafka_py.coordinator.groups.syncing import Sync, assigned, sync


class TimeOver(NamedTuple):
    """An armed timer has fired."""

    timer: TimerName


class RecordWritten(NamedTuple):
    """A record is acknowledged, or failed to be written. error: the error for the members in that case."""

    change: Change
    error: ErrorCode


class Loaded(NamedTuple):
    """The group was loaded from the offsets topic."""


class Unloaded(NamedTuple):
    """The group was unloaded, because its coordinator is another broker now, or was removed."""


Event = Join | Sync | Leave | TimeOver | RecordWritten | Loaded | Unloaded


def handle(group: Group, event: Event, moment: Moment) -> GroupOutcome:
    """Decides what follows from one event. The caller applies it: `group.adopt(outcome.group)`."""
    out = GroupOutcome(group.copy())
    _decide(out.group, event, moment, out)
    return out


def _decide(group: Group, event: Event, moment: Moment, out: GroupOutcome) -> None:
    match event:
        case Join():
            join(group, event, moment, out)
        case Sync():
            sync(group, event, moment, out)
        case Leave():
            leave(group, event, moment, out)
        case TimeOver(timer):
            _time_over(group, timer, moment, out)
        case RecordWritten(change, error):
            _written(group, change, error, moment, out)
        case Loaded():
            _loaded(group, moment, out)
        case Unloaded():
            _unloaded(group, moment, out)


def _time_over(group: Group, timer: TimerName, moment: Moment, out: GroupOutcome) -> None:
    kind, member_id = timer
    if group.is_dead:
        return
    if kind is TimerKind.ROUND:
        round_over(group, moment, out)
    elif kind is TimerKind.SYNCS:
        syncs_overdue(group, moment, out)
    elif kind is TimerKind.PENDING:
        out.note(f"Pending member {member_id} in group {group.id} did not come back")
        remove_pending(group, member_id, moment, out)
    else:
        expired = sessions.look(group, member_id, moment.now_ms, out)
        if expired is not None:
            out.note(f"Group {group.id} removes member {member_id}, which sent no heartbeat in time")
            remove_member(group, expired, f"no heartbeat of {member_id}", moment, out)


def _written(group: Group, change: Change, error: ErrorCode, moment: Moment, out: GroupOutcome) -> None:
    if isinstance(change, Assigned):
        assigned(group, change, error, moment, out)
    elif isinstance(change, Emptied):
        emptied(group, change, error, moment, out)
    else:
        replaced(group, change, error, moment, out)


def _loaded(group: Group, moment: Moment, out: GroupOutcome) -> None:
    """Restarts the session time-outs of the loaded members."""
    if len(group.members) > moment.limits.group_max_size:
        prepare(group, "freshly loaded group is over capacity", moment, out)
    for member_id in group.members:
        sessions.touch(group, member_id, moment.now_ms, out)


def _unloaded(group: Group, moment: Moment, out: GroupOutcome) -> None:
    """Makes the group Dead, and sends its parked members to the new coordinator."""
    group.become(DEAD, moment.wall_ms)
    forget_rounds(group, out)
    for member_id in list(group.joins):
        answer_join(group, member_id, refused_join(member_id, ErrorCode.NOT_COORDINATOR), out)
    for member_id in list(group.syncs):
        answer_sync(group, member_id, refused_sync(ErrorCode.NOT_COORDINATOR), out)
