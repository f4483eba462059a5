"""The end of a log: writes to the active segment, and rolls when it is full.

Source: docs/reference/log.md, sections 3 and 7; Log.append, Log.roll.
"""

from __future__ import annotations

import logging

from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.failures import LogFailures
from kafka_py.log.partition.flushing import Flushing
from kafka_py.log.partition.log_files import LogFiles
from kafka_py.log.segments.segment import MAX_RELATIVE_OFFSET, Segment
from kafka_py.log.segments.time_index import TimeOffset
from kafka_py.log.state import producer_replay
from kafka_py.records.batch import CorruptBatch, read_header

_log = logging.getLogger(__name__)


class LogTail:
    """Appends to the active segment of one log."""

    __slots__ = ("_failures", "_files", "_flushing", "_segments")

    def __init__(self, files: LogFiles, failures: LogFailures, flushing: Flushing) -> None:
        self._files = files
        self._segments = files.segments
        self._failures = failures
        self._flushing = flushing

    def write(
        self,
        records: memoryview,
        base_offset: int,
        last_offset: int,
        largest: TimeOffset,
        config: LogConfig,
        now_ms: int,
    ) -> bool:
        """Writes at the end of the active segment, or at the start of a new one (returns True) if a roll is due.

        largest: the largest timestamp of the append and its offset. A failed write is undone.
        Raises KafkaError(KAFKA_STORAGE_ERROR), and KafkaError(CORRUPT_MESSAGE) where the first batch of the active
            segment, which has its first timestamp, cannot be read.
        """
        segment = self._segments.active
        try:
            is_full = segment.should_roll(len(records), last_offset, largest[0], config, now_ms)
        except OSError as error:
            self._failures.disk_refused(error)
        except CorruptBatch as corrupt:
            raise self._failures.corrupt(corrupt) from corrupt
        rolled = is_full and self.roll(base_offset, config, now_ms)
        if rolled:
            segment = self._segments.active
        try:
            segment.append(records, last_offset, largest, config.index_interval_bytes)
        except OSError as error:
            self._take_back(segment)
            self._failures.disk_refused(error)
        return rolled

    def take_marker(self, batch: memoryview) -> None:
        """Updates producer state and transaction index after the append of a producer's control batch.

        Raises KafkaError(KAFKA_STORAGE_ERROR): the log has the marker, so without its index entry it cannot be used
        until it has been recovered.
        """
        header = read_header(batch)
        try:
            aborted = producer_replay.apply_batch(self._files.producers, header, batch)
            if aborted is not None and self._segments.add_aborted(aborted):
                self._files.note_new_names()
        except CorruptBatch as corrupt:
            _log.warning("%s: control batch at offset %d: %s", self._files.place.path, header.base_offset, corrupt)
        except OSError as error:
            self._failures.io_failed(error)

    def _take_back(self, segment: Segment) -> None:
        """Truncates the bytes that a failed append may have written."""
        try:
            segment.file().truncate(segment.size)
        except OSError as error:
            self._failures.io_failed(error)

    def roll(self, base_offset: int, config: LogConfig, now_ms: int) -> bool:
        """Creates a new segment at `base_offset`, and flushes the others in the background.

        False when the active one is empty. Raises KafkaError(KAFKA_STORAGE_ERROR).
        """
        active, files = self._segments.active, self._files
        if active.size == 0 and base_offset - active.base_offset <= MAX_RELATIVE_OFFSET:
            return False
        try:
            active.become_inactive(preallocated=config.preallocate)
            files.write_snapshot(base_offset)
            files.settle_checkpoints()
            if self._failures.reason:  # the directory has failed in that call
                self._failures.refuse()
            files.add_segment(base_offset, config, now_ms)
        except OSError as error:
            self._failures.disk_refused(error)
        self._flushing.in_background(base_offset)
        return True
