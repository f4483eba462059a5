"""Appends of a leader that are not simply one batch of format 2: work that comes first, and sets of formats 0 and 1.

The offsets of such a set are inside it already, so it fits one log end only. It has no leader epoch.
Source: docs/reference/log.md, sections 6 and 10; Log.append.
"""

from __future__ import annotations

from typing import Protocol

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.log.model.answers import AppendInfo
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.log_files import LogFiles
from kafka_py.log.partition.topic_id_file import TopicIdFile
from kafka_py.log.segments.time_index import TimeOffset
from kafka_py.log.validation.format_work import FormatWork, PreparedSet
from kafka_py.log.validation.record_work import Prepared, RecordWork


class LedLog(Protocol):
    """What is needed of a log."""

    topic_partition: TopicPartition
    config: LogConfig
    files: LogFiles
    topic_id_file: TopicIdFile
    log_start_offset: int
    log_end_offset: int

    def write(
        self, records: memoryview, base_offset: int, last_offset: int, largest: TimeOffset, now_ms: int
    ) -> bool: ...

    def flush_if_due(self, first_offset: int) -> bool: ...


def unlike_one_batch(
    log: LedLog, prepared: PreparedSet | RecordWork | FormatWork | None, now_ms: int
) -> Prepared | AppendInfo | RecordWork | FormatWork:
    """The batch after its work, if that was short; else the work. An older set, and nothing, are appended here."""
    if prepared is None:
        return AppendInfo.nothing(log.log_start_offset)
    if isinstance(prepared, PreparedSet):
        return append_set(log, prepared, now_ms)
    if isinstance(prepared, FormatWork):
        prepared.first_offset = log.log_end_offset
        return prepared
    done = prepared.run_on_loop()
    return prepared if done is None else done


def append_set(log: LedLog, prepared: PreparedSet, now_ms: int) -> AppendInfo:
    """Appends a message set that has passed validation; now_ms: wall clock.

    Raises KafkaError(RECORD_LIST_TOO_LARGE, KAFKA_STORAGE_ERROR); NOT_LEADER_OR_FOLLOWER if the log end has moved since
    the set was numbered, as it does where this broker has lost and regained the leader role.
    """
    records, first_offset, last_offset, max_timestamp, offset_of_largest, log_append_time = prepared
    config, size = log.config, len(records)
    if first_offset != log.log_end_offset:
        fault = f"{log.topic_partition} ended at offset {first_offset}, and ends at {log.log_end_offset} now"
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, fault)
    if size > config.segment_bytes:
        fault = f"a message set of {size} bytes exceeds segment.bytes {config.segment_bytes}"
        raise KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE, fault)
    if log.topic_id_file.is_unsaved:
        log.topic_id_file.save()
    log.files.epoch_checkpoint.clear()  # the latest epoch would seem to last until the next one
    largest = TimeOffset(max_timestamp, offset_of_largest)
    rolled = log.write(records, first_offset, last_offset, largest, now_ms)
    return AppendInfo(
        first_offset,
        last_offset,
        max_timestamp,
        log_append_time,
        log.log_start_offset,
        record_count=last_offset - first_offset + 1,
        size_bytes=size,
        rolled=rolled,
        flush_due=log.flush_if_due(first_offset),
    )
