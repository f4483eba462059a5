"""What members and administrators ask for, as plain values; handlers make them of requests.

Source: docs/reference/groups.md, sections 3 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_py.coordinator.groups.member import Protocols


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
    """A request for one's assignment.

    protocol_type, protocol: what the member believes (v5+); None is not checked. assignments: by member id, from the
    leader alone.
    """

    group_id: str
    generation: int
    member_id: str
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol: str | None = None
    assignments: Mapping[str, bytes] = field(default_factory=dict)


class Leaver(NamedTuple):
    """Who is to go: a member by its id, or a static one by its instance id and an empty member id."""

    member_id: str
    group_instance_id: str | None = None
