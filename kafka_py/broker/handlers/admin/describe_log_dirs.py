"""DescribeLogDirs: the log directories of this broker with logs and sizes (KIP-113), and their disks (KIP-827)."""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.log.descriptions import DescribedLogDir
from kafka_py.log.disk.files import DiskSpace
from kafka_py.replication.leader.time_lookups import run_in
from kafka_py.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType
from kafka_py.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from kafka_py.wire.version_meanings import DESCRIBE_LOG_DIRS_HAS_SPACE

UNKNOWN_SPACE = DiskSpace(-1, -1)


async def handle(node: Node, context: RequestContext, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    """Every directory, offline ones with their error; none if not authorized: the error field came with version 3."""
    if not node.authorizer.allows(context, Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME):
        refused = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return DescribeLogDirsResponse(throttle_time_ms=0, error_code=refused, results=[])
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
    spaces: dict[str, DiskSpace] = {}
    if DESCRIBE_LOG_DIRS_HAS_SPACE[context.api_version]:
        spaces = await run_in(node.log_dirs.background, node.log_dirs.spaces)
    results = [_result(directory, spaces.get(directory.path, UNKNOWN_SPACE)) for directory in described]
    return DescribeLogDirsResponse(throttle_time_ms=0, results=results)


def _result(directory: DescribedLogDir, space: DiskSpace) -> DescribeLogDirsResult:
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
        total_bytes=space.total_bytes,
        usable_bytes=space.usable_bytes,
    )
