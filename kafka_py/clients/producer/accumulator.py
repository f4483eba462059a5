"""Records on their way to the sender: one queue of batches per partition, filled by any thread.

`append` is the path of every record: look up the topic, choose the partition, add to the open batch. It never waits:
without metadata or memory it returns None, and the caller waits its own way (a thread blocks, a coroutine awaits).
One lock guards the queues and the pool; it is held for microseconds, and the sender takes it once per round.

Source: the record accumulator of the Java producer (batch.size, linger.ms, buffer.memory; KIP-480 for the sticky
partition, whose choice belongs to opening a batch).
"""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.metadata import NO_NODE, ClusterView, TopicInfo
from kafka_py.clients.producer.batches import NO_SEQUENCE, Callback, Headers, ProducerBatch, RecordFuture
from kafka_py.clients.producer.buffer_pool import BufferPool, MemoryWaiter
from kafka_py.clients.producer.configs import ProducerOptions
from kafka_py.clients.producer.partitioner import KeyedChoice, own_partitioner
from kafka_py.records.batch import HEADER_SIZE
from kafka_py.records.builder import BatchBuilder, record_size_bound
from kafka_py.records.compression import Codec

RECORD_OVERHEAD = 12
"""What a record of usual size takes in a batch beside its key and value, in bytes."""

RATIO_GROWTH = 0.05
RATIO_DECAY = 0.005
"""How fast the expected compression ratio of a topic follows worse, and better, results."""


class Lane:
    """One partition: its batches in order, and what the sender knows of it.

    queue: not in flight, oldest first; the last one may be `open`. in_flight: sent, in order of sending.
    """

    __slots__ = (
        "bumping", "in_flight", "last_acked_sequence", "leader", "next_sequence", "open", "partition", "producer_epoch",
        "producer_id", "queue", "sent_to", "topic",
    )  # fmt: skip

    def __init__(self, topic: str, partition: int) -> None:
        self.topic = topic
        self.partition = partition
        self.leader = NO_NODE
        self.queue: deque[ProducerBatch] = deque()
        self.open: ProducerBatch | None = None
        self.in_flight: list[ProducerBatch] = []
        self.sent_to = NO_NODE
        # The idempotent producer's part (idempotence.py).
        self.producer_id = -1
        self.producer_epoch = -1
        self.next_sequence = 0
        self.last_acked_sequence = NO_SEQUENCE
        self.bumping = False

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    def __repr__(self) -> str:
        return f"{self.topic}-{self.partition}"


class TopicLanes:
    """The lanes of one topic, by partition number, with the choice of partition and the expected compression."""

    __slots__ = ("choice", "lanes", "last_used_ms", "name", "ratio")

    def __init__(self, name: str, choice: KeyedChoice) -> None:
        self.name = name
        self.choice = choice
        self.lanes: list[Lane] = []
        self.ratio = 1.0
        self.last_used_ms = 0.0

    def note_ratio(self, ratio: float) -> None:
        """Learns from a compressed batch: quickly upwards, slowly downwards."""
        if ratio > self.ratio:
            self.ratio = max(self.ratio + RATIO_GROWTH, ratio)
        else:
            self.ratio = max(self.ratio - RATIO_DECAY, ratio)


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
        key: bytes | None,
        value: bytes | None,
        partition: int | None,
        timestamp: int | None,
        headers: Headers | None,
        callback: Callback | None,
        grant: MemoryWaiter | None = None,
    ) -> RecordFuture | None:
        """Adds a record; None when the topic's metadata or memory is missing.

        grant: memory the caller has waited for; taken from it if a batch must be opened.
        Raises TypeError for a key or value that is not bytes, KafkaError(MESSAGE_TOO_LARGE) for a record that no
        batch could hold.
        """
        topic_lanes = self.topics.get(topic)
        if topic_lanes is None:
            return None
        key_size = -1 if key is None else len(key)
        value_size = -1 if value is None else len(value)
        size = RECORD_OVERHEAD + key_size + value_size
        if headers:
            size += sum(len(name) + 3 + len(content or b"") for name, content in headers)
        if timestamp is None:
            timestamp = self._wall_ms()
        sticky = False
        if partition is None:
            choice = topic_lanes.choice
            if key is not None and choice.hashes_keys:
                partition = choice.for_key(key)
            else:
                partition, sticky = choice.sticky, True
        elif not 0 <= partition < len(topic_lanes.lanes):
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
            batch.builder.append(timestamp, key, value, headers or ())
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
        Raises KafkaError(MESSAGE_TOO_LARGE) for more than one request can hold.
        """
        topic_lanes = self.topics.get(topic)
        if topic_lanes is None or not 0 <= partition < len(topic_lanes.lanes):
            return False
        size = HEADER_SIZE + len(records)
        if size > self._largest:
            raise KafkaError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"The message is {size} bytes when serialized which is larger than {self._largest}, "
                "which is the value of the max.request.size configuration.",
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
        if not 0 <= partition < len(topic_lanes.lanes):
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"the partitioner chose partition {partition} of {topic}, which has {len(topic_lanes.lanes)}",
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
        reserve = max(self._batch_size, bound)
        if grant is not None and grant.granted and grant.size >= reserve:
            grant.granted = False
            reserve = grant.size
        elif not self.pool.try_allocate(reserve):
            return None
        return self._open(topic_lanes, lane, reserve), True

    def _open(self, topic_lanes: TopicLanes, lane: Lane, reserve: int) -> ProducerBatch:
        now_ms = self._clock.monotonic_ms()
        codec = self._codec
        limit = self._batch_size if codec is Codec.NONE else int(self._batch_size / (topic_lanes.ratio * 1.05))
        batch = ProducerBatch(lane, BatchBuilder(codec), limit, reserve, now_ms)
        batch.size = HEADER_SIZE
        batch.observer = self.observer
        lane.queue.append(batch)
        lane.open = batch
        topic_lanes.last_used_ms = now_ms
        self.active[lane] = None
        self.incomplete[batch] = None
        return batch

    def _checked_bound(self, key: bytes | None, value: bytes | None, headers: Headers | None) -> int:
        for name, data in (("key", key), ("value", value)):
            if data is not None and not isinstance(data, (bytes, bytearray, memoryview)):
                raise TypeError(f"the {name} is a {type(data).__name__}, not bytes: set {name}.serializer")
        bound = HEADER_SIZE + record_size_bound(key, value, headers or ())
        for limit, setting in ((self._largest, "max.request.size"), (self._memory, "buffer.memory")):
            if bound > limit:
                raise KafkaError(
                    ErrorCode.MESSAGE_TOO_LARGE,
                    f"The message is {bound} bytes when serialized which is larger than {limit}, "
                    f"which is the value of the {setting} configuration.",
                )
        return bound

    def memory_for(self, key: bytes | None, value: bytes | None, headers: Headers | None) -> int:
        """How many bytes the pool must grant before `append` can open a batch for the record."""
        return max(self._batch_size, self._checked_bound(key, value, headers))

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
            self.incomplete.pop(batch, None)
            for part in parts:
                self.incomplete[part] = None

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


def sequence_order(batches: list[ProducerBatch]) -> Callable[[ProducerBatch], int]:
    """A sort key over batches of one lane that puts sequences in order across the wrap at 2147483647."""
    sequences = [batch.sequence for batch in batches]
    if max(sequences) - min(sequences) < 1 << 30:
        return lambda batch: batch.sequence
    return lambda batch: batch.sequence + (1 << 31 if batch.sequence < 1 << 30 else 0)
