"""Controller fail-over: the steps of a newly elected controller, in order.

Source: docs/reference/controller.md, section 2.
"""

from __future__ import annotations

from kafka_py.base.steps import slices
from kafka_py.base.texts import listed
from kafka_py.controller.decisions import deletion, preferred_leaders, reassignment
from kafka_py.controller.decisions.broker_changes import address_of
from kafka_py.controller.decisions.leaderships import refresh
from kafka_py.controller.decisions.notes import LogLines
from kafka_py.controller.decisions.partition_moves import bring_online
from kafka_py.controller.decisions.plan import Plan, Worked
from kafka_py.controller.decisions.replica_moves import move_replicas
from kafka_py.controller.decisions.settings import Settings
from kafka_py.controller.decisions.steps import OpenChannel, update_metadata
from kafka_py.controller.decisions.topic_changes import add_topics, read_assignments
from kafka_py.controller.decisions.znode_steps import (
    DeleteIsrChanges,
    DeleteLogDirEvents,
    EnsureFeatures,
    ListIsrChanges,
    ListLogDirEvents,
    ReadBrokers,
    ReadPreferredElections,
    ReadReassignments,
    ReadTopics,
    WatchBrokers,
)
from kafka_py.controller.model import partition_states, replica_states
from kafka_py.controller.model.controller_context import ControllerContext, Leadership, PartitionAndReplica
from kafka_py.controller.model.partition_states import PartitionState
from kafka_py.zk.admin import FEATURES_DISABLED, FEATURES_ENABLED

notes = LogLines(__name__)


def fail_over(cluster: ControllerContext, settings: Settings) -> Plan[None]:
    """Reads the whole cluster, then completes what the previous controller left unfinished.

    Raises any error of a step; the caller then resigns.
    """
    has_features = settings.options.inter_broker_version().has_features
    yield from EnsureFeatures(FEATURES_ENABLED if has_features else FEATURES_DISABLED)
    yield from ReadPreferredElections()
    yield from ReadReassignments()
    yield from _drop_old_notifications()
    yield from _load_cluster(cluster, settings)
    yield from deletion.load(cluster, settings)
    # Brokers need to know the live brokers before they receive LeaderAndIsr.
    yield from update_metadata(cluster, cluster.brokers)
    yield from _start_replicas(cluster)
    yield from _start_partitions(cluster)
    yield from reassignment.load(cluster)
    yield from deletion.resume(cluster)
    pending = yield from preferred_leaders.pending_elections(cluster)
    yield from preferred_leaders.elect_from_znode(cluster, pending)
    yield from preferred_leaders.schedule_balance(settings.options)


def _drop_old_notifications() -> Plan[None]:
    """Deletes old notifications, because all that they refer to is read anyway."""
    yield from DeleteLogDirEvents((yield from ListLogDirEvents()))
    yield from DeleteIsrChanges((yield from ListIsrChanges()))


def _load_cluster(cluster: ControllerContext, settings: Settings) -> Plan[None]:
    cluster.brokers.update((yield from ReadBrokers()))
    topics = sorted((yield from ReadTopics()))
    partitions = yield from add_topics(cluster, (yield from read_assignments(topics)), settings)
    cluster.reassigning.update(p for p in partitions if cluster.assignment(p).is_being_reassigned)
    yield from WatchBrokers(list(cluster.brokers))
    yield from refresh(cluster, partitions)
    for broker in cluster.brokers.values():
        yield from OpenChannel(broker.id, address_of(broker, settings.control_listener))
    brokers = listed(sorted(cluster.brokers))
    yield from notes.info("Brokers %s, %d topics, %d partitions", brokers, len(cluster.topics), len(partitions))


def _start_replicas(cluster: ControllerContext) -> Plan[None]:
    """Sets initial replica states by the live brokers, then sends LeaderAndIsr to every broker."""
    online: list[PartitionAndReplica] = []
    offline: list[PartitionAndReplica] = []
    for some in slices(list(cluster.replicas())):
        for replica in some:
            is_online = cluster.is_online(replica.broker, replica.topic_partition)
            state = replica_states.ONLINE if is_online else replica_states.DELETION_INELIGIBLE
            cluster.set_replica_state(replica, state)
            (online if is_online else offline).append(replica)
        yield from Worked(len(some))
    yield from move_replicas(cluster, online, replica_states.ONLINE)
    yield from move_replicas(cluster, offline, replica_states.OFFLINE)


def _start_partitions(cluster: ControllerContext) -> Plan[None]:
    """Sets initial partition states by the live leaders, then elects leaders for offline partitions."""
    for some in slices(list(cluster.partitions())):
        for partition in some:
            leadership = cluster.leadership(partition)
            is_led = leadership is not None and cluster.is_online(leadership.leader, partition)
            cluster.set_partition_state(partition, _first_state(leadership, is_led=is_led))
        yield from Worked(len(some))
    yield from bring_online(cluster)


def _first_state(leadership: Leadership | None, *, is_led: bool) -> PartitionState:
    if leadership is None:
        return partition_states.NEW
    return partition_states.ONLINE if is_led else partition_states.OFFLINE
