"""OffsetForLeaderEpoch (23): where a leader epoch ended, to truncate a log or to detect lost records."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, Int64, String, request, response, since, struct


@struct
class OffsetForLeaderPartition:
    partition: Int32
    current_leader_epoch: Int32 = since(2, default=-1, ignorable=True)
    leader_epoch: Int32


@struct
class OffsetForLeaderTopic:
    topic: String
    partitions: list[OffsetForLeaderPartition]


@request(api=ApiKey.OFFSET_FOR_LEADER_EPOCH, versions=(0, 4), flexible=4)
class OffsetForLeaderEpochRequest:
    """Epochs, per partition (KIP-101). v2 the asker's current epoch, for fencing (KIP-320), v3 replica id (KIP-392)."""

    replica_id: Int32 = since(3, default=-2, ignorable=True)  # a broker id; -1: a consumer, -2: a debugging tool
    topics: list[OffsetForLeaderTopic]


@struct
class EpochEndOffset:
    error_code: Int16
    partition: Int32
    leader_epoch: Int32 = since(1, default=-1, ignorable=True)
    end_offset: Int64 = since(0, default=-1)


@struct
class OffsetForLeaderTopicResult:
    topic: String
    partitions: list[EpochEndOffset]


@response(api=ApiKey.OFFSET_FOR_LEADER_EPOCH, versions=(0, 4), flexible=4)
class OffsetForLeaderEpochResponse:
    """The largest epoch not above the one asked for, from v1 on (KIP-279), and the offset at which it ended."""

    throttle_time_ms: Int32 = since(2, ignorable=True)
    topics: list[OffsetForLeaderTopicResult]
