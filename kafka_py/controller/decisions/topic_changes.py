"""Topics created, extended or removed in ZooKeeper, and unclean elections that were enabled.

Source: docs/reference/controller.md, sections 1 and 6.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kafka_py.base.ids import TopicPartition
from kafka_py.base.steps import slices
from kafka_py.base.texts import listed
from kafka_py.controller.decisions.notes import LogLines
from kafka_py.controller.decisions.partition_moves import bring_online, move_partitions
from kafka_py.controller.decisions.plan import Plan, Worked
from kafka_py.controller.decisions.replica_moves import move_replicas
from kafka_py.controller.decisions.settings import Settings
from kafka_py.controller.decisions.znode_steps import (
    ForgetTopic,
    GiveTopicIds,
    KeepPartitions,
    ReadAssignments,
    ReadPartitionsWithState,
    ReadTopics,
)
from kafka_py.controller.events import (
    PartitionModifications,
    TopicChange,
    TopicUncleanLeaderElectionEnable,
    UncleanLeaderElectionEnable,
)
from kafka_py.controller.model import partition_states, replica_states
from kafka_py.controller.model.controller_context import ControllerContext, PartitionAndReplica, PartitionAssignment
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.topics import TopicAssignment

notes = LogLines(__name__)


def topic_change(cluster: ControllerContext, _event: TopicChange, settings: Settings) -> Plan[None]:
    """Handles created and removed topic znodes."""
    present = yield from ReadTopics()
    new = sorted(present - cluster.topics)
    gone = sorted(cluster.topics - present)
    assignments = yield from read_assignments(new)
    for topic in gone:
        cluster.remove_topic(topic)
        yield from ForgetTopic(topic)
    if new or gone:
        yield from notes.info("New topics: %s, deleted topics: %s", listed(new), listed(gone))
    yield from start_partitions(cluster, (yield from add_topics(cluster, assignments, settings)))


def read_assignments(topics: Collection[str]) -> Plan[dict[str, TopicAssignment]]:
    """Reads and watches the assignments of topics; a topic with an unreadable one has no partitions."""
    found = yield from ReadAssignments(topics)
    read: dict[str, TopicAssignment] = {}
    for topic, one in found.items():
        if isinstance(one, MalformedZNode):
            yield from notes.error("Topic %s is treated as a topic without partitions: %s", topic, one)
            read[topic] = TopicAssignment({})
        elif one is not None:
            read[topic] = one
    return read


def add_topics(
    cluster: ControllerContext, assignments: Mapping[str, TopicAssignment], settings: Settings
) -> Plan[list[TopicPartition]]:
    """Adds topics to the context, with a new id for those that lack one (KIP-516); returns their partitions."""
    if settings.options.inter_broker_version().has_topic_ids:
        lacking = [topic for topic, one in assignments.items() if one.topic_id is None]
        given = yield from GiveTopicIds(lacking)
        assignments = {**assignments, **given}
    for topics in slices(assignments.items()):
        for topic, one in topics:
            cluster.add_topic(topic, one.topic_id)
        yield from Worked(len(topics))
    partitions = []
    for some in slices((topic, *row) for topic, one in assignments.items() for row in one.partitions.items()):
        for topic, number, row in some:
            partition = TopicPartition(topic, number)
            cluster.set_assignment(partition, PartitionAssignment(*row))
            partitions.append(partition)
        yield from Worked(len(some))
    return partitions


def partition_modifications(
    cluster: ControllerContext, event: PartitionModifications, _settings: Settings
) -> Plan[None]:
    """Handles a rewritten topic znode: added partitions are started, all other changes are ignored."""
    topic = event.topic
    found = (yield from ReadAssignments((topic,)))[topic]
    if isinstance(found, MalformedZNode):
        yield from notes.error("The change of topic %s is ignored: %s", topic, found)
        return
    if found is None or topic not in cluster.topics:
        return
    known = cluster.topic_assignment(topic)
    added = {number: row for number, row in found.partitions.items() if number not in known}
    if not added:
        return
    if topic in cluster.queued:
        yield from notes.error(
            "Topic %s is being deleted and cannot get more partitions; the new ones are removed", topic
        )
        yield from KeepPartitions(topic, (yield from ReadPartitionsWithState(topic)))
        return
    for some in slices(added.items()):
        for number, row in some:
            cluster.set_assignment(TopicPartition(topic, number), PartitionAssignment(*row))
        yield from Worked(len(some))
    yield from start_partitions(cluster, [TopicPartition(topic, number) for number in added])


def start_partitions(cluster: ControllerContext, partitions: Collection[TopicPartition]) -> Plan[None]:
    """Starts new partitions: elects their first leaders and starts their replicas."""
    replicas: list[PartitionAndReplica] = []
    for some in slices(partitions):
        replicas += (PartitionAndReplica(*one, broker) for one in some for broker in cluster.assignment(one).replicas)
        yield from Worked(len(some))
    yield from move_partitions(cluster, partitions, partition_states.NEW)
    yield from move_replicas(cluster, replicas, replica_states.NEW)
    yield from move_partitions(cluster, partitions, partition_states.ONLINE)
    yield from move_replicas(cluster, replicas, replica_states.ONLINE)


def unclean_enabled(cluster: ControllerContext, _event: UncleanLeaderElectionEnable, _settings: Settings) -> Plan[None]:
    """Elects leaders for offline partitions after unclean elections were enabled for the cluster."""
    yield from bring_online(cluster)


def topic_unclean_enabled(
    cluster: ControllerContext, event: TopicUncleanLeaderElectionEnable, _settings: Settings
) -> Plan[None]:
    """Elects leaders for the offline partitions of a topic after unclean elections were enabled for it."""
    yield from bring_online(cluster, event.topic)
