"""State stored in the partitions of a compacted topic: loaded when this broker becomes the leader of one, dropped when
it no longer is, appended to in between (I/O).

The state itself belongs to a KeptState (groups/metadata_store.py); this file knows partitions, leader epochs and
batches. The rule for every change: decide, append, and only when the append is acknowledged apply and answer; `append`
here is the middle step. One partition is loaded at a time (loading.py).
Source: docs/reference/groups.md, sections 1, 2 and 9.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.supervision import Backoff, Supervisor
from kafka_py.base.turns import Turn, take_in_turns
from kafka_py.coordinator.loading import LOADING_TURN_MS, InThread, PartitionLoad, Replay
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.records.batch import HEADER_SIZE
from kafka_py.records.java_hash import partition_for_id

_log = logging.getLogger(__name__)

Appended = Callable[[ErrorCode, int], None]
"""(outcome, base offset of the batch or -1), on the loop."""

TOMBSTONE_BATCH_BYTES = 256 * 1024
"""How large a batch of tombstones may become."""

_LOADING = "loading of coordinator state"
_LOAD_AGAIN = Backoff(1_000.0, 60_000.0)
_LONGEST_REMEMBERED = 255
_remembered_partition = lru_cache(maxsize=20_000)(partition_for_id)
"""Cached, because the hash runs over every character and each heartbeat needs it."""


class Append(Protocol):
    """Appends one batch to a partition of the topic and calls back with the result, perhaps at once."""

    def __call__(self, partition: int, batch: bytes, acks: int, timeout_ms: int, on_done: Appended, /) -> None: ...


class KeptState(Protocol):
    """The state of a coordinator, by partition."""

    def replay(self, partition: int) -> Replay:
        """A new reader of a partition's records."""
        ...

    def unload(self, partition: int) -> Iterator[object]:
        """Forgets a partition before it first yields, then notifies those concerned, step by step."""
        ...


@dataclass(slots=True, frozen=True)
class RuntimeServices:
    """What the runtime needs of the broker.

    append: see Append. log_of: the partition's log when this broker leads it. in_thread: runs blocking functions.
    spawn: runs a coroutine until it ends or the broker stops. supervisor: handles unforeseen failures; None for one of
        its own. settle: called now and then after objects were loaded that will stay in memory
        (the broker excludes them from garbage collection, which would hold the loop). loaded: called with
        the duration of each load in milliseconds.
    """

    append: Append
    log_of: Callable[[int], PartitionLog | None]
    in_thread: InThread
    spawn: Callable[[Coroutine[Any, Any, None]], object]
    clock: Clock
    settle: Callable[[], None] = lambda: None
    loaded: Callable[[float], None] = lambda _took_ms: None
    supervisor: Supervisor | None = None


class _PartitionLoading:
    """The loading of one partition, from its election on. failures: attempts that failed. refusal: why the partition
    may not be served, as the last attempt found.
    """

    __slots__ = ("failures", "refusal")

    def __init__(self) -> None:
        self.failures = 0
        self.refusal: KafkaError | None = None


