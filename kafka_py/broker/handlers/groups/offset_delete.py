"""OffsetDelete: deletes a group's offsets of topics to which no member subscribes (KIP-496).

Source: docs/reference/groups.md, section 7; KIP-496.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

Codes = dict[TopicPartition, ErrorCode]


async def handle(node: Node, context: RequestContext, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    """Deletes offsets; responds without waiting for the tombstones. Raises KafkaError for the group as a whole."""
    if not node.authorizer.allows(context, Operation.DELETE, ResourceType.GROUP, request.group_id):
        raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED, f"group {request.group_id}")
    codes: Codes = {}
    asked = []
    turn = Turn(node.clock)
    for topic in request.topics:
        await turn.maybe_yield()
        may_read = node.authorizer.allows(context, Operation.READ, ResourceType.TOPIC, topic.name)
        known = node.metadata.partitions_of(topic.name)
        for row in topic.partitions:
            await turn.maybe_yield()
            topic_partition = TopicPartition(topic.name, row.partition_index)
            if not may_read:
                codes[topic_partition] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif row.partition_index not in known:
                codes[topic_partition] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                asked.append(topic_partition)
    deleted = node.coordinators.offsets.delete(request.group_id, asked)
    codes.update(dict.fromkeys(asked, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC))
    codes.update(dict.fromkeys(deleted, ErrorCode.NONE))
    return await _response(request, codes, turn)


async def _response(request: OffsetDeleteRequest, codes: Codes, turn: Turn) -> OffsetDeleteResponse:
    topics = []
    for topic in request.topics:
        await turn.maybe_yield()
        rows = []
        for row in topic.partitions:
            await turn.maybe_yield()
            code = codes[TopicPartition(topic.name, row.partition_index)]
            rows.append(OffsetDeleteResponsePartition(partition_index=row.partition_index, error_code=code))
        topics.append(OffsetDeleteResponseTopic(name=topic.name, partitions=rows))
    return OffsetDeleteResponse(error_code=ErrorCode.NONE, throttle_time_ms=0, topics=topics)
