"""What a plan for log directories is made from and what it comes to: plain values, with nothing of clients in them.

Source: KIP-113 (moves between log directories), KIP-827 (bytes of disks).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.rebalancing.model import DEFAULT_TOLERANCE_PERCENT


class DirectoryId(NamedTuple):
    """A log directory of a broker, by its absolute path."""

    broker: int
    path: str

    def __str__(self) -> str:
        return f"{self.broker}={self.path}"


class ReplicaId(NamedTuple):
    """A replica of a partition on a broker."""

    partition: TopicPartition
    broker: int

    def __str__(self) -> str:
        return f"{self.partition} on broker {self.broker}"


@dataclass(frozen=True, slots=True)
class PlanDirectory:
    """One log directory. total_bytes, usable_bytes: of its disk, None where the broker does not tell.

    disk: directories with the same one share a disk.
    """

    id: DirectoryId
    is_online: bool = True
    total_bytes: int | None = None
    usable_bytes: int | None = None
    disk: str = ""


class PlanReplica(NamedTuple):
    """One replica. is_moving: it is being moved to another directory; no plan changes it."""

    id: ReplicaId
    path: str
    size_bytes: int
    is_moving: bool = False


@dataclass(frozen=True, slots=True)
class PlanDirectories:
    """All log directories and replicas of the brokers that were seen."""

    directories: tuple[PlanDirectory, ...]
    replicas: tuple[PlanReplica, ...]


@dataclass(frozen=True, slots=True)
class DirectoriesRequest:
    """What the plan is to reach.

    brokers: whose directories are evened out; empty: of all. drained: directories that are to hold nothing; then
    nothing else moves.
    """

    brokers: frozenset[int] = frozenset()
    drained: frozenset[DirectoryId] = frozenset()
    tolerance_percent: int = DEFAULT_TOLERANCE_PERCENT


class DirectoryMove(NamedTuple):
    """One replica that goes to another directory of its broker."""

    replica: ReplicaId
    source: str
    target: str
    size_bytes: int

    @property
    def moved_bytes(self) -> int:
        return self.size_bytes


class DirectoryLoad(NamedTuple):
    """What a directory holds, and the range of bytes that is wanted; None where nothing is wanted of it."""

    id: DirectoryId
    is_online: bool
    replicas: int
    size_bytes: int
    lowest: int | None
    highest: int | None

    @property
    def is_balanced(self) -> bool:
        return self.lowest is None or self.highest is None or self.lowest <= self.size_bytes <= self.highest


@dataclass(frozen=True, slots=True)
class DirectoriesProposal:
    """What is to move, and what each directory holds before and afterwards. notes: what the plan leaves out."""

    request: DirectoriesRequest
    moves: tuple[DirectoryMove, ...]
    before: tuple[DirectoryLoad, ...]
    after: tuple[DirectoryLoad, ...]
    notes: tuple[str, ...] = ()

    @property
    def moved_bytes(self) -> int:
        return sum(move.size_bytes for move in self.moves)
