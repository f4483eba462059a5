"""LeaveGroup: members leave, or an administrator removes them. Pure.

Source: docs/reference/groups.md, section 5; KIP-345.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.moment import Moment
from kafka_py.coordinator.groups.outcome import GroupOutcome
from kafka_py.coordinator.groups.rebalancing import remove_member, remove_pending
from kafka_py.coordinator.groups.requests import NO_MEMBER_ID, Leaver, Ticket


class Leave(NamedTuple):
    """The event. The group must not be Dead."""

    leavers: Sequence[Leaver]
    ticket: Ticket


def leave(group: Group, event: Leave, moment: Moment, out: GroupOutcome) -> None:
    """Answers with the result for each member."""
    out.reply(event.ticket, [_leave(group, leaver, moment, out) for leaver in event.leavers])


def _leave(group: Group, leaver: Leaver, moment: Moment, out: GroupOutcome) -> ErrorCode:
    member_id, instance_id = leaver
    if member_id != NO_MEMBER_ID and group.is_fenced(instance_id, member_id):
        return ErrorCode.FENCED_INSTANCE_ID
    if member_id in group.pending_members:
        remove_pending(group, member_id, moment, out)
        return ErrorCode.NONE
    if instance_id is not None:
        member_id = group.static_members.get(instance_id, member_id)
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    out.note(f"Member {member_id} leaves group {group.id}")
    remove_member(group, member, f"member {member_id} left", moment, out)
    return ErrorCode.NONE
