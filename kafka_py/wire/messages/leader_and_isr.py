"""LeaderAndIsr (4): the controller tells a broker which replicas it leads or follows."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bool, Int8, Int16, Int32, Int64, String, Uuid, request, response, since, struct


@struct
class LeaderAndIsrPartitionState:
    topic_name: String = since(0, until=1, ignorable=True)
    partition_index: Int32
    controller_epoch: Int32
    leader: Int32  # -1: none, -2: the topic is being deleted
    leader_epoch: Int32
    isr: list[Int32]
    zk_version: Int32
    replicas: list[Int32]
    adding_replicas: list[Int32] = since(3, ignorable=True)
    removing_replicas: list[Int32] = since(3, ignorable=True)
    is_new: Bool = since(1, ignorable=True)


@struct
class LeaderAndIsrTopicState:
    topic_name: String
    topic_id: Uuid = since(5, ignorable=True)
    partition_states: list[LeaderAndIsrPartitionState]


@struct
class LeaderAndIsrLiveLeader:
    """Where to reach a leader named in the states."""

    broker_id: Int32
    host_name: String
    port: Int32


@request(api=ApiKey.LEADER_AND_ISR, versions=(0, 5), flexible=4)
class LeaderAndIsrRequest:
    """State of partitions that this broker hosts. v2 broker epoch (KIP-380) and grouping by topic, v3 adding and
    removing replicas (KIP-455), v5 topic ids and full or incremental type (KIP-516).
    """

    controller_id: Int32
    controller_epoch: Int32
    broker_epoch: Int64 = since(2, default=-1, ignorable=True)
    type: Int8 = since(5)  # 0: incremental, 1: full
    ungrouped_partition_states: list[LeaderAndIsrPartitionState] = since(0, until=1)
    topic_states: list[LeaderAndIsrTopicState] = since(2)
    live_leaders: list[LeaderAndIsrLiveLeader]


@struct
class LeaderAndIsrPartitionError:
    topic_name: String = since(0, until=4, ignorable=True)
    partition_index: Int32
    error_code: Int16


@struct
class LeaderAndIsrTopicError:
    topic_id: Uuid
    partition_errors: list[LeaderAndIsrPartitionError]


@response(api=ApiKey.LEADER_AND_ISR, versions=(0, 5), flexible=4)
class LeaderAndIsrResponse:
    """An error for each partition. v5 groups them by topic id."""

    error_code: Int16
    partition_errors: list[LeaderAndIsrPartitionError] = since(0, until=4)
    topics: list[LeaderAndIsrTopicError] = since(5)
