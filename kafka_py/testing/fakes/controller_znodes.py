"""The znodes of a controller as values: what plans read and write, at once and without a session.

Writes are shown as lines, those that ZooKeeper would refuse included; reads of leaderships too, for they tell that the
context was not enough to go by. On a real store controller/znode_work.py does them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from kafka_py.base.chance import Chance
from kafka_py.base.ids import TopicPartition
from kafka_py.controller.decisions import znode_steps as steps
from kafka_py.controller.decisions.plan import Plan, Step, Worked
from kafka_py.controller.model.controller_context import Leadership, PartitionAssignment
from kafka_py.zk.access import ControllerMoved
from kafka_py.zk.brokers import RegisteredBroker
from kafka_py.zk.partitions import StateUpdates
from kafka_py.zk.session import NodeExists, NoNode, ZkError
from kafka_py.zk.topics import ReplicaAssignment, TopicAssignment

T = TypeVar("T")


def result_of(plan: Plan[T], perform: Callable[[Step[Any]], Any]) -> T:
    """Carries out a plan at once; returns, or raises, what the plan does.

    perform: does one step; nobody else wants to work in between, so that Worked is nothing to it.
    """
    outcome: Any = None
    failure: Exception | None = None
    while True:
        try:
            step = plan.send(outcome) if failure is None else plan.throw(failure)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        outcome = failure = None
        try:
            outcome = None if isinstance(step, Worked) else perform(step)
        except Exception as error:
            failure = error


class ControllerZnodes:
    """What ZooKeeper holds.

    watched: partitions whose state is watched. unclean: topics that permit unclean elections. is_moved: another
    controller was elected, so every write is refused. lines: what was written since they were last taken.
    """

    def __init__(self) -> None:
        self.brokers: dict[int, RegisteredBroker] = {}
        self.topics: dict[str, TopicAssignment] = {}
        self.leaderships: dict[TopicPartition, Leadership] = {}
        self.deletions: set[str] = set()
        self.reassignments: dict[TopicPartition, list[int]] | None = None
        self.elections: set[TopicPartition] | None = None
        self.isr_changes: dict[str, set[TopicPartition]] = {}
        self.log_dir_events: dict[str, int] = {}
        self.watched: set[TopicPartition] = set()
        self.unclean: set[str] = set()
        self.permits_unclean = False
        self.is_moved = False
        self._lines: list[str] = []
        self._chance = Chance(1)

    def perform(self, step: Step[Any]) -> Any:
        """Does it. Raises ControllerMoved for a write after another election."""
        if self.is_moved and type(step).__name__.startswith(WRITES):
            raise ControllerMoved
        return TABLE[type(step)](self, step)

    def taken_lines(self) -> list[str]:
        lines, self._lines = self._lines, []
        return lines

    def add_topic(self, topic: str, rows: Mapping[int, Sequence[int]]) -> None:
        """A new topic, or one with more partitions."""
        known = self.topics.get(topic, TopicAssignment({}, self._chance.new_topic_id()))
        added = {number: ReplicaAssignment(tuple(row)) for number, row in rows.items()}
        self.topics[topic] = known._replace(partitions={**known.partitions, **added})

    def write_isr(self, partition: TopicPartition, isr: Sequence[int]) -> None:
        """What the leader of a partition does."""
        before = self.leaderships[partition]
        self.leaderships[partition] = before._replace(isr=tuple(isr), zk_version=before.zk_version + 1)

    def _say(self, line: str) -> None:
        self._lines.append(line)

    # ---- topics

    def read_assignments(self, step: steps.ReadAssignments) -> Mapping[str, TopicAssignment | None]:
        return {topic: self.topics.get(topic) for topic in step.topics}

    def give_topic_ids(self, step: steps.GiveTopicIds) -> dict[str, TopicAssignment]:
        given = {topic: self.topics[topic]._replace(topic_id=self._chance.new_topic_id()) for topic in step.topics}
        self.topics.update(given)
        return given

    def write_assignments(self, step: steps.WriteAssignments) -> None:
        known = self.topics[step.topic]
        for number, assignment in step.partitions.items():
            row = ReplicaAssignment(*assignment)
            if known.partitions.get(number) != row:
                self._say(f"write {step.topic}-{number} {shown_assignment(assignment)}")
            known = known._replace(partitions={**known.partitions, number: row})
        self.topics[step.topic] = known

    def keep_partitions(self, step: steps.KeepPartitions) -> None:
        self._say(f"keep of {step.topic} the partitions {sorted(step.numbers)}")
        known = self.topics[step.topic]
        kept = {number: row for number, row in known.partitions.items() if number in step.numbers}
        self.topics[step.topic] = known._replace(partitions=kept)

    def unmark(self, step: steps.UnmarkForDeletion) -> None:
        self._say(f"unmark for deletion {', '.join(step.topics)}")
        self.deletions.difference_update(step.topics)

    def delete_topics(self, step: steps.DeleteTopics) -> None:
        self._say(f"delete topic {', '.join(step.topics)}")
        self.deletions.difference_update(step.topics)
        for topic in step.topics:
            del self.topics[topic]
            for partition in [each for each in self.leaderships if each.topic == topic]:
                del self.leaderships[partition]

    def unclean_permissions(self, step: steps.ReadUncleanPermissions) -> dict[str, bool]:
        return {topic: self.permits_unclean or topic in self.unclean for topic in step.topics}

    # ---- leaders and in-sync sets

    def read_leaderships(self, step: steps.ReadLeaderships) -> dict[TopicPartition, Leadership]:
        self._say(f"read the state of {', '.join(map(str, step.partitions))}")
        return {one: self.leaderships[one] for one in step.partitions if one in self.leaderships}

    def read_leadership(self, step: steps.ReadLeadership) -> Leadership | None:
        if step.watches:
            self.watched.add(step.partition)
        return self.leaderships.get(step.partition)

    def create_leaderships(self, step: steps.CreateLeaderships) -> dict[TopicPartition, ZkError | None]:
        outcomes: dict[TopicPartition, ZkError | None] = {}
        for partition, leadership in step.leaderships.items():
            is_there = partition in self.leaderships
            outcomes[partition] = NodeExists(str(partition)) if is_there else None
            self._say(f"create {partition} {shown_leadership(leadership)}{': refused, there is one' * is_there}")
            self.leaderships.setdefault(partition, leadership)
        return outcomes

    def update_leaderships(self, step: steps.UpdateLeaderships) -> StateUpdates:
        updates = StateUpdates({}, [], {})
        for partition, leadership in step.leaderships.items():
            line = f"write {partition} {shown_leadership(leadership)} over version {leadership.zk_version}"
            present = self.leaderships.get(partition)
            if present is None:
                updates.failed[partition] = NoNode(str(partition))
                self._say(f"{line}: there is none")
            elif present.zk_version != leadership.zk_version:
                updates.conflicts.append(partition)
                self._say(f"{line}: refused, it has version {present.zk_version}")
            else:
                written = leadership._replace(zk_version=leadership.zk_version + 1)
                updates.updated[partition] = self.leaderships[partition] = written
                self._say(line)
        return updates

    # ---- requests by znodes

    def remove_reassignments(self, step: steps.RemoveReassignments) -> dict[TopicPartition, list[int]] | None:
        listed = self.reassignments or {}
        going = [one for one, wanted in listed.items() if one in step.targets and _is_meant(step.targets[one], wanted)]
        if not going:
            return None
        self._say(f"take out of /admin/reassign_partitions {', '.join(map(str, going))}")
        staying = {one: wanted for one, wanted in listed.items() if one not in going}
        self.reassignments = staying or None
        return staying

    def delete_elections(self, _step: steps.DeletePreferredElections) -> None:
        if self.elections is not None:
            self._say("delete /admin/preferred_replica_election")
        self.elections = None

    def delete_isr_changes(self, step: steps.DeleteIsrChanges) -> None:
        for name in step.names:
            del self.isr_changes[name]

    def delete_log_dir_events(self, step: steps.DeleteLogDirEvents) -> None:
        for name in step.names:
            del self.log_dir_events[name]


WRITES = ("Write", "Create", "Update", "Delete", "Keep", "Give", "Remove", "Unmark")

TABLE: dict[type[Step[Any]], Callable[[ControllerZnodes, Any], Any]] = {
    steps.ReadBrokers: lambda zk, _: dict(zk.brokers),
    steps.ReadBroker: lambda zk, step: zk.brokers.get(step.broker),
    steps.WatchBrokers: lambda zk, step: None,
    steps.ForgetBroker: lambda zk, step: None,
    steps.ReadTopics: lambda zk, _: set(zk.topics),
    steps.ReadAssignments: ControllerZnodes.read_assignments,
    steps.ForgetTopic: lambda zk, step: None,
    steps.GiveTopicIds: ControllerZnodes.give_topic_ids,
    steps.WriteAssignments: ControllerZnodes.write_assignments,
    steps.KeepPartitions: ControllerZnodes.keep_partitions,
    steps.ReadUncleanPermissions: ControllerZnodes.unclean_permissions,
    steps.ReadLeaderships: ControllerZnodes.read_leaderships,
    steps.ReadLeadership: ControllerZnodes.read_leadership,
    steps.ForgetPartition: lambda zk, step: zk.watched.discard(step.partition),
    steps.CreateLeaderships: ControllerZnodes.create_leaderships,
    steps.UpdateLeaderships: ControllerZnodes.update_leaderships,
    steps.ReadPartitionsWithState: lambda zk, step: {p.partition for p in zk.leaderships if p.topic == step.topic},
    steps.EnsureFeatures: lambda zk, step: None,
    steps.ReadTopicDeletions: lambda zk, _: set(zk.deletions),
    steps.UnmarkForDeletion: ControllerZnodes.unmark,
    steps.DeleteTopics: ControllerZnodes.delete_topics,
    steps.ReadPreferredElections: lambda zk, _: zk.elections,
    steps.DeletePreferredElections: ControllerZnodes.delete_elections,
    steps.ReadReassignments: lambda zk, _: zk.reassignments,
    steps.WatchEmptyReassignments: lambda zk, _: None,
    steps.RemoveReassignments: ControllerZnodes.remove_reassignments,
    steps.ListIsrChanges: lambda zk, _: sorted(zk.isr_changes),
    steps.ReadIsrChanges: lambda zk, step: {p for name in step.names for p in zk.isr_changes[name]},
    steps.DeleteIsrChanges: ControllerZnodes.delete_isr_changes,
    steps.ListLogDirEvents: lambda zk, _: sorted(zk.log_dir_events),
    steps.ReadLogDirEvents: lambda zk, step: {zk.log_dir_events[name] for name in step.names},
    steps.DeleteLogDirEvents: ControllerZnodes.delete_log_dir_events,
}


def shown_leadership(leadership: Leadership) -> str:
    return f"leader {leadership.leader} epoch {leadership.leader_epoch} isr {list(leadership.isr)}"


def shown_assignment(assignment: PartitionAssignment | ReplicaAssignment) -> str:
    replicas, adding, removing = assignment
    more = [f" {word} {list(ids)}" for word, ids in (("adding", adding), ("removing", removing)) if ids]
    return f"on {list(replicas)}{''.join(more)}"


def _is_meant(target: Iterable[int] | None, wanted: list[int]) -> bool:
    return target is None or tuple(target) == tuple(wanted)
