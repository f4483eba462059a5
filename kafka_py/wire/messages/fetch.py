"""Fetch (1): read record batches, for consumers and for follower replicas alike."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int8, Int16, Int32, Int64, Records, String, request, response, since, struct


@struct
class FetchPartition:
    partition: Int32
    current_leader_epoch: Int32 = since(9, default=-1, ignorable=True)  # as the reader knows it; -1: not checked
    fetch_offset: Int64
    last_fetched_epoch: Int32 = since(12, default=-1)
    log_start_offset: Int64 = since(5, default=-1, ignorable=True)  # of a follower's log; -1: a consumer
    partition_max_bytes: Int32


@struct
class FetchTopic:
    topic: String
    partitions: list[FetchPartition]


@struct
class ForgottenTopic:
    """Partitions that the session is to drop."""

    topic: String
    partitions: list[Int32]


@request(api=ApiKey.FETCH, versions=(0, 12), flexible=12)
class FetchRequest:
    """From which offset to read which partitions, and how long to wait for how much. v4 isolation level (KIP-98), v7
    fetch sessions (KIP-227), v9 leader epochs (KIP-320), v11 rack of the reader (KIP-392), v12 truncation on fetch
    (KIP-595).
    """

    cluster_id: String | None = since(12, tag=0, default=None, ignorable=True)
    replica_id: Int32  # a broker id, or -1: a consumer
    max_wait_ms: Int32
    min_bytes: Int32
    max_bytes: Int32 = since(3, default=0x7FFFFFFF, ignorable=True)  # the first batch may exceed it
    isolation_level: Int8 = since(4, ignorable=True)  # 0: read uncommitted, 1: read committed
    session_id: Int32 = since(7, ignorable=True)  # 0: none yet
    session_epoch: Int32 = since(7, default=-1, ignorable=True)  # -1: no session, 0: open a session
    topics: list[FetchTopic]
    forgotten_topics_data: list[ForgottenTopic] = since(7)
    rack_id: String = since(11, ignorable=True)


@struct
class EpochEndOffset:
    """The largest epoch that leader and follower share, and where it ends: the follower cuts there."""

    epoch: Int32 = since(12, default=-1)
    end_offset: Int64 = since(12, default=-1)


@struct
class LeaderIdAndEpoch:
    """The leader to ask instead."""

    leader_id: Int32 = since(12, default=-1)
    leader_epoch: Int32 = since(12, default=-1)


@struct
class SnapshotId:
    """KRaft only: the snapshot to fetch instead."""

    end_offset: Int64 = since(12, default=-1)
    epoch: Int32 = since(12, default=-1)


@struct
class AbortedTransaction:
    """Records of this producer from `first_offset` on were aborted, up to its next abort marker."""

    producer_id: Int64
    first_offset: Int64


@struct
class FetchablePartitionResponse:
    partition: Int32
    error_code: Int16
    high_watermark: Int64
    last_stable_offset: Int64 = since(4, default=-1, ignorable=True)  # where read-committed readers must stop
    log_start_offset: Int64 = since(5, default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset = since(12, tag=0)
    current_leader: LeaderIdAndEpoch = since(12, tag=1)
    snapshot_id: SnapshotId = since(12, tag=2)
    aborted_transactions: list[AbortedTransaction] | None = since(4, ignorable=True)  # null unless read committed
    preferred_read_replica: Int32 = since(11, default=-1)  # -1: stay here
    record_set: Records | None


@struct
class FetchableTopicResponse:
    topic: String
    partition_responses: list[FetchablePartitionResponse]


@response(api=ApiKey.FETCH, versions=(0, 12), flexible=12)
class FetchResponse:
    """Records per partition; in an incremental session only partitions with news. v7 session id and error (KIP-227),
    v11 a closer replica to read from (KIP-392), v12 diverging epochs (KIP-595).
    """

    throttle_time_ms: Int32 = since(1, ignorable=True)
    error_code: Int16 = since(7, ignorable=True)
    session_id: Int32 = since(7)  # 0: no session
    responses: list[FetchableTopicResponse]
