"""Topics on their way out: from the request to delete until the last replica has said that it is gone.

A topic is queued, then started (its partitions cease to exist, brokers drop it from their metadata), then complete.
It is ineligible, and waits, while a broker with one of its replicas is down, or while it is reassigned.
Source: docs/reference/controller.md, section 9; TopicDeletionManager.
"""

from __future__ import annotations

from collections.abc import Collection

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.base.texts import listed
from kafka_py.controller.decisions.batch import ControllerRequest
from kafka_py.controller.decisions.notes import Notes
from kafka_py.controller.decisions.partition_moves import move_partitions
from kafka_py.controller.decisions.plan import Plan, Worked, slices
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
from kafka_py.controller.model.controller_context import ControllerContext, Replica
from kafka_py.wire.messages.stop_replica import StopReplicaResponse

notes = Notes(__name__)

TOPICS_AT_ONCE = 16
"""So many topics are removed from the context before others have the loop."""

_ANOTHER_LIFE = (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.STALE_CONTROLLER_EPOCH)

# What begins, resumes and halts it


def load(cluster: ControllerContext, settings: Settings) -> Plan[None]:
    """What a former controller left to be done; with deletion switched off, the requests are thrown away."""
    topics = sorted((yield from ReadTopicDeletions()))
    if not settings.options.delete_topic_enable:
        yield from _refuse(topics)
        return
    cluster.queue_for_deletion(topics)
    cluster.mark_ineligible(topic for topic in topics if _has_offline_replica(cluster, topic))
    cluster.mark_ineligible(partition.topic for partition in cluster.reassigning)


def _has_offline_replica(cluster: ControllerContext, topic: str) -> bool:
    return any(not cluster.is_online(r.broker, r.topic_partition) for r in cluster.replicas_of_topic(topic))


def _refuse(topics: Collection[str]) -> Plan[None]:
    if topics:
        yield from notes.info("Not deleting topics %s: delete.topic.enable is false", listed(topics))
        yield from UnmarkForDeletion(topics)


def topic_deletion(cluster: ControllerContext, _event: TopicDeletion, settings: Settings) -> Plan[None]:
    """Somebody has asked for deletions."""
    wanted = yield from ReadTopicDeletions()
    unknown = wanted - cluster.topics
    if unknown:
        yield from _refuse_missing(cluster, unknown)
    wanted -= unknown
    if not settings.options.delete_topic_enable:
        yield from _refuse(sorted(wanted))
    elif wanted:
        # Before they are queued this marks only those that were queued already: a topic that is being
        # reassigned right now begins to be deleted all the same, as in 2.8.
        cluster.mark_ineligible({partition.topic for partition in cluster.reassigning} & wanted)
        cluster.queue_for_deletion(wanted)
        yield from resume(cluster)


def _refuse_missing(cluster: ControllerContext, unknown: set[str]) -> Plan[None]:
    """Topics that were made a moment ago are not missing: the event that brings them waits behind this one."""
    just_made = unknown & (yield from ReadTopics(watches=False))
    if cluster.await_topics(just_made):
        yield from Put(TopicDeletion())
    missing = sorted(unknown - just_made)
    if missing:
        yield from notes.warning("Not deleting topics %s: they do not exist", listed(missing))
        yield from UnmarkForDeletion(missing)


def resume_for(cluster: ControllerContext, topics: Collection[str]) -> Plan[None]:
    """What these topics waited for has happened."""
    waiting = cluster.queued.intersection(topics)
    if waiting:
        cluster.ineligible.difference_update(waiting)
        yield from resume(cluster)


def replicas_failed(cluster: ControllerContext, replicas: Collection[Replica]) -> Plan[None]:
    """Replicas could not be deleted, or went down: their topics wait."""
    failed = [replica for replica in replicas if replica.topic in cluster.queued]
    if failed:
        yield from move_replicas(cluster, failed, replica_states.DELETION_INELIGIBLE)
        cluster.mark_ineligible({replica.topic for replica in failed})
        yield from resume(cluster)


def replicas_deleted(cluster: ControllerContext, replicas: Collection[Replica]) -> Plan[None]:
    """Brokers have deleted replicas."""
    deleted = [replica for replica in replicas if replica.topic in cluster.queued]
    yield from move_replicas(cluster, deleted, replica_states.DELETION_SUCCESSFUL)
    yield from resume(cluster)


# The steps


def resume(cluster: ControllerContext) -> Plan[None]:
    """Takes every queued topic as far as it can go now."""
    done, again, begin = [], [], []
    for some in slices(sorted(cluster.queued)):
        for topic in some:
            states = cluster.states_of_replicas(topic)
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
    """Brokers drop the topics from their metadata, then those that are alive are told to delete replicas."""
    yield from notes.info("Deleting topics %s", listed(topics))
    unseen = [topic for topic in topics if topic not in cluster.started]
    if unseen:
        partitions = [partition for topic in unseen for partition in cluster.partitions_of(topic)]
        yield from move_partitions(cluster, partitions, partition_states.OFFLINE)
        yield from move_partitions(cluster, partitions, partition_states.NON_EXISTENT)
        cluster.started.update(unseen)
    partitions = [partition for topic in topics for partition in cluster.partitions_of(topic)]
    yield from update_metadata(cluster, cluster.brokers, partitions)
    dead: list[Replica] = []
    to_delete: list[Replica] = []
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
    """Every replica is gone: so are the znodes, and the last traces here."""
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


# What brokers answer


def event_of_reply(
    cluster: ControllerContext, request: ControllerRequest, response: StopReplicaResponse
) -> TopicDeletionStopReplicaResponseReceived | None:
    """Only the partitions to delete matter, and only while their topic is in deletion.

    A refusal that names no partitions is one of all, unless it came from another life of the broker or was meant
    for one: then what happens next is decided when the broker registers, or by the next controller.
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
    """A broker has deleted replicas, or could not."""
    refused = event.error_code != ErrorCode.NONE
    failed: list[Replica] = []
    deleted: list[Replica] = []
    for partition, code in event.partition_errors.items():
        target = failed if refused or code != ErrorCode.NONE else deleted
        target.append(Replica(*partition, event.broker))
    yield from replicas_failed(cluster, failed)
    if deleted:
        yield from replicas_deleted(cluster, deleted)
