"""CreatePartitions: more partitions for existing topics (KIP-195). Source: docs/reference/controller.md, section 14."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Generator, Sequence

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.steps import SLICE
from kafka_py.base.turns import Turn
from kafka_py.broker.metadata.topic_waits import wait_for_leaders
from kafka_py.broker.requests.item_errors import error_of
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.broker.requests.throttling import mutations_of
from kafka_py.broker.requests.topic_admin import Permit
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from kafka_py.zk.access import pipelined, raise_first

_log = logging.getLogger(__name__)


async def handle(node: Node, context: RequestContext, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    """One result per topic, after the new partitions have leaders.

    Shared data is read once, and topics are processed concurrently, because a request may have very many.
    """
    turn = Turn(node.clock)
    counts: Counter[str] = Counter()
    for topic in request.topics:
        counts[topic.name] += 1
        await turn.maybe_yield()
    results: dict[str, CreatePartitionsTopicResult] = {}
    asked: list[CreatePartitionsTopic] = []
    for topic in request.topics:
        await turn.maybe_yield()
        if topic.name in results:
            continue
        results[topic.name] = result = CreatePartitionsTopicResult(
            name=topic.name, error_code=ErrorCode.NONE, error_message=None
        )
        try:
            _check(node, context, topic, counts[topic.name])
        except KafkaError as error:
            _fail(context, result, error.code, error.message)
        else:
            asked.append(topic)
    mutations = mutations_of(node, context)
    permit = None if request.validate_only else mutations.take
    added = await _grow(node, context, asked, results, permit) if asked else {}
    late = await wait_for_leaders(node.topic_waits, node.metadata, added, request.timeout_ms, turn)
    for name in late:
        await turn.maybe_yield()
        _fail(context, results[name], ErrorCode.REQUEST_TIMED_OUT, ErrorCode.REQUEST_TIMED_OUT.meaning)
    return CreatePartitionsResponse(throttle_time_ms=mutations.throttle_ms, results=list(results.values()))


async def _grow(
    node: Node, context: RequestContext, asked: Sequence[CreatePartitionsTopic],
    results: dict[str, CreatePartitionsTopicResult], permit: Permit | None,
) -> dict[str, list[int]]:  # fmt: skip
    """Adds partitions to these topics; returns the new partitions by topic. permit: None: they are only planned.

    Raises KafkaError when replicas cannot be placed on the live brokers: then no topic is changed.
    """
    turn = Turn(node.clock)
    added: dict[str, list[int]] = {}
    basis = await node.topics.growth_basis(len(asked))

    async def grow(topic: CreatePartitionsTopic) -> None:
        await turn.maybe_yield()
        try:
            replicas = None if topic.assignments is None else await turn.finish(_replicas(topic.assignments))
            planned = await node.topics.grow(
                topic.name, topic.count, replicas, validate_only=permit is None, basis=basis, permit=permit, turn=turn
            )
            if permit is not None:
                added[topic.name] = list(planned.added)
        except Exception as failure:  # an error of this topic only
            error = error_of(failure, _log, f"Topic {topic.name} has no partitions added")
            _fail(context, results[topic.name], error.code, error.message)

    raise_first(await pipelined(grow(topic) for topic in asked))
    return added


def _replicas(assignments: Sequence[CreatePartitionsAssignment]) -> Generator[None, None, list[Sequence[int]]]:
    replicas: list[Sequence[int]] = []
    for row in assignments:
        if not len(replicas) % SLICE:
            yield
        replicas.append(row.broker_ids)
    return replicas


def _check(node: Node, context: RequestContext, topic: CreatePartitionsTopic, occurrences: int) -> None:
    if not node.controller.is_active:
        raise KafkaError(ErrorCode.NOT_CONTROLLER)
    if occurrences > 1:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic in request.")
    if not node.authorizer.allows(context, Operation.ALTER, ResourceType.TOPIC, topic.name):
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "The topic authorization is failed.")


def _fail(context: RequestContext, result: CreatePartitionsTopicResult, code: ErrorCode, message: str) -> None:
    context.metrics.count_error(code.name)
    result.error_code = code
    result.error_message = message
