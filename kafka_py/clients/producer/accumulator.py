"""Records on their way to the sender: one queue of batches per partition, filled by any thread.

`append` is the path of every record: look up the topic, choose the partition, add to the open batch. It never waits:
without metadata or memory it returns None, and the caller waits its own way (a thread blocks, a coroutine awaits).
One lock guards the queues and the pool; it is held for microseconds, and the sender takes it once per round.

Source: the record accumulator of the Java producer (batch.size, linger.ms, buffer.memory; KIP-480 for the sticky
partition, whose choice belongs to opening a batch).
"""

from __future__ import annotations

import itertools
import math
import random
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.metadata import NO_NODE, ClusterView, TopicInfo
from kafka_py.clients.producer.arguments import MAX_TIMESTAMP, as_bytes, as_headers, as_partition, as_timestamp
from kafka_py.clients.producer.batches import NO_SEQUENCE, Callback, Headers, ProducerBatch, RecordFuture
from kafka_py.clients.producer.buffer_pool import BufferPool, MemoryWaiter
from kafka_py.clients.producer.configs import ProducerOptions
from kafka_py.clients.producer.lanes import Lane, TopicLanes, sequence_order
from kafka_py.clients.producer.partitioner import KeyedChoice, own_partitioner
from kafka_py.records.batch import HEADER_SIZE
from kafka_py.records.builder import BatchBuilder, Data, record_size_bound
from kafka_py.records.compression import Codec

RECORD_OVERHEAD = 12
"""What a record of usual size takes in a batch beside its key and value, in bytes."""

MEMORY_SHARE = 8
"""A compressed batch reserves no more than this part of buffer.memory, however well its topic compresses."""


