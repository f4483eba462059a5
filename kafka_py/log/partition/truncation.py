"""Cutting a log: to an earlier end, or down to nothing; what follows for its offsets and its producer state.

Where to cut is decided by replication (a follower after a change of leader) or by recovery. Called through
PartitionLog, on the event loop. Source: docs/reference/log.md, section 11; KIP-101.
"""

from __future__ import annotations

import logging

from kafka_py.log.partition.log_files import OpenLog
from kafka_py.log.segments.log_segments import LogSegments
from kafka_py.records.batch import CorruptBatch

_log = logging.getLogger(__name__)

SEGMENTS_A_CUT = 16
"""How many segments go in one turn of the loop when a log is cut: each has up to five files."""


def cuts_before(segments: LogSegments, offset: int) -> list[int]:
    """Where to cut first on the way down to `offset`, largest first; see PartitionLog.cuts_before."""
    return segments.bases_above(offset)[-SEGMENTS_A_CUT:0:-SEGMENTS_A_CUT]


def truncate_to(log: OpenLog, offset: int) -> bool:
    """Cuts the log so that it ends at `offset`; whether data was cut. Raises as PartitionLog.truncate_to."""
    if offset < 0:
        raise ValueError(f"cannot truncate {log.topic_partition} to offset {offset}")
    files = log.files
    segments = files.segments
    if offset >= log.log_end_offset:
        files.epochs.truncate_from_end(log.log_end_offset)
        return False
    _log.info("%s: truncating from offset %d to %d", log.topic_partition, log.log_end_offset, offset)
    if offset < segments.bases[0]:
        truncate_fully_and_start_at(log, offset)
        return True
    try:
        segments.segments[segments.slot(offset)].cut_position(offset)
    except OSError as error:
        log.disk_refused(error)
    except CorruptBatch as corrupt:
        raise log.corrupt(corrupt) from corrupt
    try:
        files.delete(segments.take_newer_than(offset), log.config)
        segments.active.truncate_to(offset, log.config, files.context.clock.wall_ms())
        segments.active.make_active(log.config)
        segments.forget_positions()
        files.epochs.truncate_from_end(offset)
        _ends_at(log, offset, min(log.log_start_offset, offset))
    except OSError as error:
        log.io_failed(error)
    return True


def truncate_fully_and_start_at(log: OpenLog, offset: int) -> None:
    """Deletes everything; the log is empty and begins at `offset`. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
    _log.info("%s: deleting all records, starting at offset %d", log.topic_partition, offset)
    files = log.files
    try:
        files.delete(files.segments.take_oldest(len(files.segments)), log.config)
        files.add_segment(offset, log.config, files.context.clock.wall_ms())
        files.epochs.clear()
        _ends_at(log, offset, offset)
    except OSError as error:
        log.io_failed(error)


def _ends_at(log: OpenLog, end_offset: int, start_offset: int) -> None:
    """What follows from a new end: the other offsets, and the producer state as it was there."""
    files = log.files
    files.generation += 1
    before = log.log_start_offset, log.recovery_point, log.cleaned_to
    log.log_start_offset = start_offset
    log.log_end_offset = end_offset
    log.recovery_point = min(log.recovery_point, end_offset)
    if log.held_end is not None and (end_offset <= log.held_end or start_offset == end_offset):
        log.held_end = None  # what waited for a flush is cut off
    log.bound_cleaned()
    after = log.log_start_offset, log.recovery_point, log.cleaned_to
    if any(new < old for new, old in zip(after, before, strict=True)):
        files.is_lowered = True
        files.context.checkpoints_lowered()
    files.restore_producers(start_offset, end_offset)
    log.update_first_unstable()
    log.update_high_watermark(min(log.high_watermark, end_offset))
