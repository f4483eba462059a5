"""AddPartitionsToTxn: partitions that a transaction is about to write. All of them are added, or none.

Source: docs/reference/transactions.md, section 3; KIP-98.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import INTERNAL_TOPICS, TopicPartition
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import ANSWERS_LATER, RequestContext
from kafka_py.broker.requests.transactions import check_protocol, check_transactional_id, code_of
from kafka_py.coordinator.transactions.requests import AddPartitions, TransactionReply
from kafka_py.security.acls.authorization import MOST_ALLOWED_AT_ONCE
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from kafka_py.wire.version_meanings import ADD_PARTITIONS_TO_TXN_FENCED

AT_ONCE = 512
"""Topics and partitions that are checked, or put into the response, in one go; each takes about half a microsecond."""


def handle(node: Node, context: RequestContext, request: AddPartitionsToTxnRequest) -> object:
    """Answers when the coordinator has written them. Raises KafkaError for the request as a whole."""
    check_protocol(node)
    check_transactional_id(node, context, request.transactional_id)
    topics = len(request.topics)
    if topics > MOST_ALLOWED_AT_ONCE or topics + sum(len(topic.partitions) for topic in request.topics) > AT_ONCE:
        return _in_turns(node, context, request)
    checked = _Checked(node, context)
    for topic in request.topics:
        checked.take(topic.name, topic.partitions)
    if checked.faults:
        return _refusal(checked, request)
    node.coordinators.transactions.add_partitions(
        request.transactional_id,
        AddPartitions(request.producer_id, request.producer_epoch, tuple(checked.added)),
        lambda reply: context.answer(
            _response(_results(request, {}, code_of(context, reply, ADD_PARTITIONS_TO_TXN_FENCED)))
        ),
    )
    return ANSWERS_LATER


async def _in_turns(node: Node, context: RequestContext, request: AddPartitionsToTxnRequest) -> object:
    """The response to a request of very many partitions."""
    turn = Turn(node.clock)
    checked = _Checked(node, context)
    for topic in request.topics:
        await turn.maybe_yield()
        for some in _slices(topic.partitions):
            checked.take(topic.name, some)
            await turn.maybe_yield()
    faults, code = checked.faults, ErrorCode.OPERATION_NOT_ATTEMPTED
    if faults:
        checked.count_errors()
    else:
        replied: asyncio.Future[TransactionReply] = asyncio.get_running_loop().create_future()
        node.coordinators.transactions.add_partitions(
            request.transactional_id,
            AddPartitions(request.producer_id, request.producer_epoch, tuple(checked.added)),
            lambda reply: None if replied.done() else replied.set_result(reply),
        )
        code = code_of(context, await replied, ADD_PARTITIONS_TO_TXN_FENCED)
    results: list[AddPartitionsToTxnTopicResult] = []
    for topic in request.topics:
        await turn.maybe_yield()
        result = AddPartitionsToTxnTopicResult(name=topic.name, results=[])
        results.append(result)
        for some in _slices(topic.partitions):
            result.results += _rows(topic.name, some, faults, code)
            await turn.maybe_yield()
    return _response(results)


def _slices(partitions: list[int]) -> Iterator[list[int]]:
    for first in range(0, len(partitions), AT_ONCE):
        yield partitions[first : first + AT_ONCE]


class _Checked:
    """The partitions of a request: those that may be added, and the error of each other one."""

    def __init__(self, node: Node, context: RequestContext) -> None:
        self.added: list[TopicPartition] = []
        self.faults: dict[TopicPartition, ErrorCode] = {}
        self._node = node
        self._context = context

    def take(self, topic: str, partitions: list[int]) -> None:
        may_write = _may_write(self._node, self._context, topic)
        known = self._node.metadata.partitions_of(topic)
        for partition in partitions:
            topic_partition = TopicPartition(topic, partition)
            if not may_write:
                self.faults[topic_partition] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif partition not in known:
                self.faults[topic_partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                self.added.append(topic_partition)

    def count_errors(self) -> None:
        for code in dict.fromkeys(
            (*self.faults.values(), *[ErrorCode.OPERATION_NOT_ATTEMPTED] * bool(self.added))
        ):
            self._context.metrics.count_error(code.name)


def _may_write(node: Node, context: RequestContext, topic: str) -> bool:
    """Internal topics are only for coordinators: a group's partition of offsets comes by AddOffsetsToTxn."""
    return topic not in INTERNAL_TOPICS and node.authorizer.allows(context, Operation.WRITE, ResourceType.TOPIC, topic)


def _refusal(checked: _Checked, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    checked.count_errors()
    return _response(_results(request, checked.faults, ErrorCode.OPERATION_NOT_ATTEMPTED))


def _results(
    request: AddPartitionsToTxnRequest, faults: dict[TopicPartition, ErrorCode], other: ErrorCode
) -> list[AddPartitionsToTxnTopicResult]:
    """other: the code of the partitions without a fault of their own."""
    return [
        AddPartitionsToTxnTopicResult(name=topic.name, results=_rows(topic.name, topic.partitions, faults, other))
        for topic in request.topics
    ]


def _rows(
    topic: str, partitions: list[int], faults: dict[TopicPartition, ErrorCode], other: ErrorCode
) -> list[AddPartitionsToTxnPartitionResult]:
    return [
        AddPartitionsToTxnPartitionResult(
            partition_index=partition,
            error_code=faults.get(TopicPartition(topic, partition), other) if faults else other,
        )
        for partition in partitions
    ]


def _response(results: list[AddPartitionsToTxnTopicResult]) -> AddPartitionsToTxnResponse:
    return AddPartitionsToTxnResponse(throttle_time_ms=0, results=results)
