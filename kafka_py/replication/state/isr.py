"""The in-sync set of a partition as one value, committed or with a pending change; which replicas join and leave it.

Pure; times are monotonic milliseconds. The leader decides who is in sync, but a change counts only once it is written
to ZooKeeper. Until then `members` decides min.insync.replicas and `maximal` the high watermark, so that either set may
turn out to be the written one.
Source: docs/reference/replication.md, section 4; KIP-497 (pending states).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from kafka_py.replication.state.progress import FollowerProgress


@dataclass(frozen=True, slots=True)
class CommittedIsr:
    """The set of the last write or LeaderAndIsr.

    maximal: every replica that might be elected leader. Computed once, because every append reads it.
    """

    members: frozenset[int]
    maximal: frozenset[int] = field(init=False, repr=False, compare=False)
    in_flight: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "maximal", self.members)


@dataclass(frozen=True, slots=True)
class PendingExpandIsr:
    """A replica is being added: the high watermark already waits for it, min.insync.replicas does not count it yet."""

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
class PendingShrinkIsr:
    """Replicas are being removed: until that is written, the high watermark still waits for them."""

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


Isr = CommittedIsr | PendingExpandIsr | PendingShrinkIsr

NO_MEMBERS = CommittedIsr(frozenset())
"""The value on a follower, which does not need to know the in-sync set."""


def may_join(isr: Isr, end_offset: int, high_watermark: int, leader_epoch_start: int | None) -> bool:
    """Whether a follower whose log ends at `end_offset` joins the set.

    It must have all committed records and have reached the start of the leader's epoch: below that it may have records
    that the leader lacks. Only one change is pending at a time.
    """
    return (
        not isr.in_flight
        and end_offset >= high_watermark
        and leader_epoch_start is not None
        and end_offset >= leader_epoch_start
    )


def out_of_sync_members(
    isr: Isr,
    leader: int,
    followers: Mapping[int, FollowerProgress],
    leader_end: int,
    now_ms: float,
    lag_max_ms: float,
) -> frozenset[int]:
    """Members that have to leave: those that lag for longer than `lag_max_ms`, and those that are not assigned.

    Empty while a change is pending: until that is committed or refused, the members count as in sync.
    """
    if isr.in_flight or len(isr.members) < 2:
        return frozenset()
    return frozenset(
        broker_id
        for broker_id in isr.members
        if broker_id != leader and _is_out_of_sync(followers.get(broker_id), leader_end, now_ms, lag_max_ms)
    )


def _is_out_of_sync(progress: FollowerProgress | None, leader_end: int, now_ms: float, lag_max_ms: float) -> bool:
    """progress: None for a broker that is not assigned, and so never fetches again."""
    if progress is None:
        return True
    return progress.log_end_offset != leader_end and now_ms - progress.caught_up_ms() > lag_max_ms
