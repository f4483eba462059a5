"""What compaction keeps: the last record of every key, which segments go together, and what becomes of transactions.

Pure decisions over values and batches; reading and writing files is cleaning.py, which log is next is cleaner.py.
Source: docs/reference/log.md, section 15; KIP-58 (compaction lag), KIP-354 (longest lag), KIP-98 (transactions).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kafka_py.log.compaction.key_offsets import KeyOffsets
from kafka_py.log.segments.txn_index import AbortedTransaction
from kafka_py.records.batch import MAGIC, BatchHeader, Record, TimestampType, decode_records, iter_record_pieces
from kafka_py.records.builder import BatchBuilder, empty_batch
from kafka_py.records.control import ControlType, read_control_type

MAX_OFFSET_SPAN = (1 << 31) - 1
MOST_MERGED = 8
"""Segments that become one: they are renamed in one turn of the loop. The next compaction merges further."""
MOST_AT_ONCE = 20_000
"""Records of one batch that are held in memory together; a compressed batch may have millions."""


# ---- which segments


class Part(NamedTuple):
    """A segment as a value: what of it matters for grouping."""

    base_offset: int
    size: int
    offset_index_bytes: int = 0
    time_index_bytes: int = 0


def group_parts(parts: Sequence[Part], max_bytes: int, max_index_bytes: int, end_offset: int) -> list[list[Part]]:
    """Neighbours that become one segment: MOST_MERGED, and together no larger than a segment and its indexes may be.

    end_offset: where the last part ends (exclusive).
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
    """How much there is to do in a log.

    first_dirty: everything below was compacted before. end: everything from here on must wait (exclusive).
    overdue_ms: by how much max.compaction.lag.ms has passed for some record; 0 when it has not.
    """

    first_dirty: int
    end: int
    clean_bytes: int
    cleanable_bytes: int
    overdue_ms: float = 0.0

    @property
    def ratio(self) -> float:
        """The dirty part of all that could be compacted."""
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    def is_due(self, min_ratio: float) -> bool:
        return self.cleanable_bytes > 0 and (self.overdue_ms > 0 or self.ratio > min_ratio)


# ---- transactions


class Transactions:
    """Follows the transactions of a log from batch to batch: which of them were aborted.

    aborted: what the transaction indexes say. kept: the aborted ones of which something is left, in the order of their
    markers.
    """

    def __init__(self, aborted: Iterable[AbortedTransaction] = ()) -> None:
        self.kept: list[AbortedTransaction] = []
        self._to_come: list[tuple[int, AbortedTransaction]] = []
        self._aborted: dict[int, tuple[AbortedTransaction, bool]] = {}  # by producer; whether data of it was met
        self._committed: set[int] = set()
        for one in aborted:
            heapq.heappush(self._to_come, (one.first_offset, one))

    def _up_to(self, offset: int) -> None:
        while self._to_come and self._to_come[0][0] <= offset:
            _, aborted = heapq.heappop(self._to_come)
            self._aborted.setdefault(aborted.producer_id, (aborted, False))

    def data(self, header: BatchHeader) -> bool:
        """A batch of data passes by; whether it belongs to an aborted transaction."""
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
        """A control batch passes by; whether nothing is left of what it ended. record: None in an emptied one."""
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
    """Where a live producer's last data is (-1: it left only a marker), and its epoch."""

    data_offset: int
    epoch: int

    def is_in(self, header: BatchHeader) -> bool:
        """Whether the batch tells what must stay known of the producer."""
        if self.data_offset >= 0:
            return header.last_offset == self.data_offset
        return header.is_control and header.producer_epoch == self.epoch


# ---- records


class Sieve:
    """Decides batch by batch what stays, from the first batch of the log on.

    keys: the last offset of each key of the dirty part, which begins at first_dirty. producers: by id, those still
    alive.
    """

    def __init__(
        self, keys: KeyOffsets, transactions: Transactions, producers: Mapping[int, LastBatch], first_dirty: int
    ) -> None:
        self._keys = keys
        self.transactions = transactions
        self._producers = producers
        self._first_dirty = first_dirty
        self._has_old_formats = False
        self.records_kept = 0

    def sift(self, batch: memoryview, header: BatchHeader, *, keeps_deletes: bool) -> memoryview | bytes | None:
        """What is left of a batch: itself, fewer records, a mere header, or None.

        keeps_deletes: tombstones and markers of this segment are still too young to go.
        Raises CorruptBatch.
        """
        if header.magic != MAGIC:  # formats 0 and 1 stay as they are, and with them the tombstones that come later
            self._has_old_formats = True
            return batch
        kept: Iterable[Record] = ()
        if header.is_control:
            records = decode_records(batch, header=header)
            is_spent = self.transactions.marker(header, records[0] if records else None)
            kept_count = 0 if is_spent and not keeps_deletes else len(records)
        elif self.transactions.data(header):
            kept_count = 0
        elif header.record_count <= MOST_AT_ONCE:
            kept = list(self._staying(batch, header, keeps_deletes))
            kept_count = len(kept)
        else:  # read twice rather than held in memory as records
            kept = self._staying(batch, header, keeps_deletes)
            kept_count = sum(1 for _ in self._staying(batch, header, keeps_deletes))
        self.records_kept += kept_count
        if kept_count and kept_count == header.record_count:
            return batch
        if kept_count:
            return _rebuilt(header, kept)
        last = self._producers.get(header.producer_id) if header.producer_id >= 0 else None
        return empty_batch(header) if last is not None and last.is_in(header) else None

    def _staying(self, batch: memoryview, header: BatchHeader, keeps_deletes: bool) -> Iterator[Record]:
        for piece in iter_record_pieces(batch, header=header):
            for record in piece:
                if self._stays(record, keeps_deletes=keeps_deletes):
                    yield record

    def _stays(self, record: Record, *, keeps_deletes: bool) -> bool:
        if record.offset > self._keys.latest:
            return True
        if record.key is None:
            return False
        if record.offset < self._keys.get(record.key):
            return False
        return record.value is not None or keeps_deletes or self._may_shadow(record.offset)

    def _may_shadow(self, offset: int) -> bool:
        """Whether a tombstone may still hide an older value of its key.

        In the dirty part, until this compaction is in place as a whole; behind batches that are not compacted.
        """
        return offset >= self._first_dirty or self._has_old_formats


def _rebuilt(header: BatchHeader, records: Iterable[Record]) -> bytes:
    """The batch with these records alone: their offsets, and the batch's own first and last one, stay."""
    builder = BatchBuilder(
        header.codec,
        base_offset=header.base_offset,
        timestamp_type=header.timestamp_type,
        log_append_time_ms=header.max_timestamp if header.timestamp_type is TimestampType.LOG_APPEND_TIME else -1,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=header.is_transactional,
        control=header.is_control,
        leader_epoch=header.partition_leader_epoch,
    )
    for offset, timestamp, key, value, headers in records:
        builder.append_at(offset, timestamp, key, value, headers)
    builder.last_offset_delta = header.last_offset_delta
    return builder.build()
