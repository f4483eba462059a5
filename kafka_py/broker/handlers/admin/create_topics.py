"""CreateTopics: checks the request, writes the znodes, and waits until every partition has a leader.

Source: docs/reference/controller.md, section 14.
"""

from __future__ import annotations

import logging
from collections import Counter

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.turns import Turn
from kafka_py.broker.metadata.topic_waits import wait_for_leaders
from kafka_py.broker.quotas.mutations import Mutations
from kafka_py.broker.requests.item_errors import error_of
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.broker.requests.throttling import mutations_of
from kafka_py.broker.requests.topic_admin import PlannedTopic, TopicToCreate
from kafka_py.broker.settings.config_descriptions import describe_topic
from kafka_py.controller import topic_names
from kafka_py.security.acls.authorization import Audit
from kafka_py.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType
from kafka_py.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafka_py.wire.version_meanings import CREATE_TOPICS_RETURNS_CONFIGS
from kafka_py.zk.access import pipelined, raise_first

_log = logging.getLogger(__name__)


async def handle(node: Node, context: RequestContext, request: CreateTopicsRequest) -> CreateTopicsResponse:
    """One result per topic; a failing topic does not affect the others."""
    turn = Turn(node.clock)
    mutations = mutations_of(node, context)
    results: dict[str, CreatableTopicResult] = {}
    created = await _create(node, context, request, results, mutations, turn)
    late = await wait_for_leaders(node.topic_waits, node.metadata, created, request.timeout_ms, turn)
    for name in late:
        await turn.maybe_yield()
        _fail(context, results[name], ErrorCode.REQUEST_TIMED_OUT, ErrorCode.REQUEST_TIMED_OUT.meaning)
    return CreateTopicsResponse(throttle_time_ms=mutations.throttle_ms, topics=list(results.values()))


async def _create(
    node: Node, context: RequestContext, request: CreateTopicsRequest, results: dict[str, CreatableTopicResult],
    mutations: Mutations, turn: Turn,
) -> dict[str, range]:  # fmt: skip
    """Creates the topics and fills in their results; returns the partitions of those that were created."""
    counts: Counter[str] = Counter()
    created: dict[str, range] = {}
    groups: dict[str, list[CreatableTopic]] = {}
    basis = node.topics.creation_basis()
    for topic in request.topics:
        await turn.maybe_yield()
        counts[topic.name] += 1
        if topic.name not in results:
            results[topic.name] = CreatableTopicResult(name=topic.name, error_code=ErrorCode.NONE, error_message=None)
            groups.setdefault(topic_names.in_metrics(topic.name), []).append(topic)

    async def make(colliding: list[CreatableTopic]) -> None:
        """Creates topics with colliding names one after the other."""
        for topic in colliding:
            await turn.maybe_yield()
            result = results[topic.name]
            if _is_refused(node, context, topic, counts[topic.name], result):
                continue
            try:
                new = await _new_topic(topic, turn)
                planned = await node.topics.create(
                    new, validate_only=request.validate_only, permit=mutations.take, basis=basis, turn=turn
                )
                await turn.maybe_yield()
                _fill(node, context, result, planned)
                if not request.validate_only:
                    created[topic.name] = range(planned.partitions)
            except KafkaError as error:
                _log.info("Topic %s is not created: %s", topic.name, error.message)
                _fail(context, result, error.code, error.message)
            except Exception as failure:  # an error of this topic only
                unforeseen = error_of(failure, _log, f"Topic {topic.name} is not created")
                _fail(context, result, unforeseen.code, unforeseen.message)

    raise_first(await pipelined(make(group) for group in groups.values()))
    return created


def _is_refused(
    node: Node, context: RequestContext, topic: CreatableTopic, occurrences: int, result: CreatableTopicResult
) -> bool:
    """Whether the result has an error already that does not depend on the topic's content."""
    try:
        _check(node, context, topic, occurrences)
    except KafkaError as error:
        _log.info("Topic %s is not created: %s", topic.name, error.message)
        _fail(context, result, error.code, error.message)
        if error.code is not ErrorCode.NOT_CONTROLLER and not _may_describe_configs(node, context, topic.name):
            result.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return True
    return False


def _check(node: Node, context: RequestContext, topic: CreatableTopic, occurrences: int) -> None:
    """Raises KafkaError for errors that do not depend on the topic's content."""
    if not node.controller.is_active:
        raise KafkaError(ErrorCode.NOT_CONTROLLER)
    if occurrences > 1:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Found multiple entries for this topic.")
    if not (
        node.authorizer.allows(context, Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME, Audit.IF_ALLOWED)
        or node.authorizer.allows(context, Operation.CREATE, ResourceType.TOPIC, topic.name)
    ):
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")


async def _new_topic(topic: CreatableTopic, turn: Turn) -> TopicToCreate:
    assignment = {}
    for row in topic.assignments:
        assignment[row.partition_index] = list(row.broker_ids)
        await turn.maybe_yield()
    return TopicToCreate(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        assignment,
        {config.name: config.value for config in topic.configs},
        is_repeated=len(assignment) < len(topic.assignments),
    )


def _fill(node: Node, context: RequestContext, result: CreatableTopicResult, planned: PlannedTopic) -> None:
    """Adds the topic's id and configs to the result, if the principal may describe them (v5 and later, KIP-525)."""
    if not _may_describe_configs(node, context, planned.name):
        result.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return
    if planned.topic_id is not None:
        result.topic_id = planned.topic_id
    result.num_partitions = planned.partitions
    result.replication_factor = planned.replication_factor
    if CREATE_TOPICS_RETURNS_CONFIGS[context.api_version]:
        result.configs = [
            CreatableTopicConfigs(
                name=described.name,
                value=described.value,
                read_only=described.is_read_only,
                config_source=int(described.source),
                is_sensitive=described.is_sensitive,
            )
            for described in describe_topic(planned.configs, node.live_config)
        ]


def _may_describe_configs(node: Node, context: RequestContext, topic: str) -> bool:
    return node.authorizer.allows(context, Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, topic, Audit.IF_ALLOWED)


def _fail(context: RequestContext, result: CreatableTopicResult, code: ErrorCode, message: str) -> None:
    """Makes it the result of a topic that is not there, or not there in time: it says nothing else of the topic."""
    context.metrics.count_error(code.name)
    result.error_code = code
    result.error_message = message
    result.num_partitions = result.replication_factor = -1
    result.configs = []
    result.topic_config_error_code = ErrorCode.NONE
