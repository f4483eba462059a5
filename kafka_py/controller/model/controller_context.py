"""The active controller's state of the cluster, as one value: brokers, topics, leaders, states, deletions.

Loaded from ZooKeeper after a controller election, dropped at resignation. Only the event that is being processed
changes it. Knows nothing of ZooKeeper, requests or events. Source: docs/reference/controller.md, section 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from kafka_py.base.ids import NO_LEADER, TopicId, TopicPartition
from kafka_py.controller.model import partition_states, replica_states
from kafka_py.controller.model.partition_states import PartitionState
from kafka_py.controller.model.replica_states import ReplicaState
from kafka_py.zk import partitions as stored
from kafka_py.zk.brokers import RegisteredBroker

Leadership = stored.LeaderAndIsr
"""Leader, leader epoch and in-sync set of a partition; "state" here is that of the state machines."""


class PartitionAndReplica(NamedTuple):
    """One replica of a partition, identified by its broker."""

    topic: str
    partition: int
    broker: int

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} on {self.broker}"


class PartitionAssignment(NamedTuple):
    """The replicas of a partition, the preferred one first; in a reassignment also those added and removed (KIP-455).

    replicas: all present ones, including those in `adding` and `removing`.
    """

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def is_being_reassigned(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def origin(self) -> tuple[int, ...]:
        """The replicas before the running reassignment."""
        return without(self.replicas, self.adding)

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas after the running reassignment."""
        return without(self.replicas, self.removing)

    def reassign_to(self, target: Sequence[int]) -> PartitionAssignment:
        """The assignment during a reassignment from its origin to `target`: the target first, in its order."""
        full = tuple(dict.fromkeys((*target, *self.origin)))
        return PartitionAssignment(full, adding=without(full, self.origin), removing=without(full, target))

    def remove(self, broker: int) -> PartitionAssignment:
        """The assignment without one replica."""
        gone = (broker,)
        return PartitionAssignment(
            without(self.replicas, gone), without(self.adding, gone), without(self.removing, gone)
        )


NO_ASSIGNMENT = PartitionAssignment(())
_FEW = 8
"""Up to this many ids are searched one by one, which is faster than a set; a request may name very many replicas."""


def without(ids: Sequence[int], others: Collection[int]) -> tuple[int, ...]:
    """`ids` in their order, less `others`."""
    excluded = frozenset(others) if len(others) > _FEW else others
    return tuple(id_ for id_ in ids if id_ not in excluded)


