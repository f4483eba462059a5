"""AlterIsr (56): a leader asks the controller to change the in-sync set (KIP-497)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, Int64, String, request, response, since, struct


@struct
class PartitionData:
    partition_index: Int32
    leader_epoch: Int32
    new_isr: list[Int32]
    current_isr_version: Int32


@struct
class TopicData:
    name: String
    partitions: list[PartitionData]


@request(api=ApiKey.ALTER_ISR, versions=(0, 0), flexible=0)
class AlterIsrRequest:
    """Proposed in-sync sets, each with the version it is based on."""

    broker_id: Int32
    broker_epoch: Int64 = since(0, default=-1)
    topics: list[TopicData]


@struct
class PartitionResult:
    partition_index: Int32
    error_code: Int16
    leader_id: Int32
    leader_epoch: Int32
    isr: list[Int32]
    current_isr_version: Int32


@struct
class TopicResult:
    name: String
    partitions: list[PartitionResult]


@response(api=ApiKey.ALTER_ISR, versions=(0, 0), flexible=0)
class AlterIsrResponse:
    """The state that is now in force, for each partition."""

    throttle_time_ms: Int32
    error_code: Int16
    topics: list[TopicResult]
