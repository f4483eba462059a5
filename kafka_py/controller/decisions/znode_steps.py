"""What a plan may ask of ZooKeeper. Every write is fenced by the controller epoch and raises ControllerMoved when
another controller was elected; all raise ZkError when ZooKeeper is out of reach.

A read that is said to watch has a change of what was read become an event, once.
Source: docs/reference/zookeeper.md, sections 2, 8, 9 and 10.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kafka_py.base.ids import TopicId, TopicPartition
from kafka_py.controller.decisions.plan import Step
from kafka_py.controller.model.controller_context import Assignment, Leadership
from kafka_py.zk.brokers import RegisteredBroker
from kafka_py.zk.partitions import StateUpdates
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.session import ZkError
from kafka_py.zk.topics import TopicAssignment

# Brokers


@dataclass(frozen=True, slots=True)
class ReadBrokers(Step[dict[int, RegisteredBroker]]):
    """All live brokers by id; watches the list. Raises MalformedZNode."""


@dataclass(frozen=True, slots=True)
class ReadBroker(Step[RegisteredBroker | None]):
    """One registration, None when there is none; watches it. Raises MalformedZNode."""

    broker: int


@dataclass(frozen=True, slots=True)
class WatchBrokers(Step[None]):
    """Watches registrations."""

    brokers: Collection[int]


@dataclass(frozen=True, slots=True)
class ForgetBroker(Step[None]):
    """What the watch of its registration says is nothing to us any longer."""

    broker: int


# Topics


@dataclass(frozen=True, slots=True)
class ReadTopics(Step[set[str]]):
    """The names of all topics, those to be deleted included."""

    watches: bool = True


@dataclass(frozen=True, slots=True)
class ReadAssignments(Step[Mapping[str, TopicAssignment | MalformedZNode | None]]):
    """Per topic its assignment, None when it does not exist; watches each."""

    topics: Collection[str]


@dataclass(frozen=True, slots=True)
class ForgetTopic(Step[None]):
    """What the watch of its assignment says is nothing to us any longer."""

    topic: str


@dataclass(frozen=True, slots=True)
class GiveTopicIds(Step[dict[str, TopicAssignment]]):
    """Writes a new id into each of these topics unless it has one by now; their assignments as written (KIP-516)."""

    topics: Collection[str]


@dataclass(frozen=True, slots=True)
class WriteAssignments(Step[None]):
    """Writes these partitions of a topic, and keeps those that somebody added to it and we do not know yet."""

    topic: str
    partitions: Mapping[int, Assignment]
    topic_id: TopicId | None


@dataclass(frozen=True, slots=True)
class KeepPartitions(Step[None]):
    """Takes all partitions but these out of a topic."""

    topic: str
    numbers: Collection[int]


@dataclass(frozen=True, slots=True)
class ReadUncleanPermissions(Step[Mapping[str, bool | Exception]]):
    """Per topic whether a replica out of sync may lead, by its settings at this moment; or why that is not known."""

    topics: Collection[str]


# Leaders and in-sync sets


@dataclass(frozen=True, slots=True)
class ReadLeaderships(Step[dict[TopicPartition, Leadership]]):
    """Those of the partitions that have one which can be read."""

    partitions: Collection[TopicPartition]


@dataclass(frozen=True, slots=True)
class ReadLeadership(Step[Leadership | None]):
    """One of them; a partition that is being reassigned is watched."""

    partition: TopicPartition
    watches: bool = False


@dataclass(frozen=True, slots=True)
class ForgetPartition(Step[None]):
    """What the watch of its state says is nothing to us any longer."""

    partition: TopicPartition


@dataclass(frozen=True, slots=True)
class CreateLeaderships(Step[dict[TopicPartition, ZkError | None]]):
    """First leaders. Per partition None, or why nothing was written."""

    leaderships: Mapping[TopicPartition, Leadership]


@dataclass(frozen=True, slots=True)
class UpdateLeaderships(Step[StateUpdates]):
    """Changed leaderships; each is written only if the znode has the version that it names."""

    leaderships: Mapping[TopicPartition, Leadership]


@dataclass(frozen=True, slots=True)
class ReadPartitionsWithState(Step[Collection[int]]):
    """The numbers of the topic's partitions that ever had a leader."""

    topic: str


# Requests that are made by znodes, and notifications


@dataclass(frozen=True, slots=True)
class EnsureFeatures(Step[None]):
    """The feature znode has no finalised features, and this status. Raises MalformedZNode."""

    status: int


@dataclass(frozen=True, slots=True)
class ReadTopicDeletions(Step[set[str]]):
    """The topics that somebody wants deleted; watches the list."""


@dataclass(frozen=True, slots=True)
class UnmarkForDeletion(Step[None]):
    """Takes topics off that list."""

    topics: Collection[str]


@dataclass(frozen=True, slots=True)
class DeleteTopics(Step[None]):
    """Removes topics with their settings, and from the list of those to delete."""

    topics: Collection[str]


@dataclass(frozen=True, slots=True)
class ReadPreferredElections(Step[set[TopicPartition] | None]):
    """What /admin/preferred_replica_election asks for, None when it does not exist; watches for it."""


@dataclass(frozen=True, slots=True)
class DeletePreferredElections(Step[None]):
    """The attempt was made."""


@dataclass(frozen=True, slots=True)
class ReadReassignments(Step[dict[TopicPartition, list[int]] | None]):
    """What /admin/reassign_partitions asks for, None when it does not exist; watches for it."""


@dataclass(frozen=True, slots=True)
class WatchEmptyReassignments(Step[None]):
    """The znode is empty, or cannot be read: watches it until somebody mends or deletes it."""


@dataclass(frozen=True, slots=True)
class RemoveReassignments(Step[dict[TopicPartition, list[int]] | None]):
    """Takes partitions out of /admin/reassign_partitions, which is deleted when it is empty. What stays; None if
    nothing had to go.

    targets: the replicas that the list must want of a partition; None: whatever it wants.
    """

    targets: Mapping[TopicPartition, Sequence[int] | None]


@dataclass(frozen=True, slots=True)
class ListIsrChanges(Step[list[str]]):
    """The names of the notifications that leaders have changed in-sync sets; watches the list."""


@dataclass(frozen=True, slots=True)
class ReadIsrChanges(Step[set[TopicPartition]]):
    """The partitions that these notifications name."""

    names: Collection[str]


@dataclass(frozen=True, slots=True)
class DeleteIsrChanges(Step[None]):
    """They are dealt with."""

    names: Collection[str]


@dataclass(frozen=True, slots=True)
class ListLogDirEvents(Step[list[str]]):
    """The names of the notifications that log directories have failed; watches the list."""


@dataclass(frozen=True, slots=True)
class ReadLogDirEvents(Step[set[int]]):
    """The brokers that these notifications name."""

    names: Collection[str]


@dataclass(frozen=True, slots=True)
class DeleteLogDirEvents(Step[None]):
    """They are dealt with."""

    names: Collection[str]
