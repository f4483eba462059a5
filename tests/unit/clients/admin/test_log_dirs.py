"""Admin calls on log directories: each broker is asked about its own."""

from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.clients.admin.log_dirs import ReplicaLogDirs, TopicPartitionReplica
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from kafka_py.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

REPLICA = TopicPartitionReplica("t", 0, 1)


def directory(path: str, lag: int, is_future: bool) -> DescribeLogDirsResult:
    row = DescribeLogDirsPartition(partition_index=0, partition_size=10, offset_lag=lag, is_future_key=is_future)
    return DescribeLogDirsResult(
        error_code=0, log_dir=path, topics=[DescribeLogDirsTopic(name="t", partitions=[row])]
    )


def test_a_replica_on_its_way_is_in_two_directories(world: Any) -> None:
    world.cluster.answers[ApiKey.DESCRIBE_LOG_DIRS] = lambda _: DescribeLogDirsResponse(
        throttle_time_ms=0, results=[directory("/a", 0, False), directory("/b", 7, True)]
    )
    found = world.ask(lambda admin: admin.describe_replica_log_dirs([REPLICA])).value(REPLICA)
    assert found == ReplicaLogDirs("/a", 0, "/b", 7)
    assert [node_id for node_id, _ in world.asked(DescribeLogDirsRequest)] == [1]


def test_the_bytes_of_a_disk_are_known_from_brokers_that_tell(world: Any) -> None:
    told = DescribeLogDirsResult(error_code=0, log_dir="/told", topics=[], total_bytes=100, usable_bytes=0)
    world.cluster.answers[ApiKey.DESCRIBE_LOG_DIRS] = lambda _: DescribeLogDirsResponse(
        throttle_time_ms=0, results=[directory("/a", 0, False), told]
    )
    found = world.ask(lambda admin: admin.describe_log_dirs([1])).value(1)
    assert [(each.total_bytes, each.usable_bytes) for each in found.values()] == [(None, None), (100, 0)]


def test_a_refused_description_is_an_error(world: Any) -> None:
    world.cluster.answers[ApiKey.DESCRIBE_LOG_DIRS] = lambda _: DescribeLogDirsResponse(
        throttle_time_ms=0, error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, results=[]
    )
    results = world.ask(lambda admin: admin.describe_log_dirs([1]))
    assert results.errors()[1].code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_a_broker_that_is_not_there_is_an_error_of_its_own(world: Any) -> None:
    results = world.ask(lambda admin: admin.describe_log_dirs([0, 9]))
    assert set(results[0]) == {"/fake"}
    assert results.errors()[9].code is ErrorCode.BROKER_NOT_AVAILABLE


def test_moves_are_asked_for_by_broker_and_path(world: Any) -> None:
    def answer(request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
        rows = [
            AlterReplicaLogDirPartitionResult(partition_index=number, error_code=0)
            for each in request.dirs
            for topic in each.topics
            for number in topic.partitions
        ]
        result = AlterReplicaLogDirTopicResult(topic_name="t", partitions=rows)
        return AlterReplicaLogDirsResponse(throttle_time_ms=0, results=[result])

    world.cluster.answers[ApiKey.ALTER_REPLICA_LOG_DIRS] = answer
    replicas = [REPLICA, TopicPartitionReplica("t", 1, 1), TopicPartitionReplica("t", 0, 0)]
    moves = dict(zip(replicas, ["/a", "/b", "/a"], strict=True))
    assert world.ask(lambda admin: admin.alter_replica_log_dirs(moves)).all() == dict.fromkeys(replicas)
    asked = {node_id: [each.path for each in request.dirs]
             for node_id, request in world.asked(AlterReplicaLogDirsRequest)}  # fmt: skip
    assert asked == {0: ["/a"], 1: ["/a", "/b"]}
