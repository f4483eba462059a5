"""AlterReplicaLogDirs (34): move replicas between the log directories of a broker (KIP-113)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, String, request, response, struct


@struct
class AlterReplicaLogDirTopic:
    name: String
    partitions: list[Int32]


@struct
class AlterReplicaLogDir:
    path: String
    topics: list[AlterReplicaLogDirTopic]


@request(api=ApiKey.ALTER_REPLICA_LOG_DIRS, versions=(0, 2), flexible=2)
class AlterReplicaLogDirsRequest:
    """For each directory, the replicas to bring there."""

    dirs: list[AlterReplicaLogDir]


@struct
class AlterReplicaLogDirPartitionResult:
    partition_index: Int32
    error_code: Int16


@struct
class AlterReplicaLogDirTopicResult:
    topic_name: String
    partitions: list[AlterReplicaLogDirPartitionResult]


@response(api=ApiKey.ALTER_REPLICA_LOG_DIRS, versions=(0, 2), flexible=2)
class AlterReplicaLogDirsResponse:
    """An error for each replica."""

    throttle_time_ms: Int32
    results: list[AlterReplicaLogDirTopicResult]
