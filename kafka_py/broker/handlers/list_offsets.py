"""ListOffsets: the first, the last, or the first offset at or after a time.

Source: docs/reference/replication.md, section 12.
"""

from __future__ import annotations

import logging

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import Turn
from kafka_py.broker.authorization import Operation, ResourceType
from kafka_py.broker.node import Node
from kafka_py.broker.requests import RequestContext
from kafka_py.replication.reads import CONSUMER, DEBUG_CONSUMER, Isolation
from kafka_py.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

log = logging.getLogger(__name__)

_FIRST_WITH_OFFSET_NOT_AVAILABLE = 5
_UNTIMED = 16
"""The clock is looked at after so many partitions."""


async def handle(node: Node, context: RequestContext, request: ListOffsetsRequest) -> ListOffsetsResponse:
    """One offset per partition; v0 gives a list of segment starts instead."""
    turn = Turn(node.clock)
    repeated = await _repeated(request, turn)
    done = 0
    topics = []
    for topic in request.topics:
        may_describe = node.authorizer.allows(context, Operation.DESCRIBE, ResourceType.TOPIC, topic.name)
        answers = []
        for asked in topic.partitions:
            topic_partition = TopicPartition(topic.name, asked.partition_index)
            answer = ListOffsetsPartitionResponse(partition_index=asked.partition_index, error_code=ErrorCode.NONE)
            try:
                if not may_describe:
                    raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                if topic_partition in repeated:
                    raise KafkaError(ErrorCode.INVALID_REQUEST, f"{topic_partition} is asked for twice")
                await _fill(node, context, request, topic_partition, asked, answer)
            except KafkaError as error:
                answer.error_code = _code_for(error.code, context.api_version)
                context.metrics.count_error(error.code.name)
            except OSError as error:
                node.replicas.on_storage_error(topic_partition, error)
                answer.error_code = ErrorCode.KAFKA_STORAGE_ERROR
            answers.append(answer)
            done += 1
            if not done % _UNTIMED:
                await turn.maybe_yield()
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=answers))
    return ListOffsetsResponse(topics=topics)


async def _repeated(request: ListOffsetsRequest, turn: Turn) -> set[TopicPartition]:
    seen: set[TopicPartition] = set()
    repeated: set[TopicPartition] = set()
    done = 0
    for topic in request.topics:
        for asked in topic.partitions:
            topic_partition = TopicPartition(topic.name, asked.partition_index)
            (repeated if topic_partition in seen else seen).add(topic_partition)
            done += 1
            if not done % _UNTIMED:
                await turn.maybe_yield()
    return repeated


async def _fill(
    node: Node,
    context: RequestContext,
    request: ListOffsetsRequest,
    topic_partition: TopicPartition,
    asked: ListOffsetsPartition,
    answer: ListOffsetsPartitionResponse,
) -> None:
    if not node.metadata.has_partition(topic_partition):
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    leader_only = request.replica_id != DEBUG_CONSUMER
    if context.api_version == 0:
        answer.old_style_offsets = node.replicas.old_style_offsets(
            topic_partition, asked.timestamp, asked.max_num_offsets, request.replica_id
        )
        return
    found = await node.replicas.offset_for_timestamp(
        topic_partition,
        asked.timestamp,
        _isolation(request),
        asked.current_leader_epoch,
        request.replica_id,
        leader_only=leader_only,
    )
    if found is not None:
        answer.timestamp = found.timestamp
        answer.offset = found.offset
        answer.leader_epoch = found.leader_epoch if context.api_version >= 4 else -1


def _isolation(request: ListOffsetsRequest) -> Isolation:
    if request.replica_id != CONSUMER:
        return Isolation.LOG_END
    return Isolation.READ_COMMITTED if request.isolation_level == 1 else Isolation.READ_UNCOMMITTED


def _code_for(code: ErrorCode, version: int) -> ErrorCode:
    """OFFSET_NOT_AVAILABLE is known from v5 on; before, clients retry on LEADER_NOT_AVAILABLE."""
    if code is ErrorCode.OFFSET_NOT_AVAILABLE and version < _FIRST_WITH_OFFSET_NOT_AVAILABLE:
        return ErrorCode.LEADER_NOT_AVAILABLE
    return code
