"""Whether a group keeps up, decided from a sliding window of commits and log ends, without thresholds of lag.

The rules are those of LinkedIn's Burrow: a partition that had no lag at some time in the window is well; otherwise
offsets that go back, stand still, or grow no faster than the log are signs of trouble. What is seen here are samples of
committed offsets, not the commits: a partition whose offset stands still is STALLED where a member owns it, for the
member is there and does not get on, and STOPPED where none does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from kafka_py.base.ids import TopicPartition

LEAST_SAMPLES = 3


class CommitSample(NamedTuple):
    """What was committed, and where the log ended, at one time (ms)."""

    time_ms: int
    committed: int
    end: int

    @property
    def lag(self) -> int:
        return max(0, self.end - self.committed)


class PartitionHealth(StrEnum):
    """WARN: slow. STOP: nobody commits. STALL: its member does not get on. REWIND: commits went back."""

    OK = "OK"
    WARN = "WARN"
    STOP = "STOP"
    STALL = "STALL"
    REWIND = "REWIND"
    UNKNOWN = "UNKNOWN"

    @property
    def is_error(self) -> bool:
        return self in (PartitionHealth.STOP, PartitionHealth.STALL, PartitionHealth.REWIND)


class GroupHealth(StrEnum):
    """The worst of the partitions: ERR for one that is stopped, stalled or rewound."""

    OK = "OK"
    WARN = "WARN"
    ERR = "ERR"
    UNKNOWN = "UNKNOWN"


class MemberHealth(StrEnum):
    """STUCK: a partition of the member stands still or went back. SLOW: one falls behind."""

    WELL = "well"
    SLOW = "slow"
    STUCK = "stuck"
    IDLE = "idle"
    UNKNOWN = "unknown"


def partition_health(samples: Sequence[CommitSample], now_ms: int, *, has_member: bool) -> PartitionHealth:
    """How one partition is doing. samples: the window, by time."""
    if len(samples) < LEAST_SAMPLES:
        return PartitionHealth.OK if samples and samples[-1].lag == 0 else PartitionHealth.UNKNOWN
    if samples[-1].lag == 0:
        return PartitionHealth.OK
    if _has_stopped(samples, now_ms):
        return PartitionHealth.STALL if has_member else PartitionHealth.STOP
    if any(sample.lag == 0 for sample in samples):
        return PartitionHealth.OK
    if any(after.committed < before.committed for before, after in pairwise(samples)):
        return PartitionHealth.REWIND
    if all(after.lag >= before.lag for before, after in pairwise(samples)):
        return PartitionHealth.WARN
    return PartitionHealth.OK


def _has_stopped(samples: Sequence[CommitSample], now_ms: int) -> bool:
    """Whether it is longer since the last commit than from the first one of the window to the last one."""
    first_ms = samples[0].time_ms
    last_ms = max((after.time_ms for before, after in pairwise(samples) if after.committed != before.committed),
                  default=first_ms)  # fmt: skip
    return now_ms - last_ms > last_ms - first_ms


def group_health(partitions: Iterable[PartitionHealth]) -> GroupHealth:
    """The worst of all; UNKNOWN when nothing is known of any."""
    found = set(partitions)
    if any(health.is_error for health in found):
        return GroupHealth.ERR
    if PartitionHealth.WARN in found:
        return GroupHealth.WARN
    return GroupHealth.OK if PartitionHealth.OK in found else GroupHealth.UNKNOWN


def member_health(
    assignment: Sequence[TopicPartition], partitions: Mapping[TopicPartition, PartitionHealth]
) -> MemberHealth:
    """How a member is doing with its partitions; IDLE without any."""
    if not assignment:
        return MemberHealth.IDLE
    found = {partitions.get(partition, PartitionHealth.UNKNOWN) for partition in assignment}
    if any(health.is_error for health in found):
        return MemberHealth.STUCK
    if PartitionHealth.WARN in found:
        return MemberHealth.SLOW
    return MemberHealth.WELL if PartitionHealth.OK in found else MemberHealth.UNKNOWN
