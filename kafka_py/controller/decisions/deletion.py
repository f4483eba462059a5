"""Topic deletion: from the request until all brokers have deleted their replicas.

A topic is queued, then started (its partitions become NON_EXISTENT, brokers remove it from their metadata), then
complete. It is ineligible while a broker with one of its replicas is down, or while it is being reassigned.
Source: docs/reference/controller.md, section 9; TopicDeletionManager.
"""

from __future__ import annotations

from collections.abc import Collection

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.base.steps import slices
from kafka_py.base.texts import listed
from kafka_py.controller.decisions.batch import ControllerRequest
from kafka_py.controller.decisions.notes import LogLines
from kafka_py.controller.decisions.partition_moves import move_partitions
from kafka_py.controller.decisions.plan import Plan, Worked
from kafka_py.controller.decisions.replica_moves import move_replicas
from kafka_py.controller.decisions.settings import Settings
from kafka_py.controller.decisions.steps import Put, update_metadata
from kafka_py.controller.decisions.znode_steps import (
    DeleteTopics,
    ForgetTopic,
    ReadTopicDeletions,
    ReadTopics,
    UnmarkForDeletion,
)
from kafka_py.controller.events import TopicDeletion, TopicDeletionStopReplicaResponseReceived
from kafka_py.controller.model import partition_states, replica_states
from kafka_py.controller.model.controller_context import ControllerContext, PartitionAndReplica
from kafka_py.wire.messages.stop_replica import StopReplicaResponse

notes = LogLines(__name__)

TOPICS_AT_ONCE = 16
"""The number of topics that are removed from the context before the plan yields to other work on the loop."""

_ANOTHER_LIFE = (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.STALE_CONTROLLER_EPOCH)

# ---- start, resumption and halt


def load(cluster: ControllerContext, settings: Settings) -> Plan[None]:
    """Queues deletions that a previous controller left; removes the requests if delete.topic.enable is false."""
    topics = sorted((yield from ReadTopicDeletions()))
    if not settings.options.delete_topic_enable:
        yield from _refuse(topics)
        return
    yield from _queue(cluster, topics)
    cluster.mark_ineligible(topic for topic in topics if _has_offline_replica(cluster, topic))
    cluster.mark_ineligible(partition.topic for partition in cluster.reassigning)


def _has_offline_replica(cluster: ControllerContext, topic: str) -> bool:
    return any(not cluster.is_online(r.broker, r.topic_partition) for r in cluster.replicas_of_topic(topic))


def _refuse(topics: Collection[str]) -> Plan[None]:
    if topics:
        yield from notes.info("Not deleting topics %s: delete.topic.enable is false", listed(topics))
        yield from UnmarkForDeletion(topics)


def topic_deletion(cluster: ControllerContext, _event: TopicDeletion, settings: Settings) -> Plan[None]:
    """Handles requested deletions."""
    wanted = yield from ReadTopicDeletions()
    unknown = wanted - cluster.topics
    if unknown:
        yield from _refuse_missing(cluster, unknown)
    wanted -= unknown
    if not settings.options.delete_topic_enable:
        yield from _refuse(sorted(wanted))
    elif wanted:
        # Only topics that are queued already can be marked: the deletion of a new one starts although it is being
        # reassigned, as in Apache Kafka 2.8.2.
        cluster.mark_ineligible({partition.topic for partition in cluster.reassigning} & wanted)
        yield from _queue(cluster, sorted(wanted))
        yield from resume(cluster)


def _queue(cluster: ControllerContext, topics: list[str]) -> Plan[None]:
    """Queues topics in turns with other work on the loop, because the replicas of each are counted."""
    for some in slices(topics, TOPICS_AT_ONCE):
        cluster.queue_for_deletion(some)
        yield from Worked(len(some), TOPICS_AT_ONCE)


def _refuse_missing(cluster: ControllerContext, unknown: set[str]) -> Plan[None]:
    """Removes requests for topics that do not exist; not for those just created, whose event is still queued."""
    just_made = unknown & (yield from ReadTopics(watches=False))
    if cluster.await_topics(just_made):
        yield from Put(TopicDeletion())
    missing = sorted(unknown - just_made)
    if missing:
        yield from notes.warning("Not deleting topics %s: they do not exist", listed(missing))
        yield from UnmarkForDeletion(missing)


def resume_for(cluster: ControllerContext, topics: Collection[str]) -> Plan[None]:
    """Resumes the deletion of these topics, which are no longer ineligible."""
    waiting = cluster.queued.intersection(topics)
    if waiting:
        cluster.ineligible.difference_update(waiting)
        yield from resume(cluster)


def replicas_failed(cluster: ControllerContext, replicas: Collection[PartitionAndReplica]) -> Plan[None]:
    """Handles replicas that could not be deleted or went offline: their topics become ineligible."""
    failed = [replica for replica in replicas if replica.topic in cluster.queued]
    if failed:
        yield from move_replicas(cluster, failed, replica_states.DELETION_INELIGIBLE)
        cluster.mark_ineligible({replica.topic for replica in failed})
        yield from resume(cluster)