class CoordinatorRuntime:
    """The partitions of one topic that this broker coordinates.

    partition_count: of the topic; fixed while the broker runs. buffer_bytes: read at once while loading.
    """

    def __init__(
        self, topic: str, partition_count: int, state: KeptState, around: RuntimeServices, *, buffer_bytes: int
    ) -> None:
        self.topic = topic
        self.partition_count = partition_count
        self.owned: set[int] = set()
        """The partitions whose state is loaded."""
        self.supervisor = around.supervisor or Supervisor(around.clock)
        self._state = state
        self._around = around
        self._buffer_bytes = buffer_bytes
        self._epochs: dict[int, int] = {}
        self._loading: dict[int, _PartitionLoading] = {}  # partition -> its load; a resignation ends it
        self._queue: deque[int] = deque()
        self._is_working = False

    # ---- lookup of coordinators

    def partition_for(self, identifier: str) -> int:
        """The partition of a group id or transactional id."""
        if len(identifier) <= _LONGEST_REMEMBERED:
            return _remembered_partition(identifier, self.partition_count)
        return partition_for_id(identifier, self.partition_count)

    @property
    def is_loading(self) -> bool:
        """Whether any partition is still being loaded; not one that is refused because it is damaged."""
        return any(load.refusal is None for load in self._loading.values())

    def is_loading_partition(self, partition: int) -> bool:
        """Whether this partition is still being loaded."""
        return partition in self._loading

    def check(self, partition: int) -> None:
        """Raises KafkaError unless the partition is loaded: COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, or
        COORDINATOR_NOT_AVAILABLE when its content may not be served.
        """
        if partition in self.owned:
            return
        load = self._loading.get(partition)
        if load is not None:
            if load.refusal is not None:
                raise KafkaError(load.refusal.code, f"{self.topic}-{partition} is not served: {load.refusal.message}")
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, f"{self.topic}-{partition} is being read")
        raise KafkaError(ErrorCode.NOT_COORDINATOR, f"this broker does not lead {self.topic}-{partition}")

    def epoch_of(self, partition: int) -> int:
        """The latest leader epoch of the partition; -1 when there was none."""
        return self._epochs.get(partition, -1)

    # ---- leadership

    def elected(self, partition: int, leader_epoch: int) -> None:
        """This broker leads the partition: its state is loaded, unless it is already."""
        if not self._accept(partition, leader_epoch) or partition in self.owned or partition in self._loading:
            return
        _log.info("Loading %s-%d in leader epoch %d", self.topic, partition, leader_epoch)
        self._loading[partition] = _PartitionLoading()
        self._enqueue(partition)

    def resigned(self, partition: int, leader_epoch: int | None) -> None:
        """This broker no longer leads the partition. leader_epoch: None when it does not even host it."""
        if leader_epoch is None:
            self._epochs.pop(partition, None)
        elif not self._accept(partition, leader_epoch):
            return
        if self._loading.pop(partition, None) is None and partition not in self.owned:
            return
        self.owned.discard(partition)
        _log.info("Dropping the state of %s-%d", self.topic, partition)
        steps = self._state.unload(partition)
        for _ in steps:
            self._around.spawn(self._in_turns(steps))
            break

    def _accept(self, partition: int, leader_epoch: int) -> bool:
        """Whether the leader epoch is not older than the latest known one."""
        known = self._epochs.get(partition, -1)
        if leader_epoch < known:
            _log.info("%s-%d: leader epoch %d is past, it is %d", self.topic, partition, leader_epoch, known)
            return False
        self._epochs[partition] = leader_epoch
        return True

    async def _in_turns(self, steps: Iterable[object]) -> None:
        await take_in_turns(steps, Turn(self._around.clock, LOADING_TURN_MS))

    # ---- appending

    def append(self, partition: int, batch: bytes, acks: int, timeout_ms: int, on_done: Appended) -> None:
        """Appends a batch of records; `on_done` is called when it is acknowledged, or has failed."""
        if partition not in self.owned:
            on_done(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
            return
        self._around.append(partition, batch, acks, timeout_ms, on_done)

    def tombstone_bytes(self, partition: int) -> int:
        """The bytes of records that a batch of tombstones may hold: far fewer than the topic accepts."""
        partition_log = self._around.log_of(partition)
        if partition_log is None:
            return TOMBSTONE_BATCH_BYTES
        return min(TOMBSTONE_BATCH_BYTES, partition_log.config.max_message_bytes - HEADER_SIZE)

    # ---- loading

    def _enqueue(self, partition: int) -> None:
        self._queue.append(partition)
        if not self._is_working:
            self._is_working = True
            self._around.spawn(self._load_queued())

    async def _load_later(self, partition: int, load: _PartitionLoading) -> None:
        """The next attempt, after a pause; until then requests see the partition as being loaded."""
        load.failures += 1
        await asyncio.sleep(_LOAD_AGAIN.after(load.failures) / 1000.0)
        if self._loading.get(partition) is load:
            self._enqueue(partition)

    async def _load_queued(self) -> None:
        try:
            while self._queue:
                partition = self._queue.popleft()
                load = self._loading.get(partition)
                if load is None:
                    continue
                try:
                    await self._load(partition, load)
                except Exception as error:
                    self.supervisor.report(_LOADING, error, f"{self.topic}-{partition}")
                    if self._loading.get(partition) is load:
                        del self._loading[partition]
        finally:
            self._is_working = False

    async def _load(self, partition: int, load: _PartitionLoading) -> None:
        """Loads one partition, so that requests for it are served. A failure is retried later, unless the partition was
        resigned or its log directory has failed.
        """
        began_ms = self._around.clock.monotonic_ms()
        partition_log = self._around.log_of(partition)
        done = False
        try:
            if partition_log is None:
                raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "it is no longer led here")
            reading = PartitionLoad(
                TopicPartition(self.topic, partition),
                partition_log,
                self._state.replay(partition),
                clock=self._around.clock,
                in_thread=self._around.in_thread,
                is_wanted=lambda: self._loading.get(partition) is load,
                settle=self._around.settle,
                buffer_bytes=self._buffer_bytes,
            )
            done = await reading.run()
        except (KafkaError, OSError) as error:
            _log.error("%s-%d was not loaded: %s", self.topic, partition, error)
            if isinstance(error, KafkaError) and error.code is ErrorCode.COORDINATOR_NOT_AVAILABLE:
                load.refusal = error
        except Exception as error:
            self.supervisor.report(_LOADING, error, f"{self.topic}-{partition}")
        if self._loading.get(partition) is not load:
            return
        if not done:
            await self._in_turns(self._state.unload(partition))
            if self._loading.get(partition) is not load:
                return
            if partition_log is not None and partition_log.is_usable:
                self._around.spawn(self._load_later(partition, load))
            else:
                del self._loading[partition]
            return
        del self._loading[partition]
        self.owned.add(partition)
        took_ms = self._around.clock.monotonic_ms() - began_ms
        self._around.loaded(took_ms)
        _log.info("Loaded %d records of %s-%d in %.0f ms", reading.record_count, self.topic, partition, took_ms)

