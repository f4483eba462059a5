"""AlterPartitionReassignments: starts, changes or cancels reassignments (KIP-455).

Source: docs/reference/controller.md, section 8.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


async def handle(
    node: Node, context: RequestContext, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    """One result per partition: accepted or rejected; does not wait for the reassignments.

    Raises KafkaError(NOT_CONTROLLER).
    """
    turn = Turn(node.clock)
    targets: dict[TopicPartition, Sequence[int] | None] = {}
    for topic in request.topics:
        for each in topic.partitions:
            targets[TopicPartition(topic.name, each.partition_index)] = each.replicas
            await turn.maybe_yield()
    refusals = await node.controller.alter_reassignments(targets)
    topics: dict[str, ReassignableTopicResponse] = {}
    for partition in targets:
        await turn.maybe_yield()
        refusal = refusals.pop(partition, None)  # popped one by one, so that they are freed in turns
        if refusal is not None:
            context.metrics.count_error(refusal.code.name)
        row = topics.setdefault(partition.topic, ReassignableTopicResponse(name=partition.topic, partitions=[]))
        row.partitions.append(
            ReassignablePartitionResponse(
                partition_index=partition.partition,
                error_code=ErrorCode.NONE if refusal is None else refusal.code,
                error_message=None if refusal is None else refusal.message,
            )
        )
    return AlterPartitionReassignmentsResponse(
        throttle_time_ms=0, error_code=ErrorCode.NONE, error_message="", responses=list(topics.values())
    )