def replicas_deleted(cluster: ControllerContext, replicas: Collection[PartitionAndReplica]) -> Plan[None]:
    """Handles replicas that brokers have deleted."""
    deleted = [replica for replica in replicas if replica.topic in cluster.queued]
    yield from move_replicas(cluster, deleted, replica_states.DELETION_SUCCESSFUL)
    yield from resume(cluster)


# ---- the steps


def resume(cluster: ControllerContext) -> Plan[None]:
    """Continues the deletion of every queued topic as far as possible."""
    done, again, begin = [], [], []
    for some in slices(sorted(cluster.queued)):
        for topic in some:
            states = cluster.states_being_deleted(topic)
            if states <= {replica_states.DELETION_SUCCESSFUL}:
                done.append(topic)
                continue
            if replica_states.DELETION_STARTED not in states:
                if replica_states.DELETION_INELIGIBLE in states:
                    again.append(topic)
                if topic not in cluster.ineligible:
                    begin.append(topic)
        yield from Worked(len(some))
    yield from _complete(cluster, done)
    if again:
        ineligible = replica_states.DELETION_INELIGIBLE
        failed = [replica for topic in again for replica in cluster.replicas_in_state(topic, ineligible)]
        yield from move_replicas(cluster, failed, replica_states.OFFLINE)
    if begin:
        yield from _begin(cluster, begin)


def _begin(cluster: ControllerContext, topics: list[str]) -> Plan[None]:
    """Removes the topics from all metadata, then sends StopReplica with delete to live brokers."""
    yield from notes.info("Deleting topics %s", listed(topics))
    unseen = [topic for topic in topics if topic not in cluster.started]
    if unseen:
        partitions = [partition for topic in unseen for partition in cluster.partitions_of(topic)]
        yield from move_partitions(cluster, partitions, partition_states.OFFLINE)
        yield from move_partitions(cluster, partitions, partition_states.NON_EXISTENT)
        cluster.started.update(unseen)
    partitions = [partition for topic in topics for partition in cluster.partitions_of(topic)]
    yield from update_metadata(cluster, cluster.brokers, partitions)
    dead: list[PartitionAndReplica] = []
    to_delete: list[PartitionAndReplica] = []
    for some in slices([replica for topic in topics for replica in cluster.replicas_of_topic(topic)]):
        for replica in some:
            if not cluster.is_online(replica.broker, replica.topic_partition):
                dead.append(replica)
            elif cluster.replica_state(replica) is not replica_states.DELETION_SUCCESSFUL:
                to_delete.append(replica)
        yield from Worked(len(some))
    yield from move_replicas(cluster, dead, replica_states.DELETION_INELIGIBLE)
    yield from move_replicas(cluster, to_delete, replica_states.OFFLINE)
    yield from move_replicas(cluster, to_delete, replica_states.DELETION_STARTED)
    if dead:
        cluster.mark_ineligible({replica.topic for replica in dead})


def _complete(cluster: ControllerContext, topics: list[str]) -> Plan[None]:
    """Removes topics without replicas left from ZooKeeper and from the context."""
    for topic in topics:
        yield from ForgetTopic(topic)
        gone = cluster.replicas_in_state(topic, replica_states.DELETION_SUCCESSFUL)
        yield from move_replicas(cluster, gone, replica_states.NON_EXISTENT)
    if topics:
        yield from DeleteTopics(topics)
    for some in slices(topics, TOPICS_AT_ONCE):
        for topic in some:
            cluster.remove_topic(topic)
        yield from Worked(len(some), TOPICS_AT_ONCE)
    if topics:
        yield from notes.info("Topics %s are deleted", listed(topics))


# ---- responses of brokers


def event_of_reply(
    cluster: ControllerContext, request: ControllerRequest, response: StopReplicaResponse
) -> TopicDeletionStopReplicaResponseReceived | None:
    """The event of a StopReplica response with deletions, only for partitions whose topic is being deleted.

    An error without partitions concerns all of them. But a stale broker or controller epoch means nothing here: the
    registration of the broker, or the next controller, continues the deletion.
    """
    rows = response.partition_errors
    codes = {TopicPartition(row.topic_name, row.partition_index): row.error_code for row in rows}
    if not codes and response.error_code and response.error_code not in _ANOTHER_LIFE:
        codes = dict.fromkeys(request.deletes, response.error_code)
    errors = {
        partition: code
        for partition, code in codes.items()
        if partition in request.deletes and partition.topic in cluster.started
    }
    if not errors:
        return None
    return TopicDeletionStopReplicaResponseReceived(request.broker, response.error_code, errors)


def stop_replica_response(
    cluster: ControllerContext, event: TopicDeletionStopReplicaResponseReceived, _settings: Settings
) -> Plan[None]:
    """Handles the response of a broker that was to delete replicas."""
    refused = event.error_code != ErrorCode.NONE
    failed: list[PartitionAndReplica] = []
    deleted: list[PartitionAndReplica] = []
    for partition, code in event.partition_errors.items():
        target = failed if refused or code != ErrorCode.NONE else deleted
        target.append(PartitionAndReplica(*partition, event.broker))
    yield from replicas_failed(cluster, failed)
    if deleted:
        yield from replicas_deleted(cluster, deleted)
