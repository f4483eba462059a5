"""DescribeLogDirs: the log directories of this broker with their logs and sizes (KIP-113)."""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.log.descriptions import DescribedLogDir
from kafka_py.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType
from kafka_py.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)


async def handle(node: Node, context: RequestContext, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    """Every directory, offline ones with their error; none if not authorized (there is no error field)."""
    if not node.authorizer.allows(context, Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME):
        return DescribeLogDirsResponse(throttle_time_ms=0, results=[])
    if request.topics is None:
        described = node.log_dirs.describe()
    else:
        wanted = set()
        turn = Turn(node.clock)
        for topic in request.topics:
            for partition in topic.partition_index:
                wanted.add(TopicPartition(topic.topic, partition))
                await turn.maybe_yield()
        described = node.log_dirs.describe(wanted.__contains__)
    return DescribeLogDirsResponse(throttle_time_ms=0, results=[_result(directory) for directory in described])


def _result(directory: DescribedLogDir) -> DescribeLogDirsResult:
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    if directory.error is ErrorCode.NONE:
        for log in directory.logs:
            topics.setdefault(log.topic_partition.topic, []).append(
                DescribeLogDirsPartition(
                    partition_index=log.topic_partition.partition,
                    partition_size=log.size_bytes,
                    offset_lag=log.offset_lag,
                    is_future_key=log.is_future,
                )
            )
    return DescribeLogDirsResult(
        error_code=directory.error,
        log_dir=directory.path,
        topics=[DescribeLogDirsTopic(name=name, partitions=partitions) for name, partitions in topics.items()],
    )
