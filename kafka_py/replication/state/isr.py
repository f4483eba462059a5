"""The in-sync replicas of a partition as one value: committed, or on the way to the next committed set; who joins it
and who has to leave it.

Pure; times are monotonic milliseconds. Who is in sync is decided by the leader; the change counts only once it is
written (ZooKeeper or controller), so an in-flight change keeps both sides safe: `members` decides min.insync.replicas,
`maximal` the high watermark.
Source: docs/reference/replication.md, section 4; KIP-497 (pending states).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from kafka_py.replication.state.progress import FollowerProgress


@dataclass(frozen=True, slots=True)
class Committed:
    """The set as the last write or LeaderAndIsr left it.

    maximal: every replica that a new leader might be chosen from. Made with the value: every append asks for it.
    """

    members: frozenset[int]
    maximal: frozenset[int] = field(init=False, repr=False, compare=False)
    in_flight: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "maximal", self.members)


@dataclass(frozen=True, slots=True)
class Expanding:
    """A replica is being added: the high watermark already waits for it, min.insync does not count it yet."""

    members: frozenset[int]
    adding: int
    maximal: frozenset[int] = field(init=False, repr=False, compare=False)
    in_flight: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "maximal", self.members | {self.adding})

    @property
    def intended(self) -> frozenset[int]:
        """The set once the change is written."""
        return self.maximal


@dataclass(frozen=True, slots=True)
class Shrinking:
    """Replicas are being removed: until that is written the high watermark may not pass them."""

    members: frozenset[int]
    removing: frozenset[int]
    maximal: frozenset[int] = field(init=False, repr=False, compare=False)
    in_flight: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "maximal", self.members)

    @property
    def intended(self) -> frozenset[int]:
        """The set once the change is written."""
        return self.members - self.removing


Isr = Committed | Expanding | Shrinking

NOBODY = Committed(frozenset())
"""What a follower holds: it does not know and need not know."""


def may_join(isr: Isr, end_offset: int, high_watermark: int, leader_epoch_start: int | None) -> bool:
    """Whether a follower whose log ends at `end_offset` joins the set.

    It must have all that is committed, and have come as far as the leader's own epoch: before that it may hold records
    that the leader does not. One change is written at a time.
    """
    return (
        not isr.in_flight
        and end_offset >= high_watermark
        and leader_epoch_start is not None
        and end_offset >= leader_epoch_start
    )


def late_members(
    isr: Isr,
    leader: int,
    followers: Mapping[int, FollowerProgress],
    leader_end: int,
    now_ms: float,
    lag_max_ms: float,
) -> frozenset[int]:
    """Members that have to leave: behind for longer than `lag_max_ms`, or no replicas, which never fetch again.

    Empty while a change is being written: until that is committed, or refused for good, the members count as in sync.
    """
    if isr.in_flight or len(isr.members) < 2:
        return frozenset()
    return frozenset(
        broker_id
        for broker_id in isr.members
        if broker_id != leader and _is_late(followers.get(broker_id), leader_end, now_ms, lag_max_ms)
    )


def _is_late(progress: FollowerProgress | None, leader_end: int, now_ms: float, lag_max_ms: float) -> bool:
    """None: the broker is not assigned."""
    if progress is None:
        return True
    return progress.log_end_offset != leader_end and now_ms - progress.caught_up_ms() > lag_max_ms
