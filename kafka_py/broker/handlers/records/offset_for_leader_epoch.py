"""OffsetForLeaderEpoch: the end offset of a leader epoch in the leader's log (KIP-101, KIP-320)."""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.replication.leader.offset_queries import end_of_epoch
from kafka_py.security.acls.authorization import Audit
from kafka_py.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType
from kafka_py.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)


async def handle(
    node: Node, context: RequestContext, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    """Requires CLUSTER_ACTION (followers), or DESCRIBE on the topic (consumers)."""
    authorizer = node.authorizer
    is_broker = authorizer.allows(
        context, Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME, Audit.IF_ALLOWED
    )
    turn = Turn(node.clock)
    topics = []
    for topic in request.topics:
        await turn.maybe_yield()
        allowed = is_broker or authorizer.allows(context, Operation.DESCRIBE, ResourceType.TOPIC, topic.topic)
        ends = []
        for asked in topic.partitions:
            end = EpochEndOffset(error_code=ErrorCode.NONE, partition=asked.partition, end_offset=-1)
            topic_partition = TopicPartition(topic.topic, asked.partition)
            try:
                if not allowed:
                    raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                partition = node.hosted.partition(topic_partition)
                found = end_of_epoch(partition, asked.leader_epoch, asked.current_leader_epoch)
                end.leader_epoch, end.end_offset = found
            except KafkaError as error:
                end.error_code = error.code
                context.metrics.count_error(error.code.name)
            ends.append(end)
            await turn.maybe_yield()
        topics.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=ends))
    return OffsetForLeaderEpochResponse(topics=topics)
