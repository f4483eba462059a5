"""Opens a log from its directory: cleans up after a crash, checks unsynced data, rebuilds all in-memory state.

Blocks; runs in the loading threads, one log at a time per thread. A damaged log is always cut after the last whole,
valid batch.
Source: docs/reference/log.md, section 13.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

from kafka_py.base.ids import TopicPartition
from kafka_py.log.disk import filenames
from kafka_py.log.disk.context import LogContext
from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.disk.files import FileInfo, write_atomically
from kafka_py.log.loading.leftovers import finish_swaps, remove_leftovers
from kafka_py.log.loading.overflow import OffsetOverflow, split_segment
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.failures import LogFailures
from kafka_py.log.partition.log_files import LogFiles
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.log.partition.topic_id_file import TopicIdFile
from kafka_py.log.segments.log_segments import LogSegments
from kafka_py.log.segments.scanning import iter_file_batches, iter_file_headers
from kafka_py.log.segments.segment import MAX_RELATIVE_OFFSET, Segment
from kafka_py.log.segments.time_index import TimeOffset
from kafka_py.log.segments.txn_index import CorruptTxnIndex
from kafka_py.log.state import producer_replay
from kafka_py.log.state.checkpoints import create_if_missing, format_epochs, read_epochs
from kafka_py.log.state.epoch_checkpoint import EpochCheckpoint
from kafka_py.log.state.epochs import EpochStart, LeaderEpochs
from kafka_py.log.state.partition_metadata import read_topic_id
from kafka_py.log.state.producer_state import ProducerStates
from kafka_py.records.batch import MAGIC, BatchHeader, CorruptBatch, verify_crc
from kafka_py.records.legacy_records import read_records

_log = logging.getLogger(__name__)


class Checkpointed(NamedTuple):
    """The rows of one log in the checkpoints of its log directory; 0 without a row."""

    log_start_offset: int = 0
    recovery_point: int = 0
    high_watermark: int = 0
    cleaned_to: int = 0


NOTHING_CHECKPOINTED = Checkpointed()


def open_log(
    topic_partition: TopicPartition,
    directory: str,
    config: LogConfig,
    context: LogContext,
    *,
    checkpointed: Checkpointed = NOTHING_CHECKPOINTED,
    is_clean: bool = False,
) -> PartitionLog:
    """Opens the log in an existing directory; an empty directory becomes an empty log.

    is_clean: the last stop was clean, so nothing is checked and the recovery point is the log end.
    Raises OSError, which means that the log directory has failed.
    """
    place = PartitionDirectory(directory, context.files, context.handles)
    while True:
        try:
            return _Loading(place, config, context).load(topic_partition, checkpointed, is_clean)
        except OffsetOverflow as overflow:
            split_segment(place, overflow.base_offset)


class _Loading:
    """One log while it is being opened."""

    def __init__(self, place: PartitionDirectory, config: LogConfig, context: LogContext) -> None:
        self.place = place
        self.config = config
        self.context = context
        self.now_ms = context.clock.wall_ms()
        self.epochs = LeaderEpochs()
        self.producers = ProducerStates()
        self.snapshots: list[int] = []
        self.segments: list[Segment] = []
        self.log_start_offset = 0

    def load(self, topic_partition: TopicPartition, checkpointed: Checkpointed, is_clean: bool) -> PartitionLog:
        entries = remove_leftovers(self.place)
        damaged = self._open_segments(entries)
        self.snapshots = _snapshots_in(entries)
        epochs_path = self.place.file(filenames.LEADER_EPOCH_CHECKPOINT)
        written_epochs = read_epochs(self.place.files, epochs_path)
        self.epochs = LeaderEpochs(written_epochs)
        first_base = self.segments[0].base_offset if self.segments else 0
        self.log_start_offset = max(checkpointed.log_start_offset, first_base)
        had_snapshots = bool(self.snapshots)
        self._recover(damaged, checkpointed.recovery_point, is_clean)
        log_end_offset = self._activate()
        self._trim_epochs(written_epochs, epochs_path, log_end_offset, is_clean)
        self._load_producers(log_end_offset, had_snapshots or not is_clean)
        failures = LogFailures(topic_partition, self.context, segments := LogSegments(self.segments))
        place = self.place
        epochs = EpochCheckpoint(place, self.context.background, failures.in_background, self.epochs.entries())
        topic_id = read_topic_id(place.files, place.file(filenames.PARTITION_METADATA))
        log = PartitionLog(
            topic_partition,
            self.config,
            LogFiles(place, self.context, segments, epochs, self.producers, self.snapshots),
            failures,
            TopicIdFile(place, self.context, failures, topic_id),
            log_start_offset=self.log_start_offset,
            log_end_offset=log_end_offset,
            recovery_point=self._recovery_point(checkpointed.recovery_point, log_end_offset, is_clean),
            cleaned_to=checkpointed.cleaned_to,
        )
        log.update_high_watermark(checkpointed.high_watermark)
        return log

    def _recovery_point(self, checkpointed: int, log_end_offset: int, is_clean: bool) -> int:
        """Below it everything is synced. What was cut below the checkpointed one is not, until its segment is."""
        if is_clean:
            return log_end_offset
        return checkpointed if checkpointed <= log_end_offset else self.segments[-1].base_offset

    def _open_segments(self, entries: Sequence[FileInfo]) -> set[int]:
        """Creates a Segment for every .log file; returns the base offsets of those whose indexes cannot be used."""
        sizes = {entry.name: entry.size for entry in entries}
        damaged = set(finish_swaps(self.place, sizes))
        for name in sorted(sizes):
            parsed = filenames.parse_segment_file(name)
            if parsed is None or parsed.suffix != filenames.LOG or parsed.state:
                continue
            segment = Segment(self.place, parsed.base_offset, size=sizes[name], created_ms=self.now_ms)
            self.segments.append(segment)
            if not _open_indexes(segment, sizes, self.config):
                damaged.add(parsed.base_offset)
        return damaged

    def _recover(self, damaged: set[int], recovery_point: int, is_clean: bool) -> None:
        """Re-reads the segments that may hold unsynced data or whose indexes cannot be used."""
        if not self.segments:
            return
        first = len(self.segments) if is_clean else LogSegments(self.segments).slot(recovery_point)
        for number, segment in enumerate(self.segments[:first]):
            if segment.base_offset in damaged:
                _log.warning("%s: rebuilding the indexes", segment.path)
                self._producers_before(number)
                self._recover_segment(segment, self._base_after(number))
        if first == len(self.segments):
            return
        self._producers_before(first)
        for number in range(first, len(self.segments)):
            cut = self._recover_segment(self.segments[number], self._base_after(number))
            self._snapshot()
            if cut:
                _log.warning("%s: cut %d bytes after the last valid batch", self.segments[number].path, cut)
                self._drop_segments(number + 1)
                break

    def _producers_before(self, number: int) -> None:
        """Rebuilds the producer state as of the start of segment `number`."""
        base_offset = self.segments[number].base_offset
        self._load_snapshot(base_offset)
        producer_replay.replay(self.segments[:number], self.producers, base_offset)

    def _base_after(self, number: int) -> int | None:
        """The base offset of the segment after segment `number`; None when that is the last one."""
        return self.segments[number + 1].base_offset if number + 1 < len(self.segments) else None

    def _recover_segment(self, segment: Segment, next_base: int | None) -> int:
        """Re-reads a segment and rebuilds its indexes, epochs and producers; the number of bytes cut from its end.

        next_base: base offset of the next segment, None when there is none.
        """
        try:
            valid = self._read_again(segment, _orderly_bytes(segment, next_base))
        except ValueError as error:  # an offset that the index rejects
            _log.warning("%s: offsets go backwards, dropping the whole segment: %s", segment.path, error)
            segment.reset_indexes(self.config)
            self.producers.reached(segment.base_offset)
            valid = 0
        cut = segment.size - valid
        if cut:
            segment.cut_file(valid)
        segment.add_last_time_entry()
        segment.offset_index.trim()
        segment.time_index.trim()
        if segment.txn_index.entries:  # no later flush syncs it below the recovery point; lost, it means no aborts
            segment.txn_index.file().sync()
            self.place.files.sync_directory(self.place.path)
        return cut

    def _read_again(self, segment: Segment, end: int) -> int:
        """The position after the last valid batch before position `end`. Raises ValueError, OffsetOverflow."""
        segment.reset_indexes(self.config)
        valid = 0
        try:
            for position, header, batch in iter_file_batches(segment.file(), 0, end):
                verify_crc(batch, 0, header)
                last_offset = header.last_offset
                too_far = last_offset - segment.base_offset > MAX_RELATIVE_OFFSET
                if too_far and position > 0:
                    raise OffsetOverflow(segment.base_offset)
                if too_far or last_offset < segment.base_offset:
                    raise CorruptBatch(f"offset {last_offset} does not belong to this segment", position)
                aborted = None
                if header.producer_id >= 0:  # may raise, so it comes first: a batch that is cut must change no state
                    aborted = producer_replay.apply_batch(self.producers, header, batch)
                largest = TimeOffset(header.max_timestamp, last_offset)
                segment.index(position, len(batch), last_offset, largest, self.config.index_interval_bytes)
                self.epochs.note_batch(header.partition_leader_epoch, header.base_offset)
                if aborted is not None:
                    segment.txn_index.append(aborted)
                self.producers.reached(header.next_offset)
                valid = position + len(batch)
        except CorruptBatch as corrupt:
            _log.warning("%s: %s", segment.path, corrupt)
        return valid

    def _drop_segments(self, first: int) -> None:
        """Removes the segments from number `first` on, with their files."""
        for segment in self.segments[first:]:
            segment.release_files()
            for suffix in (*filenames.SEGMENT_SUFFIXES, filenames.SNAPSHOT):
                self.place.remove_if_present(filenames.segment_file(segment.base_offset, suffix))
            if segment.base_offset in self.snapshots:
                self.snapshots.remove(segment.base_offset)
        del self.segments[first:]

    def _activate(self) -> int:
        """Makes the last segment active, or creates one if there is none; returns the log end offset."""
        jitter_ms = self.context.roll_jitter(self.config.segment_jitter_ms, self.config.segment_ms)
        end_offset = self._open_last(jitter_ms) if self.segments else self.log_start_offset
        if self.segments and end_offset < self.log_start_offset:
            _log.warning("%s: ends at %d, before its start %d", self.place.path, end_offset, self.log_start_offset)
            self._drop_segments(0)
            end_offset = self.log_start_offset
        if not self.segments:
            self.segments.append(
                Segment.create(self.place, self.log_start_offset, self.config, self.now_ms, jitter_ms)
            )
        return end_offset

    def _open_last(self, jitter_ms: int) -> int:
        """Makes the last segment active; returns the offset after its last batch. Unreadable data at its end is cut."""
        segment = self.segments[-1]
        try:
            segment.make_active(self.config, jitter_ms)
            return segment.next_offset()
        except CorruptBatch as corrupt:  # only after a clean stop: otherwise the segment has been checked
            _log.warning("%s: %s", segment.path, corrupt)
        self._producers_before(len(self.segments) - 1)
        cut = self._recover_segment(segment, None)
        _log.warning("%s: cut %d bytes after the last valid batch", segment.path, cut)
        segment.make_active(self.config, jitter_ms)
        return segment.next_offset()

    def _trim_epochs(self, written: list[EpochStart], path: str, log_end_offset: int, is_clean: bool) -> None:
        """Keeps the epochs of [log start, log end) and writes the checkpoint if this or recovery changed them.

        After a clean stop the next change writes it: every start truncates the entries outside of the log again, and a
        synced write for each empty log would double the start-up time.
        """
        if self.config.magic < MAGIC:  # formats without epochs
            if written:
                _log.warning("%s: removing the leader epochs, for message format %d has none", path, self.config.magic)
            self.epochs.clear()
            self.place.remove_if_present(filenames.LEADER_EPOCH_CHECKPOINT)
            return
        self.epochs.truncate_from_end(log_end_offset)
        self.epochs.truncate_from_start(self.log_start_offset)
        if is_clean or self.epochs.entries() == written:
            create_if_missing(self.place.files, path)
        else:
            write_atomically(self.place.files, path, format_epochs(self.epochs.entries()))

    def _load_producers(self, log_end_offset: int, kept_snapshots: bool) -> None:
        """Producer state up to the log end. kept_snapshots: whether the version that wrote the log kept snapshots."""
        bases = [segment.base_offset for segment in self.segments]
        if not kept_snapshots and log_end_offset > self.log_start_offset:
            # Written by a version without snapshots: there are no idempotent producers.
            for offset in sorted({*bases[-2:], log_end_offset}):
                self.producers.reached(offset)
                self._snapshot()
            return
        strays = [offset for offset in self.snapshots if offset not in bases and offset <= log_end_offset]
        for offset in strays if not strays or strays[-1] < bases[-1] else strays[:-1]:
            self.place.remove_if_present(filenames.segment_file(offset, filenames.SNAPSHOT))
            self.snapshots.remove(offset)
        self._load_snapshot(log_end_offset)
        producer_replay.replay(self.segments, self.producers, log_end_offset)

    def _load_snapshot(self, end_offset: int) -> None:
        producer_replay.load_snapshot(
            self.place, self.producers, self.snapshots, log_start_offset=self.log_start_offset, end_offset=end_offset,
            now_ms=self.now_ms, expiration_ms=self.context.producer_expiration_ms,
        )  # fmt: skip

    def _snapshot(self) -> None:
        producer_replay.write_snapshot(self.place, self.producers, self.snapshots)


def _orderly_bytes(segment: Segment, next_base: int | None) -> int:
    """Bytes of a segment with rising offsets below the next segment's; its whole size if a header cannot be read.

    The checksum does not cover base offsets. Where they go backwards, the previous batch is the wrong one if it follows
    a gap, because only compaction leaves gaps; Apache Kafka 2.8.2 would delete the whole segment.
    """
    due, before = segment.base_offset, None
    try:
        for position, header in iter_file_headers(segment.file(), 0, segment.size):
            if header.base_offset < due or (next_base is not None and header.last_offset >= next_base):
                kept = before[0] if before is not None and _follows_gap(segment, *before) else position
                _log.warning(
                    "%s: base offset %d where %d was expected, keeping %d bytes",
                    segment.path, header.base_offset, due, kept,
                )  # fmt: skip
                return kept
            before = position, header, due
            due = header.next_offset
    except CorruptBatch:
        pass  # reported when the batches are checked
    return segment.size


def _follows_gap(segment: Segment, position: int, header: BatchHeader, due: int) -> bool:
    """Whether the batch does not begin with the offset that was due; a wrapper of format 0 or 1 is read for that."""
    if header.magic == MAGIC or not header.codec_id:
        return header.base_offset > due
    try:
        records = read_records(segment.file().read(header.size_bytes, position), 0)
    except CorruptBatch:
        return True
    return records[0].offset > due or records[-1].offset != header.last_offset


def _open_indexes(segment: Segment, sizes: dict[str, int], config: LogConfig) -> bool:
    """Opens the index files without rebuilding them; False when one is missing or invalid."""
    base_offset, room = segment.base_offset, config.segment_index_bytes
    offset_bytes = sizes.get(filenames.segment_file(base_offset, filenames.OFFSET_INDEX))
    time_bytes = sizes.get(filenames.segment_file(base_offset, filenames.TIME_INDEX))
    segment.offset_index.opened(offset_bytes or 0, room)
    segment.time_index.opened(time_bytes or 0, room)
    segment.txn_index.opened(sizes.get(filenames.segment_file(base_offset, filenames.TXN_INDEX), 0))
    if offset_bytes is None:
        return False
    try:
        segment.txn_index.check()
    except CorruptTxnIndex as corrupt:
        _log.warning("%s", corrupt)
        return False
    return True


def _snapshots_in(entries: Sequence[FileInfo]) -> list[int]:
    """The offsets of the producer snapshots in a directory, in ascending order."""
    parsed = (filenames.parse_segment_file(entry.name) for entry in entries)
    return sorted(found.base_offset for found in parsed if found and found.suffix == filenames.SNAPSHOT)
