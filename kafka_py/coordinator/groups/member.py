"""One member of a group, as plain data. Knows nothing of time, of parked requests, or of other members.

Source: docs/reference/groups.md, sections 2, 3 and 6; KIP-345 (static members).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

Protocols = tuple[tuple[str, bytes], ...]
"""(name, metadata) of the assignment strategies that a member supports, in its order of preference."""

NEW_MEMBER_TIMEOUT_MS = 300_000
"""How long a member that joins for the first time is kept without heartbeats."""


@dataclass(slots=True)
class Member:
    """A member.

    client_host: as Java prints an address, `/10.0.0.1`.
    assignment: from the leader of this generation, as opaque bytes.
    is_new: its first join has not been answered; until then its session may expire although the join is parked.
    deadline_ms, looks_at_ms: when its session ends, on the monotonic clock, and when its timer will check that, None
        without a timer; a heartbeat moves only the deadline.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: Protocols
    assignment: bytes = b""
    is_new: bool = False
    deadline_ms: float = 0.0
    looks_at_ms: float | None = None

    def copy(self) -> Member:
        return Member(
            self.member_id,
            self.group_instance_id,
            self.client_id,
            self.client_host,
            self.rebalance_timeout_ms,
            self.session_timeout_ms,
            self.protocols,
            self.assignment,
            self.is_new,
            self.deadline_ms,
            self.looks_at_ms,
        )

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def protocol_names(self) -> set[str]:
        return {name for name, _ in self.protocols}

    def metadata(self, protocol: str) -> bytes:
        """The metadata that it sent with `protocol`. Raises KeyError for a strategy that it does not support."""
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        raise KeyError(protocol)

    def vote(self, candidates: Collection[str]) -> str:
        """The candidate that it prefers. Raises KeyError when it supports none."""
        for name, _ in self.protocols:
            if name in candidates:
                return name
        raise KeyError(f"{self.member_id} supports none of {sorted(candidates)}")
