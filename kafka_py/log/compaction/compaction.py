"""Decisions of compaction: the records that are retained, the segments that are merged, the fate of transactions.

Pure decisions over values and batches; cleaning.py reads and writes files, cleaner.py selects the next log.
Source: docs/reference/log.md, section 15; KIP-58 (compaction lag), KIP-354 (longest lag), KIP-98 (transactions).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from kafka_py.log.compaction.key_offsets import NO_KEY, KeyOffsets, LatestOffsets
from kafka_py.log.segments.txn_index import AbortedTxn
from kafka_py.records.batch import MAGIC, BatchHeader, Record, decode_records, verify_crc
from kafka_py.records.builder import empty_batch
from kafka_py.records.control import ControlType, read_control_type
from kafka_py.records.filtering import Kept, RecordOutlines, batch_of, iter_outlines
from kafka_py.records.legacy_builder import LegacyBuilder
from kafka_py.records.legacy_records import EntryContents, LegacyRecord, open_entry, parse_entries
from kafka_py.records.survey import AT_ONCE, no_pause

MAX_OFFSET_SPAN = (1 << 31) - 1
MOST_MERGED = 8
"""Most segments merged into one: all of them are renamed in one turn of the loop. Later compactions merge further."""
MOST_AT_ONCE = 20_000
"""Most records of one batch held in memory together; a compressed batch may have millions."""


# ---- segments


class Part(NamedTuple):
    """The properties of a segment that decide how segments are grouped."""

    base_offset: int
    size: int
    offset_index_bytes: int = 0
    time_index_bytes: int = 0


def group_parts(parts: Sequence[Part], max_bytes: int, max_index_bytes: int, end_offset: int) -> list[list[Part]]:
    """Groups of adjacent segments to merge: at most MOST_MERGED, together within the size limits of a segment.

    end_offset: the end of the last part (exclusive).
    """
    groups: list[list[Part]] = []
    size = offset_bytes = time_bytes = 0
    for number, part in enumerate(parts):
        last_offset = (parts[number + 1].base_offset if number + 1 < len(parts) else end_offset) - 1
        fits = (
            groups
            and len(groups[-1]) < MOST_MERGED
            and size + part.size <= max_bytes
            and offset_bytes + part.offset_index_bytes <= max_index_bytes
            and time_bytes + part.time_index_bytes <= max_index_bytes
            and (part.size == 0 or last_offset - groups[-1][0].base_offset <= MAX_OFFSET_SPAN)
        )
        if fits:
            groups[-1].append(part)
            size += part.size
            offset_bytes += part.offset_index_bytes
            time_bytes += part.time_index_bytes
        else:
            groups.append([part])
            size, offset_bytes, time_bytes = part.size, part.offset_index_bytes, part.time_index_bytes
    return groups


class Dirtiness(NamedTuple):
    """The dirty part of a log, which a compaction would work on.

    first_dirty: everything below it is compacted. end: first offset that cannot be compacted yet (exclusive end).
        overdue_ms: by how much some record exceeds max.compaction.lag.ms; 0 when none does.
    """

    first_dirty: int
    end: int
    clean_bytes: int
    cleanable_bytes: int
    overdue_ms: float = 0.0

    @property
    def ratio(self) -> float:
        """Dirty bytes divided by all compactable bytes (min.cleanable.dirty.ratio)."""
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    def is_due(self, min_ratio: float) -> bool:
        return self.cleanable_bytes > 0 and (self.overdue_ms > 0 or self.ratio > min_ratio)


# ---- transactions


class CleanedTransactionMetadata:
    """Tracks the transactions of a log from batch to batch, and which of them were aborted.

    aborted: entries of the transaction indexes. kept: the aborted transactions that still have records, in the order of
        their markers.
    """

    def __init__(self, aborted: Iterable[AbortedTxn] = ()) -> None:
        self.kept: list[AbortedTxn] = []
        self._to_come: list[tuple[int, AbortedTxn]] = []
        self._aborted: dict[int, tuple[AbortedTxn, bool]] = {}  # by producer; whether data of it was seen
        self._committed: set[int] = set()
        for one in aborted:
            heapq.heappush(self._to_come, (one.first_offset, one))

    def _up_to(self, offset: int) -> None:
        while self._to_come and self._to_come[0][0] <= offset:
            _, aborted = heapq.heappop(self._to_come)
            self._aborted.setdefault(aborted.producer_id, (aborted, False))

    def data(self, header: BatchHeader) -> bool:
        """Takes the next data batch; whether it belongs to an aborted transaction."""
        self._up_to(header.last_offset)
        if not header.is_transactional:
            return False
        found = self._aborted.get(header.producer_id)
        if found is None:
            self._committed.add(header.producer_id)
            return False
        self._aborted[header.producer_id] = found[0], True
        return True

    def marker(self, header: BatchHeader, record: Record | None) -> bool:
        """Takes the next control batch; whether its transaction has no records left. record: None in an empty batch."""
        self._up_to(header.last_offset)
        if record is None:
            return True
        kind = read_control_type(record)
        if kind is ControlType.COMMIT:
            was_met = header.producer_id in self._committed
            self._committed.discard(header.producer_id)
            return not was_met
        if kind is ControlType.ABORT:
            found = self._aborted.pop(header.producer_id, None)
            if found is not None and found[1]:
                self.kept.append(found[0])
                return False
            return True
        return False


class LastBatch(NamedTuple):
    """Offset of an active producer's last data batch (-1: it has appended only a marker), and its epoch."""

    data_offset: int
    epoch: int

    def is_in(self, header: BatchHeader) -> bool:
        """Whether the batch holds the producer's last sequence or epoch, which must be retained."""
        if self.data_offset >= 0:
            return header.last_offset == self.data_offset
        return header.is_control and header.producer_epoch == self.epoch