class ControllerContext:
    """The controller's state of the cluster.

    brokers: every registered broker, also while it is shutting down.
    offline_dirs: per broker the partitions in its failed log directories.
    queued, started, ineligible: topics to delete; those of them that were started, and those that cannot continue.
    epoch: the controller epoch, which its writes contain.
    """

    def __init__(self, epoch: int = 0) -> None:
        self.epoch = epoch
        self.brokers: dict[int, RegisteredBroker] = {}
        self.shutting_down: set[int] = set()
        self.offline_dirs: dict[int, set[TopicPartition]] = {}
        self.topic_ids: dict[str, TopicId] = {}
        self.topic_names: dict[TopicId, str] = {}
        self.reassigning: set[TopicPartition] = set()
        self.queued: set[str] = set()
        self.started: set[str] = set()
        self.ineligible: set[str] = set()
        self._assignments: dict[str, dict[int, PartitionAssignment]] = {}
        self._leaderships: dict[TopicPartition, Leadership] = {}
        self._partition_states: dict[TopicPartition, PartitionState] = {}
        self._replica_states: dict[PartitionAndReplica, ReplicaState] = {}
        self._replicas_on: dict[int, dict[TopicPartition, None]] = {}
        self._led_by: dict[int, dict[TopicPartition, None]] = {}
        self._deletion_counts: dict[str, Counter[ReplicaState]] = {}  # assigned replicas of topics to delete, by state
        self._queued_counts: Counter[ReplicaState] = Counter()  # the same, over all topics to delete
        self._partition_count = 0
        self._offline: set[TopicPartition] = set()
        self._imbalanced: set[TopicPartition] = set()
        self._awaited: set[str] = set()

    # ---- brokers

    @property
    def live_brokers(self) -> set[int]:
        """The brokers that are registered and not shutting down."""
        return self.brokers.keys() - self.shutting_down

    def is_online(self, broker: int, partition: TopicPartition, *, include_shutting_down: bool = False) -> bool:
        """Whether a replica is online: its broker is live and its log directory has not failed."""
        if broker not in self.brokers or (not include_shutting_down and broker in self.shutting_down):
            return False
        return partition not in self.offline_dirs.get(broker, ())

    def online(self, partition: TopicPartition, ids: Iterable[int], *, include_shutting_down: bool = False) -> set[int]:
        """Those of `ids` on which a replica of the partition is online."""
        return {id_ for id_ in ids if self.is_online(id_, partition, include_shutting_down=include_shutting_down)}

    # ---- topics and assignments

    @property
    def topics(self) -> Set[str]:
        return self._assignments.keys()

    @property
    def partition_count(self) -> int:
        return self._partition_count

    def add_topic(self, topic: str, topic_id: TopicId | None = None) -> None:
        """Adds a topic, even without partitions; a topic id that is set is not changed."""
        self._assignments.setdefault(topic, {})
        if topic_id is not None:
            self.topic_ids[topic] = topic_id
            self.topic_names[topic_id] = topic

    def remove_topic(self, topic: str) -> None:
        """Removes a topic with all of its state."""
        partitions, replicas = self.partitions_of(topic), self.replicas_of_topic(topic)
        for partition in partitions:
            self.set_assignment(partition, NO_ASSIGNMENT)
            self._note_leader(partition, None)
        for replica in replicas:
            self._replica_states.pop(replica, None)
        self._deletion_counts.pop(topic, None)
        self._partition_count -= len(partitions)
        for partition in partitions:
            for kept in (self._leaderships, self._partition_states):
                kept.pop(partition, None)
            for kept_set in (self.reassigning, self._offline, self._imbalanced, *self.offline_dirs.values()):
                kept_set.discard(partition)
        self._assignments.pop(topic, None)
        topic_id = self.topic_ids.pop(topic, None)
        if topic_id is not None:
            self.topic_names.pop(topic_id, None)
        for topics in (self.queued, self.started, self.ineligible):
            topics.discard(topic)

    def set_assignment(self, partition: TopicPartition, assignment: PartitionAssignment) -> None:
        """Sets an assignment. A replica that is removed from it keeps its state until the topic is removed."""
        topic, number = partition
        partitions = self._assignments.setdefault(topic, {})
        self._partition_count += number not in partitions
        before = partitions.get(number, NO_ASSIGNMENT).replicas
        partitions[number] = assignment
        if before != assignment.replicas:
            gone, new = without(before, assignment.replicas), without(assignment.replicas, before)
            for broker in gone:
                _drop(self._replicas_on, broker, partition)
            for broker in new:
                self._replicas_on.setdefault(broker, {})[partition] = None
            if topic in self.queued:
                self._count(topic, (self.replica_state(PartitionAndReplica(*partition, id_)) for id_ in gone), -1)
                self._count(topic, (self.replica_state(PartitionAndReplica(*partition, id_)) for id_ in new), 1)
        self._weigh(partition)

    def assignment(self, partition: TopicPartition) -> PartitionAssignment:
        """The assignment of a partition; NO_ASSIGNMENT when the partition is unknown."""
        return self._assignments.get(partition.topic, {}).get(partition.partition, NO_ASSIGNMENT)

    def topic_assignment(self, topic: str) -> Mapping[int, PartitionAssignment]:
        """Partition number -> assignment."""
        return self._assignments.get(topic, {})

    def partitions(self) -> Iterator[TopicPartition]:
        """Every partition of every topic."""
        for topic, partitions in self._assignments.items():
            for partition in partitions:
                yield TopicPartition(topic, partition)

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        return [TopicPartition(topic, partition) for partition in self._assignments.get(topic, {})]

    def partitions_on(self, broker: int) -> list[TopicPartition]:
        return list(self._replicas_on.get(broker, ()))

    # ---- replicas

    def replicas(self) -> Iterator[PartitionAndReplica]:
        """Every replica of every partition."""
        for topic in self._assignments:
            yield from self.replicas_of_topic(topic)

    def replicas_of_topic(self, topic: str) -> list[PartitionAndReplica]:
        assignments = self._assignments.get(topic, {})
        return [
            PartitionAndReplica(topic, partition, broker)
            for partition, assignment in assignments.items()
            for broker in assignment.replicas
        ]

    def replicas_on(self, brokers: Collection[int]) -> list[PartitionAndReplica]:
        """The replicas on these brokers, broker by broker."""
        return [
            PartitionAndReplica(*partition, broker)
            for broker in brokers
            for partition in self._replicas_on.get(broker, ())
        ]

    def replica_state(self, replica: PartitionAndReplica) -> ReplicaState:
        return self._replica_states.get(replica, replica_states.NON_EXISTENT)

    def set_replica_state(self, replica: PartitionAndReplica, state: ReplicaState) -> None:
        """Sets the state without checking that the move is legal; decisions/replica_moves.py checks."""
        before = self.replica_state(replica)
        if state is replica_states.NON_EXISTENT:
            self._replica_states.pop(replica, None)
        else:
            self._replica_states[replica] = state
        is_counted = replica.topic in self.queued and before is not state
        if is_counted and replica.topic_partition in self._replicas_on.get(replica.broker, ()):
            self._count(replica.topic, (before,), -1)
            self._count(replica.topic, (state,), 1)

    def _count(self, topic: str, states: Iterable[ReplicaState], change: int) -> None:
        """Changes the numbers of assigned replicas of a topic to delete by one for each of `states`, up or down."""
        counts = self._deletion_counts[topic]
        for state in states:
            counts[state] += change
            self._queued_counts[state] += change

    def states_being_deleted(self, topic: str) -> set[ReplicaState]:
        """The states of the replicas of a topic to delete."""
        return {state for state, count in self._deletion_counts[topic].items() if count}

    def replicas_in_state(self, topic: str, state: ReplicaState) -> list[PartitionAndReplica]:
        return [replica for replica in self.replicas_of_topic(topic) if self.replica_state(replica) is state]

    # ---- leaders and partition states

    def leadership(self, partition: TopicPartition) -> Leadership | None:
        """The leadership of a partition; None when it has never had a leader."""
        return self._leaderships.get(partition)

    def set_leadership(self, partition: TopicPartition, leadership: Leadership) -> None:
        self._note_leader(partition, leadership.leader)
        self._leaderships[partition] = leadership
        self._weigh(partition)

    def _note_leader(self, partition: TopicPartition, leader: int | None) -> None:
        """Updates the list of partitions by leader. leader: None when the partition is removed."""
        before = self._leaderships.get(partition)
        if before is not None and before.leader != leader:
            _drop(self._led_by, before.leader, partition)
        if leader is not None:
            self._led_by.setdefault(leader, {})[partition] = None

    def partitions_with_leadership(self) -> list[TopicPartition]:
        """Partitions that have, or had, a leader."""
        return list(self._leaderships)

    def partitions_led_by(self, broker: int) -> list[TopicPartition]:
        return list(self._led_by.get(broker, ()))

    def partitions_with_offline_leader(self) -> list[TopicPartition]:
        """Partitions whose leader is offline, without those of topics to be deleted."""
        found: list[TopicPartition] = []
        live = self.live_brokers
        for leader, partitions in self._led_by.items():
            if leader in live:
                offline = self.offline_dirs.get(leader, ())
                found += [partition for partition in partitions if partition in offline] if offline else []
            else:
                found += partitions
        return [partition for partition in found if partition.topic not in self.queued]

    def partition_state(self, partition: TopicPartition) -> PartitionState:
        return self._partition_states.get(partition, partition_states.NON_EXISTENT)

    def set_partition_state(self, partition: TopicPartition, state: PartitionState) -> None:
        """Sets the state without checking that the move is legal; decisions/partition_moves.py checks."""
        if state is partition_states.NON_EXISTENT:
            self._partition_states.pop(partition, None)
        else:
            self._partition_states[partition] = state
        if state is partition_states.OFFLINE and partition.topic not in self.started:
            self._offline.add(partition)
        else:
            self._offline.discard(partition)

    def partitions_in_state(self, *states: PartitionState) -> list[TopicPartition]:
        return [partition for partition, state in self._partition_states.items() if state in states]

    # ---- deletion

    def queue_for_deletion(self, topics: Collection[str]) -> None:
        for topic in topics:
            if topic not in self.queued:
                self.queued.add(topic)
                counts = Counter(map(self.replica_state, self.replicas_of_topic(topic)))
                self._deletion_counts[topic] = counts
                self._queued_counts.update(counts)
            self._imbalanced.difference_update(self.partitions_of(topic))

    def mark_ineligible(self, topics: Iterable[str]) -> None:
        """Halts the deletion of those topics that are queued; others are ignored."""
        self.ineligible.update(self.queued.intersection(topics))

    def await_topics(self, topics: set[str]) -> bool:
        """Notes topics to delete that were just created and are not known yet; returns whether one was not noted
        before, so that a topic that never appears is awaited only once."""
        is_any_new = not topics <= self._awaited
        self._awaited = topics
        return is_any_new

    def replicas_to_delete(self) -> int:
        """Replicas of queued topics that are not deleted yet."""
        return self._queued_counts.total() - self._queued_counts[replica_states.DELETION_SUCCESSFUL]

    def replicas_ineligible(self) -> int:
        """Replicas whose deletion is halted."""
        return self._queued_counts[replica_states.DELETION_INELIGIBLE]

    # Gauges, kept up to date with every change so that reading them costs nothing

    @property
    def offline_partition_count(self) -> int:
        return len(self._offline)

    @property
    def preferred_imbalance_count(self) -> int:
        """Partitions that are not led by their first replica, without those to be deleted."""
        return len(self._imbalanced)

    def _weigh(self, partition: TopicPartition) -> None:
        if partition.topic not in self.queued and self._is_imbalanced(partition):
            self._imbalanced.add(partition)
        else:
            self._imbalanced.discard(partition)

    def _is_imbalanced(self, partition: TopicPartition) -> bool:
        assignment, leadership = self.assignment(partition), self.leadership(partition)
        if leadership is None or not assignment.replicas:
            return False
        preferred = assignment.replicas[0]
        if preferred in assignment.adding:  # it cannot lead before it is in sync
            return preferred not in leadership.isr
        return leadership.leader != preferred


def _drop(index: dict[int, dict[TopicPartition, None]], broker: int, partition: TopicPartition) -> None:
    """Removes a partition from the list of a broker."""
    partitions = index.get(broker, {})
    partitions.pop(partition, None)
    if not partitions:
        index.pop(broker, None)


def leader_of(leadership: Leadership | None) -> int:
    """The leader's broker id, NO_LEADER when the partition never had one."""
    return NO_LEADER if leadership is None else leadership.leader
