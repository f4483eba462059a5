"""One .log file with its offset, time and transaction index: append, find, truncate.

Knows positions and offsets, and when to roll (`should_roll`). partition_log.py decides what may be appended;
log_tail.py creates the next segment. Source: docs/reference/log.md, sections 3 and 4.
"""

from __future__ import annotations

import contextlib
import logging

from kafka_py.base.texts import listed
from kafka_py.log.disk import filenames
from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.disk.files import Buffer, File
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.segments.future_timestamps import has_record_at
from kafka_py.log.segments.offset_index import OffsetIndex, OffsetPosition
from kafka_py.log.segments.scanning import (
    BATCH_START,
    HEADERS_AT_ONCE,
    BatchPlace,
    Bounds,
    NoBatchThere,
    begins_batch,
    find_batch,
    iter_file_headers,
)
from kafka_py.log.segments.time_index import TimeIndex, TimeOffset
from kafka_py.log.segments.txn_index import TxnIndex
from kafka_py.log.validation.header_trust import CLOCK_SLACK_MS
from kafka_py.records.batch import HEADER_SIZE, MAGIC, NO_TIMESTAMP, CorruptBatch, read_header

_log = logging.getLogger(__name__)

MAX_RELATIVE_OFFSET = (1 << 31) - 1


class Segment:
    """One segment; `size` is the length of its data. The active one keeps its file open, others open it on use.

    is_read_only: a copy for another thread, which changes no file: a wrong index entry raises CorruptBatch.
    """

    __slots__ = (
        "_active", "_bytes_since_entry", "_file", "_first_timestamp", "_is_read_only", "_largest", "_verified",
        "base_offset", "created_ms", "directory", "offset_index", "roll_jitter_ms", "size", "time_index", "txn_index",
        "used",
    )  # fmt: skip

    def __init__(
        self, directory: PartitionDirectory, base_offset: int, *, size: int = 0, created_ms: int = 0,
        roll_jitter_ms: int = 0, is_read_only: bool = False,
    ) -> None:  # fmt: skip
        self.directory = directory
        self.base_offset = base_offset
        self.size = size
        self.created_ms = created_ms
        self.roll_jitter_ms = roll_jitter_ms
        self.used = False
        self.offset_index = OffsetIndex(directory, base_offset)
        self.time_index = TimeIndex(directory, base_offset)
        self.txn_index = TxnIndex(directory, base_offset)
        self._active = False
        self._is_read_only = is_read_only
        self._file: File | None = None
        self._largest: TimeOffset | None = None
        self._first_timestamp: int | None = None
        self._verified: tuple[TimeOffset, bool] | None = None
        self._bytes_since_entry = 0

    @classmethod
    def create(
        cls, directory: PartitionDirectory, base_offset: int, config: LogConfig, now_ms: int, roll_jitter_ms: int = 0
    ) -> Segment:
        """A new, empty and active segment with its files. roll_jitter_ms: by how much its roll age is shortened."""
        segment = cls(directory, base_offset, created_ms=now_ms, roll_jitter_ms=roll_jitter_ms)
        segment._file = directory.open(base_offset, filenames.LOG, create=True)
        segment._file.truncate(0)
        if config.preallocate:
            segment._file.truncate(config.segment_bytes)
        segment._active = True
        segment._largest = TimeOffset(NO_TIMESTAMP, base_offset)
        segment.offset_index.create(config.segment_index_bytes)
        segment.time_index.create(config.segment_index_bytes)
        return segment

    @property
    def path(self) -> str:
        return self.directory.segment_path(self.base_offset, filenames.LOG)

    @property
    def largest(self) -> TimeOffset:
        """The largest timestamp and its offset; timestamp -1 when no record has one."""
        largest = self._largest
        if largest is None:
            largest = self._largest = self._last_time_entry() or self._scan_largest()
        return largest

    @property
    def has_unknown_largest(self) -> bool:
        """Whether it is inactive and its largest timestamp must be read from its files."""
        return self._largest is None and not self._active

    def take_largest(self, copy: Segment) -> None:
        """Takes the largest timestamp that a copy has read, unless this segment has changed since."""
        if self.has_unknown_largest and self.size == copy.size:
            self._largest = copy._largest

    def largest_timestamp_or_modified(self, now_ms: int) -> int:
        """The timestamp for retention (ms): the largest timestamp, or the file's modification time if there is none.

        A largest timestamp far ahead of the clock counts only if a record has it: an unverified wrong header would
        otherwise keep the segment forever. For a batch too large to be read here the base timestamp decides. now_ms:
        wall clock.
        """
        timestamp = self.largest.timestamp
        if timestamp - now_ms > CLOCK_SLACK_MS and not self._is_future_verified(now_ms):
            timestamp = NO_TIMESTAMP
        return timestamp if timestamp >= 0 else self.directory.files.info(self.path).modified_ms

    def _is_future_verified(self, now_ms: int) -> bool:
        """Whether the batch with the largest timestamp has a record with it; read once per timestamp."""
        largest = self.largest
        if self._verified is None or self._verified[0] != largest:
            try:
                place = self.find(largest.offset)
                batch = None if place is None else self.file().read(place.size_bytes, place.position)
                found = batch is not None and has_record_at(batch, largest, now_ms, self.path)
            except (CorruptBatch, ValueError) as error:
                _log.warning("%s: the batch at offset %d cannot be read: %s", self.path, largest.offset, error)
                found = False
            self._verified = largest, found
        return self._verified[1]

    def append(self, data: Buffer, last_offset: int, largest: TimeOffset, index_interval_bytes: int) -> None:
        """Writes one append at the end of the file, and an index entry when one is due.

        largest: the largest timestamp of the append and its offset. Raises OSError; `size` is unchanged then.
        """
        position = self.size
        size = len(data)
        if self._bytes_since_entry > index_interval_bytes:  # may raise, so it comes before the write
            self.offset_index.file()
            self.time_index.file()
        (self._file or self.file()).write(data, position)
        if position == 0:
            self._first_timestamp = largest[0]
        if largest[0] > (self._largest or self.largest)[0]:
            self._largest = largest
        if self._bytes_since_entry > index_interval_bytes:
            self._add_entry(position, last_offset)
        self._bytes_since_entry += size
        self.size = position + size

    def index(self, position: int, size: int, last_offset: int, largest: TimeOffset, index_interval_bytes: int) -> None:
        """Updates timestamps and indexes for an append of `size` bytes at `position`."""
        if largest[0] > self.largest[0]:
            self._largest = largest
        if self._bytes_since_entry > index_interval_bytes:
            self._add_entry(position, last_offset)
        self._bytes_since_entry += size

    def _add_entry(self, position: int, last_offset: int) -> None:
        if not self.offset_index.is_full:
            self.offset_index.append(last_offset, position)
            self.time_index.maybe_append(*self.largest)
            self._bytes_since_entry = 0

    def should_roll(self, size: int, last_offset: int, largest_timestamp: int, config: LogConfig, now_ms: int) -> bool:
        """Whether the segment must be rolled before an append of `size` bytes up to `last_offset` (inclusive)."""
        present = self.size
        if (
            present + size > config.segment_bytes
            or self.time_index.is_full
            or self.offset_index.is_full
            or last_offset - self.base_offset > MAX_RELATIVE_OFFSET
        ):
            return True
        if not present:
            return False
        first = self._first_timestamp  # as age_ms, without the call: this runs for every append
        if first is None or first < 0:
            age_ms = self.age_ms(largest_timestamp, now_ms)
        else:
            age_ms = largest_timestamp - first
        return age_ms > config.roll_ms - self.roll_jitter_ms

    def age_ms(self, timestamp: int, now_ms: int) -> int:
        """Age in ms: from the first batch's timestamp to `timestamp`, or from creation to `now_ms` if it has none."""
        first = self._first_timestamp
        if first is None:
            first = self._first_timestamp = self._read_first_timestamp()
        return timestamp - first if first >= 0 else now_ms - self.created_ms

    def find(self, offset: int) -> BatchPlace | None:
        """The batch that holds `offset`, or the next one after it in this segment; None when all are below it."""
        entry, following = self.offset_index.around(offset)
        file = self.file()
        if entry.offset < offset and following - entry.position > HEADERS_AT_ONCE:
            # Large batches have an entry each: the batch most likely begins at the next entry's position.
            bounds = Bounds(self.base_offset, offset)
            with contextlib.suppress(NoBatchThere):
                return find_batch(file, following, self.size, offset, begins_within=bounds, first_read=BATCH_START)
        if entry.position:
            bounds = Bounds(self.base_offset, entry.offset, may_wrap=True)
            try:
                return find_batch(file, entry.position, self.size, offset, begins_within=bounds)
            except NoBatchThere:
                self._distrust_index(entry)
        return find_batch(file, 0, self.size, offset)

    def start_for(self, offset: int) -> int:
        """Position where the search for `offset` begins: that of the index entry, if a matching batch begins there."""
        entry = self.offset_index.lookup(offset)
        position = entry.position
        bounds = Bounds(self.base_offset, entry.offset, may_wrap=True)
        if position == 0 or begins_batch(self.file(), position, self.size, bounds):
            return position
        self._distrust_index(entry)
        return 0

    def start_for_time(self, timestamp: int, lowest_offset: int) -> int:
        """Position where the search for a record of `timestamp`, at or after `lowest_offset`, begins."""
        entry = self.time_index.lookup(timestamp)
        return self.start_for(max(entry.offset if self._matches_batch(entry) else self.base_offset, lowest_offset))

    def next_offset(self) -> int:
        """The offset after the last batch, or the base offset. Raises CorruptBatch where no whole one in order is."""
        last = self.offset_index.last
        next_offset, end = self.base_offset, self.start_for(last.offset)
        for position, header in iter_file_headers(self.file(), end, self.size):
            if header.last_offset < next_offset:
                raise CorruptBatch(f"offset {header.last_offset} where {next_offset} was expected", position)
            next_offset, end = header.next_offset, position + header.size_bytes
        if end != self.size:
            raise CorruptBatch("the last batch is not whole", end)
        if self.offset_index.entries and next_offset <= last.offset:
            self._distrust_index(last)
        return next_offset

    def _distrust_index(self, entry: OffsetPosition) -> None:
        """Ignores the index from now on, because an entry is wrong; the next start of the broker rebuilds it."""
        if self._is_read_only:
            raise CorruptBatch(f"{self.path}: the index is wrong at {entry}")
        _log.warning("%s: the entry %s is wrong, the index is ignored", self.offset_index.path, listed(entry))
        self.offset_index.truncate_to_entries(0)
        if not self._active:
            self.offset_index.close()
            self.directory.files.remove(self.offset_index.path)

    def _last_time_entry(self) -> TimeOffset | None:
        """The last entry of the time index; None when there is none, or a wrong one."""
        last = self.time_index.last
        return last if self.time_index.entries and self._matches_batch(last) else None

    def _matches_batch(self, entry: TimeOffset) -> bool:
        """Whether the batch at the entry's offset has the entry's timestamp."""
        if entry.timestamp < 0:
            return True
        try:
            place = self.find(entry.offset)
            if place is None:
                return False
            header = read_header(self.file().read(min(place.size_bytes, HEADER_SIZE), place.position))
        except CorruptBatch:
            return False
        return header.magic < MAGIC or header.max_timestamp == entry.timestamp

    def cut_position(self, offset: int) -> int:
        """Position of the batch that holds `offset`; the segment's size when all batches are below it.

        Raises CorruptBatch when a batch header before that position is invalid.
        """
        place = self.find(offset)
        if place is not None:
            return place.position
        end = self.start_for(offset)
        for position, header in iter_file_headers(self.file(), end, self.size):
            end = position + header.size_bytes
        if end != self.size:  # a batch size beyond the end of the file also ends the search
            raise CorruptBatch("a batch reaches beyond the end of the file", end)
        return self.size

    def truncate_to(self, offset: int, config: LogConfig, now_ms: int) -> int:
        """Truncates from the batch that holds `offset` on; returns the number of bytes removed.

        Raises CorruptBatch, as `cut_position` does, before anything is changed.
        """
        position = self.cut_position(offset)
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.txn_index.truncate_to(offset)
        self._bytes_since_entry = 0
        cut = self.size - position
        if cut:
            self.cut_file(position)
            if self.size == 0:
                self.created_ms = now_ms
                self._first_timestamp = None
        self._largest = self._scan_largest()
        return cut

    def cut_file(self, size: int) -> None:
        """Truncates the .log file to `size` bytes; the caller updates the indexes."""
        self.file().truncate(size)
        self.size = size

    def make_active(self, config: LogConfig, roll_jitter_ms: int | None = None) -> None:
        """Prepares the segment for appends: its file stays open, its indexes get their full size."""
        if roll_jitter_ms is not None:
            self.roll_jitter_ms = roll_jitter_ms
        file = self.file()
        self.offset_index.drop_zero_tail()
        self.time_index.drop_zero_tail()
        if not self._active:
            self.directory.handles.closed(self)
            self._active = True
            self._file = file
        self.offset_index.resize(config.segment_index_bytes)
        self.time_index.resize(config.segment_index_bytes)
        if self._largest is None:
            self._largest = self._scan_largest()
        if config.preallocate and self.size < config.segment_bytes:
            file.truncate(config.segment_bytes)

    def become_inactive(self, *, preallocated: bool) -> None:
        """Ends appends to the segment: writes the last time index entry and trims the files."""
        self.add_last_time_entry()
        self.offset_index.trim()
        self.time_index.trim()
        if preallocated:
            self.file().truncate(self.size)
        if self._active:
            self._active = False
            if self._file is not None:
                self.directory.handles.opened(self)

    def add_last_time_entry(self) -> None:
        """Adds the last time index entry at a roll, close or recovery, unless it is there already."""
        largest = self.largest
        if largest.timestamp >= 0:
            self.time_index.maybe_append(*largest, closing=True)

    def open_indexes(self, config: LogConfig) -> None:
        """Opens the existing index files without a check; compaction has just written them."""
        files, room = self.directory.files, config.segment_index_bytes
        self.offset_index.opened(files.info(self.offset_index.path).size, room)
        self.time_index.opened(files.info(self.time_index.path).size, room)
        with contextlib.suppress(FileNotFoundError):
            self.txn_index.opened(files.info(self.txn_index.path).size)

    def reset_indexes(self, config: LogConfig) -> None:
        """Empties all indexes and drops the known timestamps, before the segment is read again."""
        self.offset_index.create(config.segment_index_bytes)
        self.time_index.create(config.segment_index_bytes)
        self.txn_index.reset()
        self._largest = TimeOffset(NO_TIMESTAMP, self.base_offset)
        self._first_timestamp = None
        self._bytes_since_entry = 0

    def file(self) -> File:
        """The open .log file."""
        self.used = True
        file = self._file
        if file is None:
            file = self._file = self.directory.open(self.base_offset, filenames.LOG)
            self.directory.handles.opened(self)
        return file

    def release(self) -> None:
        self._file = None

    def release_files(self) -> None:
        """Releases every open file; slices being sent keep theirs."""
        if self._file is not None and not self._active:
            self.directory.handles.closed(self)
        self._file = None
        self._active = False
        self.offset_index.close()
        self.time_index.close()
        self.txn_index.close()

    def _scan_largest(self) -> TimeOffset:
        """The last time index entry, or a larger timestamp of a batch after it."""
        entry = self._last_time_entry()
        largest = entry or TimeOffset(NO_TIMESTAMP, self.base_offset)
        start = 0 if entry is None else self.start_for(entry.offset)
        try:
            for _, header in iter_file_headers(self.file(), start, self.size):
                if header[8] > largest[0] and 0 <= header.last_offset - self.base_offset <= MAX_RELATIVE_OFFSET:
                    largest = TimeOffset(header.max_timestamp, header.last_offset)
        except CorruptBatch as corrupt:  # the batches before it count; a reader of the later ones gets the error
            _log.warning("%s: %s", self.path, corrupt)
        return largest

    def _read_first_timestamp(self) -> int:
        for _, header in iter_file_headers(self.file(), 0, self.size):
            return header.max_timestamp
        return NO_TIMESTAMP
