"""What members are told when their JoinGroup or SyncGroup is answered. Plain values; handlers make responses of them.

Source: docs/reference/groups.md, sections 3 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode

NO_GENERATION = -1
NO_MEMBER_ID = ""

Ticket = int
"""Stands for a request that is answered once, now or later; the driver knows whose it is."""


class JoinedMember(NamedTuple):
    """A member as the leader sees it. metadata: its part of the chosen protocol."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


class JoinResult(NamedTuple):
    """The answer to a join. members: all of them for the leader, none for the others."""

    member_id: str
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = NO_MEMBER_ID
    members: Sequence[JoinedMember] = ()
    error: ErrorCode = ErrorCode.NONE


class SyncResult(NamedTuple):
    """The answer to a sync: what this member is to work on."""

    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""
    error: ErrorCode = ErrorCode.NONE


AnswerJoin = Callable[[JoinResult], None]
AnswerSync = Callable[[SyncResult], None]


def refused_join(member_id: str, error: ErrorCode) -> JoinResult:
    """The answer to a join that failed."""
    return JoinResult(member_id, error=error)


def refused_sync(error: ErrorCode) -> SyncResult:
    """The answer to a sync that failed."""
    return SyncResult(error=error)
