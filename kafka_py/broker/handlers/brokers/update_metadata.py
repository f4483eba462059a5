"""UpdateMetadata: the controller describes the cluster; the only input of the metadata cache.

Source: docs/reference/controller.md, section 13.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import Turn, release, take_in_turns
from kafka_py.broker.handlers.brokers.leader_and_isr import check_broker_epoch
from kafka_py.broker.metadata.metadata_cache import BrokerAddress, CachedPartition, LiveBroker, MetadataUpdate
from kafka_py.broker.metadata.topic_waits import THE_CLUSTER
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.net.endpoints import SecurityProtocol
from kafka_py.wire.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kafka_py.wire.version_meanings import UPDATE_METADATA_ADDRESSES, BrokerAddresses


async def handle(node: Node, context: RequestContext, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
    """Updates the cache, then completes the operations that waited for it."""
    check_broker_epoch(node, request.broker_epoch)
    async with node.roles.lock:
        node.roles.accept_controller(request.controller_id, request.controller_epoch)
        update = await _update_of(node, request, UPDATE_METADATA_ADDRESSES[context.api_version])
        forgotten, mentioned = await node.metadata.update(update)
        turn = Turn(node.clock)
        gone: dict[str, None] = {}
        for topic, _ in forgotten:
            await turn.maybe_yield()
            if topic not in gone and not node.metadata.has_topic(topic):
                gone[topic] = None
                node.topic_configs.forget(topic)
                node.replicas.metrics.drop_topic(topic)
        node.coordinators.topics_deleted(gone)
        node.deletion.check_all()
        for waited_for in node.topic_waits.watched_keys():
            await turn.maybe_yield()
            if waited_for == THE_CLUSTER or waited_for in mentioned:
                node.topic_waits.check_and_complete(waited_for)
        await take_in_turns(node.quotas.on_cluster_metadata(node.metadata), turn)
        if node.election_waits.delayed:
            for partition, _ in update.partitions:
                await turn.maybe_yield()
                node.election_waits.check_and_complete(partition)
    if not context.is_logged:  # else the request log still needs it
        await release(update.partitions)
        for states in request.topic_states:
            await release(states.partition_states)
    return UpdateMetadataResponse(error_code=ErrorCode.NONE)


async def _update_of(node: Node, request: UpdateMetadataRequest, form: BrokerAddresses) -> MetadataUpdate:
    partitions = []
    turn = Turn(node.clock)
    for named in _partitions(request):
        partitions.append(named)
        await turn.maybe_yield()
    return MetadataUpdate(
        request.controller_id,
        [_live_broker(broker, form) for broker in request.live_brokers],
        partitions,
        {topic.topic_name: topic.topic_id for topic in request.topic_states},
    )


def _live_broker(broker: UpdateMetadataBroker, form: BrokerAddresses) -> LiveBroker:
    """A live broker. v0 has one PLAINTEXT address, v1-2 one per protocol; from v3 on listeners have names."""
    if form is BrokerAddresses.ONE:
        addresses = {"PLAINTEXT": BrokerAddress(broker.v0_host, broker.v0_port)}
    elif form is BrokerAddresses.BY_PROTOCOL:
        addresses = {
            _protocol(endpoint.security_protocol).name: BrokerAddress(endpoint.host, endpoint.port)
            for endpoint in broker.endpoints
        }
    else:
        addresses = {endpoint.listener: BrokerAddress(endpoint.host, endpoint.port) for endpoint in broker.endpoints}
    return LiveBroker(broker.id, addresses, broker.rack or None)


def _protocol(number: int) -> SecurityProtocol:
    """The protocol with this number. Raises KafkaError(INVALID_REQUEST) for an unknown one."""
    try:
        return SecurityProtocol(number)
    except ValueError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"unknown security protocol {number}") from None


def _partitions(request: UpdateMetadataRequest) -> Iterator[tuple[TopicPartition, CachedPartition]]:
    for state in request.ungrouped_partition_states:
        yield TopicPartition(state.topic_name, state.partition_index), _info(state)
    for topic in request.topic_states:
        for state in topic.partition_states:
            yield TopicPartition(topic.topic_name, state.partition_index), _info(state)


def _info(state: UpdateMetadataPartitionState) -> CachedPartition:
    return CachedPartition(
        state.controller_epoch,
        state.leader,
        state.leader_epoch,
        tuple(state.isr),
        state.zk_version,
        tuple(state.replicas),
        tuple(state.offline_replicas),
    )
