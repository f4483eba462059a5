"""One compaction of one log: reads its segments and writes the retained records to `.cleaned` files. Blocks.

A job is captured on the loop as plain values and runs in a thread without touching the live log;
LogCompaction.take_cleaned swaps the result in. It pauses often to leave CPU time to the event loop.
Source: docs/reference/log.md, sections 15 and 16.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import sleep as system_sleep

from kafka_py.base.clock import Clock
from kafka_py.log.compaction.compaction import CleanedTransactionMetadata, LastBatch, Part, RecordFilter, group_parts
from kafka_py.log.compaction.key_offsets import ENTRY_BYTES, KeyOffsets
from kafka_py.log.disk import filenames
from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.disk.files import Files
from kafka_py.log.disk.handles import OpenHandles
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.segments.scanning import iter_file_batches, iter_file_headers
from kafka_py.log.segments.segment import Segment
from kafka_py.log.segments.time_index import TimeOffset
from kafka_py.log.segments.txn_index import AbortedTxn, TxnIndex
from kafka_py.records.batch import MAGIC, BatchHeader, CorruptBatch, decode_records, read_header, verify_crc
from kafka_py.records.filtering import iter_outlines
from kafka_py.records.legacy_records import iter_record_pieces as iter_old_pieces

WORK_MS = 1.0
"""CPU time between two pauses."""
PAUSE_MS = 0.5


def never() -> bool:
    """Default stop check: never stops."""
    return False


class Stopped(Exception):
    """The compaction was cancelled, or the log changed while it ran."""


@dataclass(slots=True)
class Cleaned:
    """One compacted segment; its files have the suffix `.cleaned`.

    sources: base offsets of the segments that it replaces. source_bytes: their total size.
    """

    base_offset: int
    size: int
    sources: list[int]
    source_bytes: int


@dataclass(slots=True, kw_only=True)
class CleanJob:
    """The input of a compaction and, after `run`, its result.

    parts: the segments below `end`, oldest first. first_dirty, end: see Dirtiness. index_bases: base offsets of all
        segments, including the active one, because a transaction may end there. producers: those that have not expired.
    generation: that of the log when the job was captured. bytes_per_s: bound on reading and writing together.
    end_offset: everything below it has been compacted (exclusive). unused: results that were not swapped in because
        their sources had been deleted. is_complete: whether every remaining segment below end_offset is a compacted
        one.
    """

    path: str
    files: Files
    clock: Clock
    config: LogConfig
    parts: Sequence[Part]
    first_dirty: int
    end: int
    index_bases: Sequence[int]
    producers: Mapping[int, LastBatch]
    generation: int
    buffer_bytes: int
    load_factor: float
    bytes_per_s: float
    is_stopped: Callable[[], bool] = never
    sleep: Callable[[float], None] = system_sleep
    cleaned: list[Cleaned] = field(default_factory=list)
    unused: list[Cleaned] = field(default_factory=list)
    is_complete: bool = True
    end_offset: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    records_read: int = 0
    records_kept: int = 0
    table_fullness: float = 0.0
    _work_began_ms: float = 0.0
    _began_ms: float = 0.0

    # ---- the work

    def run(self) -> CleanJob:
        """Runs the compaction. Raises OSError, CorruptBatch, Stopped; then `discard` removes its files."""
        self._began_ms = self._work_began_ms = self.clock.monotonic_ms()
        place = PartitionDirectory(self.path, self.files, OpenHandles())
        self._remove_leftovers(place)
        horizon_ms = self._delete_horizon(place)
        keys = self._make_table(place)
        try:
            aborted = self._aborted(place)
            dirty = (one for one in aborted if one.last_offset >= self.first_dirty)
            self._fill(place, keys, CleanedTransactionMetadata(dirty))
            self.end_offset = keys.latest + 1
            self.table_fullness = keys.fullness
            record_filter = RecordFilter(
                keys, CleanedTransactionMetadata(aborted), self.producers, self.first_dirty, self._pause
            )
            parts = [part for part in self.parts if part.base_offset < self.end_offset]
            max_index = self.config.segment_index_bytes
            for group in group_parts(parts, self.config.segment_bytes, max_index, self.end):
                self._clean_group(place, group, record_filter, horizon_ms)
            self.records_kept = record_filter.records_kept
        finally:
            keys.close()
        return self

    def take_result(self, done: CleanJob) -> None:
        """Copies the result of the same job that ran in another process."""
        self.cleaned, self.end_offset = done.cleaned, done.end_offset
        self.bytes_read, self.bytes_written = done.bytes_read, done.bytes_written
        self.records_read, self.records_kept = done.records_read, done.records_kept
        self.table_fullness = done.table_fullness

    def take(self, count: int) -> list[Cleaned]:
        """Removes and returns the next `count` results, which are to be swapped in."""
        taken, self.cleaned = self.cleaned[:count], self.cleaned[count:]
        return taken

    def note_unused(self, cleaned: Cleaned, *, is_left: bool) -> None:
        """Notes a result that could not be swapped in. is_left: the log still has some of its source segments."""
        self.unused.append(cleaned)
        self.is_complete = self.is_complete and not is_left

    def discard(self) -> None:
        """Removes all files that the job has written."""
        place = PartitionDirectory(self.path, self.files, OpenHandles())
        for part in self.parts:
            for suffix in filenames.SEGMENT_SUFFIXES:
                with suppress(OSError):
                    place.remove_if_present(filenames.segment_file(part.base_offset, suffix) + filenames.CLEANED)

    def _remove_leftovers(self, place: PartitionDirectory) -> None:
        """Removes files that an earlier compaction has left, so that they are not taken for those of this one.

        Recovery also discards a `.swap` file whose base offset is not below that of a `.cleaned` file.
        """
        for entry in self.files.list(self.path):
            name = filenames.parse_segment_file(entry.name)
            if name is not None and name.state == filenames.CLEANED:
                place.remove_if_present(entry.name)

    def _delete_horizon(self, place: PartitionDirectory) -> int:
        """Tombstones in segments last modified at or before this time may be removed (ms, wall clock)."""
        clean = [part for part in self.parts if part.base_offset < self.first_dirty]
        return self._modified_ms(place, clean[-1]) - self.config.delete_retention_ms if clean else 0

    @staticmethod
    def _modified_ms(place: PartitionDirectory, part: Part) -> int:
        return place.files.info(place.segment_path(part.base_offset, filenames.LOG)).modified_ms

    # ---- first pass: the last offset of each key

    def _dirty(self) -> list[tuple[Part, int]]:
        """The parts from the first dirty offset on, each with the base offset of the next part."""
        ends = [part.base_offset for part in self.parts[1:]] + [self.end]
        return [(part, end) for part, end in zip(self.parts, ends, strict=True) if end > self.first_dirty]

    def _make_table(self, place: PartitionDirectory) -> KeyOffsets:
        """An empty key table, sized by the settings and no larger than the dirty records can need."""
        most = 0
        for part, _ in self._dirty():
            most += self._count_records(place, part)
        wanted = int(most / self.load_factor + 2) * ENTRY_BYTES
        return KeyOffsets(min(self.buffer_bytes, wanted), self.load_factor)

    def _count_records(self, place: PartitionDirectory, part: Part) -> int:
        file = self.files.open(place.segment_path(part.base_offset, filenames.LOG))
        count = 0
        try:
            for _, header in iter_file_headers(file, 0, part.size):
                if header.record_count < 0 and header.codec_id:
                    count += header.size_bytes  # a wrapper does not say; a record has 26 bytes once decompressed
                else:
                    count += max(header.record_count, 1)
                self._pause()
        finally:
            file.close()
        return count

    def _fill(self, place: PartitionDirectory, keys: KeyOffsets, transactions: CleanedTransactionMetadata) -> None:
        """Adds the keys of the dirty part; stops early when the table is full."""
        for part, next_base in self._dirty():
            for _, header, batch in self._batches(place, part):
                if not self._fill_from(batch, header, keys, transactions):
                    return
                if header.last_offset >= self.first_dirty:
                    keys.cover(header.last_offset)
            keys.cover(next_base - 1)

    def _fill_from(
        self, batch: memoryview, header: BatchHeader, keys: KeyOffsets, transactions: CleanedTransactionMetadata
    ) -> bool:
        """Adds the keys of one batch, without markers and aborted records; False when the table is full."""
        verify_crc(batch, 0, header)
        if header.is_control:
            markers = decode_records(batch, header=header)
            self.records_read += len(markers)
            transactions.marker(header, markers[0] if markers else None)
            return True
        is_dropped = transactions.data(header)
        for offsets, keys_there in _keys_of(batch, header):
            self.records_read += len(offsets)
            first = header.base_offset if header.magic == MAGIC else 0  # older ones have that of their last record
            if not first <= offsets[0] <= offsets[-1] <= header.last_offset:
                keys.is_ordered = False
            if not is_dropped and not keys.add(offsets, keys_there, self.first_dirty):
                return False
        return True

    # ---- second pass: retained records

    def _clean_group(
        self, place: PartitionDirectory, group: Sequence[Part], record_filter: RecordFilter, horizon_ms: int
    ) -> None:
        """Merges several segments into one synced `.cleaned` segment with the modification time of the last one."""
        base_offset = group[0].base_offset
        target_place = PartitionDirectory(self.path, self.files, OpenHandles(), state=filenames.CLEANED)
        target = Segment.create(target_place, base_offset, self.config, 0)
        record_filter.transactions.kept.clear()
        try:
            for part in group:
                keeps_deletes = self._modified_ms(place, part) > horizon_ms
                for _, header, batch in self._batches(place, part):
                    left = record_filter.retained(batch, header, keeps_deletes=keeps_deletes)
                    if left is not None:
                        self._write(target, left)
            for aborted in record_filter.transactions.kept:
                target.txn_index.append(aborted)
            target.become_inactive(preallocated=self.config.preallocate)
            size = target.size
        finally:
            target.release_files()
        self._sync(target_place, base_offset, self._modified_ms(place, group[-1]))
        sources = [part.base_offset for part in group]
        self.cleaned.append(Cleaned(base_offset, size, sources, sum(part.size for part in group)))

    def _write(self, target: Segment, batch: memoryview | bytes) -> None:
        header = read_header(batch)
        largest = TimeOffset(header.max_timestamp, header.last_offset)
        target.append(batch, header.last_offset, largest, self.config.index_interval_bytes)
        self.bytes_written += len(batch)

    def _sync(self, place: PartitionDirectory, base_offset: int, modified_ms: int) -> None:
        for suffix in filenames.SEGMENT_SUFFIXES:
            path = place.segment_path(base_offset, suffix)
            if self.files.exists(path):
                file = self.files.open(path)
                try:
                    file.sync()
                finally:
                    file.close()
        self.files.set_modified_ms(place.segment_path(base_offset, filenames.LOG), modified_ms)

    # ---- reading

    def _batches(self, place: PartitionDirectory, part: Part) -> Iterator[tuple[int, BatchHeader, memoryview]]:
        """Every batch of a part; pauses in between.

        Raises CorruptBatch also for a size beyond the end: the batches after it would be left out of the result.
        """
        file = self.files.open(place.segment_path(part.base_offset, filenames.LOG))
        end = 0
        try:
            for position, header, batch in iter_file_batches(file, 0, part.size):
                yield position, header, batch
                end = position + header.size_bytes
                self.bytes_read += len(batch)
                self._pause()
            if end != part.size:
                raise CorruptBatch(f"a batch reaches beyond the end of the segment at offset {part.base_offset}", end)
        finally:
            file.close()

    def _aborted(self, place: PartitionDirectory) -> list[AbortedTxn]:
        """All aborted transactions in the log's transaction indexes."""
        found: list[AbortedTxn] = []
        for base_offset in self.index_bases:
            index = TxnIndex(place, base_offset)
            with suppress(FileNotFoundError):
                index.opened(self.files.info(index.path).size)
                found += index.all_entries()
            index.close()
        return found

    def _pause(self) -> None:
        """Sleeps to leave CPU time to the event loop and to keep to log.cleaner.io.max.bytes.per.second."""
        now_ms = self.clock.monotonic_ms()
        if now_ms - self._work_began_ms < WORK_MS:
            return
        if self.is_stopped():
            raise Stopped
        due_ms = (self.bytes_read + self.bytes_written) / self.bytes_per_s * 1000 - (now_ms - self._began_ms)
        self.sleep(min(max(due_ms, PAUSE_MS), 1000.0) / 1000)
        self._work_began_ms = self.clock.monotonic_ms()


def _keys_of(batch: memoryview, header: BatchHeader) -> Iterator[tuple[list[int], list[bytes | None]]]:
    """Offsets and keys of the records of a batch of any format, a few at a time. Raises CorruptBatch."""
    if header.magic == MAGIC:
        for outlines in iter_outlines(batch, header):
            yield outlines.offsets, outlines.keys
    else:
        for records in iter_old_pieces(batch, 0):
            yield [record.offset for record in records], [record.key for record in records]