# ---- records


class RecordFilter:
    """Decides batch by batch which records are retained, from the first batch of the log on.

    keys: the last offset of each key of the dirty part, which begins at first_dirty and whose records have all been
        read. producers: by id, those that have not expired. pause: see LatestOffsets.
    """

    def __init__(
        self,
        keys: KeyOffsets,
        transactions: CleanedTransactionMetadata,
        producers: Mapping[int, LastBatch],
        first_dirty: int,
        pause: Callable[[], None] = no_pause,
    ) -> None:
        self._keys = keys
        self._latest_offsets = LatestOffsets(keys, first_dirty, pause)
        self.transactions = transactions
        self._producers = producers
        self._first_dirty = first_dirty
        self.records_kept = 0

    def retained(self, batch: memoryview, header: BatchHeader, *, keeps_deletes: bool) -> memoryview | bytes | None:
        """The retained part of a batch: the batch itself, a batch with fewer records, only its header, or None.

        keeps_deletes: tombstones and markers of this segment are younger than delete.retention.ms.
        Raises CorruptBatch.
        """
        verify_crc(batch, 0, header)  # a batch that is rebuilt would get a checksum that hides the damage
        if header.magic < MAGIC:
            return self._retained_old(batch, header, keeps_deletes)
        kept: Kept = tuple
        if header.is_control:
            records = decode_records(batch, header=header)
            is_spent = self.transactions.marker(header, records[0] if records else None)
            kept_count = 0 if is_spent and not keeps_deletes else len(records)
        elif self.transactions.data(header):
            kept_count = 0
        elif self._latest_offsets.covers(header.base_offset, header.last_offset):
            kept_count = self._latest_offsets.count(header.base_offset, header.last_offset)
            if kept_count < header.record_count:
                kept = partial(self._latest, batch, header)
        else:
            kept = partial(self._staying, batch, header, keeps_deletes)
            if header.record_count <= MOST_AT_ONCE:  # else read twice rather than held in memory as records
                kept = list(kept()).copy
            kept_count = sum(len(indexes) for _, indexes in kept())
        self.records_kept += kept_count
        if kept_count and kept_count == header.record_count:
            return batch
        if kept_count:
            return batch_of(header, kept)
        last = self._producers.get(header.producer_id) if header.producer_id >= 0 else None
        return empty_batch(header) if last is not None and last.is_in(header) else None

    def _latest(self, batch: memoryview, header: BatchHeader) -> Iterator[tuple[RecordOutlines, list[int]]]:
        """Those that stay of a batch of the dirty part, where tombstones stay as well (see _staying_of)."""
        for records in iter_outlines(batch, header):
            yield records, self._latest_offsets.chosen(records.offsets)

    def _staying(
        self, batch: memoryview, header: BatchHeader, keeps_deletes: bool
    ) -> Iterator[tuple[RecordOutlines, list[int]]]:
        for records in iter_outlines(batch, header):
            yield records, self._staying_of(records.offsets, records.keys, records.tombstones, keeps_deletes)

    def _retained_old(self, batch: memoryview, header: BatchHeader, keeps_deletes: bool) -> memoryview | bytes | None:
        """As `retained`, of an entry of format 0 or 1, plain or compressed."""
        contents = open_entry(batch, 0)
        kept: Iterable[LegacyRecord] = self._staying_in_entry(contents, keeps_deletes)
        if contents.record_count <= MOST_AT_ONCE:
            kept = list(kept)
            kept_count = len(kept)
        else:  # read twice rather than held in memory as records
            kept_count = sum(1 for _ in kept)
            kept = self._staying_in_entry(contents, keeps_deletes)
        self.records_kept += kept_count
        if kept_count == contents.record_count:
            return batch
        return _rebuilt_entry(header, kept) if kept_count else None

    def _staying_in_entry(self, contents: EntryContents, keeps_deletes: bool) -> Iterator[LegacyRecord]:
        for first in range(0, contents.record_count, AT_ONCE):
            records = parse_entries(contents, first, first + AT_ONCE)
            tombstones = [index for index, record in enumerate(records) if record.value is None]
            offsets, keys = [record.offset for record in records], [record.key for record in records]
            for index in self._staying_of(offsets, keys, tombstones, keeps_deletes):
                yield records[index]

    def _staying_of(
        self, offsets: Sequence[int], keys: Sequence[bytes | None], tombstones: Sequence[int], keeps_deletes: bool
    ) -> list[int]:
        """Indexes of those that stay: what is not covered by the table, and the last record of each key.

        tombstones: indexes of those without a value. One of the dirty part stays as well, because the log may hold an
        older value of its key until this compaction is swapped in as a whole.
        """
        latest, lasts = self._keys.latest, self._keys.last_offsets(keys)
        if tombstones and not keeps_deletes:
            for index in tombstones:
                if offsets[index] < self._first_dirty:
                    lasts[index] = NO_KEY
        return [
            index
            for index, (offset, last) in enumerate(zip(offsets, lasts, strict=True))
            if offset >= last or offset > latest
        ]


def _rebuilt_entry(header: BatchHeader, records: Iterable[LegacyRecord]) -> bytes:
    """The wrapper with only these records, in its codec; its offset becomes that of the last of them."""
    builder: LegacyBuilder | None = None
    for offset, timestamp, key, value, _, _ in records:
        if builder is None:
            builder = LegacyBuilder(
                header.magic,
                header.codec,
                base_offset=offset,
                timestamp_type=header.timestamp_type,
                log_append_time_ms=header.max_timestamp,
            )
        builder.append_at(offset, timestamp, key, value)
    assert builder is not None
    return builder.build()
