"""The record accumulator: one queue of batches per partition, filled from any thread.

`append` is called for every record: it looks up the topic, chooses the partition and adds to the open batch. It never
waits: without metadata or memory it returns None, and the caller waits (a thread blocks, a coroutine awaits). One lock
guards the queues and the pool; it is held for microseconds, and the sender takes it once per round. The operations that
the sender uses are in queues.py.

Source: RecordAccumulator, BufferPool; KIP-480 (sticky partition, whose choice belongs to opening a batch).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka_py.base.chance import Random
from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.producer.arguments import MAX_TIMESTAMP, as_bytes, as_partition, as_timestamp, sized_headers
from kafka_py.clients.producer.batches import Callback, Headers, Observer, ProducerBatch, RecordFuture
from kafka_py.clients.producer.buffer_pool import MemoryWaiter
from kafka_py.clients.producer.configs import ProducerOptions
from kafka_py.clients.producer.lanes import Lane, TopicLanes
from kafka_py.clients.producer.queues import BatchQueues
from kafka_py.records.batch import HEADER_SIZE
from kafka_py.records.builder import BatchBuilder, Data, record_size_bound
from kafka_py.records.compression import Codec

RECORD_OVERHEAD = 12
"""Bytes that a record of usual size takes in a batch in addition to its key and value."""

MEMORY_SHARE = 8
"""A compressed batch reserves at most one part in so many of buffer.memory, however well its topic compresses."""


class Accumulator(BatchQueues):
    """The queues of one producer with the operations that fill them.

    wake: called from any thread, without the lock, when a batch was opened, so that the sender runs.
    observer: called when a batch has been acknowledged or has failed.
    """

    def __init__(
        self,
        options: ProducerOptions,
        clock: Clock,
        rng: Random,
        wake: Callable[[], object],
        observer: Observer | None = None,
    ) -> None:
        super().__init__(options, clock, rng)
        self._wall_ms = clock.wall_ms
        self._wake = wake
        self._batch_size = options.batch_size
        self._codec = Codec[options.compression_type.upper()]
        self._largest = options.max_request_size
        self._memory = options.buffer_memory
        self._observer = observer

    # ---- from any thread, for every record

    # One function although it is long: it takes about 1.1 us for a record of 100 bytes, of which each call that a part
    # of its own would need is one to four per cent.
    def append(
        self,
        topic: str,
        key: Data | None,
        value: Data | None,
        partition: int | None,
        timestamp: int | None,
        headers: Headers | None,
        callback: Callback | None,
        grant: MemoryWaiter | None = None,
    ) -> RecordFuture | None:
        """Adds a record and returns its future; None when the topic's metadata or memory is missing.

        timestamp: ms since the epoch; now when None. grant: memory that the caller has waited for, used if a batch has
        to be opened.
        Raises TypeError or ValueError for an invalid argument, KafkaError(MESSAGE_TOO_LARGE) for a record that no batch
        can hold; nothing has changed then.
        """
        topic_lanes = self.topics.get(topic)
        if topic_lanes is None:
            return None
        if type(value) is bytes:
            value_size = len(value)
        elif value is None:
            value_size = -1
        else:
            value = as_bytes("value", value)
            value_size = len(value)
        if key is None:
            key_size = -1
        else:
            if type(key) is not bytes:
                key = as_bytes("key", key)
            key_size = len(key)
        size = RECORD_OVERHEAD + key_size + value_size
        if timestamp is None:
            timestamp = self._wall_ms()
        elif type(timestamp) is not int or not 0 <= timestamp <= MAX_TIMESTAMP:
            timestamp = as_timestamp(timestamp)
        if headers is None:
            headers = ()
        else:
            headers, headers_size = sized_headers(headers)
            size += headers_size
        sticky = False
        if partition is None:
            choice = topic_lanes.choice
            if key is not None and choice.hashes_keys:
                partition = choice.for_key(key)
            else:
                partition, sticky = choice.sticky, True
        elif type(partition) is not int or not 0 <= partition < topic_lanes.count:
            partition = as_partition(partition)
            if partition >= topic_lanes.count:
                return None
        opened = False
        lock = self.lock
        try:
            lock.acquire()
            lane = topic_lanes.lanes[partition] if partition is not None else None
            batch = lane.open if lane is not None else None
            if batch is None or (filled := batch.size + size) > batch.limit:
                found = self._room_for(topic_lanes, lane, sticky, key, value, headers, grant)
                if found is None:
                    return None
                batch, opened = found
                filled = batch.size + size
            details = batch.details
            index = len(details)
            try:
                details.append((timestamp, key_size, value_size))
                batch.builder.append(timestamp, key, value, headers)
            except BaseException:
                del details[index:]
                raise
            batch.size = filled
            if size > batch.largest:
                batch.largest = size
            if callback is not None:
                batch.callbacks.append((index, callback))
        except BaseException:
            opened = self._undo_open(topic_lanes)
            raise
        finally:
            try:
                lock.release()
            except RuntimeError:  # a signal handler raised before this thread had the lock
                pass
            if opened:
                self._wake()
        return RecordFuture(batch, index)

    def append_batch(
        self, topic: str, partition: int, timestamp: int, records: bytes, count: int, callback: Callback
    ) -> bool:
        """Adds a separate batch of `count` records that are encoded as BatchBuilder.extend expects; for bulk writers.

        callback: called once, with the result of the last record. Returns False when metadata or memory is missing.
        Raises KafkaError(MESSAGE_TOO_LARGE) if one request cannot hold the batch, ValueError for no records, TypeError
        or ValueError for an invalid timestamp.
        """
        if count < 1:
            raise ValueError("a batch needs at least one record")
        timestamp = as_timestamp(timestamp)
        topic_lanes = self.topics.get(topic)
        if topic_lanes is None or not 0 <= partition < topic_lanes.count:
            return False
        size = HEADER_SIZE + len(records)
        if size > self._largest:
            raise KafkaError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"a batch of {size} bytes exceeds max.request.size, {self._largest} bytes",
            )
        with self.lock:
            if not self.pool.try_allocate(size):
                return False
            lane = topic_lanes.lanes[partition]
            batch = self._open(topic_lanes, lane, size)
            batch.builder.extend(timestamp, records, count)
            batch.details = [(timestamp, -1, -1)] * count
            batch.callbacks.append((count - 1, callback))
            batch.size = size
            lane.open = None
        self._wake()
        return True

    def choose(
        self, topic: str, key: Any, key_bytes: bytes | None, value: Any, value_bytes: bytes | None
    ) -> int | None:
        """The partition that a custom partitioner chooses; None without one, or while the topic is unknown.

        Raises KafkaError(INVALID_REQUEST) for a number that is not a partition of the topic.
        """
        topic_lanes = self.topics.get(topic)
        if self.partitioner is None or topic_lanes is None:
            return None
        chosen = self.partitioner.partition(topic, key, key_bytes, value, value_bytes, self.view)
        try:
            partition = as_partition(chosen)
        except (TypeError, ValueError):
            partition = topic_lanes.count
        if partition >= topic_lanes.count:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"the partitioner chose partition {chosen!r} of {topic}, which has {topic_lanes.count}",
            )
        return partition

    @property
    def has_own_partitioner(self) -> bool:
        return self.partitioner is not None

    def _room_for(
        self,
        topic_lanes: TopicLanes,
        lane: Lane | None,
        sticky: bool,
        key: bytes | None,
        value: bytes | None,
        headers: Headers | None,
        grant: MemoryWaiter | None,
    ) -> tuple[ProducerBatch, bool] | None:
        """A batch that has room for the record, and whether it was opened for it; None if memory is missing."""
        bound = self._checked_bound(key, value, headers)
        if sticky:
            partition = topic_lanes.choice.switch(lane.partition if lane is not None else None)
            lane = topic_lanes.lanes[partition]
            batch = lane.open
            if batch is not None and batch.size + bound <= batch.limit:
                return batch, False
        assert lane is not None
        reserve = max(self._batch_size, self._limit(topic_lanes), bound)
        if grant is not None and grant.granted and grant.size >= bound:
            grant.granted = False
            reserve = grant.size
        elif not self.pool.try_allocate(reserve):
            return None
        return self._open(topic_lanes, lane, reserve), True

    def _open(self, topic_lanes: TopicLanes, lane: Lane, reserve: int) -> ProducerBatch:
        now_ms = self._clock.monotonic_ms()
        limit = min(self._limit(topic_lanes), reserve)
        batch = ProducerBatch(lane, BatchBuilder(self._codec), limit, reserve, now_ms, self._observer)
        batch.size = HEADER_SIZE
        lane.open = batch
        lane.queue.append(batch)
        topic_lanes.last_used_ms = now_ms
        self.active[lane] = self._touched[lane] = None
        self.incomplete[batch] = None
        return batch

    def _limit(self, topic_lanes: TopicLanes) -> int:
        """Uncompressed bytes up to which a batch may grow; at least as much memory is reserved for it.

        The size that is expected to compress to batch.size, but at most 1/MEMORY_SHARE of buffer.memory.
        """
        if self._codec is Codec.NONE:
            return self._batch_size
        limit = int(self._batch_size / (topic_lanes.ratio * 1.05))
        return min(limit, max(self._batch_size, self._memory // MEMORY_SHARE))

    def _undo_open(self, topic_lanes: TopicLanes) -> bool:
        """After a failed `append`: removes open batches without records. Returns whether one with records is open.

        A signal handler may have raised anywhere, also before this thread had the lock.
        """
        with self.lock:
            found = [lane.open for lane in topic_lanes.lanes if lane.open is not None]
            for batch in found:
                if not batch.details:
                    self._take_back(batch)
            return any(batch.details for batch in found)

    def _take_back(self, batch: ProducerBatch) -> None:
        """Undoes `_open` for a batch without records. The caller holds the lock."""
        lane = batch.lane
        if batch in lane.queue:
            lane.queue.remove(batch)
        lane.open = None
        if not lane.queue:
            self.active.pop(lane, None)
        self.incomplete.pop(batch, None)
        for notify in self.pool.deallocate(batch.reserved):
            notify()

    def _checked_bound(self, key: bytes | None, value: bytes | None, headers: Headers | None) -> int:
        bound = HEADER_SIZE + record_size_bound(key, value, headers or ())
        for limit, setting in ((self._largest, "max.request.size"), (self._memory, "buffer.memory")):
            if bound > limit:
                raise KafkaError(
                    ErrorCode.MESSAGE_TOO_LARGE,
                    f"the record takes up to {bound} bytes, which exceeds {setting}, {limit} bytes",
                )
        return bound

    def memory_for(self, topic: str, key: bytes | None, value: bytes | None, headers: Headers | None) -> int:
        """Bytes that the pool has to grant before `append` can open a batch for the record."""
        topic_lanes = self.topics.get(topic)
        limit = 0 if topic_lanes is None else self._limit(topic_lanes)
        return max(self._batch_size, limit, self._checked_bound(key, value, headers))

    def wait_for_memory(self, size: int, notify: Callable[[], object]) -> MemoryWaiter:
        """Queues for `size` bytes of memory; `notify` is called on the event loop when they are granted."""
        with self.lock:
            return self.pool.wait(size, notify)

    def withdraw(self, grant: MemoryWaiter) -> None:
        """Returns unused granted memory to the pool, or leaves the queue."""
        with self.lock:
            served = self.pool.withdraw(grant)
        for notify in served:
            notify()