class Accumulator:
    """All lanes of one producer.

    wake: called, from any thread and without the lock, when a batch was opened and the sender should look.
    """

    def __init__(self, options: ProducerOptions, clock: Clock, wake: Callable[[], object]) -> None:
        self.lock = threading.Lock()
        self.pool = BufferPool(options.buffer_memory, options.batch_size)
        self.topics: dict[str, TopicLanes] = {}
        """Topics that records can be appended to: those with known partitions and no error."""
        self.active: dict[Lane, None] = {}
        """Lanes with something in their queue."""
        self.incomplete: dict[ProducerBatch, None] = {}
        """Batches not yet answered, oldest first."""
        self._all_topics: dict[str, TopicLanes] = {}
        self._clock = clock
        self._wall_ms = clock.wall_ms
        self._wake = wake
        self._batch_size = options.batch_size
        self._codec = Codec[options.compression_type.upper()]
        self._largest = options.max_request_size
        self._memory = options.buffer_memory
        self._draw = random.Random()
        self.partitioner, self._hashes_keys = own_partitioner(options.partitioner_class, options.originals)
        self.observer: Callable[[ProducerBatch], object] | None = None
        """Hears of the end of every batch that is opened from now on."""
        self.view = ClusterView()
        self.stopped: Exception | None = None

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
        if key is not None and type(key) is not bytes:
            key = as_bytes("key", key)
        if value is not None and type(value) is not bytes:
            value = as_bytes("value", value)
        if timestamp is None:
            timestamp = self._wall_ms()
        elif type(timestamp) is not int or not 0 <= timestamp <= MAX_TIMESTAMP:
            timestamp = as_timestamp(timestamp)
        if headers is not None:
            headers = as_headers(headers)
        if partition is not None and type(partition) is not int:
            partition = as_partition(partition)
        topic_lanes = self.topics.get(topic)
        if topic_lanes is None:
            return None
        key_size = -1 if key is None else len(key)
        value_size = -1 if value is None else len(value)
        size = RECORD_OVERHEAD + key_size + value_size
        if headers:
            size += sum(len(name) + 3 + len(content or b"") for name, content in headers)
        sticky = False
        if partition is None:
            choice = topic_lanes.choice
            if key is not None and choice.hashes_keys:
                partition = choice.for_key(key)
            else:
                partition, sticky = choice.sticky, True
        elif not 0 <= partition < topic_lanes.count:
            return None
        opened = False
        lock = self.lock
        lock.acquire()
        try:
            lane = topic_lanes.lanes[partition] if partition is not None else None
            batch = lane.open if lane is not None else None
            if batch is None or batch.size + size > batch.limit:
                found = self._room_for(topic_lanes, lane, sticky, key, value, headers, grant)
                if found is None:
                    return None
                batch, opened = found
            details = batch.details
            try:
                batch.builder.append(timestamp, key, value, headers or ())
            except BaseException:
                if not details:
                    self._take_back(batch)
                raise
            index = len(details)
            details.append((timestamp, key_size, value_size))
            batch.size += size
            if size > batch.largest:
                batch.largest = size
            if callback is not None:
                batch.callbacks.append((index, callback))
        finally:
            lock.release()
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
        partition = self.partitioner.partition(topic, key, key_bytes, value, value_bytes, self.view)
        if not isinstance(partition, int) or not 0 <= partition < topic_lanes.count:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"the partitioner chose partition {partition!r} of {topic}, which has {topic_lanes.count}",
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
        batch = ProducerBatch(lane, BatchBuilder(self._codec), limit, reserve, now_ms)
        batch.size = HEADER_SIZE
        batch.observer = self.observer
        lane.queue.append(batch)
        lane.open = batch
        topic_lanes.last_used_ms = now_ms
        self.active[lane] = None
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

    def _take_back(self, batch: ProducerBatch) -> None:
        """Undoes `_open`: the batch got no record. With the lock held."""
        lane = batch.lane
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

    def stop(self, error: Exception) -> None:
        """From now on nothing is taken: `append` finds no topic, and who waits then finds `stopped`."""
        with self.lock:
            self.stopped = error
            self.topics = {}

    # From the event loop

    def take_view(self, view: ClusterView) -> None:
        """Learns partitions and leaders; topics with an error can no longer be appended to."""
        with self.lock:
            self.view = view
            if self.stopped is not None:
                return
            for name, info in view.topics.items():
                if info.error is ErrorCode.NONE and info.partitions:
                    self.topics[name] = self._updated(info, view)
            for name in [name for name in self.topics if name in view.topics and view.topics[name].error]:
                del self.topics[name]
            self._drop_lost_leaders(view)

    def _drop_lost_leaders(self, view: ClusterView) -> None:
        """A topic without metadata may have been led by a broker that has left since: nobody leads then."""
        for name, topic_lanes in self._all_topics.items():
            info = view.topics.get(name)
            if info is None or info.error is not ErrorCode.NONE:
                for lane in topic_lanes.lanes:
                    if lane.leader not in view.nodes:
                        lane.leader = NO_NODE

    def _updated(self, info: TopicInfo, view: ClusterView) -> TopicLanes:
        available = view.available_partitions(info.name)
        topic_lanes = self._all_topics.get(info.name)
        if topic_lanes is None or topic_lanes.choice.count != len(info.partitions):
            choice = KeyedChoice(len(info.partitions), available, self._draw, hashes_keys=self._hashes_keys)
            if topic_lanes is None:
                topic_lanes = self._all_topics[info.name] = TopicLanes(info.name, choice)
                topic_lanes.last_used_ms = self._clock.monotonic_ms()
            topic_lanes.choice = choice
        topic_lanes.choice.available = available
        lanes = topic_lanes.lanes
        while len(lanes) <= info.partitions[-1].partition:  # a broker may know a partition but not the one before it
            lanes.append(Lane(info.name, len(lanes)))
        topic_lanes.count = info.partitions[-1].partition + 1
        for lane in lanes:  # of a topic that was created again with fewer partitions, too: those will not be sent
            lane.leader = NO_NODE
        for partition in info.partitions:
            lanes[partition.partition].leader = partition.leader if partition.leader in view.nodes else NO_NODE
        return topic_lanes

    def lanes(self) -> Iterable[Lane]:
        """All lanes ever used."""
        for topic_lanes in self._all_topics.values():
            yield from topic_lanes.lanes

    def idle_topics(self, now_ms: float, max_idle_ms: float) -> list[str]:
        """Topics nobody has produced to for so long, and that have nothing left to send."""
        busy = {batch.lane.topic for batch in list(self.incomplete)}
        return [
            name
            for name, topic_lanes in self._all_topics.items()
            if now_ms - topic_lanes.last_used_ms > max_idle_ms and name not in busy
        ]

    @property
    def oldest_ms(self) -> float:
        """When the oldest batch that is not answered was opened; inf without any."""
        with self.lock:
            return next((batch.created_ms for batch in self.incomplete), math.inf)

    def overdue(self, now_ms: float, longest_ms: float) -> list[ProducerBatch]:
        """The batches not answered yet that were opened `longest_ms` ago or before."""
        with self.lock:
            return list(itertools.takewhile(lambda batch: batch.created_ms + longest_ms <= now_ms, self.incomplete))

    def take(self, lane: Lane, index: int = 0) -> ProducerBatch:
        """Removes a batch (the oldest) from a lane's queue for sending; nothing is added to it any more."""
        with self.lock:
            batch = lane.queue[index]
            del lane.queue[index]
            if lane.open is batch:
                lane.open = None
            if not lane.queue:
                self.active.pop(lane, None)
            return batch

    def put_back(self, lane: Lane, batches: Iterable[ProducerBatch]) -> None:
        """Puts batches in front of those never sent, to be sent again: in order of sequence, else of age."""
        with self.lock:
            again = list(batches)
            waiting: list[ProducerBatch] = []
            for batch in lane.queue:
                (again if batch.attempts or batch.sequence != NO_SEQUENCE else waiting).append(batch)
            if all(batch.sequence != NO_SEQUENCE for batch in again):
                again.sort(key=sequence_order(again))
            else:
                again.sort(key=lambda batch: batch.created_ms)
            lane.queue = deque(again + waiting)
            self.active[lane] = None

    def replace(self, batch: ProducerBatch, parts: Iterable[ProducerBatch]) -> None:
        """Notes that a batch was split into `parts`, which are to be answered in its place."""
        with self.lock:
            now: dict[ProducerBatch, None] = {}
            for each in self.incomplete:
                now.update(dict.fromkeys(parts if each is batch else [each]))
            self.incomplete = now

    def release(self, batch: ProducerBatch) -> None:
        """Gives a finished batch's memory back and wakes who waits for it."""
        with self.lock:
            self.incomplete.pop(batch, None)
            served = self.pool.deallocate(batch.reserved)
            batch.reserved = 0
        for notify in served:
            notify()

    def note_compression(self, lane: Lane, uncompressed: int, compressed: int) -> None:
        """Lets the topic's next batches grow to what compresses to batch.size."""
        topic_lanes = self._all_topics.get(lane.topic)
        if topic_lanes is not None and uncompressed:
            topic_lanes.note_ratio(compressed / uncompressed)
