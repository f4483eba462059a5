"""DeleteRecords: deletes all records below an offset (KIP-107).

Source: docs/reference/replication.md, section 13; KIP-107.
"""

from __future__ import annotations

import asyncio

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.replication.leader.delayed import DeleteRecordsResult
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.wire.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)


async def handle(node: Node, context: RequestContext, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    """One result per partition; requires DELETE on the topic."""
    accepted: dict[TopicPartition, int] = {}
    results: dict[TopicPartition, DeleteRecordsResult] = {}
    turn = Turn(node.clock)
    for topic in request.topics:
        await turn.maybe_yield()
        may_delete = node.authorizer.allows(context, Operation.DELETE, ResourceType.TOPIC, topic.name)
        for asked in topic.partitions:
            await turn.maybe_yield()
            topic_partition = TopicPartition(topic.name, asked.partition_index)
            result = results[topic_partition] = DeleteRecordsResult(topic_partition)
            if not may_delete:
                result.error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif not node.metadata.has_partition(topic_partition):
                result.error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                accepted[topic_partition] = asked.offset

    if accepted:
        deleted: asyncio.Future[list[DeleteRecordsResult]] = asyncio.get_running_loop().create_future()
        node.deletion.delete(accepted.items(), request.timeout_ms, deleted.set_result)
        results.update((result.topic_partition, result) for result in await deleted)
    return await _response(context, results, turn)


async def _response(
    context: RequestContext, results: dict[TopicPartition, DeleteRecordsResult], turn: Turn
) -> DeleteRecordsResponse:
    topics: dict[str, list[DeleteRecordsPartitionResult]] = {}
    for (topic, partition), result in results.items():
        await turn.maybe_yield()
        if result.error is not ErrorCode.NONE:
            context.metrics.count_error(result.error.name)
        topics.setdefault(topic, []).append(
            DeleteRecordsPartitionResult(
                partition_index=partition, low_watermark=result.low_watermark, error_code=result.error
            )
        )
    made = []
    for name, rows in topics.items():
        await turn.maybe_yield()
        made.append(DeleteRecordsTopicResult(name=name, partitions=rows))
    return DeleteRecordsResponse(throttle_time_ms=0, topics=made)
