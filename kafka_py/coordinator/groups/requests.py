"""Requests of members and their results, as plain values that handlers translate.

Source: docs/reference/groups.md, sections 3, 5 and 7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode
from kafka_py.coordinator.groups.member import Protocols
from kafka_py.coordinator.groups.offsets import Commits, CommittingProducer


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """A request to join.

    member_id: empty for a new member. group_instance_id: None for a dynamic one.
    needs_known_id: a new dynamic member is first given an id and has to come back with it (v4+).
    client_host: as Java prints an address, `/10.0.0.1`.
    """

    group_id: str
    member_id: str
    group_instance_id: str | None
    needs_known_id: bool
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Protocols

    @property
    def protocol_names(self) -> list[str]:
        return [name for name, _ in self.protocols]


@dataclass(frozen=True, slots=True)
class SyncRequest:
    """A request of a member for its assignment.

    protocol_type, protocol: what the member expects (v5+); None is not checked. assignments: by member id, sent only
    by the leader.
    """

    group_id: str
    generation: int
    member_id: str
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol: str | None = None
    assignments: Mapping[str, bytes] = field(default_factory=dict)


class Leaver(NamedTuple):
    """A member that leaves: named by its id, or a static one by its instance id and an empty member id."""

    member_id: str
    group_instance_id: str | None = None


class CommitRequest(NamedTuple):
    """Offsets to commit.

    generation, member_id: -1 and empty for a consumer that assigns itself its partitions. commits: empty when the
    metadata of all of them is too large. producer: of the transaction that the commits are part of.
    """

    generation: int
    member_id: str
    group_instance_id: str | None
    commits: Commits
    producer: CommittingProducer | None = None


# ---- answers

NO_GENERATION = -1
NO_MEMBER_ID = ""

Ticket = int
"""Identifies a request that is answered once, now or later; the driver maps it to the caller."""


class JoinedMember(NamedTuple):
    """A member as listed for the leader. metadata: its metadata for the chosen protocol."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


class JoinResult(NamedTuple):
    """The response to a join. members: all of them for the leader, none for the others."""

    member_id: str
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = NO_MEMBER_ID
    members: Sequence[JoinedMember] = ()
    error: ErrorCode = ErrorCode.NONE


class SyncResult(NamedTuple):
    """The response to a sync: the member's assignment."""

    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""
    error: ErrorCode = ErrorCode.NONE


AnswerJoin = Callable[[JoinResult], None]
AnswerSync = Callable[[SyncResult], None]


def refused_join(member_id: str, error: ErrorCode) -> JoinResult:
    """The response to a join that failed."""
    return JoinResult(member_id, error=error)


def refused_sync(error: ErrorCode) -> SyncResult:
    """The response to a sync that failed."""
    return SyncResult(error=error)
