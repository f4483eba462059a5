"""OffsetCommit (8): a group stores how far it has read."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, Int64, String, request, response, since, struct


@struct
class OffsetCommitRequestPartition:
    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Int32 = since(6, default=-1, ignorable=True)
    commit_timestamp: Int64 = since(1, until=1, default=-1)
    committed_metadata: String | None


@struct
class OffsetCommitRequestTopic:
    name: String
    partitions: list[OffsetCommitRequestPartition]


@request(api=ApiKey.OFFSET_COMMIT, versions=(0, 8), flexible=8)
class OffsetCommitRequest:
    """Offsets to store for a group. v1 membership, v2-4 retention, v6 leader epochs (KIP-320), v7 static members
    (KIP-345).
    """

    group_id: String
    generation_id: Int32 = since(1, default=-1, ignorable=True)  # -1: not a member, offsets only
    member_id: String = since(1, ignorable=True)
    group_instance_id: String | None = since(7, default=None)
    retention_time_ms: Int64 = since(2, until=4, default=-1, ignorable=True)  # -1: the broker's own
    topics: list[OffsetCommitRequestTopic]


@struct
class OffsetCommitResponsePartition:
    partition_index: Int32
    error_code: Int16


@struct
class OffsetCommitResponseTopic:
    name: String
    partitions: list[OffsetCommitResponsePartition]


@response(api=ApiKey.OFFSET_COMMIT, versions=(0, 8), flexible=8)
class OffsetCommitResponse:
    """An error for each partition."""

    throttle_time_ms: Int32 = since(3, ignorable=True)
    topics: list[OffsetCommitResponseTopic]
