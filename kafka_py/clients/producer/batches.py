"""A batch of records, its result, and the futures of its records.

A record's future is only (batch, index): the whole batch completes at once, so there is one state, one gate and one
list of callbacks per batch, not per record. The accumulator adds records, the sender completes the batch.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_py.base.errors import KafkaError
from kafka_py.clients.errors import ClientTimeout
from kafka_py.clients.waiting import Gate
from kafka_py.records.batch import HEADER_SIZE, decode_records
from kafka_py.records.builder import BatchBuilder

if TYPE_CHECKING:
    from kafka_py.clients.producer.lanes import Lane

_log = logging.getLogger(__name__)
_new = tuple.__new__

NO_OFFSET = -1
NO_TIMESTAMP = -1
NO_SEQUENCE = -1

Headers = Sequence[tuple[str, bytes | None]]
Details = tuple[int, int, int]
"""(timestamp, key size, value size) of one record, for its RecordMetadata; sizes in bytes, -1 for null."""


class RecordMetadata(NamedTuple):
    """Partition, offset and timestamp of an acknowledged record.

    offset: -1 when the broker does not report it (acks 0, or a duplicate of an old batch). timestamp: in ms since the
    epoch, the record's own, or the broker's for topics with LogAppendTime. Sizes are in bytes, -1 for null.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    serialized_key_size: int
    serialized_value_size: int


Callback = Callable[[RecordMetadata | None, KafkaError | None], object]
"""Called with (metadata, None) or (None, error), in the order of sending within a partition."""

Observer = Callable[["ProducerBatch"], object]
"""Called when a batch is complete, before its futures and callbacks are."""

APPLICATION_FAILURES = (Exception, SystemExit, asyncio.CancelledError)
"""Exceptions of the application's callbacks that are logged and do not end the producer's thread."""

_waiting = threading.Lock()  # guards `gate` and `finished` of all batches, once per batch and once per wait


NO_BUILDER = BatchBuilder()
"""Replaces the builder of a finished batch, so that its bytes are freed."""


class ProducerBatch:
    """Records of one partition that are sent together."""

    __slots__ = (
        "attempts",
        "base_offset",
        "builder",
        "callbacks",
        "created_ms",
        "data",
        "details",
        "error",
        "finished",
        "gate",
        "lane",
        "largest",
        "limit",
        "log_append_time",
        "observer",
        "parts",
        "producer_epoch",
        "producer_id",
        "rejected",
        "reserved",
        "retry_at",
        "sequence",
        "size",
    )

    def __init__(
        self,
        lane: Lane,
        builder: BatchBuilder,
        limit: int,
        reserved: int,
        created_ms: float,
        observer: Observer | None = None,
    ) -> None:
        self.lane = lane
        self.builder = builder
        self.limit = limit
        """Size at which the batch is full, in bytes before compression."""
        self.size = 0
        self.largest = 0
        """Size of the largest record, in bytes."""
        self.reserved = reserved
        """Bytes reserved for the batch in the buffer pool."""
        self.created_ms = created_ms
        self.details: list[Details] = []
        self.callbacks: list[tuple[int, Callback]] = []
        self.observer = observer
        self.attempts = 0
        self.retry_at = 0.0
        self.data: bytes | None = None
        """The encoded batch; None until it is first sent, and after its producer id, epoch or sequence has changed."""
        self.producer_id = -1
        self.producer_epoch = -1
        self.sequence = NO_SEQUENCE
        self.rejected = False
        """The leader has refused its sequence, so it certainly was not appended and may be sent under a new epoch."""
        self.finished = False
        self.gate: Gate | None = None
        self.base_offset = NO_OFFSET
        self.log_append_time = NO_TIMESTAMP
        self.error: KafkaError | None = None
        self.parts: list[tuple[int, ProducerBatch]] | None = None
        """After a split: (index of the first record, batch) of each part, in order; futures then refer to these."""

    def locate(self, index: int) -> tuple[ProducerBatch, int]:
        """The batch and index of record `index` now, after any number of splits."""
        batch = self
        while batch.parts is not None:
            first, part = next(each for each in reversed(batch.parts) if each[0] <= index)
            batch, index = part, index - first
        return batch, index

    def metadata(self, index: int) -> RecordMetadata:
        """The metadata of record `index`; the batch must have been acknowledged."""
        timestamp, key_size, value_size = self.details[index]
        lane = self.lane
        offset = self.base_offset + index if self.base_offset != NO_OFFSET else NO_OFFSET
        if self.log_append_time != NO_TIMESTAMP:
            timestamp = self.log_append_time
        return _new(RecordMetadata, (lane.topic, lane.partition, offset, timestamp, key_size, value_size))

    def succeed(self, base_offset: int, log_append_time: int = NO_TIMESTAMP) -> None:
        """Completes the batch: it was acknowledged. base_offset: -1 when the broker does not report it."""
        self.base_offset = base_offset
        self.log_append_time = log_append_time
        self._finish()

    def fail(self, error: KafkaError) -> None:
        """Completes the batch with an error; it will not be sent again."""
        self.error = error
        self._finish()

    def _finish(self) -> None:
        self.data = None
        self.builder = NO_BUILDER
        if self.observer is not None:
            try:
                self.observer(self)
            except APPLICATION_FAILURES:
                _log.exception("An observer of the batches of %s failed", self.lane)
        with _waiting:
            self.finished = True
            gate, callbacks, self.callbacks = self.gate, self.callbacks, []
        if gate is not None:
            gate.open()
        for index, callback in callbacks:
            self._call(callback, index)

    def _call(self, callback: Callback, index: int) -> None:
        try:
            if self.error is None:
                callback(self.metadata(index), None)
            else:
                callback(None, self.error)
        except APPLICATION_FAILURES:
            _log.exception("A callback given to send() failed")

    def notify(self, index: int, callback: Callback) -> None:
        """Calls `callback` when the record's batch is complete; immediately if it is."""
        with _waiting:
            if not self.finished and self.parts is None:
                self.callbacks.append((index, callback))
                return
        if self.parts is not None:
            batch, index = self.locate(index)
            batch.notify(index, callback)
        else:
            self._call(callback, index)

    def wait(self, timeout_s: float | None) -> bool:
        """Waits until the batch is complete or split; False after `timeout_s` seconds without either."""
        with _waiting:
            if self.finished or self.parts is not None:
                return True
            if self.gate is None:
                self.gate = Gate()
            gate = self.gate
        return gate.wait(timeout_s)

    def encode(self) -> bytes:
        """The encoded batch with its present producer id, epoch and sequence; re-encoded after these have changed."""
        if self.data is None:
            builder = self.builder
            builder.producer_id = self.producer_id
            builder.producer_epoch = self.producer_epoch
            builder.base_sequence = self.sequence
            self.data = builder.build()
        return self.data

    def split(self) -> list[ProducerBatch]:
        """Splits it into batches of about half its size, with its records, callbacks, futures and sequences.

        There is more than one part, however small all records before the last one are.
        """
        target = (self.builder.uncompressed_size + HEADER_SIZE) // 2
        last = len(self.details) - 1
        parts: list[tuple[int, ProducerBatch]] = []
        part: ProducerBatch | None = None
        for index, record in enumerate(decode_records(self.encode())):
            if part is None or part.size >= target or (index == last and len(parts) == 1):
                builder = BatchBuilder(self.builder.codec)
                builder.transactional = self.builder.transactional
                part = ProducerBatch(self.lane, builder, target, 0, self.created_ms, self.observer)
                part.largest = self.largest
                parts.append((index, part))
            part.builder.append(record.timestamp, record.key, record.value, record.headers)
            part.details.append(self.details[index])
            part.size = part.builder.uncompressed_size
        self._hand_on(parts)
        return [part for _, part in parts]

    def _hand_on(self, parts: list[tuple[int, ProducerBatch]]) -> None:
        parts[0][1].reserved = self.reserved  # released with the first part: a split reserves no memory
        sequence = self.sequence
        for _, part in parts:
            if sequence != NO_SEQUENCE:
                part.producer_id, part.producer_epoch = self.producer_id, self.producer_epoch
                part.sequence = sequence
                sequence = advance_sequence(sequence, len(part.details))
        with _waiting:
            self.parts = parts
            self.data = None
            gate, callbacks, self.callbacks = self.gate, self.callbacks, []
        for index, callback in callbacks:
            batch, index = self.locate(index)
            batch.callbacks.append((index, callback))
        if gate is not None:
            gate.open()


def advance_sequence(sequence: int, count: int) -> int:
    """The sequence `count` records later; 0 follows 2147483647."""
    return (sequence + count) & 0x7FFFFFFF


class RecordFuture:
    """The future of one record: wait for it in a thread with `result`, or await it on an event loop."""

    __slots__ = ("_batch", "_index")

    def __init__(self, batch: ProducerBatch, index: int) -> None:
        self._batch = batch
        self._index = index

    def _located(self) -> tuple[ProducerBatch, int]:
        self._batch, self._index = self._batch.locate(self._index)
        return self._batch, self._index

    def done(self) -> bool:
        """Whether the record was acknowledged or has failed."""
        return self._located()[0].finished

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """The record's metadata; waits for it, up to `timeout` seconds.

        Raises the KafkaError with which the record failed, ClientTimeout when neither is known in time.
        """
        error = self.exception(timeout)
        if error is not None:
            raise error
        batch, index = self._batch, self._index
        return batch.metadata(index)

    def exception(self, timeout: float | None = None) -> KafkaError | None:
        """The error with which the record failed, None for success; waits, and may time out, as `result` does."""
        while True:
            batch, _ = self._located()
            if batch.finished:
                return batch.error
            if not batch.wait(timeout):
                raise ClientTimeout(f"the record for {batch.lane} was not acknowledged within {timeout} s")

    def add_done_callback(self, callback: Callable[[RecordFuture], object]) -> None:
        """Calls `callback(self)` on the producer's thread when the record has completed; immediately if it has."""
        batch, index = self._located()
        batch.notify(index, lambda _metadata, _error: callback(self))

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        if not self.done():
            loop = asyncio.get_running_loop()
            answered: asyncio.Future[None] = loop.create_future()
            self.add_done_callback(lambda _: loop.call_soon_threadsafe(settle, answered))
            yield from answered
        return self.result()

    def __repr__(self) -> str:
        batch, index = self._located()
        state = "pending" if not batch.finished else "failed" if batch.error else "sent"
        return f"<RecordFuture {batch.lane} #{index} {state}>"


def settle(future: asyncio.Future[None]) -> None:
    """Completes `future`, unless it is done or cancelled."""
    if not future.done():
        future.set_result(None)
