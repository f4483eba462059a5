"""AlterReplicaLogDirs: moves replicas between the log directories of this broker (KIP-113).

Responds when the moves have begun; DescribeLogDirs shows their progress. Source: docs/reference/log.md, section 18.
"""

from __future__ import annotations

import logging

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ZERO_UUID, TopicPartition
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.log.disk.filenames import LONGEST_NAME, future_directory
from kafka_py.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType
from kafka_py.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

_log = logging.getLogger(__name__)


async def handle(
    node: Node, context: RequestContext, request: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse:
    """The request is grouped by directory, the response by topic. Requires ALTER on the cluster."""
    allowed = node.authorizer.allows(context, Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)
    results: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
    turn = Turn(node.clock)
    for directory in request.dirs:
        for topic in directory.topics:
            for number in topic.partitions:
                await turn.maybe_yield()
                code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
                if allowed:
                    code = _move(node, TopicPartition(topic.name, number), directory.path)
                results.setdefault(topic.name, []).append(
                    AlterReplicaLogDirPartitionResult(partition_index=number, error_code=code)
                )
    return AlterReplicaLogDirsResponse(
        throttle_time_ms=0,
        results=[AlterReplicaLogDirTopicResult(topic_name=name, partitions=made) for name, made in results.items()],
    )


def _move(node: Node, topic_partition: TopicPartition, directory: str) -> ErrorCode:
    """Begins one move; returns its error, or NONE."""
    try:
        _check(node, topic_partition, directory)
        if topic_partition not in node.hosted.partitions:
            node.log_dirs.prefer(topic_partition, directory)  # for a log that is created here later
            known = node.metadata.has_partition(topic_partition)
            return ErrorCode.REPLICA_NOT_AVAILABLE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        node.replication.mover.move(topic_partition, directory)
    except KafkaError as error:
        _log.warning("%s is not moved to %s: %s", topic_partition, directory, error)
        return error.code
    return ErrorCode.NONE


def _check(node: Node, topic_partition: TopicPartition, directory: str) -> None:
    """Raises KafkaError(INVALID_TOPIC_EXCEPTION, LOG_DIR_NOT_FOUND, KAFKA_STORAGE_ERROR)."""
    if len(future_directory(topic_partition, ZERO_UUID)) > LONGEST_NAME:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic_partition} cannot have a directory")
    if not node.log_dirs.is_live(directory):
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log directory {directory} is offline")
    if topic_partition in node.hosted.offline:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{topic_partition} is in an offline log directory")
