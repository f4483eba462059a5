"""TxnOffsetCommit (28): group offsets that count only if the transaction commits."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, Int64, String, request, response, since, struct


@struct
class TxnOffsetCommitRequestPartition:
    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Int32 = since(2, default=-1, ignorable=True)
    committed_metadata: String | None


@struct
class TxnOffsetCommitRequestTopic:
    name: String
    partitions: list[TxnOffsetCommitRequestPartition]


@request(api=ApiKey.TXN_OFFSET_COMMIT, versions=(0, 3), flexible=3)
class TxnOffsetCommitRequest:
    """Offsets to store with the transaction (KIP-98). v2 leader epochs (KIP-320), v3 group membership is checked
    (KIP-447).
    """

    transactional_id: String
    group_id: String
    producer_id: Int64
    producer_epoch: Int16
    generation_id: Int32 = since(3, default=-1)
    member_id: String = since(3)
    group_instance_id: String | None = since(3, default=None)
    topics: list[TxnOffsetCommitRequestTopic]


@struct
class TxnOffsetCommitResponsePartition:
    partition_index: Int32
    error_code: Int16


@struct
class TxnOffsetCommitResponseTopic:
    name: String
    partitions: list[TxnOffsetCommitResponsePartition]


@response(api=ApiKey.TXN_OFFSET_COMMIT, versions=(0, 3), flexible=3)
class TxnOffsetCommitResponse:
    """An error for each partition."""

    throttle_time_ms: Int32
    topics: list[TxnOffsetCommitResponseTopic]
