"""AddPartitionsToTxn (24): partitions that a transaction is about to write."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, Int64, String, request, response, struct


@struct
class AddPartitionsToTxnTopic:
    name: String
    partitions: list[Int32]


@request(api=ApiKey.ADD_PARTITIONS_TO_TXN, versions=(0, 3), flexible=3)
class AddPartitionsToTxnRequest:
    """Must be answered before the first record is sent to these partitions (KIP-98)."""

    transactional_id: String
    producer_id: Int64
    producer_epoch: Int16
    topics: list[AddPartitionsToTxnTopic]


@struct
class AddPartitionsToTxnPartitionResult:
    partition_index: Int32
    error_code: Int16


@struct
class AddPartitionsToTxnTopicResult:
    name: String
    results: list[AddPartitionsToTxnPartitionResult]


@response(api=ApiKey.ADD_PARTITIONS_TO_TXN, versions=(0, 3), flexible=3)
class AddPartitionsToTxnResponse:
    """An error for each partition; one bad partition fails them all."""

    throttle_time_ms: Int32
    results: list[AddPartitionsToTxnTopicResult]
