"""Records on their way to the sender: one queue of batches per partition, filled by any thread.

`append` is the path of every record: look up the topic, choose the partition, add to the open batch. It never waits:
without metadata or memory it returns None, and the caller waits its own way (a thread blocks, a coroutine awaits).
One lock guards the queues and the pool; it is held for microseconds, and the sender takes it once per round. What the
sender does with the queues is queues.py's.

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
"""What a record of usual size takes in a batch beside its key and value, in bytes."""

MEMORY_SHARE = 8
"""A compressed batch reserves at most this part of buffer.memory, however well its topic compresses."""


class Accumulator(BatchQueues):
    """The queues of one producer, and what fills them.

    wake: called, from any thread and without the lock, when a batch was opened and the sender should look.
    observer: called at the end of every batch.
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

    # From any thread: the path of every record

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
        """Adds a record; None when the topic's metadata or memory is missing.

        grant: memory the caller has waited for; taken from it if a batch must be opened.
        Raises TypeError or ValueError for an argument that no record can be made of, KafkaError(MESSAGE_TOO_LARGE) for
        a record that no batch could hold; then nothing has changed.
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
            except RuntimeError:  # a signal came before the lock was ours
                pass
            if opened:
                self._wake()
        return RecordFuture(batch, index)

    def append_batch(
        self, topic: str, partition: int, timestamp: int, records: bytes, count: int, callback: Callback
    ) -> bool:
        """Adds a batch of its own, of `count` records encoded as BatchBuilder.extend takes them: for writers in bulk.

        callback: called once, with what became of the last record. False when metadata or memory is missing.
        Raises KafkaError(MESSAGE_TOO_LARGE) for more than one request can hold, ValueError for no record at all,
        TypeError or ValueError for a timestamp that is none.
        """
        if count < 1:
            raise ValueError("a batch needs a record")
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
        """What an own partitioner says; None when the built-in one decides, or the topic is not known yet.

        Raises KafkaError(INVALID_REQUEST) for a number that is no partition.
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
        """A batch with room for the record, and whether it was opened now; None without memory."""
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
        """How large a batch may grow before it is compressed, in bytes; at least as much memory is reserved for it.

        What is expected to compress to batch.size, but no more than a share of buffer.memory.
        """
        if self._codec is Codec.NONE:
            return self._batch_size
        limit = int(self._batch_size / (topic_lanes.ratio * 1.05))
        return min(limit, max(self._batch_size, self._memory // MEMORY_SHARE))

    def _undo_open(self, topic_lanes: TopicLanes) -> bool:
        """After a failed `append`: undoes `_open` for batches that got no record. Whether one with records is open.

        A signal may come anywhere, also before the lock is this thread's own.
        """
        with self.lock:
            found = [lane.open for lane in topic_lanes.lanes if lane.open is not None]
            for batch in found:
                if not batch.details:
                    self._take_back(batch)
            return any(batch.details for batch in found)

    def _take_back(self, batch: ProducerBatch) -> None:
        """Undoes `_open`: the batch got no record. With the lock held."""
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
        """How many bytes the pool must grant before `append` can open a batch for the record."""
        topic_lanes = self.topics.get(topic)
        limit = 0 if topic_lanes is None else self._limit(topic_lanes)
        return max(self._batch_size, limit, self._checked_bound(key, value, headers))

    def wait_for_memory(self, size: int, notify: Callable[[], object]) -> MemoryWaiter:
        """Queues for memory; `notify` is called on the event loop once it is granted."""
        with self.lock:
            return self.pool.wait(size, notify)

    def withdraw(self, grant: MemoryWaiter) -> None:
        """Gives back what is left of a grant, or the place in the queue."""
        with self.lock:
            served = self.pool.withdraw(grant)
        for notify in served:
            notify()
