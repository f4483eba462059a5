"""Carries out the steps for ZooKeeper: each is one call of the store, fenced by the controller epoch (I/O).

Source: docs/reference/zookeeper.md, sections 2 and 3.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_py.base.ids import TopicId, TopicPartition
from kafka_py.controller.decisions import znode_steps as steps
from kafka_py.controller.decisions.plan import Step
from kafka_py.controller.watches import Watches
from kafka_py.zk.access import pipelined, raise_first
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.store import ZkStore
from kafka_py.zk.topics import ReplicaAssignment, TopicAssignment

UNCLEAN = "unclean.leader.election.enable"


@dataclass(frozen=True, slots=True)
class ZnodeWork:
    """ZooKeeper during one controller epoch.

    epoch_zk_version: fences every write. permits_unclean: returns the broker's own setting at present.
    """

    store: ZkStore
    watches: Watches
    epoch_zk_version: int
    new_topic_id: Callable[[], TopicId]
    permits_unclean: Callable[[], bool]

    async def watch_brokers(self, step: steps.WatchBrokers) -> None:
        raise_first(await pipelined([self.store.brokers.one(id_, self.watches.broker(id_)) for id_ in step.brokers]))

    async def read_assignments(
        self, step: steps.ReadAssignments
    ) -> Mapping[str, TopicAssignment | MalformedZNode | None]:
        names = list(step.topics)
        found = await pipelined([self.store.topics.assignment(topic, self.watches.topic(topic)) for topic in names])
        raise_first(one for one in found if not isinstance(one, MalformedZNode))
        return dict(zip(names, found, strict=True))  # type: ignore[arg-type]

    async def give_topic_ids(self, step: steps.GiveTopicIds) -> dict[str, TopicAssignment]:
        made = {topic: self.new_topic_id() for topic in step.topics}
        written = await pipelined([self._give_id(topic, topic_id) for topic, topic_id in made.items()])
        raise_first(written)
        return {topic: one for topic, one in zip(made, written, strict=True) if isinstance(one, TopicAssignment)}

    async def _give_id(self, topic: str, topic_id: TopicId) -> TopicAssignment:
        def edit(present: TopicAssignment) -> TopicAssignment:
            return present if present.topic_id is not None else present._replace(topic_id=topic_id)

        return await self._edit(topic, edit)

    async def write_assignments(self, step: steps.WriteAssignments) -> None:
        rows = {number: ReplicaAssignment(*assignment) for number, assignment in step.partitions.items()}

        def edit(present: TopicAssignment) -> TopicAssignment:
            return TopicAssignment({**present.partitions, **rows}, step.topic_id)

        await self._edit(step.topic, edit)

    async def keep_partitions(self, step: steps.KeepPartitions) -> None:
        def edit(present: TopicAssignment) -> TopicAssignment:
            kept = {number: row for number, row in present.partitions.items() if number in step.numbers}
            return present._replace(partitions=kept)

        await self._edit(step.topic, edit)

    async def _edit(self, topic: str, edit: Callable[[TopicAssignment], TopicAssignment]) -> TopicAssignment:
        return await self.store.topics.edit(topic, edit, epoch_zk_version=self.epoch_zk_version)

    async def delete_topics(self, topics: Collection[str]) -> None:
        raise_first(await pipelined([self.store.topics.delete(topic, self.epoch_zk_version) for topic in topics]))

    async def read_unclean_permissions(self, step: steps.ReadUncleanPermissions) -> Mapping[str, bool | Exception]:
        names = list(step.topics)
        found = await pipelined([self.store.configs.of_topic(topic) for topic in names])
        permitted: dict[str, bool | Exception] = {}
        for topic, overrides in zip(names, found, strict=True):
            if isinstance(overrides, Exception):
                permitted[topic] = overrides
            else:
                override = overrides.get(UNCLEAN)
                permitted[topic] = self.permits_unclean() if override is None else override.strip().lower() == "true"
        return permitted

    async def read_leadership(self, step: steps.ReadLeadership) -> Any:
        watch = self.watches.reassigned_partition(step.partition) if step.watches else None
        return await self.store.partitions.state(step.partition, watch)

    async def delete_log_dir_events(self, step: steps.DeleteLogDirEvents) -> None:
        await self.store.notifications.delete_log_dir_events(step.names, self.epoch_zk_version)

    async def remove_reassignments(self, step: steps.RemoveReassignments) -> Any:
        targets = step.targets

        def stays(partition: TopicPartition, wanted: list[int]) -> bool:
            if partition not in targets:
                return True
            target = targets[partition]
            return target is not None and tuple(wanted) != tuple(target)

        return await self.store.admin.keep_reassignments(stays, self.epoch_zk_version)


WORK: dict[type[Step[Any]], Callable[[ZnodeWork, Any], Awaitable[Any]]] = {
    steps.ReadBrokers: lambda zk, _: zk.store.brokers.all(zk.watches.brokers),
    steps.ReadBroker: lambda zk, step: zk.store.brokers.one(step.broker, zk.watches.broker(step.broker)),
    steps.WatchBrokers: ZnodeWork.watch_brokers,
    steps.ReadTopics: lambda zk, step: zk.store.topics.names(zk.watches.topics if step.watches else None),
    steps.ReadAssignments: ZnodeWork.read_assignments,
    steps.GiveTopicIds: ZnodeWork.give_topic_ids,
    steps.WriteAssignments: ZnodeWork.write_assignments,
    steps.KeepPartitions: ZnodeWork.keep_partitions,
    steps.ReadUncleanPermissions: ZnodeWork.read_unclean_permissions,
    steps.ReadLeaderships: lambda zk, step: zk.store.partitions.states(step.partitions),
    steps.ReadLeadership: ZnodeWork.read_leadership,
    steps.CreateLeaderships: lambda zk, step: zk.store.partitions.create_states(step.leaderships, zk.epoch_zk_version),
    steps.UpdateLeaderships: lambda zk, step: zk.store.partitions.update_states(step.leaderships, zk.epoch_zk_version),
    steps.ReadPartitionsWithState: lambda zk, step: zk.store.topics.partitions_with_state(step.topic),
    steps.EnsureFeatures: lambda zk, step: zk.store.admin.ensure_features(step.status),
    steps.ReadTopicDeletions: lambda zk, _: zk.store.topics.marked_for_deletion(zk.watches.topic_deletions),
    steps.UnmarkForDeletion: lambda zk, step: zk.store.topics.unmark_for_deletion(step.topics, zk.epoch_zk_version),
    steps.DeleteTopics: lambda zk, step: zk.delete_topics(step.topics),
    steps.ReadPreferredElections: lambda zk, _: zk.store.admin.preferred_elections(zk.watches.preferred_elections),
    steps.DeletePreferredElections: lambda zk, _: zk.store.admin.delete_preferred_elections(zk.epoch_zk_version),
    steps.ReadReassignments: lambda zk, _: zk.store.admin.reassignments(zk.watches.reassignments),
    steps.WatchEmptyReassignments: lambda zk, _: zk.store.admin.reassignments(zk.watches.empty_reassignments),
    steps.RemoveReassignments: ZnodeWork.remove_reassignments,
    steps.ListIsrChanges: lambda zk, _: zk.store.notifications.isr_changes(zk.watches.isr_changes),
    steps.ReadIsrChanges: lambda zk, step: zk.store.notifications.read_isr_changes(step.names),
    steps.DeleteIsrChanges: lambda zk, step: zk.store.notifications.delete_isr_changes(step.names, zk.epoch_zk_version),
    steps.ListLogDirEvents: lambda zk, _: zk.store.notifications.log_dir_events(zk.watches.log_dir_events),
    steps.ReadLogDirEvents: lambda zk, step: zk.store.notifications.read_log_dir_events(step.names),
    steps.DeleteLogDirEvents: ZnodeWork.delete_log_dir_events,
}
"""The function of every step that reads or writes ZooKeeper."""

FORGET: dict[type[Step[Any]], Callable[[Watches, Any], None]] = {
    steps.ForgetBroker: lambda watches, step: watches.forget_broker(step.broker),
    steps.ForgetTopic: lambda watches, step: watches.forget_topic(step.topic),
    steps.ForgetPartition: lambda watches, step: watches.forget_partition(step.partition),
}
"""The function of every step that drops a watch."""
