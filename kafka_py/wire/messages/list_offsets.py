"""ListOffsets (2): the offset at a timestamp, or at either end of a partition."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int8, Int16, Int32, Int64, String, request, response, since, struct


@struct
class ListOffsetsPartition:
    partition_index: Int32
    current_leader_epoch: Int32 = since(4, default=-1, ignorable=True)
    timestamp: Int64  # ms UTC; -1: latest, -2: earliest
    max_num_offsets: Int32 = since(0, until=0, default=1)


@struct
class ListOffsetsTopic:
    name: String
    partitions: list[ListOffsetsPartition]


@request(api=ApiKey.LIST_OFFSETS, versions=(0, 6), flexible=6)
class ListOffsetsRequest:
    """For each partition, a timestamp to look up. v1 one answer per partition (KIP-79), v2 isolation level (KIP-98), v4
    leader epochs (KIP-320).
    """

    replica_id: Int32  # a broker id, or -1: a consumer
    isolation_level: Int8 = since(2)  # 0: read uncommitted, 1: read committed
    topics: list[ListOffsetsTopic]


@struct
class ListOffsetsPartitionResponse:
    partition_index: Int32
    error_code: Int16
    old_style_offsets: list[Int64] = since(0, until=0)
    timestamp: Int64 = since(1, default=-1)
    offset: Int64 = since(1, default=-1)
    leader_epoch: Int32 = since(4, default=-1)


@struct
class ListOffsetsTopicResponse:
    name: String
    partitions: list[ListOffsetsPartitionResponse]


@response(api=ApiKey.LIST_OFFSETS, versions=(0, 6), flexible=6)
class ListOffsetsResponse:
    """The first offset whose timestamp is not before the one asked for, and that record's timestamp; -1 when there is
    none.
    """

    throttle_time_ms: Int32 = since(2, ignorable=True)
    topics: list[ListOffsetsTopicResponse]
