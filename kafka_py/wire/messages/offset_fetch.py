"""OffsetFetch (9): how far a group had read."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bool, Int16, Int32, Int64, String, request, response, since, struct


@struct
class OffsetFetchRequestTopic:
    name: String
    partition_indexes: list[Int32]


@request(api=ApiKey.OFFSET_FETCH, versions=(0, 7), flexible=6)
class OffsetFetchRequest:
    """Whose offsets, for which partitions. v2 null asks for all, v7 waits out pending transactions (KIP-447)."""

    group_id: String
    topics: list[OffsetFetchRequestTopic] | None = since(0, null_since=2)
    require_stable: Bool = since(7)


@struct
class OffsetFetchResponsePartition:
    partition_index: Int32
    committed_offset: Int64  # -1: none
    committed_leader_epoch: Int32 = since(5, default=-1, ignorable=True)
    metadata: String | None
    error_code: Int16


@struct
class OffsetFetchResponseTopic:
    name: String
    partitions: list[OffsetFetchResponsePartition]


@response(api=ApiKey.OFFSET_FETCH, versions=(0, 7), flexible=6)
class OffsetFetchResponse:
    """The stored offset of each partition, -1 where there is none."""

    throttle_time_ms: Int32 = since(3, ignorable=True)
    topics: list[OffsetFetchResponseTopic]
    error_code: Int16 = since(2, ignorable=True)
