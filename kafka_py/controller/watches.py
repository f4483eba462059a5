"""Turns ZooKeeper's one-shot watches into controller events, during one controller epoch.

A watch is passed to the read that registers it; the processing of the event reads again and so re-registers it. There
is one callable per subject, so that a subject that is read twice is watched once. Knows nothing of what the events do.
Source: docs/reference/controller.md, section 1; docs/reference/zookeeper.md, section 2 (column "watched by").
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from kafka_py.base.ids import TopicPartition
from kafka_py.controller.events import (
    BrokerChange,
    BrokerModifications,
    Event,
    IsrChangeNotification,
    LogDirEventNotification,
    PartitionModifications,
    PartitionReassignmentIsrChange,
    TopicChange,
    TopicDeletion,
    ZkPartitionReassignment,
    ZkReplicaLeaderElection,
)
from kafka_py.zk.session import EventType, Watch, WatchEvent


class Watches:
    """The watches of an active controller."""

    def __init__(self, put: Callable[[Event], object]) -> None:
        self._put = put
        self._is_over = False
        self._by_subject: dict[tuple[str, Hashable], Watch] = {}
        self.brokers = self._watch(BrokerChange, EventType.CHILDREN)
        self.topics = self._watch(TopicChange, EventType.CHILDREN)
        self.topic_deletions = self._watch(TopicDeletion, EventType.CHILDREN)
        self.isr_changes = self._watch(IsrChangeNotification, EventType.CHILDREN)
        self.log_dir_events = self._watch(LogDirEventNotification, EventType.CHILDREN)
        self.reassignments = self._watch(ZkPartitionReassignment, EventType.CREATED)
        self.empty_reassignments = self._watch(ZkPartitionReassignment, EventType.CHANGED, EventType.DELETED)
        self.preferred_elections = self._watch(ZkReplicaLeaderElection, EventType.CREATED)

    def broker(self, broker: int) -> Watch:
        """The watch of one broker's registration."""
        return self._of("broker", broker, lambda: BrokerModifications(broker))

    def topic(self, topic: str) -> Watch:
        """The watch of one topic's assignment."""
        return self._of("topic", topic, lambda: PartitionModifications(topic))

    def reassigned_partition(self, partition: TopicPartition) -> Watch:
        """The watch of the state of a partition that is being reassigned."""
        return self._of("partition", partition, lambda: PartitionReassignmentIsrChange(partition))

    def forget_broker(self, broker: int) -> None:
        self._by_subject.pop(("broker", broker), None)

    def forget_topic(self, topic: str) -> None:
        self._by_subject.pop(("topic", topic), None)

    def forget_partition(self, partition: TopicPartition) -> None:
        self._by_subject.pop(("partition", partition), None)

    def end(self) -> None:
        """Watches that are still registered have no effect from now on."""
        self._is_over = True
        self._by_subject.clear()

    def _of(self, kind: str, subject: Hashable, event: Callable[[], Event]) -> Watch:
        key = (kind, subject)
        watch = self._by_subject.get(key)
        if watch is None:
            watch = self._by_subject[key] = self._watch(event, EventType.CHANGED)
        return watch

    def _watch(self, event: Callable[[], Event], *types: EventType) -> Watch:
        def fire(seen: WatchEvent) -> None:
            if seen.type in types and not self._is_over:
                self._put(event())

        return fire
