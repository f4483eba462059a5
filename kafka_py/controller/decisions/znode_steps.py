"""The steps of a plan that read or write ZooKeeper. Every write is fenced by the controller epoch and raises
ControllerMoved when another controller was elected; all steps raise ZkError when ZooKeeper is unreachable.

A read that also watches puts one event when what it has read changes.
Source: docs/reference/zookeeper.md, sections 2, 8, 9 and 10.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kafka_py.base.ids import TopicId, TopicPartition
from kafka_py.controller.decisions.plan import Step
from kafka_py.controller.model.controller_context import Leadership, PartitionAssignment
from kafka_py.zk.brokers import RegisteredBroker
from kafka_py.zk.partitions import StateUpdates
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.session import ZkError
from kafka_py.zk.topics import TopicAssignment

# ---- brokers


@dataclass(frozen=True, slots=True)
class ReadBrokers(Step[dict[int, RegisteredBroker]]):
    """Reads all live brokers, by id; watches the list. Raises MalformedZNode."""


@dataclass(frozen=True, slots=True)
class ReadBroker(Step[RegisteredBroker | None]):
    """Reads one registration, None when there is none; watches it. Raises MalformedZNode."""

    broker: int


@dataclass(frozen=True, slots=True)
class WatchBrokers(Step[None]):
    """Watches registrations."""

    brokers: Collection[int]


@dataclass(frozen=True, slots=True)
class ForgetBroker(Step[None]):
    """Drops the watch of a broker's registration."""

    broker: int


# ---- topics


@dataclass(frozen=True, slots=True)
class ReadTopics(Step[set[str]]):
    """Reads the names of all topics, including those to be deleted. watches: whether the list is watched."""

    watches: bool = True


@dataclass(frozen=True, slots=True)
class ReadAssignments(Step[Mapping[str, TopicAssignment | MalformedZNode | None]]):
    """Reads the assignment of each topic, None when it does not exist; watches each."""

    topics: Collection[str]


@dataclass(frozen=True, slots=True)
class ForgetTopic(Step[None]):
    """Drops the watch of a topic's assignment."""

    topic: str


@dataclass(frozen=True, slots=True)
class GiveTopicIds(Step[dict[str, TopicAssignment]]):
    """Writes a new topic id to each of these topics that has none; returns the written assignments (KIP-516)."""

    topics: Collection[str]


@dataclass(frozen=True, slots=True)
class WriteAssignments(Step[None]):
    """Writes these partitions of a topic, and keeps others that were added to the znode meanwhile."""

    topic: str
    partitions: Mapping[int, PartitionAssignment]
    topic_id: TopicId | None


@dataclass(frozen=True, slots=True)
class KeepPartitions(Step[None]):
    """Removes all partitions but these from a topic."""

    topic: str
    numbers: Collection[int]


@dataclass(frozen=True, slots=True)
class ReadUncleanPermissions(Step[Mapping[str, bool | Exception]]):
    """Reads per topic whether an out-of-sync replica may lead by its present settings, or why that is not known."""

    topics: Collection[str]


# ---- leaders and in-sync sets


@dataclass(frozen=True, slots=True)
class ReadLeaderships(Step[dict[TopicPartition, Leadership]]):
    """Reads leaderships; partitions without a readable one are left out."""

    partitions: Collection[TopicPartition]


@dataclass(frozen=True, slots=True)
class ReadLeadership(Step[Leadership | None]):
    """Reads one leadership; watches it if the partition is being reassigned."""

    partition: TopicPartition
    watches: bool = False


@dataclass(frozen=True, slots=True)
class ForgetPartition(Step[None]):
    """Drops the watch of a partition's state."""

    partition: TopicPartition


@dataclass(frozen=True, slots=True)
class CreateLeaderships(Step[dict[TopicPartition, ZkError | None]]):
    """Creates first leaderships. Returns per partition None, or why nothing was written."""

    leaderships: Mapping[TopicPartition, Leadership]


@dataclass(frozen=True, slots=True)
class UpdateLeaderships(Step[StateUpdates]):
    """Writes changed leaderships, each only if the znode has the version that it names."""

    leaderships: Mapping[TopicPartition, Leadership]


@dataclass(frozen=True, slots=True)
class ReadPartitionsWithState(Step[Collection[int]]):
    """Reads the numbers of a topic's partitions that have ever had a leader."""

    topic: str


# ---- requests in znodes, and notifications


@dataclass(frozen=True, slots=True)
class EnsureFeatures(Step[None]):
    """Makes the feature znode have this status and no finalised features. Raises MalformedZNode."""

    status: int


@dataclass(frozen=True, slots=True)
class ReadTopicDeletions(Step[set[str]]):
    """Reads the topics in /admin/delete_topics; watches the list."""


@dataclass(frozen=True, slots=True)
class UnmarkForDeletion(Step[None]):
    """Removes topics from /admin/delete_topics."""

    topics: Collection[str]


@dataclass(frozen=True, slots=True)
class DeleteTopics(Step[None]):
    """Removes topics with their settings, and from /admin/delete_topics."""

    topics: Collection[str]


@dataclass(frozen=True, slots=True)
class ReadPreferredElections(Step[set[TopicPartition] | None]):
    """Reads /admin/preferred_replica_election, None when it does not exist; watches it."""


@dataclass(frozen=True, slots=True)
class DeletePreferredElections(Step[None]):
    """Deletes /admin/preferred_replica_election."""


@dataclass(frozen=True, slots=True)
class ReadReassignments(Step[dict[TopicPartition, list[int]] | None]):
    """Reads /admin/reassign_partitions, None when it does not exist; watches it."""


@dataclass(frozen=True, slots=True)
class WatchEmptyReassignments(Step[None]):
    """Watches /admin/reassign_partitions, which is empty or unreadable, until it is changed or deleted."""


@dataclass(frozen=True, slots=True)
class RemoveReassignments(Step[dict[TopicPartition, list[int]] | None]):
    """Removes partitions from /admin/reassign_partitions, which is deleted when it is empty. Returns the rest, None if
    nothing was removed.

    targets: the replicas that the list has to name for a partition to be removed; None: any.
    """

    targets: Mapping[TopicPartition, Sequence[int] | None]


@dataclass(frozen=True, slots=True)
class ListIsrChanges(Step[list[str]]):
    """Reads the names of notifications of changed in-sync sets; watches the list."""


@dataclass(frozen=True, slots=True)
class ReadIsrChanges(Step[set[TopicPartition]]):
    """Reads the partitions that these notifications name."""

    names: Collection[str]


@dataclass(frozen=True, slots=True)
class DeleteIsrChanges(Step[None]):
    """Deletes these notifications."""

    names: Collection[str]


@dataclass(frozen=True, slots=True)
class ListLogDirEvents(Step[list[str]]):
    """Reads the names of notifications of failed log directories; watches the list."""


@dataclass(frozen=True, slots=True)
class ReadLogDirEvents(Step[set[int]]):
    """Reads the brokers that these notifications name."""

    names: Collection[str]


@dataclass(frozen=True, slots=True)
class DeleteLogDirEvents(Step[None]):
    """Deletes these notifications."""

    names: Collection[str]
