"""Appends batches that a follower has fetched, unchanged, and with one write where they fit one segment.

Of an entry of format 0 or 1 only the last offset is known without decompression. A segment that begins with one gets
the lowest base offset from which that offset can be reached, but no less than the log end.
Source: docs/reference/replication.md, section 9; docs/reference/log.md, section 10; Log.appendAsFollower.
"""

from __future__ import annotations

import logging
from typing import Protocol

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.log.model.answers import AppendInfo, UnexpectedAppendOffset
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.log_files import LogFiles
from kafka_py.log.segments.segment import MAX_RELATIVE_OFFSET
from kafka_py.log.segments.time_index import TimeOffset
from kafka_py.log.state import producer_replay
from kafka_py.log.state.epochs import LeaderEpochs
from kafka_py.log.validation.validation import check_follower_batches
from kafka_py.records.batch import MAGIC, NO_TIMESTAMP, BatchHeader, CorruptBatch, read_header
from kafka_py.records.legacy_records import read_records

_log = logging.getLogger(__name__)


class FollowingLog(Protocol):
    """The interface of a log that follower appends use."""

    topic_partition: TopicPartition
    config: LogConfig
    epochs: LeaderEpochs
    files: LogFiles
    log_start_offset: int
    log_end_offset: int

    def write(
        self, records: memoryview, base_offset: int, last_offset: int, largest: TimeOffset, now_ms: int
    ) -> bool:
        """Writes whole batches at the log end; whether a new segment was created."""

    def update_state(self, header: BatchHeader, batch: memoryview, base_offset: int) -> None:
        """Updates producer state and transactions after an append."""

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """Assigns a leader epoch from an offset on."""

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Deletes all records; the log then begins and ends at `offset`."""

    def flush_if_due(self, first_offset: int) -> bool:
        """Flushes if flush.messages is reached; whether the caller must flush."""


def append_fetched(log: FollowingLog, records: memoryview, now_ms: int, leader_log_start: int) -> AppendInfo:
    """See PartitionLog.append_as_follower; the log must be usable."""
    try:
        batches = check_follower_batches(records, log.log_start_offset, log.log_end_offset)
    except UnexpectedAppendOffset as unexpected:
        # The leader's log start may be inside a batch (DeleteRecords); a follower that was truncated to it fetches #
        # that whole batch. The records below the log start are deleted at the leader, so the follower may restart.
        has_nothing = log.log_end_offset <= max(log.log_start_offset, leader_log_start)
        if not has_nothing or not unexpected.first_offset < log.log_end_offset <= unexpected.last_offset:
            raise
        log.truncate_fully_and_start_at(_first_offset(records, unexpected))
        batches = check_follower_batches(records, log.log_start_offset, log.log_end_offset)
    if not batches:
        return AppendInfo.nothing(log.log_start_offset)
    producer_replay.check_markers(records, batches, log.topic_partition)
    position, last = batches[-1]
    size = position + last.size_bytes
    if size <= log.config.segment_bytes:
        rolled = _write_together(log, records[:size], batches, now_ms)
    else:
        rolled = False
        for position, header in batches:
            one = records[position : position + header.size_bytes]
            rolled |= _write_together(log, one, [(0, header)], now_ms)
    first_offset = batches[0][1][0]
    return AppendInfo(
        first_offset,
        last_offset=log.log_end_offset - 1,
        max_timestamp=max([header[8] for _, header in batches]),
        log_append_time=NO_TIMESTAMP,
        log_start_offset=log.log_start_offset,
        record_count=sum([header[12] for _, header in batches if header[12] > 0]),
        size_bytes=size,
        rolled=rolled,
        flush_due=log.flush_if_due(first_offset),
    )


def _first_offset(records: memoryview, unexpected: UnexpectedAppendOffset) -> int:
    """The offset of the first record, which only the records of an entry of format 0 or 1 tell."""
    if read_header(records).magic == MAGIC:
        return unexpected.first_offset
    try:
        return read_records(records, 0)[0].offset
    except CorruptBatch as corrupt:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(corrupt)) from corrupt


def _write_together(
    log: FollowingLog, records: memoryview, batches: list[tuple[int, BatchHeader]], now_ms: int
) -> bool:
    """Writes batches that fit one segment with one write; whether a new segment was created."""
    # Header fields by index: by name they would take twice the time, and this runs for every batch.
    latest, first = log.epochs.latest, batches[0][1]
    timestamp, largest_offset = first[8], first[0] + first[6]
    for _, header in batches:
        if header[8] > timestamp:  # the first batch with the largest timestamp counts
            timestamp, largest_offset = header[8], header[0] + header[6]
        epoch = header[2]
        if epoch != latest:
            if epoch >= 0:
                log.assign_epoch(epoch, header[0])
            elif header[3] < MAGIC:  # the latest epoch would seem to last until the next one
                _log.warning("%s: leader epochs are dropped, for format %d has none", log.topic_partition, header[3])
                log.files.epoch_checkpoint.clear()
            latest = log.epochs.latest
    last_offset = batches[-1][1].last_offset
    first_offset = first[0] if first[3] == MAGIC else last_offset - MAX_RELATIVE_OFFSET
    base_offset = max(first_offset, log.log_end_offset)
    rolled = log.write(records, base_offset, last_offset, TimeOffset(timestamp, largest_offset), now_ms)
    for position, header in batches:
        if header[9] >= 0:
            log.update_state(header, records[position : position + header.size_bytes], header[0])
    return rolled
