"""StopReplica (5): the controller tells a broker to stop, and perhaps delete, replicas."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bool, Int16, Int32, Int64, String, request, response, since, struct


@struct
class StopReplicaPartitionV0:
    topic_name: String
    partition_index: Int32


@struct
class StopReplicaTopicV1:
    name: String
    partition_indexes: list[Int32]


@struct
class StopReplicaPartitionState:
    partition_index: Int32
    leader_epoch: Int32 = since(3, default=-1)
    delete_partition: Bool


@struct
class StopReplicaTopicState:
    topic_name: String
    partition_states: list[StopReplicaPartitionState]


@request(api=ApiKey.STOP_REPLICA, versions=(0, 3), flexible=2)
class StopReplicaRequest:
    """Replicas to stop. v1 broker epoch (KIP-380), v3 leader epoch and delete flag for each partition (KIP-570)."""

    controller_id: Int32
    controller_epoch: Int32
    broker_epoch: Int64 = since(1, default=-1, ignorable=True)
    delete_partitions: Bool = since(0, until=2)
    ungrouped_partitions: list[StopReplicaPartitionV0] = since(0, until=0)
    topics: list[StopReplicaTopicV1] = since(1, until=2)
    topic_states: list[StopReplicaTopicState] = since(3)


@struct
class StopReplicaPartitionError:
    topic_name: String
    partition_index: Int32
    error_code: Int16


@response(api=ApiKey.STOP_REPLICA, versions=(0, 3), flexible=2)
class StopReplicaResponse:
    """An error for each partition."""

    error_code: Int16
    partition_errors: list[StopReplicaPartitionError]
