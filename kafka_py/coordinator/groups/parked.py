"""Parked requests of members: a join until the join phase ends, a sync until the assignment is written.

Pure. A member has at most one of each. Source: docs/reference/groups.md, sections 3 and 5.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.outcome import GroupOutcome
from kafka_py.coordinator.groups.requests import JoinResult, SyncResult, Ticket, refused_join, refused_sync


def park_join(group: Group, member_id: str, ticket: Ticket, out: GroupOutcome) -> None:
    """Parks the member's join. One that is parked already is answered first, because its sender has retried."""
    answer_join(group, member_id, refused_join(member_id, ErrorCode.REBALANCE_IN_PROGRESS), out)
    group.joins[member_id] = ticket


def park_sync(group: Group, member_id: str, ticket: Ticket, out: GroupOutcome) -> None:
    """Parks the member's sync. One that is parked already is answered first, because its sender has retried."""
    answer_sync(group, member_id, refused_sync(ErrorCode.REBALANCE_IN_PROGRESS), out)
    group.syncs[member_id] = ticket


def answer_join(group: Group, member_id: str, result: JoinResult, out: GroupOutcome) -> None:
    """Answers the member's join, if one is parked."""
    ticket = group.joins.pop(member_id, None)
    if ticket is not None:
        out.reply(ticket, result)


def answer_sync(group: Group, member_id: str, result: SyncResult, out: GroupOutcome) -> None:
    """Answers the member's sync, if one is parked."""
    ticket = group.syncs.pop(member_id, None)
    if ticket is not None:
        out.reply(ticket, result)
