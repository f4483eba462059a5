"""ListOffsets and OffsetForLeaderEpoch in one partition: the offset of a timestamp, an end, or the end of an epoch.

Synchronous; changes nothing. Source: docs/reference/replication.md, sections 6 and 12.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import CONSUMER_REPLICA_ID, DEBUGGING_REPLICA_ID, EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafka_py.log.model.answers import TimestampOffset
from kafka_py.log.state.epochs import UNKNOWN_END, EpochEnd
from kafka_py.records.batch import NO_LEADER_EPOCH, NO_TIMESTAMP
from kafka_py.replication.state.partition import Partition
from kafka_py.replication.state.reads import Isolation


def is_search(timestamp: int) -> bool:
    """Whether the timestamp of a ListOffsets is searched for, instead of standing for an end of the log."""
    return timestamp not in (LATEST_TIMESTAMP, EARLIEST_TIMESTAMP)


def offset_for_timestamp(
    partition: Partition,
    timestamp: int,
    isolation: Isolation,
    current_leader_epoch: int,
    *,
    leader_only: bool,
    replica_id: int,
    by_time: TimestampOffset | None = None,
) -> TimestampOffset | None:
    """ListOffsets: latest (-1), earliest (-2), or the first record at or after `timestamp`; None if there is none.

    by_time: the result of the search of the log by timestamp, if it `is_search`.
    Raises KafkaError(OFFSET_NOT_AVAILABLE) for clients while a new leader's high watermark has not reached the start
    of its epoch: until then "latest" could be lower than what the previous leader returned.
    """
    log = partition.readable_log(current_leader_epoch, leader_only=leader_only)
    end_offset = partition.end_offset(isolation)
    lagging = (
        replica_id == CONSUMER_REPLICA_ID
        and partition.leader_epoch_start is not None
        and partition.leader_epoch_start > log.high_watermark
    )
    if timestamp == LATEST_TIMESTAMP and not lagging:
        return TimestampOffset(NO_TIMESTAMP, end_offset, partition.leader_epoch)
    if timestamp == EARLIEST_TIMESTAMP:
        return TimestampOffset(NO_TIMESTAMP, log.log_start_offset, log.epochs.epoch_of(log.log_start_offset))
    if timestamp != LATEST_TIMESTAMP and by_time is not None and by_time.offset < end_offset:
        return by_time
    if lagging:
        raise KafkaError(
            ErrorCode.OFFSET_NOT_AVAILABLE,
            f"{partition.topic_partition}: the high watermark has not reached the leader's epoch yet",
        )
    return None


def old_style_offsets(partition: Partition, timestamp: int, limit: int, replica_id: int, now_ms: int) -> list[int]:
    """ListOffsets v0: segment starts (and the log end) at or before `timestamp`, the newest first, at most `limit`.

    For a client the high watermark replaces all offsets above it.
    """
    log = partition.readable_log(NO_LEADER_EPOCH, leader_only=replica_id != DEBUGGING_REPLICA_ID)
    starts = [
        (max(segment.base_offset, log.log_start_offset), segment.largest_timestamp_or_modified(now_ms))
        for segment in log.segments
    ]
    if log.segments[-1].size:
        starts.append((log.log_end_offset, now_ms))
    if timestamp == EARLIEST_TIMESTAMP:
        starts = starts[:1]
    elif timestamp != LATEST_TIMESTAMP:
        starts = [start for start in starts if start[1] <= timestamp]
    offsets = sorted((offset for offset, _time in starts), reverse=True)[: max(limit, 0)]
    if replica_id != CONSUMER_REPLICA_ID or not any(offset > log.high_watermark for offset in offsets):
        return offsets
    return [log.high_watermark, *(offset for offset in offsets if offset <= log.high_watermark)]


def end_of_epoch(partition: Partition, epoch: int, current_leader_epoch: int, *, leader_only: bool = True) -> EpochEnd:
    """OffsetForLeaderEpoch: the end offset (exclusive) of `epoch`; (-1, -1) when not known (KIP-101)."""
    log = partition.readable_log(current_leader_epoch, leader_only=leader_only)
    end = log.epochs.end_offset_for(epoch, log.log_end_offset)
    return end if end.epoch >= 0 else UNKNOWN_END
