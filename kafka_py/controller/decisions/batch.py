"""The requests that one step of the controller sends, merged: at most one of each kind per broker.

Collects entries, then makes the messages in the order in which they are sent: LeaderAndIsr, UpdateMetadata,
StopReplica. Metadata of a partition is that of the time when the messages are made. Pure; channels.py sends them.
Source: docs/reference/controller.md, section 12.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from functools import partial
from typing import NamedTuple, TypeAlias, TypeVar

from kafka_py.base.ids import EPOCH_DURING_DELETE, LEADER_DURING_DELETE, ZERO_UUID, TopicPartition
from kafka_py.controller.model.controller_context import ControllerContext, Leadership, PartitionAssignment
from kafka_py.records.batch import NO_LEADER_EPOCH
from kafka_py.wire.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kafka_py.wire.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaPartitionV0,
    StopReplicaRequest,
    StopReplicaTopicState,
    StopReplicaTopicV1,
)
from kafka_py.wire.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kafka_py.wire.protocol_versions import ControllerRequestVersions
from kafka_py.wire.version_meanings import (
    LEADER_AND_ISR_BY_TOPIC,
    STOP_REPLICA,
    UPDATE_METADATA_BY_TOPIC,
    StopReplicaForm,
)
from kafka_py.zk.znodes import SECURITY_PROTOCOLS

STEP_PARTITIONS = 128
"""The number of partitions after which the work on a batch yields to other work on the loop."""

E = TypeVar("E")
T = TypeVar("T")
Steps: TypeAlias = Generator[None, None, T]
"""Work in turns (base/turns.py), and its result."""

ControllerMessage = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest


class MissingListener(Exception):
    """A leader does not advertise the inter-broker listener, so that the batch cannot be sent."""


class RequestSource(NamedTuple):
    """The controller that sends: its id, its epoch, and the versions of its requests.

    listener: name of the inter-broker listener, on which the leaders' addresses are looked up.
    """

    controller_id: int
    controller_epoch: int
    versions: ControllerRequestVersions
    listener: str


class ControllerRequest(NamedTuple):
    """One request to one broker. deletes: the partitions that a StopReplica deletes."""

    broker: int
    message: ControllerMessage
    version: int
    deletes: Collection[TopicPartition] = ()


class RequestBatch:
    """Entries for many brokers; `requests` turns them into messages."""

    def __init__(self, cluster: ControllerContext) -> None:
        self._cluster = cluster
        self._leader_and_isr: dict[int, dict[TopicPartition, LeaderAndIsrPartitionState]] = {}
        self._metadata_brokers: set[int] = set()
        self._metadata: dict[TopicPartition, None] = {}
        self._stop: dict[int, dict[TopicPartition, StopReplicaPartitionState]] = {}

    def add_leader_and_isr(
        self,
        brokers: Iterable[int],
        partition: TopicPartition,
        leadership: Leadership,
        assignment: PartitionAssignment,
        *,
        is_new: bool,
    ) -> None:
        """Adds LeaderAndIsr for `brokers`, and UpdateMetadata for all brokers.

        is_new: whether the replica is new. Stays set for a broker once it was set within the batch.
        """
        plain = _leader_and_isr_state(partition, leadership, assignment, is_new)
        for broker in brokers:
            states = self._leader_and_isr.setdefault(broker, {})
            before = states.get(partition)
            is_said = before is not None and before.is_new and not is_new
            states[partition] = (
                _leader_and_isr_state(partition, leadership, assignment, is_new=True) if is_said else plain
            )
        self._metadata_brokers.update(self._cluster.brokers)
        self._metadata[partition] = None

    def add_update_metadata(self, brokers: Iterable[int], partitions: Iterable[TopicPartition] = ()) -> None:
        """Adds UpdateMetadata for `brokers`, with all live brokers and with the leaders of all partitions of the batch.

        Partitions that never had a leader are left out.
        """
        self._metadata_brokers.update(brokers)
        self._metadata.update(dict.fromkeys(partitions))

    def add_stop_replica(self, brokers: Iterable[int], partition: TopicPartition, *, delete: bool) -> None:
        """Adds StopReplica for `brokers`. delete: whether they delete the replica."""
        leadership = self._cluster.leadership(partition)
        if partition.topic in self._cluster.queued:
            leader_epoch = EPOCH_DURING_DELETE
        else:
            leader_epoch = NO_LEADER_EPOCH if leadership is None else leadership.leader_epoch
        state = StopReplicaPartitionState(
            partition_index=partition.partition, leader_epoch=leader_epoch, delete_partition=delete
        )
        for broker in brokers:
            self._stop.setdefault(broker, {})[partition] = state

    def requests(self, sender: RequestSource) -> Steps[list[ControllerRequest]]:
        """The messages, in order; none for brokers that are not registered. Raises MissingListener.

        A generator that yields to other work on the loop (base/turns.py); the context must not change meanwhile.
        """
        first = yield from self._leader_and_isr_requests(sender)
        then = yield from self._update_metadata_requests(sender)
        last = yield from self._stop_replica_requests(sender)
        return [*first, *then, *last]

    def _registered(self, brokers: Collection[int]) -> list[int]:
        return sorted(broker for broker in brokers if broker in self._cluster.brokers)

    def _leader_and_isr_requests(self, sender: RequestSource) -> Steps[list[ControllerRequest]]:
        version = sender.versions.leader_and_isr
        made = []
        for broker in self._registered(self._leader_and_isr):
            states = self._leader_and_isr[broker]
            live_leaders = self._live_leaders({state.leader for state in states.values()}, sender.listener)
            yield
            is_grouped = LEADER_AND_ISR_BY_TOPIC[version]
            grouped = (yield from _by_topic(states)) if is_grouped else {}
            message = LeaderAndIsrRequest(
                controller_id=sender.controller_id,
                controller_epoch=sender.controller_epoch,
                broker_epoch=self._cluster.brokers[broker].epoch,
                live_leaders=live_leaders,
                ungrouped_partition_states=[] if is_grouped else list(states.values()),
                topic_states=[
                    LeaderAndIsrTopicState(
                        topic_name=topic,
                        topic_id=self._cluster.topic_ids.get(topic, ZERO_UUID),
                        partition_states=entries,
                    )
                    for topic, entries in grouped.items()
                ],
            )
            made.append(ControllerRequest(broker, message, version))
            yield
        return made

    def _live_leaders(self, leaders: Collection[int], listener: str) -> list[LeaderAndIsrLiveLeader]:
        nodes = []
        for leader in self._registered(leaders):
            endpoint = self._cluster.brokers[leader].endpoint(listener)
            if endpoint is None:
                raise MissingListener(f"broker {leader} does not advertise the listener {listener}")
            nodes.append(LeaderAndIsrLiveLeader(broker_id=leader, host_name=endpoint.host, port=endpoint.port))
        return nodes

    def _update_metadata_requests(self, sender: RequestSource) -> Steps[list[ControllerRequest]]:
        version = sender.versions.update_metadata
        is_grouped = UPDATE_METADATA_BY_TOPIC[version]
        states = {}
        for number, partition in enumerate(self._metadata):
            if not number % STEP_PARTITIONS:
                yield
            leadership = self._cluster.leadership(partition)
            if leadership is not None:
                states[partition] = self._metadata_state(partition, leadership)
        by_topic = yield from _by_topic(states)
        grouped = [
            UpdateMetadataTopicState(
                topic_name=topic, topic_id=self._cluster.topic_ids.get(topic, ZERO_UUID), partition_states=entries
            )
            for topic, entries in by_topic.items()
        ]
        yield
        made = []
        live_brokers = [self._live_broker(broker) for broker in sorted(self._cluster.brokers)]
        for broker in self._registered(self._metadata_brokers):
            message = UpdateMetadataRequest(
                controller_id=sender.controller_id,
                controller_epoch=sender.controller_epoch,
                broker_epoch=self._cluster.brokers[broker].epoch,
                ungrouped_partition_states=[] if is_grouped else list(states.values()),
                topic_states=grouped if is_grouped else [],
                live_brokers=live_brokers,
            )
            made.append(ControllerRequest(broker, message, version))
        return made

    def _live_broker(self, broker: int) -> UpdateMetadataBroker:
        info = self._cluster.brokers[broker]
        plain = next((endpoint for endpoint in info.endpoints if endpoint.protocol == "PLAINTEXT"), None)
        return UpdateMetadataBroker(
            id=broker,
            v0_host=plain.host if plain else "",
            v0_port=plain.port if plain else -1,
            endpoints=[
                UpdateMetadataEndpoint(
                    port=endpoint.port,
                    host=endpoint.host,
                    listener=endpoint.listener,
                    security_protocol=SECURITY_PROTOCOLS.index(endpoint.protocol),
                )
                for endpoint in info.endpoints
            ],
            rack=info.rack,
        )

    def _metadata_state(self, partition: TopicPartition, leadership: Leadership) -> UpdateMetadataPartitionState:
        cluster = self._cluster
        replicas = cluster.assignment(partition).replicas
        is_deleted = partition.topic in cluster.queued
        return UpdateMetadataPartitionState(
            topic_name=partition.topic,
            partition_index=partition.partition,
            controller_epoch=leadership.controller_epoch,
            leader=LEADER_DURING_DELETE if is_deleted else leadership.leader,
            leader_epoch=0 if is_deleted else leadership.leader_epoch,
            isr=list(leadership.isr),
            zk_version=0 if is_deleted else leadership.zk_version,
            replicas=list(replicas),
            offline_replicas=[replica for replica in replicas if not cluster.is_online(replica, partition)],
        )

    def _stop_replica_requests(self, sender: RequestSource) -> Steps[list[ControllerRequest]]:
        version = sender.versions.stop_replica
        made = []
        for broker in self._registered(self._stop):
            states = self._stop[broker]
            deletes = {partition: None for partition, state in states.items() if state.delete_partition}
            yield
            request = partial(
                StopReplicaRequest,
                controller_id=sender.controller_id,
                controller_epoch=sender.controller_epoch,
                broker_epoch=self._cluster.brokers[broker].epoch,
            )
            if STOP_REPLICA[version] is StopReplicaForm.STATES:
                grouped = yield from _by_topic(states)
                topic_states = [
                    StopReplicaTopicState(topic_name=topic, partition_states=entries)
                    for topic, entries in grouped.items()
                ]
                made.append(ControllerRequest(broker, request(topic_states=topic_states), version, deletes))
                yield
                continue
            for delete in (True, False):  # before version 3 the flag is one of the request
                chosen = [partition for partition in states if (partition in deletes) is delete]
                if chosen:
                    old = yield from _old_stop_replica(request, chosen, delete, version)
                    made.append(ControllerRequest(broker, old, version, deletes if delete else ()))
        return made


def _leader_and_isr_state(
    partition: TopicPartition, leadership: Leadership, assignment: PartitionAssignment, is_new: bool
) -> LeaderAndIsrPartitionState:
    return LeaderAndIsrPartitionState(
        topic_name=partition.topic,
        partition_index=partition.partition,
        controller_epoch=leadership.controller_epoch,
        leader=leadership.leader,
        leader_epoch=leadership.leader_epoch,
        isr=list(leadership.isr),
        zk_version=leadership.zk_version,
        replicas=list(assignment.replicas),
        adding_replicas=list(assignment.adding),
        removing_replicas=list(assignment.removing),
        is_new=is_new,
    )


def _by_topic(states: Mapping[TopicPartition, E]) -> Steps[dict[str, list[E]]]:
    grouped: dict[str, list[E]] = {}
    for number, (partition, state) in enumerate(states.items()):
        if not number % STEP_PARTITIONS:
            yield
        grouped.setdefault(partition.topic, []).append(state)
    return grouped


def _old_stop_replica(
    request: Callable[..., StopReplicaRequest], partitions: list[TopicPartition], delete: bool, version: int
) -> Steps[StopReplicaRequest]:
    if STOP_REPLICA[version] is StopReplicaForm.FLAT:
        ungrouped = [StopReplicaPartitionV0(topic_name=topic, partition_index=number) for topic, number in partitions]
        return request(delete_partitions=delete, ungrouped_partitions=ungrouped)
    grouped = yield from _by_topic({partition: partition.partition for partition in partitions})
    topics = [StopReplicaTopicV1(name=topic, partition_indexes=entries) for topic, entries in grouped.items()]
    return request(delete_partitions=delete, topics=topics)
