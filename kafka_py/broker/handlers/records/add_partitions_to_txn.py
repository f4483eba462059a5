"""AddPartitionsToTxn: partitions that a transaction is about to write. All of them are added, or none.

Source: docs/reference/transactions.md, section 3; KIP-98.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.base.internal_topics import INTERNAL_TOPICS
from kafka_py.broker.requests.authorization import Operation, ResourceType
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import ANSWERS_LATER, RequestContext
from kafka_py.broker.requests.transactions import check_protocol, check_transactional_id, code_of
from kafka_py.coordinator.transactions.requests import AddPartitions
from kafka_py.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from kafka_py.wire.version_meanings import ADD_PARTITIONS_TO_TXN_FENCED


def handle(node: Node, context: RequestContext, request: AddPartitionsToTxnRequest) -> object:
    """Answers when the coordinator has written them. Raises KafkaError for the request as a whole."""
    check_protocol(node)
    check_transactional_id(node, context, request.transactional_id)
    faults: dict[TopicPartition, ErrorCode] = {}
    added: list[TopicPartition] = []
    for topic in request.topics:
        may_write = _may_write(node, context, topic.name)
        known = node.metadata.partitions_of(topic.name)
        for partition in topic.partitions:
            topic_partition = TopicPartition(topic.name, partition)
            if not may_write:
                faults[topic_partition] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif partition not in known:
                faults[topic_partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                added.append(topic_partition)
    if faults:
        for code in dict.fromkeys((*faults.values(), *[ErrorCode.OPERATION_NOT_ATTEMPTED] * bool(added))):
            context.metrics.count_error(code.name)
        return _response(request, faults, ErrorCode.OPERATION_NOT_ATTEMPTED)
    node.coordinators.transactions.add_partitions(
        request.transactional_id,
        AddPartitions(request.producer_id, request.producer_epoch, tuple(added)),
        lambda reply: context.answer(_response(request, {}, code_of(context, reply, ADD_PARTITIONS_TO_TXN_FENCED))),
    )
    return ANSWERS_LATER


def _may_write(node: Node, context: RequestContext, topic: str) -> bool:
    """Internal topics are only for coordinators: a group's partition of offsets comes by AddOffsetsToTxn."""
    return topic not in INTERNAL_TOPICS and node.authorizer.allows(context, Operation.WRITE, ResourceType.TOPIC, topic)


def _response(
    request: AddPartitionsToTxnRequest, faults: dict[TopicPartition, ErrorCode], other: ErrorCode
) -> AddPartitionsToTxnResponse:
    """other: the code of the partitions without a fault of their own."""
    return AddPartitionsToTxnResponse(
        throttle_time_ms=0,
        results=[
            AddPartitionsToTxnTopicResult(
                name=topic.name,
                results=[
                    AddPartitionsToTxnPartitionResult(
                        partition_index=partition, error_code=faults.get(TopicPartition(topic.name, partition), other)
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )
