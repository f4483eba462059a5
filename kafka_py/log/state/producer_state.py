"""Producer state of a partition: its idempotent and transactional producers (KIP-98, KIP-360).

Pure: decides whether a batch may be appended, and applies appended batches. The bytes of its snapshot file are in
producer_snapshots.py. Source: docs/reference/log.md, section 8; KIP-98.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from struct import Struct
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.segments.txn_index import AbortedTxn
from kafka_py.log.validation.header_trust import CLOCK_SLACK_MS
from kafka_py.records.batch import NO_PRODUCER_EPOCH, NO_SEQUENCE, TRANSACTIONAL_FLAG, BatchHeader
from kafka_py.records.control import ControlType, EndTxnMarker

BATCHES_KEPT = 5
"""Batches kept per producer to recognise duplicates; clients have at most five in flight."""

_SEQUENCE_MASK = 0x7FFFFFFF
_BATCH = Struct("=iqiq")  # the fields of an AppendedBatch
_PLACE_BYTES = _BATCH.size
_put_batch = _BATCH.pack_into


class AppendedBatch(NamedTuple):
    """One of a producer's last batches; offset_delta is last offset - base offset."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @classmethod
    def of(cls, header: BatchHeader) -> AppendedBatch:
        """The kept fields of an appended batch; its offsets are final."""
        last_offset = header.base_offset + header.last_offset_delta
        return cls(header.last_sequence, last_offset, header.last_offset_delta, header.max_timestamp)

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) & _SEQUENCE_MASK

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


class ProducerStateEntry:
    """One producer id, in well below 1 KB.

    ring: its newest batches, at most BATCHES_KEPT, all of the current producer epoch; batch number n of the epoch has
    the place n modulo BATCHES_KEPT. count: the batches of the epoch so far. next_sequence: what the next one begins
    with.
    """

    __slots__ = (
        "coordinator_epoch", "count", "epoch", "last_timestamp", "next_sequence", "ring", "txn_first_offset",
    )  # fmt: skip

    def __init__(
        self,
        epoch: int = NO_PRODUCER_EPOCH,
        batches: Iterable[AppendedBatch] = (),
        coordinator_epoch: int = -1,
        last_timestamp: int = -1,
        txn_first_offset: int | None = None,
    ) -> None:
        self.epoch = epoch
        self.ring = bytearray(BATCHES_KEPT * _PLACE_BYTES)
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.txn_first_offset = txn_first_offset
        self.keep(batches)

    @property
    def batches(self) -> list[AppendedBatch]:
        """Its newest batches, the newest last."""
        numbers = range(max(0, self.count - BATCHES_KEPT), self.count)
        return [AppendedBatch(*_BATCH.unpack_from(self.ring, each % BATCHES_KEPT * _PLACE_BYTES)) for each in numbers]

    def keep(self, batches: Iterable[AppendedBatch]) -> None:
        """These are its newest batches, the newest last."""
        self.count = self.next_sequence = 0
        for each in batches:
            _put_batch(self.ring, self.count % BATCHES_KEPT * _PLACE_BYTES, *each)
            self.count += 1
            self.next_sequence = (each.last_sequence + 1) & _SEQUENCE_MASK

    @property
    def last_sequence(self) -> int:
        """-1 when no batch of this epoch is known."""
        return self.batches[-1].last_sequence if self.count else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        """Of its newest batch; -1 when no batch of this epoch is known."""
        return self.batches[-1].last_offset if self.count else -1


class CompletedTransaction(NamedTuple):
    """A transaction whose marker has been appended; last_offset is the marker's."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


_NONE: deque[CompletedTransaction] = deque(maxlen=0)
"""The shared empty deque of all logs; it cannot hold an entry."""


class _Unreplicated:
    """Completed transactions whose marker is not below the high watermark yet, in order of the marker's offset.

    _lowest: those before which no later transaction begins, so that the first has the lowest first offset. Most logs
    have no transaction, and an empty deque takes 700 bytes: both are created with the first transaction.
    """

    __slots__ = ("_lowest", "_waiting")

    def __init__(self) -> None:
        self._waiting: deque[CompletedTransaction] = _NONE
        self._lowest: deque[CompletedTransaction] = _NONE

    def __bool__(self) -> bool:
        return bool(self._waiting)

    @property
    def first_offset(self) -> int | None:
        """The lowest first offset; None when there is no transaction."""
        return self._lowest[0].first_offset if self._lowest else None

    def add(self, completed: CompletedTransaction) -> None:
        if self._waiting is _NONE:
            self._waiting, self._lowest = deque(), deque()
        self._waiting.append(completed)
        lowest = self._lowest
        while lowest and lowest[-1].first_offset >= completed.first_offset:
            lowest.pop()
        lowest.append(completed)

    def forget_below(self, high_watermark: int) -> None:
        """Removes the transactions whose marker is below the high watermark."""
        waiting = self._waiting
        while waiting and waiting[0].last_offset < high_watermark:
            dropped = waiting.popleft()
            if self._lowest[0] is dropped:
                self._lowest.popleft()

    def clear(self) -> None:
        self._waiting = self._lowest = _NONE


class ProducerStates:
    """The producers of one log, by id. end_offset: the state covers all offsets below it.

    While a log is in use end_offset is not updated with each append; the log sets it before a snapshot (`reached`).
    """

    __slots__ = ("_ongoing", "_unreplicated", "end_offset", "producers")

    def __init__(self) -> None:
        self.producers: dict[int, ProducerStateEntry] = {}
        self.end_offset = 0
        self._ongoing: dict[int, int] = {}  # first offset -> producer id, in order of the offset
        self._unreplicated = _Unreplicated()

    def check(self, header: BatchHeader, from_client: bool) -> AppendedBatch | None:
        """Checks whether a leader may append a producer's data batch.

        header: has a producer id; its offsets are not read. from_client: checks sequences and duplicates; for
        coordinators only the epoch is checked. Returns the stored batch of which this is a duplicate, or None.
        Raises KafkaError(INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_TXN_STATE).
        """
        # Header fields by index: by name they would take twice the time, and this runs for every idempotent append.
        producer = self.producers.get(header[9])
        if producer is None:
            return None
        epoch = producer.epoch
        if header[10] == epoch:
            if from_client and header[11] != producer.next_sequence:
                return _duplicate(header, producer)
        elif header[10] < epoch:
            raise KafkaError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {header.producer_id} has epoch {epoch}, the batch has {header.producer_epoch}",
            )
        elif from_client and header[11] != 0:
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {header.producer_id} begins epoch {header.producer_epoch} with sequence "
                f"{header.base_sequence}, not with 0",
            )
        if producer.txn_first_offset is not None and not header[5] & TRANSACTIONAL_FLAG:
            raise KafkaError(
                ErrorCode.INVALID_TXN_STATE,
                f"producer {header.producer_id} has an open transaction, the batch is not transactional",
            )
        return None

    def apply(self, header: BatchHeader, base_offset: int) -> bool:
        """Applies an appended data batch; whether it opened a transaction. Does not check it."""
        producer = self.producers.get(header[9])
        if producer is None or producer.epoch != header[10]:
            producer = self._producer(header[9], header[10])
        offset_delta, timestamp, count = header[6], header[8], producer.count
        last_sequence = (header[11] + offset_delta) & _SEQUENCE_MASK if header[11] >= 0 else header.last_sequence
        place = count % BATCHES_KEPT * _PLACE_BYTES
        _put_batch(producer.ring, place, last_sequence, base_offset + offset_delta, offset_delta, timestamp)
        producer.count = count + 1
        producer.next_sequence = (last_sequence + 1) & _SEQUENCE_MASK
        producer.last_timestamp = timestamp
        if not header[5] & TRANSACTIONAL_FLAG or producer.txn_first_offset is not None:
            return False
        producer.txn_first_offset = base_offset
        self._ongoing[base_offset] = header[9]
        return True

    def check_marker(self, header: BatchHeader, marker: EndTxnMarker) -> None:
        """Checks whether a leader may append a transaction marker.

        Raises KafkaError(INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED).
        """
        producer = self.producers.get(header.producer_id)
        if producer is None:
            return
        if header.producer_epoch < producer.epoch:
            raise KafkaError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {header.producer_id} has epoch {producer.epoch}, the marker has {header.producer_epoch}",
            )
        if marker.coordinator_epoch < producer.coordinator_epoch:
            raise KafkaError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"producer {header.producer_id}: marker of coordinator epoch {marker.coordinator_epoch}, "
                f"already seen {producer.coordinator_epoch}",
            )

    def apply_marker(self, header: BatchHeader, marker: EndTxnMarker) -> CompletedTransaction | None:
        """Applies an appended marker; the completed transaction, or None when none was open. Does not check it."""
        producer = self._producer(header.producer_id, header.producer_epoch)
        producer.coordinator_epoch = marker.coordinator_epoch
        producer.last_timestamp = header.max_timestamp
        first_offset = producer.txn_first_offset
        if first_offset is None:
            return None
        producer.txn_first_offset = None
        self._ongoing.pop(first_offset, None)
        is_aborted = marker.control_type is ControlType.ABORT
        completed = CompletedTransaction(header.producer_id, first_offset, header.base_offset, is_aborted)
        self._unreplicated.add(completed)
        return completed

    def index_entry(self, completed: CompletedTransaction) -> AbortedTxn:
        """The transaction index entry of an aborted transaction that has just been applied."""
        ongoing = next(iter(self._ongoing), None)
        stable = completed.last_offset + 1 if ongoing is None else ongoing
        return AbortedTxn(completed.producer_id, completed.first_offset, completed.last_offset, stable)

    def first_unstable_offset(self) -> int | None:
        """The lowest first offset of a transaction that is open or whose marker is not below the high watermark."""
        ongoing = next(iter(self._ongoing), None)
        decided = self._unreplicated.first_offset
        if ongoing is None or decided is None:
            return decided if ongoing is None else ongoing
        return min(ongoing, decided)

    @property
    def has_unstable(self) -> bool:
        """Whether `first_unstable_offset` can be anything but None."""
        return bool(self._ongoing or self._unreplicated)

    def forget_replicated(self, high_watermark: int) -> None:
        """Removes the completed transactions whose marker is below the high watermark."""
        self._unreplicated.forget_below(high_watermark)

    def remove_expired(self, now_ms: int, expiration_ms: int) -> int:
        """Removes producers without an open transaction that were inactive for `expiration_ms`; returns their number.

        A timestamp far ahead of the clock counts as the current time, so that the producer can expire.
        """
        for producer in self.producers.values():
            if producer.last_timestamp - now_ms > CLOCK_SLACK_MS:
                producer.last_timestamp = now_ms
        expired = [
            producer_id
            for producer_id, producer in self.producers.items()
            if producer.txn_first_offset is None and now_ms - producer.last_timestamp >= expiration_ms
        ]
        for producer_id in expired:
            del self.producers[producer_id]
        return len(expired)

    def reached(self, end_offset: int) -> None:
        """Sets end_offset: the state covers all offsets below it."""
        self.end_offset = end_offset

    def restore(self, producer_id: int, producer: ProducerStateEntry) -> None:
        """Adds a producer from a snapshot; `restored` must be called after the last one."""
        self.producers[producer_id] = producer
        if producer.txn_first_offset is not None:
            self._ongoing[producer.txn_first_offset] = producer_id

    def restored(self) -> None:
        """Ends the restoring of a snapshot; orders the open transactions, because producers come in any order."""
        self._ongoing = dict(sorted(self._ongoing.items()))

    def reset(self, end_offset: int) -> None:
        """Removes all producers; the state is to be rebuilt from `end_offset` on."""
        self.producers.clear()
        self._ongoing.clear()
        self._unreplicated.clear()
        self.end_offset = end_offset

    def active(self) -> Iterator[tuple[int, ProducerStateEntry]]:
        """Every producer with its id, as DescribeProducers lists them."""
        yield from self.producers.items()

    def _producer(self, producer_id: int, epoch: int) -> ProducerStateEntry:
        """The entry of a producer, its batches gone when the epoch is another one."""
        producer = self.producers.get(producer_id)
        if producer is None:
            producer = self.producers[producer_id] = ProducerStateEntry(epoch)
        elif producer.epoch != epoch:
            producer.epoch = epoch
            producer.keep(())
        return producer


def _duplicate(header: BatchHeader, producer: ProducerStateEntry) -> AppendedBatch:
    """The kept batch that a batch with an unexpected sequence duplicates. Raises OUT_OF_ORDER_SEQUENCE_NUMBER."""
    for known in producer.batches:
        if known.last_sequence == header.last_sequence and known.first_sequence == header.base_sequence:
            return known
    raise KafkaError(
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        f"producer {header.producer_id}: sequence {header.base_sequence} where {producer.next_sequence} was expected",
    )
