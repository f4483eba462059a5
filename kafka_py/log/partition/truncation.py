"""Truncation of a log: to a lower end offset, or fully.

Replication (a follower after a change of leader) or recovery decides on the offset. Called through
PartitionLog, on the event loop. Source: docs/reference/log.md, section 11; KIP-101.
"""

from __future__ import annotations

import logging
from typing import Protocol

from kafka_py.base.ids import TopicPartition
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.failures import LogFailures
from kafka_py.log.partition.log_files import LogFiles
from kafka_py.log.segments.log_segments import LogSegments
from kafka_py.records.batch import CorruptBatch

_log = logging.getLogger(__name__)

SEGMENTS_A_CUT = 16
"""Segments that a truncation removes in one turn of the loop; each has up to five files."""


class TruncatedLog(Protocol):
    """The interface of a log that truncation uses."""

    topic_partition: TopicPartition
    config: LogConfig
    files: LogFiles
    failures: LogFailures
    log_start_offset: int
    log_end_offset: int

    def note_truncation(self, end_offset: int, start_offset: int) -> None:
        """Updates all other state of the log, which now has this end and start offset. Raises OSError."""


def cuts_before(segments: LogSegments, offset: int) -> list[int]:
    """Offsets to truncate to before `offset`, largest first, so that each step removes few segments."""
    return segments.bases_above(offset)[-SEGMENTS_A_CUT:0:-SEGMENTS_A_CUT]


def truncate_to(log: TruncatedLog, offset: int) -> bool:
    """Truncates the log to end at `offset` (exclusive); whether data was removed. Raises KafkaError, ValueError."""
    if offset < 0:
        raise ValueError(f"cannot truncate {log.topic_partition} to offset {offset}")
    files = log.files
    segments = files.segments
    if offset >= log.log_end_offset:
        files.epoch_checkpoint.truncate_from_end(log.log_end_offset)
        return False
    _log.info("%s: truncating from offset %d to %d", log.topic_partition, log.log_end_offset, offset)
    if offset < segments.bases[0]:
        truncate_fully_and_start_at(log, offset)
        return True
    try:
        segments.segments[segments.slot(offset)].cut_position(offset)
    except OSError as error:
        log.failures.disk_refused(error)
    except CorruptBatch as corrupt:
        raise log.failures.corrupt(corrupt) from corrupt
    try:
        files.delete(segments.take_newer_than(offset), log.config)
        segments.active.truncate_to(offset, log.config, files.context.clock.wall_ms())
        segments.active.make_active(log.config)
        segments.forget_positions()
        files.epoch_checkpoint.truncate_from_end(offset)
        log.note_truncation(offset, min(log.log_start_offset, offset))
    except OSError as error:
        log.failures.io_failed(error)
    return True


def truncate_fully_and_start_at(log: TruncatedLog, offset: int) -> None:
    """Deletes all records; the log then begins and ends at `offset`. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
    _log.info("%s: deleting all records, starting at offset %d", log.topic_partition, offset)
    files = log.files
    try:
        files.delete(files.segments.take_oldest(len(files.segments)), log.config)
        files.add_segment(offset, log.config, files.context.clock.wall_ms())
        files.epoch_checkpoint.clear()
        log.note_truncation(offset, offset)
    except OSError as error:
        log.failures.io_failed(error)

