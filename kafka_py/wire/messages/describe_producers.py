"""DescribeProducers (61): producers that a partition knows of, to find hanging transactions (KIP-664)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, Int64, String, request, response, since, struct


@struct
class TopicRequest:
    name: String
    partition_indexes: list[Int32]


@request(api=ApiKey.DESCRIBE_PRODUCERS, versions=(0, 0), flexible=0)
class DescribeProducersRequest:
    """Partitions; any of their replicas answers."""

    topics: list[TopicRequest]


@struct
class ProducerState:
    """What the partition remembers of one producer."""

    producer_id: Int64
    producer_epoch: Int32
    last_sequence: Int32 = since(0, default=-1)
    last_timestamp: Int64 = since(0, default=-1)
    coordinator_epoch: Int32
    current_txn_start_offset: Int64 = since(0, default=-1)


@struct
class PartitionResponse:
    partition_index: Int32
    error_code: Int16
    error_message: String | None = since(0, default=None)
    active_producers: list[ProducerState]


@struct
class TopicResponse:
    name: String
    partitions: list[PartitionResponse]


@response(api=ApiKey.DESCRIBE_PRODUCERS, versions=(0, 0), flexible=0)
class DescribeProducersResponse:
    """Each partition's producer states."""

    throttle_time_ms: Int32
    topics: list[TopicResponse]
