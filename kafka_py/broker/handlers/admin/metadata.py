"""Metadata: live brokers, the controller, topics with their leaders.

A request for a missing topic may create it; the response then has LEADER_NOT_AVAILABLE, and clients retry.
Source: docs/reference/controller.md, sections 14 and 16.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import NO_LEADER, ZERO_UUID
from kafka_py.base.turns import Turn, finish, sliced
from kafka_py.broker.metadata.metadata_cache import CachedPartition, MetadataCache
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import EncodedResponse, RequestContext
from kafka_py.broker.requests.throttling import mutations_of
from kafka_py.controller.topic_names import is_internal
from kafka_py.security.acls.authorization import ALLOW_ALL, MOST_ALLOWED_AT_ONCE, Audit, authorized_operations
from kafka_py.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType
from kafka_py.wire.frames import encode_response_in_turns
from kafka_py.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_py.wire.version_meanings import METADATA, MetadataMeaning
from kafka_py.zk.access import pipelined, raise_first

MOST_CREATED = 500
"""Most topics that one request creates; for the others it gets UNKNOWN_TOPIC_OR_PARTITION, and its client retries."""
NO_CODES: Mapping[str, ErrorCode] = {}
_MANY_NAMES = 1000
_AT_ONCE = 200
"""A response with more partitions than this is built in turns."""


def handle(node: Node, context: RequestContext, request: MetadataRequest) -> object:
    """Responds from the cache; waits only if a topic has to be created, or the cluster is not known yet."""
    if not node.is_cluster_known:
        return _once_known(node, context, request)
    return _answer(node, context, request)


async def _once_known(node: Node, context: RequestContext, request: MetadataRequest) -> object:
    """Waits for the first UpdateMetadata: without it the response would list no brokers or topics."""
    await node.wait_cluster_known()
    answer = _answer(node, context, request)
    return await answer if inspect.iscoroutine(answer) else answer


def _answer(node: Node, context: RequestContext, request: MetadataRequest) -> object:
    if request.topics is not None and len(request.topics) > _MANY_NAMES:
        return _answer_many(node, context, request, request.topics)
    names = _names_asked(context, request)
    if names is None:
        return _large(node, context, request, None)
    missing = node.metadata.missing(names)
    if missing:
        return _with_creation(node, context, request, names, missing)
    partitions = _partition_count(node, names)
    if partitions > _AT_ONCE or _are_many(node, names):
        return _large(node, context, request, names)
    context.has_short_answer = partitions + len(names) <= _AT_ONCE
    topics = [_asked(node, node.metadata, context, request, name) for name in names]
    return _response(node, node.metadata, context, request, topics)


def _are_many(node: Node, names: list[str]) -> bool:
    """Whether so many topics are built in turns; where each of them may be denied, and logged, these are fewer."""
    return len(names) > (_AT_ONCE if node.authorizer is ALLOW_ALL else MOST_ALLOWED_AT_ONCE)


def _partition_count(node: Node, names: list[str]) -> int:
    partitions_of = node.metadata.partitions_of
    return len(partitions_of(names[0])) if len(names) == 1 else sum([len(partitions_of(name)) for name in names])


async def _answer_many(
    node: Node, context: RequestContext, request: MetadataRequest, asked: list[MetadataRequestTopic]
) -> object:
    """As `_answer`, for so many names that the look-up alone takes long."""
    names: dict[str, None] = {}
    async for some in sliced(asked):
        names.update(dict.fromkeys(_names_of(some)))
    missing: list[str] = []
    async for chosen in sliced(names):
        missing += node.metadata.missing(chosen)
    if missing:
        return await _with_creation(node, context, request, list(names), missing)
    return await _large(node, context, request, list(names))


async def _large(
    node: Node, context: RequestContext, request: MetadataRequest, names: list[str] | None
) -> MetadataResponse | EncodedResponse:
    """A large response is built in turns, and shared by equal requests if all principals may see all topics."""
    if node.authorizer is not ALLOW_ALL or context.is_logged:  # the request log needs the message
        return await _built(node, context, request, names)
    key = (
        context.api_version,
        context.listener_name,
        request.include_cluster_authorized_operations,
        request.include_topic_authorized_operations,
        None if names is None else tuple(names),
    )

    async def build() -> EncodedResponse:
        response = await _built(node, context, request, names)
        steps = encode_response_in_turns(response, context.api_version, 0)
        throttle_at = METADATA[context.api_version].throttle_at
        return EncodedResponse(await finish(steps, node.clock.monotonic_ms), throttle_at)

    return await node.metadata_answers.get(key, build)


async def _built(
    node: Node,
    context: RequestContext,
    request: MetadataRequest,
    names: list[str] | None,
    absent: Mapping[str, ErrorCode] = NO_CODES,
    turn: Turn | None = None,
) -> MetadataResponse:
    """The response from one state of the cache. names: None for all visible topics. absent: see _named."""
    metadata = node.metadata.snapshot()
    listener, meaning = context.listener_name, METADATA[context.api_version]
    turn = turn or Turn(node.clock)
    topics = []
    for name in sorted(metadata.topics()) if names is None else names:
        await turn.maybe_yield()
        if names is None and not _may_describe(node, context, name):
            continue
        topic = _named(node, metadata, context, request, name, absent, with_partitions=False)
        if topic.error_code == ErrorCode.NONE:
            for number, info in metadata.partitions_of(name).items():
                topic.partitions.append(_partition(metadata, listener, meaning, number, info))
                await turn.maybe_yield()
        topics.append(topic)
    return _response(node, metadata, context, request, topics)


def _names_asked(context: RequestContext, request: MetadataRequest) -> list[str] | None:
    """None for all topics: a null list, or an empty one in v0. Raises as `_names_of`."""
    if request.topics is None or (not request.topics and METADATA[context.api_version].empty_is_all):
        return None
    return list(dict.fromkeys(_names_of(request.topics)))


def _names_of(asked: list[MetadataRequestTopic]) -> list[str]:
    """Raises KafkaError(INVALID_REQUEST) for topics given by id: 2.8 has the field but does not support it."""
    names = []
    for topic in asked:
        name, topic_id = topic.name, topic.topic_id
        if name is None or (topic_id is not ZERO_UUID and topic_id != ZERO_UUID):
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Metadata of topics by id is not supported in this version")
        names.append(name)
    return names


def _may_describe(node: Node, context: RequestContext, name: str, audit: Audit = Audit.IF_ALLOWED) -> bool:
    return node.authorizer.allows(context, Operation.DESCRIBE, ResourceType.TOPIC, name, audit)


async def _with_creation(
    node: Node, context: RequestContext, request: MetadataRequest, names: list[str], missing: list[str]
) -> MetadataResponse:
    """Creates the topics that may be created, then responds for all."""
    visible: list[str] = []
    turn = Turn(node.clock)
    for name in missing:
        await turn.maybe_yield()
        if _may_describe(node, context, name):
            visible.append(name)
    outcome = await _create_all(node, context, request, visible, turn)
    if _are_many(node, names) or _partition_count(node, names) > _AT_ONCE:
        return await _built(node, context, request, names, outcome, turn)
    topics = [_named(node, node.metadata, context, request, name, outcome) for name in names]
    return _response(node, node.metadata, context, request, topics)


def _named(
    node: Node,
    metadata: MetadataCache,
    context: RequestContext,
    request: MetadataRequest,
    name: str,
    absent: Mapping[str, ErrorCode],
    *,
    with_partitions: bool = True,
) -> MetadataResponseTopic:
    """As `_asked`. absent: the codes of topics that were not in the cache, used if they still are not."""
    code = absent.get(name)
    if code is None or metadata.has_topic(name):
        return _asked(node, metadata, context, request, name, with_partitions=with_partitions)
    return _failed(node, context, request, name, code)


async def _create_all(
    node: Node, context: RequestContext, request: MetadataRequest, missing: list[str], turn: Turn
) -> dict[str, ErrorCode]:
    """Creates missing topics where allowed, concurrently; returns the code for each of them.

    One request creates at most MOST_CREATED; a retry creates the next ones.
    """
    if not (request.allow_auto_topic_creation and node.config.auto_create_topics_enable):
        outcome = {}
        for name in missing:
            await turn.maybe_yield()
            outcome[name] = node.auto_creation.absent_code(name)
        return outcome
    created = missing[:MOST_CREATED]
    codes = await pipelined(_create(node, context, name) for name in created)
    raise_first(codes)
    outcome = dict.fromkeys(missing[MOST_CREATED:], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    outcome.update(zip(created, codes, strict=True))  # type: ignore[arg-type]  # none of them is an exception
    return outcome


async def _create(node: Node, context: RequestContext, name: str) -> ErrorCode:
    if not (
        node.authorizer.allows(context, Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME, Audit.IF_ALLOWED)
        or node.authorizer.allows(context, Operation.CREATE, ResourceType.TOPIC, name)
    ):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return await node.auto_creation.create(name, mutations_of(node, context, is_strict=False).take)


def _asked(
    node: Node,
    metadata: MetadataCache,
    context: RequestContext,
    request: MetadataRequest,
    name: str,
    *,
    with_partitions: bool = True,
) -> MetadataResponseTopic:
    """A topic requested by name: unlike in a list of all topics, an unauthorized one gets an error."""
    if not _may_describe(node, context, name, Audit.ALWAYS):
        return MetadataResponseTopic(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, name=name, partitions=[])
    if not metadata.has_topic(name):
        return _failed(node, context, request, name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    described = metadata.partitions_of(name).items() if with_partitions else ()
    listener, meaning = context.listener_name, METADATA[context.api_version]
    topic = MetadataResponseTopic(
        error_code=ErrorCode.NONE,
        name=name,
        topic_id=metadata.topic_id(name),
        is_internal=is_internal(name),
        partitions=[_partition(metadata, listener, meaning, number, info) for number, info in described],
    )
    return _with_operations(node, context, request, topic, name)


def _failed(
    node: Node, context: RequestContext, request: MetadataRequest, name: str, code: ErrorCode
) -> MetadataResponseTopic:
    """A topic that is missing, or may not be created."""
    topic = MetadataResponseTopic(error_code=code, name=name, is_internal=is_internal(name), partitions=[])
    if code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return topic
    return _with_operations(node, context, request, topic, name)


def _with_operations(
    node: Node, context: RequestContext, request: MetadataRequest, topic: MetadataResponseTopic, name: str
) -> MetadataResponseTopic:
    if request.include_topic_authorized_operations:
        topic.topic_authorized_operations = authorized_operations(node.authorizer, context, ResourceType.TOPIC, name)
    return topic


def _partition(
    metadata: MetadataCache, listener: str, meaning: MetadataMeaning, number: int, info: CachedPartition
) -> MetadataResponsePartition:
    leader, code = info.leader, ErrorCode.NONE
    if metadata.address(leader, listener) is None:
        code = meaning.listener_not_found if metadata.is_live(leader) else ErrorCode.LEADER_NOT_AVAILABLE
        leader = NO_LEADER
    replicas, isr = list(info.replicas), list(info.isr)
    if meaning.only_reachable:
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
    node: Node,
    metadata: MetadataCache,
    context: RequestContext,
    request: MetadataRequest,
    topics: list[MetadataResponseTopic],
) -> MetadataResponse:
    """The response; leaves out brokers without the client's listener, which it could not reach."""
    brokers = []
    for broker in metadata.brokers.values():
        address = broker.addresses.get(context.listener_name)
        if address is not None:
            brokers.append(
                MetadataResponseBroker(node_id=broker.id, host=address.host, port=address.port, rack=broker.rack)
            )
    response = MetadataResponse(
        brokers=brokers,
        cluster_id=node.cluster_id,
        controller_id=-1 if metadata.controller_id is None else metadata.controller_id,
        topics=topics,
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = 0
        if node.authorizer.allows(context, Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME):
            response.cluster_authorized_operations = authorized_operations(
                node.authorizer, context, ResourceType.CLUSTER, CLUSTER_NAME
            )
    return response
