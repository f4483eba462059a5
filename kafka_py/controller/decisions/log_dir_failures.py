"""Failed log directories: notifications of brokers, and KAFKA_STORAGE_ERROR in LeaderAndIsr responses.

Source: docs/reference/controller.md, section 11; KIP-112.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.base.steps import slices
from kafka_py.base.texts import listed
from kafka_py.controller.decisions.broker_changes import replicas_became_offline
from kafka_py.controller.decisions.notes import LogLines
from kafka_py.controller.decisions.plan import Plan, Worked
from kafka_py.controller.decisions.replica_moves import move_replicas
from kafka_py.controller.decisions.settings import Settings
from kafka_py.controller.decisions.znode_steps import DeleteLogDirEvents, ListLogDirEvents, ReadLogDirEvents
from kafka_py.controller.events import LeaderAndIsrResponseReceived, LogDirEventNotification
from kafka_py.controller.model import replica_states
from kafka_py.controller.model.controller_context import ControllerContext, PartitionAndReplica
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrResponse

notes = LogLines(__name__)


def leader_and_isr_response(
    cluster: ControllerContext, event: LeaderAndIsrResponseReceived, _settings: Settings
) -> Plan[None]:
    """Notes which replicas are in failed log directories of the broker, and which are no longer."""
    response, broker = event.response, event.broker
    if response.error_code != ErrorCode.NONE:
        yield from notes.error("LeaderAndIsr to broker %d failed with error code %d", broker, response.error_code)
        return
    before = cluster.offline_dirs.get(broker, set())
    failed: set[TopicPartition] = set()
    well: set[TopicPartition] = set()
    for some in slices(_codes_of(cluster, response)):
        for topic, number, code in some:
            if code == ErrorCode.KAFKA_STORAGE_ERROR:
                failed.add(TopicPartition(topic, number))
            elif before and code == ErrorCode.NONE:
                well.add(TopicPartition(topic, number))
        yield from Worked(len(some))
    after = (before - well) | failed
    if before == after:
        return
    cluster.offline_dirs[broker] = after
    newly = after - before
    if newly:
        yield from notes.info("On broker %d these replicas are offline: %s", broker, listed(sorted(newly)))
        replicas = [PartitionAndReplica(*partition, broker) for partition in sorted(newly)]
        yield from replicas_became_offline(cluster, replicas)


def _codes_of(cluster: ControllerContext, response: LeaderAndIsrResponse) -> Iterator[tuple[str, int, int]]:
    """Topic, partition number and error code of each partition; topics with an unknown id are left out."""
    for row in response.partition_errors:
        yield row.topic_name, row.partition_index, row.error_code
    for topic in response.topics:
        name = cluster.topic_names.get(topic.topic_id)
        if name is not None:
            for one in topic.partition_errors:
                yield name, one.partition_index, one.error_code


def log_dir_event(cluster: ControllerContext, _event: LogDirEventNotification, _settings: Settings) -> Plan[None]:
    """Sends LeaderAndIsr for all replicas of brokers with a failed directory; the responses name the offline ones."""
    names = yield from ListLogDirEvents()
    try:
        brokers = yield from ReadLogDirEvents(names)
        replicas = [replica for replica in cluster.replicas_on(brokers) if replica.broker in cluster.brokers]
        yield from move_replicas(cluster, replicas, replica_states.ONLINE)
    finally:
        yield from DeleteLogDirEvents(names)
