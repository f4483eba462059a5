"""The queues of batches as the event loop uses them: updates from metadata, removal for sending, retries.

Metadata creates the lanes (one queue per partition); the sender takes batches out, puts back those to be sent again,
and releases those that are acknowledged or have failed. accumulator.py fills the queues.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections import deque
from collections.abc import Iterable

from kafka_py.base.chance import Random
from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode
from kafka_py.clients.metadata import NO_NODE, ClusterView, TopicInfo
from kafka_py.clients.producer.batches import NO_SEQUENCE, ProducerBatch
from kafka_py.clients.producer.buffer_pool import BufferPool
from kafka_py.clients.producer.configs import ProducerOptions
from kafka_py.clients.producer.lanes import Lane, TopicLanes, sequence_order
from kafka_py.clients.producer.partitioner import KeyedChoice, own_partitioner


class BatchQueues:
    """All lanes of one producer, the memory of their batches, and the lock that guards both."""

    def __init__(self, options: ProducerOptions, clock: Clock, rng: Random) -> None:
        self.lock = threading.RLock()
        """Reentrant, because such a lock can be released by its owner only: see Accumulator.append."""
        self.pool = BufferPool(options.buffer_memory, options.batch_size)
        self.topics: dict[str, TopicLanes] = {}
        """Topics that records can be appended to: those with known partitions and no error."""
        self.active: dict[Lane, None] = {}
        """Lanes whose queue is not empty."""
        self._touched: dict[Lane, None] = {}
        """Lanes for the sender to examine: a batch was opened, put back or finished, or the leader has changed."""
        self.incomplete: dict[ProducerBatch, None] = {}
        """Batches neither acknowledged nor failed, oldest first."""
        self._all_topics: dict[str, TopicLanes] = {}
        self.view = ClusterView()
        self.stopped: Exception | None = None
        self.partitioner, self._hashes_keys = own_partitioner(options.partitioner_class, options.originals, rng)
        self._clock = clock
        self._rng = rng

    def stop(self, error: Exception) -> None:
        """Refuses further records: `append` finds no topic, and the waiting caller raises `stopped`."""
        with self.lock:
            self.stopped = error
            self.topics = {}

    def take_view(self, view: ClusterView) -> None:
        """Takes partitions and leaders from new metadata; records for topics with an error are no longer accepted."""
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
        """Partitions of topics without metadata lose a leader that is no longer among the brokers."""
        for name, topic_lanes in self._all_topics.items():
            info = view.topics.get(name)
            if info is None or info.error is not ErrorCode.NONE:
                for lane in topic_lanes.lanes:
                    if lane.leader not in view.nodes:
                        self._lead(lane, NO_NODE)

    def _lead(self, lane: Lane, leader: int) -> None:
        if lane.leader != leader:
            lane.leader = leader
            self._touched[lane] = None

    def _updated(self, info: TopicInfo, view: ClusterView) -> TopicLanes:
        available = view.available_partitions(info.name)
        topic_lanes = self._all_topics.get(info.name)
        if topic_lanes is None or topic_lanes.choice.count != len(info.partitions):
            choice = KeyedChoice(len(info.partitions), available, self._rng, hashes_keys=self._hashes_keys)
            if topic_lanes is None:
                topic_lanes = self._all_topics[info.name] = TopicLanes(info.name, choice)
                topic_lanes.last_used_ms = self._clock.monotonic_ms()
            topic_lanes.choice = choice
        topic_lanes.choice.available = available
        lanes = topic_lanes.lanes
        while len(lanes) <= info.partitions[-1].partition:  # metadata may lack a partition below another one
            lanes.append(Lane(info.name, len(lanes)))
        topic_lanes.count = info.partitions[-1].partition + 1
        leaders = [NO_NODE] * len(lanes)  # also for lanes that a re-created topic has no partition for
        for partition in info.partitions:
            if partition.leader in view.nodes:
                leaders[partition.partition] = partition.leader
        for lane, leader in zip(lanes, leaders, strict=True):
            self._lead(lane, leader)
        return topic_lanes

    def lanes(self) -> Iterable[Lane]:
        """All lanes."""
        for topic_lanes in self._all_topics.values():
            yield from topic_lanes.lanes

    def idle_topics(self, now_ms: float, max_idle_ms: float) -> list[str]:
        """Topics without new batches for over `max_idle_ms` that have nothing left to send."""
        busy = {batch.lane.topic for batch in list(self.incomplete)}
        return [
            name
            for name, topic_lanes in self._all_topics.items()
            if now_ms - topic_lanes.last_used_ms > max_idle_ms and name not in busy
        ]

    @property
    def oldest_ms(self) -> float:
        """When the oldest incomplete batch was opened, as of the monotonic clock; inf without any."""
        with self.lock:
            return next((batch.created_ms for batch in self.incomplete), math.inf)

    def overdue(self, now_ms: float, longest_ms: float) -> list[ProducerBatch]:
        """The incomplete batches that were opened at least `longest_ms` ago."""
        with self.lock:
            return list(itertools.takewhile(lambda batch: batch.created_ms + longest_ms <= now_ms, self.incomplete))

    @property
    def has_touched(self) -> bool:
        """Whether `take_touched` would return lanes."""
        return bool(self._touched)

    def take_touched(self) -> Iterable[Lane]:
        """The lanes that have changed since the last call."""
        with self.lock:
            touched, self._touched = self._touched, {}
        return touched

    def take(self, lane: Lane, index: int = 0) -> ProducerBatch:
        """Removes a batch (the oldest by default) from a lane's queue for sending; no record is added to it after."""
        with self.lock:
            batch = lane.queue[index]
            del lane.queue[index]
            if lane.open is batch:
                lane.open = None
            if not lane.queue:
                self.active.pop(lane, None)
            return batch

    def take_unsent(self) -> list[ProducerBatch]:
        """Removes all batches that no broker can have, of all lanes: never sent, or refused for a gap before them."""
        found: list[ProducerBatch] = []
        with self.lock:
            for lane in list(self.active):
                unsent = [batch for batch in lane.queue if batch.sequence == NO_SEQUENCE or batch.rejected]
                for batch in unsent:
                    self.take(lane, lane.queue.index(batch))
                found += unsent
        return found

    def put_back(self, lane: Lane, batches: Iterable[ProducerBatch]) -> None:
        """Puts batches before those never sent, to be sent again: in order of sequence, or of age without sequences."""
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
            self.active[lane] = self._touched[lane] = None

    def replace(self, batch: ProducerBatch, parts: Iterable[ProducerBatch]) -> None:
        """Replaces a batch that was split by its `parts` among the incomplete batches."""
        with self.lock:
            now: dict[ProducerBatch, None] = {}
            for each in self.incomplete:
                now.update(dict.fromkeys(parts if each is batch else [each]))
            self.incomplete = now

    def release(self, batch: ProducerBatch) -> None:
        """Returns a finished batch's memory to the pool and notifies who waits for memory."""
        with self.lock:
            self.incomplete.pop(batch, None)
            served = self.pool.deallocate(batch.reserved)
            batch.reserved = 0
            self._touched[batch.lane] = None
        for notify in served:
            notify()

    def note_compression(self, lane: Lane, uncompressed: int, compressed: int) -> None:
        """Adjusts how large the topic's next batches may grow, so that they compress to batch.size."""
        topic_lanes = self._all_topics.get(lane.topic)
        if topic_lanes is not None and uncompressed:
            topic_lanes.note_ratio(compressed / uncompressed)
