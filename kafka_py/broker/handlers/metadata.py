"""Metadata: live brokers, the controller, topics with their leaders. Source: controller facts, sections 12 and 13.

Asking for a topic that does not exist may create it; the answer is LEADER_NOT_AVAILABLE then, and clients ask again.
"""

from __future__ import annotations

import inspect

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ZERO_UUID
from kafka_py.broker.authorization import CLUSTER_NAME, Operation, ResourceType, authorized_operations
from kafka_py.broker.metadata_cache import NO_LEADER, PartitionInfo
from kafka_py.broker.node import Node
from kafka_py.broker.requests import RequestContext
from kafka_py.controller.topic_names import is_internal
from kafka_py.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

_FIRST_WITH_AUTO_CREATION_CHOICE = 4
_FIRST_WITH_LISTENER_NOT_FOUND = 6
_FIRST_WITH_OPERATIONS = 8
_LAST_WITH_CLUSTER_OPERATIONS = 10


def handle(node: Node, context: RequestContext, request: MetadataRequest) -> object:
    """Answers from the cache; waits only where a topic has to be created first, or the cluster is not known yet."""
    if not node.is_cluster_known:
        return _once_known(node, context, request)
    return _answer(node, context, request)


async def _once_known(node: Node, context: RequestContext, request: MetadataRequest) -> object:
    """A broker that has just started would answer "no brokers" or "no such topic", and clients would believe it."""
    await node.wait_cluster_known()
    answer = _answer(node, context, request)
    return await answer if inspect.iscoroutine(answer) else answer


def _answer(node: Node, context: RequestContext, request: MetadataRequest) -> object:
    names = _names_asked(node, context, request)
    if names is None:
        topics = [_described(node, context, request, name) for name in sorted(node.metadata.topics())
                  if _may_describe(node, context, name)]  # fmt: skip
        return _response(node, context, request, topics)
    missing = [name for name in names if not node.metadata.has_topic(name)]
    if not missing:
        return _response(node, context, request, [_asked(node, context, request, name) for name in names])
    return _with_creation(node, context, request, names, missing)


def _names_asked(node: Node, context: RequestContext, request: MetadataRequest) -> list[str] | None:
    """None for all topics: a null list, or an empty one in v0.

    Raises KafkaError(INVALID_REQUEST) for topics given by id: 2.8 has the field and does not serve it yet.
    """
    if request.topics is None or (context.api_version == 0 and not request.topics):
        return None
    if any(topic.name is None or topic.topic_id != ZERO_UUID for topic in request.topics):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Metadata of topics by id is not supported in this version")
    return list(dict.fromkeys(topic.name for topic in request.topics if topic.name is not None))


def _may_describe(node: Node, context: RequestContext, name: str) -> bool:
    return node.authorizer.allows(context, Operation.DESCRIBE, ResourceType.TOPIC, name)


async def _with_creation(
    node: Node, context: RequestContext, request: MetadataRequest, names: list[str], missing: list[str]
) -> MetadataResponse:
    """Creates what may be created, then answers for all."""
    outcome: dict[str, ErrorCode] = {}
    for name in missing:
        if _may_describe(node, context, name):
            outcome[name] = await _create(node, context, request, name)
    topics = []
    for name in names:
        code = outcome.get(name)
        if code is None or node.metadata.has_topic(name):
            topics.append(_asked(node, context, request, name))
        else:
            topics.append(_failed(name, code))
    return _response(node, context, request, topics)


async def _create(node: Node, context: RequestContext, request: MetadataRequest, name: str) -> ErrorCode:
    """The code to answer for a topic that is not in the cache."""
    allowed = request.allow_auto_topic_creation or context.api_version < _FIRST_WITH_AUTO_CREATION_CHOICE
    if not (allowed and node.config.auto_create_topics_enable):
        return node.auto_creation.absent_code(name)
    if not (
        node.authorizer.allows(context, Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME)
        or node.authorizer.allows(context, Operation.CREATE, ResourceType.TOPIC, name)
    ):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return await node.auto_creation.create(name)


def _asked(node: Node, context: RequestContext, request: MetadataRequest, name: str) -> MetadataResponseTopic:
    """A topic asked for by name: unlike in a list of all, one that may not be seen is answered with an error."""
    if not _may_describe(node, context, name):
        return _failed(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if not node.metadata.has_topic(name):
        return _failed(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return _described(node, context, request, name)


def _failed(name: str, code: ErrorCode) -> MetadataResponseTopic:
    return MetadataResponseTopic(error_code=code, name=name, is_internal=is_internal(name), partitions=[])


def _described(node: Node, context: RequestContext, request: MetadataRequest, name: str) -> MetadataResponseTopic:
    partitions = [
        _partition(node, context, number, info) for number, info in node.metadata.partitions_of(name).items()
    ]
    topic = MetadataResponseTopic(
        error_code=ErrorCode.NONE,
        name=name,
        topic_id=node.metadata.topic_id(name),
        is_internal=is_internal(name),
        partitions=partitions,
    )
    if context.api_version >= _FIRST_WITH_OPERATIONS and request.include_topic_authorized_operations:
        topic.topic_authorized_operations = authorized_operations(node.authorizer, context, ResourceType.TOPIC, name)
    return topic


def _partition(node: Node, context: RequestContext, number: int, info: PartitionInfo) -> MetadataResponsePartition:
    listener = context.listener_name
    metadata = node.metadata
    leader, code = info.leader, ErrorCode.NONE
    if metadata.address(leader, listener) is None:
        code = ErrorCode.LEADER_NOT_AVAILABLE
        if metadata.is_live(leader) and context.api_version >= _FIRST_WITH_LISTENER_NOT_FOUND:
            code = ErrorCode.LISTENER_NOT_FOUND
        leader = NO_LEADER
    replicas, isr = list(info.replicas), list(info.isr)
    if context.api_version == 0:
        reachable = [broker for broker in replicas if metadata.address(broker, listener) is not None]
        reachable_isr = [broker for broker in isr if metadata.address(broker, listener) is not None]
        if code is ErrorCode.NONE and (len(reachable) < len(replicas) or len(reachable_isr) < len(isr)):
            code = ErrorCode.REPLICA_NOT_AVAILABLE
        replicas, isr = reachable, reachable_isr
    return MetadataResponsePartition(
        error_code=code,
        partition_index=number,
        leader_id=leader,
        leader_epoch=info.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=isr,
        offline_replicas=list(info.offline_replicas),
    )


def _response(
    node: Node, context: RequestContext, request: MetadataRequest, topics: list[MetadataResponseTopic]
) -> MetadataResponse:
    """Brokers that lack the client's listener are left out: it could not reach them."""
    brokers = []
    for broker in node.metadata.brokers.values():
        address = broker.addresses.get(context.listener_name)
        if address is not None:
            brokers.append(
                MetadataResponseBroker(node_id=broker.id, host=address.host, port=address.port, rack=broker.rack)
            )
    response = MetadataResponse(
        brokers=brokers,
        cluster_id=node.cluster_id,
        controller_id=-1 if node.metadata.controller_id is None else node.metadata.controller_id,
        topics=topics,
    )
    wants_operations = _FIRST_WITH_OPERATIONS <= context.api_version <= _LAST_WITH_CLUSTER_OPERATIONS
    if wants_operations and request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = 0
        if node.authorizer.allows(context, Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME):
            response.cluster_authorized_operations = authorized_operations(
                node.authorizer, context, ResourceType.CLUSTER, CLUSTER_NAME
            )
    return response
