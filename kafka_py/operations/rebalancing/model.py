"""What a plan is made from and what it comes to: plain values, with nothing of clients in them.

Source: KIP-36 (racks), KIP-455 (reassignments).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from kafka_py.base.ids import TopicPartition

DEFAULT_TOLERANCE_PERCENT = 10
RESERVE_PERCENT = 5
"""How much of a disk plans leave free, unless a capacity is given: the doctor calls a disk with less full."""


class RebalanceRefused(Exception):
    """The request makes no sense for this cluster, or it cannot be carried out now; the text says why."""


class RebalanceAction(StrEnum):
    """What is asked for. Only REBALANCE and ADD_BROKERS move replicas for the sake of balance."""

    REBALANCE = "rebalance"
    ADD_BROKERS = "add-brokers"
    REMOVE_BROKERS = "remove-brokers"
    DEMOTE_BROKERS = "demote-brokers"
    FIX_RACKS = "fix-racks"
    REPLICATION_FACTOR = "replication-factor"


class Goal(StrEnum):
    """The goals in order of priority. The first five are hard; a soft one never makes a goal before it worse."""

    REMOVED = "removed"
    FACTOR = "replication-factor"
    RACKS = "racks"
    CAPACITY = "capacity"
    DEMOTED = "demoted"
    REPLICAS = "replicas"
    LEADERS = "leaders"
    BYTES = "bytes"
    TOPICS = "topics"

    @property
    def is_hard(self) -> bool:
        return self not in SOFT_GOALS


SOFT_GOALS = (Goal.REPLICAS, Goal.LEADERS, Goal.BYTES, Goal.TOPICS)


@dataclass(frozen=True, slots=True)
class PlanBroker:
    """One broker. capacity_bytes: what its replicas may take together; None is no limit. is_live: registered now."""

    id: int
    rack: str | None = None
    capacity_bytes: int | None = None
    is_live: bool = True


@dataclass(frozen=True, slots=True)
class PlanPartition:
    """One partition. replicas: the preferred leader first. leader: the broker that leads it now, None for none.

    is_moving: it is being reassigned, to these replicas; no plan changes it.
    """

    partition: TopicPartition
    replicas: tuple[int, ...]
    leader: int | None = None
    size_bytes: int = 0
    is_moving: bool = False


@dataclass(frozen=True, slots=True)
class PlanCluster:
    """All brokers that are live or hold replicas, and all partitions."""

    brokers: tuple[PlanBroker, ...]
    partitions: tuple[PlanPartition, ...]

    def after(self, targets: Mapping[TopicPartition, tuple[int, ...]]) -> PlanCluster:
        """The cluster once these partitions have these replicas, with live preferred leaders elected."""
        live = {broker.id for broker in self.brokers if broker.is_live}
        rows = []
        for row in self.partitions:
            replicas = targets.get(row.partition, row.replicas)
            leader = next((broker for broker in replicas if broker in live), None)
            rows.append(PlanPartition(row.partition, replicas, leader, row.size_bytes, row.is_moving))
        return PlanCluster(self.brokers, tuple(rows))

    def movable(self, request: PlanRequest) -> list[int]:
        """The indices of the partitions that may change."""
        return [
            number
            for number, row in enumerate(self.partitions)
            if not row.is_moving and request.selects(row.partition.topic)
        ]


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What the plan is to reach.

    brokers: those that are added, removed or demoted. factor: replicas of each partition, for REPLICATION_FACTOR.
    topics, excluded: regular expressions that match whole names; only partitions of those topics change.
    max_bytes: what the soft goals may copy at most; hard goals copy what they need.
    """

    action: RebalanceAction = RebalanceAction.REBALANCE
    brokers: frozenset[int] = frozenset()
    factor: int | None = None
    topics: str | None = None
    excluded: str | None = None
    tolerance_percent: int = DEFAULT_TOLERANCE_PERCENT
    max_bytes: int | None = None
    goals: tuple[Goal, ...] = SOFT_GOALS

    def selects(self, topic: str) -> bool:
        """Whether partitions of this topic may change."""
        if self.excluded is not None and re.fullmatch(self.excluded, topic):
            return False
        return self.topics is None or re.fullmatch(self.topics, topic) is not None


class GoalViolation(NamedTuple):
    """Something that a goal wants otherwise. broker: the one that it is about, None for a partition."""

    goal: Goal
    text: str
    broker: int | None = None


class BrokerLoad(NamedTuple):
    """What a broker has: replicas, partitions of which it is the preferred leader, those that it leads, bytes."""

    broker: int
    rack: str | None
    is_live: bool
    replicas: int
    preferred: int
    leads: int
    size_bytes: int
    violations: int


class PartitionChange(NamedTuple):
    """One partition of the plan."""

    partition: TopicPartition
    before: tuple[int, ...]
    after: tuple[int, ...]
    size_bytes: int

    @property
    def added(self) -> tuple[int, ...]:
        return tuple(broker for broker in self.after if broker not in self.before)

    @property
    def removed(self) -> tuple[int, ...]:
        return tuple(broker for broker in self.before if broker not in self.after)

    @property
    def moved_bytes(self) -> int:
        """What is copied between brokers."""
        return self.size_bytes * len(self.added)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is to change, and how the cluster stands before and afterwards.

    changes: partitions with other replicas or another order, by name. elections: partitions whose preferred leader has
    to be elected once they are in place. remaining: what the plan does not reach.
    """

    request: PlanRequest
    changes: tuple[PartitionChange, ...]
    elections: tuple[TopicPartition, ...]
    before: tuple[BrokerLoad, ...]
    after: tuple[BrokerLoad, ...]
    violations: tuple[GoalViolation, ...]
    remaining: tuple[GoalViolation, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def is_empty(self) -> bool:
        return not self.changes and not self.elections

    @property
    def targets(self) -> dict[TopicPartition, tuple[int, ...]]:
        return {change.partition: change.after for change in self.changes}

    @property
    def moved_bytes(self) -> int:
        return sum(change.moved_bytes for change in self.changes)

    @property
    def moved_replicas(self) -> int:
        return sum(len(change.added) for change in self.changes)
