"""ListPartitionReassignments: the reassignments in the controller context (KIP-455)."""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)


async def handle(
    node: Node, context: RequestContext, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """The reassignments of the named partitions, or of all. Raises KafkaError(NOT_CONTROLLER)."""
    asked = None
    if request.topics is not None:
        named: dict[TopicPartition, None] = {}
        turn = Turn(node.clock)
        for each in request.topics:
            for number in each.partition_indexes:
                named[TopicPartition(each.name, number)] = None
                await turn.maybe_yield()
        asked = list(named)
    moving = await node.controller.list_reassignments(asked)
    topics: dict[str, OngoingTopicReassignment] = {}
    for (topic, number), assignment in moving.items():
        row = topics.setdefault(topic, OngoingTopicReassignment(name=topic, partitions=[]))
        row.partitions.append(
            OngoingPartitionReassignment(
                partition_index=number,
                replicas=list(assignment.replicas),
                adding_replicas=list(assignment.adding),
                removing_replicas=list(assignment.removing),
            )
        )
    return ListPartitionReassignmentsResponse(
        throttle_time_ms=0, error_code=ErrorCode.NONE, error_message="", topics=list(topics.values())
    )
