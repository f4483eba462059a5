"""DeleteTopics: by name, from v6 on also by id; responds when the topic is no longer in the metadata cache.

Source: docs/reference/controller.md, section 9.
"""

from __future__ import annotations

import logging

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ZERO_UUID, TopicId
from kafka_py.base.turns import Turn
from kafka_py.broker.metadata.topic_waits import wait_for_topics
from kafka_py.broker.requests.item_errors import error_of
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.broker.requests.throttling import mutations_of
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.wire.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse
from kafka_py.wire.version_meanings import DELETE_TOPICS_DISABLED

_log = logging.getLogger(__name__)


async def handle(node: Node, context: RequestContext, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    """One result per topic, with the topic id that was asked for.

    Raises KafkaError(INVALID_REQUEST) when an entry has both name and id.
    """
    results = []
    queued: dict[str, list[DeletableTopicResult]] = {}
    turn = Turn(node.clock)
    mutations = mutations_of(node, context)
    for asked_name, asked_id in await _asked(node, request, turn):
        await turn.maybe_yield()
        result = DeletableTopicResult(
            name=asked_name, topic_id=asked_id, error_code=ErrorCode.NONE, error_message=None
        )
        results.append(result)
        try:
            name = _resolve(node, context, asked_name, asked_id)
            result.name = name
            _authorize(node, context, name)
            mutations.take(len(node.metadata.partitions_of(name)))
            await node.topics.delete(name)
            queued.setdefault(name, []).append(result)
        except Exception as failure:  # an error of this topic only
            error = error_of(failure, _log, f"Topic {result.name} is not deleted")
            _fail(context, result, error.code, error.message)
    late = await wait_for_topics(
        node.topic_waits, queued, lambda name: not node.metadata.has_topic(name), request.timeout_ms, turn
    )
    for name in late:
        await turn.maybe_yield()
        for result in queued[name]:
            _fail(context, result, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.REQUEST_TIMED_OUT.meaning)
    return DeleteTopicsResponse(throttle_time_ms=mutations.throttle_ms, responses=results)


async def _asked(node: Node, request: DeleteTopicsRequest, turn: Turn) -> list[tuple[str | None, TopicId]]:
    """Names and ids of the topics: up to v5 a list of names, from v6 on names or ids; the other list is empty."""
    may_delete = node.controller.is_active and node.config.delete_topic_enable  # else all have that error
    asked: dict[tuple[str | None, TopicId], None] = {}
    for name in request.topic_names:
        await turn.maybe_yield()
        asked[name, ZERO_UUID] = None
    for topic in request.topics:
        await turn.maybe_yield()
        if topic.name is not None and topic.topic_id != ZERO_UUID and may_delete:
            raise _both_given()
        asked[topic.name, topic.topic_id] = None
    return list(asked)


def _both_given() -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, "Topic name and topic ID can not both be specified.")


def _resolve(node: Node, context: RequestContext, name: str | None, topic_id: TopicId) -> str:
    """The name of a topic to delete; one that was given by id may be described. Raises KafkaError."""
    if not node.controller.is_active:
        raise KafkaError(ErrorCode.NOT_CONTROLLER)
    if not node.config.delete_topic_enable:
        raise KafkaError(DELETE_TOPICS_DISABLED[context.api_version])
    if name is not None and topic_id != ZERO_UUID:
        raise _both_given()  # this broker has become the controller since the request was looked at as a whole
    if name is None and topic_id == ZERO_UUID:  # nobody may delete a topic without a name
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    known = node.metadata.topic_name(topic_id) if name is None else name
    if known is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
    # Asked, and shown in the audit log, for names as well; but only the name behind an id can be kept from the client.
    may_describe = node.authorizer.allows(context, Operation.DESCRIBE, ResourceType.TOPIC, known)
    if name is None and not may_describe:
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return known


def _authorize(node: Node, context: RequestContext, name: str) -> None:
    """Raises KafkaError; whether the topic exists is said only to those who may delete it."""
    if not node.authorizer.allows(context, Operation.DELETE, ResourceType.TOPIC, name):
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if not node.metadata.has_topic(name):
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _fail(context: RequestContext, result: DeletableTopicResult, code: ErrorCode, message: str) -> None:
    context.metrics.count_error(code.name)
    result.error_code = code
    result.error_message = message
