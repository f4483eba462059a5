"""Admin calls on log directories: the replicas in them, and moves of replicas between those of one broker.

Source: KIP-113; KIP-827 (bytes of disks).
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import NamedTuple

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.core import AdminCore, error_of
from kafka_py.clients.admin.results import Results
from kafka_py.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kafka_py.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResult


class ReplicaInfo(NamedTuple):
    """One replica in a log directory. is_future: it is being moved there."""

    size_bytes: int
    offset_lag: int
    is_future: bool


class LogDirDescription(NamedTuple):
    """One log directory; with an error (offline) it has no replicas.

    total_bytes, usable_bytes: of the file system that holds it; None from brokers before 3.3, or where it is offline.
    """

    error: KafkaError | None
    replicas: dict[TopicPartition, ReplicaInfo]
    total_bytes: int | None = None
    usable_bytes: int | None = None


class TopicPartitionReplica(NamedTuple):
    """One replica of a partition, on one broker."""

    topic: str
    partition: int
    broker: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}-{self.broker}"


class ReplicaLogDirs(NamedTuple):
    """The directory of a replica (None: none), and the one to which it is being moved, if it is; lags in records."""

    current: str | None = None
    current_lag: int = -1
    future: str | None = None
    future_lag: int = -1


_Answers = dict[TopicPartitionReplica, KafkaError | None]


async def describe_log_dirs(
    core: AdminCore, brokers: Collection[int], *, timeout: float | None = None
) -> Results[int, dict[str, LogDirDescription]]:
    """The log directories of brokers, by path, with the replicas in them."""

    async def ask(node_id: int, timeout_ms: int) -> dict[str, LogDirDescription] | KafkaError:
        try:
            await core.know(node_id)
            request = DescribeLogDirsRequest(topics=None)
            response = await core.cluster.send(node_id, request, timeout_ms=timeout_ms)
        except KafkaError as error:
            return error
        refused = error_of(response.error_code, None)
        return refused or {each.log_dir: _log_dir(each) for each in response.results}

    async def attempt(some: list[int], timeout_ms: int) -> dict[int, dict[str, LogDirDescription] | KafkaError]:
        answers = await asyncio.gather(*(ask(node_id, timeout_ms) for node_id in some))
        return dict(zip(some, answers, strict=True))

    return await core.per_item(brokers, attempt, timeout)


async def describe_replica_log_dirs(
    core: AdminCore, replicas: Collection[TopicPartitionReplica], *, timeout: float | None = None
) -> Results[TopicPartitionReplica, ReplicaLogDirs]:
    """The directory of each replica, and the one to which it is being moved."""
    brokers = dict.fromkeys(replica.broker for replica in replicas)
    described = await describe_log_dirs(core, brokers, timeout=timeout)
    results: Results[TopicPartitionReplica, ReplicaLogDirs] = Results()
    for replica in replicas:
        directories = described[replica.broker]
        results[replica] = directories if isinstance(directories, KafkaError) else _places(replica, directories)
    return results


async def alter_replica_log_dirs(
    core: AdminCore, moves: Mapping[TopicPartitionReplica, str], *, timeout: float | None = None
) -> Results[TopicPartitionReplica, None]:
    """Moves replicas to these directories (absolute paths) of their brokers.

    A replica that its broker does not have yet gets REPLICA_NOT_AVAILABLE, and will be created in that directory.
    """

    async def ask(broker: int, some: list[TopicPartitionReplica], timeout_ms: int) -> _Answers:
        by_path: dict[str, dict[str, list[int]]] = {}
        for replica in some:
            by_path.setdefault(moves[replica], {}).setdefault(replica.topic, []).append(replica.partition)
        request = AlterReplicaLogDirsRequest(
            dirs=[
                AlterReplicaLogDir(
                    path=path,
                    topics=[AlterReplicaLogDirTopic(name=name, partitions=ids) for name, ids in topics.items()],
                )
                for path, topics in by_path.items()
            ]
        )
        try:
            await core.know(broker)
            response = await core.cluster.send(broker, request, timeout_ms=timeout_ms)
        except KafkaError as error:
            return dict.fromkeys(some, error)
        return {
            TopicPartitionReplica(topic.topic_name, each.partition_index, broker): error_of(each.error_code, None)
            for topic in response.results
            for each in topic.partitions
        }

    async def attempt(some: list[TopicPartitionReplica], timeout_ms: int) -> _Answers:
        by_broker: dict[int, list[TopicPartitionReplica]] = {}
        for replica in some:
            by_broker.setdefault(replica.broker, []).append(replica)
        parts = await asyncio.gather(*(ask(broker, each, timeout_ms) for broker, each in by_broker.items()))
        return {replica: answer for part in parts for replica, answer in part.items()}

    return await core.per_item(moves, attempt, timeout)


def _log_dir(answer: DescribeLogDirsResult) -> LogDirDescription:
    error_code = answer.error_code
    replicas = {
        TopicPartition(topic.name, each.partition_index): ReplicaInfo(
            each.partition_size, each.offset_lag, each.is_future_key
        )
        for topic in answer.topics
        for each in topic.partitions
    }
    total, usable = (bytes_ if bytes_ >= 0 else None for bytes_ in (answer.total_bytes, answer.usable_bytes))
    return LogDirDescription(error_of(error_code, None), replicas, total, usable)


def _places(replica: TopicPartitionReplica, directories: Mapping[str, LogDirDescription]) -> ReplicaLogDirs:
    found = ReplicaLogDirs()
    for path, directory in directories.items():
        info = directory.replicas.get(TopicPartition(replica.topic, replica.partition))
        if info is None:
            continue
        if info.is_future:
            found = found._replace(future=path, future_lag=info.offset_lag)
        else:
            found = found._replace(current=path, current_lag=info.offset_lag)
    return found
