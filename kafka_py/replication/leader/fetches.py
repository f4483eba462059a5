"""Reads of the hosted partitions by consumers and followers, answered immediately or when there is enough data.

Synchronous, results by callback; only a fetch of very many partitions is a coroutine. Knows the hosted partitions and
the purgatories; nothing of requests, versions or sessions.
Source: docs/reference/replication.md, sections 2, 3, 9 and 15.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable, Iterable, Sequence

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.supervision import Supervisor
from kafka_py.base.turns import sliced
from kafka_py.replication.leader.delayed import DelayedFetch
from kafka_py.replication.leader.purgatories import Parked
from kafka_py.replication.state.hosted import HostedPartitions
from kafka_py.replication.state.metrics import ReplicaMetrics
from kafka_py.replication.state.partition import Partition
from kafka_py.replication.state.reads import (
    FetchEntry,
    FetchParams,
    FetchResults,
    FetchSource,
    OnFetched,
    PartitionRead,
)
from kafka_py.replication.state.throttle import Throttle

_log = logging.getLogger(__name__)

OnParked = Callable[[Callable[[], object]], None]

READS_AT_ONCE = 100
"""Partitions that a fetch in turns reads before other work runs on the loop."""


_EXPECTED_ERRORS = frozenset(
    (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.OFFSET_OUT_OF_RANGE,
    )
)
"""Errors of a read that are not counted as failures (ReplicaManager.readFromLocalLog)."""


class Fetches:
    """Reads of consumers and followers."""

    def __init__(
        self,
        hosted: HostedPartitions,
        parked: Parked,
        clock: Clock,
        metrics: ReplicaMetrics,
        supervisor: Supervisor | None = None,
        *,
        on_isr_pending: Callable[[Partition], None] | None = None,
        choose_replica: Callable[[Partition, int, str], int] | None = None,
        throttle: Throttle | None = None,
    ) -> None:
        """on_isr_pending: called with a partition whose in-sync set has a pending change.

        choose_replica: (partition, offset, rack) -> the broker that a consumer should read from; None: always the
        leader. throttle: the quota of out-of-sync followers.
        """
        self._supervisor = supervisor or Supervisor(clock)
        self._on_isr_pending = on_isr_pending or (lambda _partition: None)
        self._hosted = hosted
        self._parked = parked
        self._clock = clock
        self._metrics = metrics
        self._all_topics = metrics.all_topics
        self._choose_replica = choose_replica
        self._throttle = throttle

    def fetch(
        self, params: FetchParams, source: FetchSource, on_fetched: OnFetched, on_parked: OnParked = lambda _end: None
    ) -> None:
        """Reads the source's partitions and calls `on_fetched`, immediately or when there is enough data.

        Immediately: no wait time, no partitions, enough bytes, any error, or a follower that has to truncate.
        on_parked: called with a function that completes the parked fetch early.
        """
        results = self.read_all(params, source.entries())
        if params.replica_id >= 0:
            self._record_follower(params.replica_id, results)
            if self._throttle is not None and self._throttle.is_on:
                on_fetched = self._counting_throttled(self._throttle, on_fetched)
        keys = () if params.max_wait_ms <= 0 or _answers_at_once(results, params.min_bytes) else source.watch_keys()
        if not keys:
            on_fetched(results)
            return

        def answer() -> None:
            source.unparked()
            on_fetched(self.read_all(params, source.entries()))

        source.parked(results)
        delayed = self._delayed(params, source, answer)
        if not self._parked.fetch.try_complete_else_watch(delayed, keys, params.max_wait_ms):
            on_parked(delayed.complete)

    def _delayed(
        self, params: FetchParams, source: FetchSource, answer: Callable[[], None], *, is_seen: bool = False
    ) -> DelayedFetch:
        metrics = self._metrics
        on_expired = metrics.follower_fetch_expired if params.from_follower else metrics.consumer_fetch_expired
        return DelayedFetch(params, source, self._bytes_available, answer, on_expired, is_seen=is_seen)

    async def fetch_in_turns(
        self, params: FetchParams, source: FetchSource, on_parked: OnParked = lambda _end: None
    ) -> FetchResults:
        """As `fetch`, for very many partitions: other work runs on the loop between slices of them."""
        results = await self._read_in_turns(params, source.entries(), note_follower=params.from_follower)
        keys = () if params.max_wait_ms <= 0 or _answers_at_once(results, params.min_bytes) else source.watch_keys()
        if keys:
            await self._wait_for_more(params, source, keys, results, on_parked)
            results = await self._read_in_turns(params, source.entries())
        if params.from_follower and self._throttle is not None and self._throttle.is_on:
            async for some in sliced(results, READS_AT_ONCE):
                self._count_throttled(self._throttle, some)
        return results

    async def _wait_for_more(
        self,
        params: FetchParams,
        source: FetchSource,
        keys: list[Hashable],
        results: FetchResults,
        on_parked: OnParked,
    ) -> None:
        """Parks the fetch first and then examines every entry, so that no change in between is missed."""
        woken = asyncio.Event()
        try:
            async for some in sliced(results):
                source.parked(some)
            delayed = self._delayed(params, source, woken.set, is_seen=True)
            self._parked.fetch.try_complete_else_watch(delayed, keys, params.max_wait_ms)
            on_parked(delayed.complete)
            async for some in sliced(results):
                if delayed.is_completed or delayed.examine(entry for entry, _ in some):
                    break
            await woken.wait()
        finally:
            source.unparked()

    async def _read_in_turns(
        self, params: FetchParams, entries: Sequence[FetchEntry], *, note_follower: bool = False
    ) -> FetchResults:
        results: FetchResults = []
        taken_bytes = 0
        async for some in sliced(entries, READS_AT_ONCE):
            found = self.read_all(params, some, taken_bytes)
            taken_bytes += sum(read.size for _, read in found)
            if note_follower:
                self._record_follower(params.replica_id, found)
            results += found
        return results

    def read_all(self, params: FetchParams, entries: Iterable[FetchEntry], taken_bytes: int = 0) -> FetchResults:
        """Reads each entry, in order, within the limits of the whole fetch.

        taken_bytes: the bytes that the same fetch has read before.
        """
        remaining = params.max_bytes - taken_bytes if taken_bytes < params.max_bytes else 0
        min_one_batch = not params.hard_max_bytes and not taken_bytes
        results = []
        for entry in entries:
            max_bytes = entry.max_bytes
            read = self._read(entry, max_bytes if max_bytes < remaining else remaining, params, min_one_batch)
            if read.size:
                remaining = remaining - read.size if read.size < remaining else 0
                min_one_batch = False
            results.append((entry, read))
        return results

    def _read(self, entry: FetchEntry, max_bytes: int, params: FetchParams, min_one_batch: bool) -> PartitionRead:
        """Reads one entry. Counts only partitions that exist, so that a client cannot create metrics of other names."""
        topic_partition = entry.topic_partition
        if params.may_read is not None and not params.may_read(topic_partition.topic):
            return PartitionRead(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        try:
            partition = self._hosted.partitions.get(topic_partition) or self._hosted.partition(topic_partition)
        except KafkaError as error:
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                self._metrics.topic(topic_partition.topic).fetch_requests += 1
                self._all_topics.fetch_requests += 1
            return PartitionRead(error.code)
        (self._metrics.topics.get(topic_partition[0]) or self._metrics.topic(topic_partition[0])).fetch_requests += 1
        self._all_topics.fetch_requests += 1
        try:
            if params.replica_id >= 0:
                if self._is_throttled(partition, params.replica_id):
                    max_bytes, min_one_batch = 0, False
            elif self._choose_replica is not None and params.rack and partition.is_leader:
                chosen = self._choose_replica(partition, entry.fetch_offset, params.rack)
                if chosen != partition.local_id:
                    return self._redirect(partition, entry, params, chosen)
            read = partition.read(
                entry, max_bytes, params.isolation, leader_only=params.leader_only, min_one_batch=min_one_batch
            )
        except KafkaError as error:
            if error.code not in _EXPECTED_ERRORS:
                self._count_failure(topic_partition.topic)
            return PartitionRead(error.code)
        except OSError as error:
            self._hosted.on_storage_error(topic_partition, error)
            return PartitionRead(ErrorCode.KAFKA_STORAGE_ERROR)
        except Exception:  # fails this partition only
            _log.exception("%s: a read failed", topic_partition)
            self._count_failure(topic_partition.topic)
            return PartitionRead(ErrorCode.UNKNOWN_SERVER_ERROR)
        if params.replica_id >= 0 and params.replica_id not in partition.followers:
            _log.warning("Broker %d fetches %s but is not a replica of it", params.replica_id, topic_partition)
            return read._replace(records=None, size=0)
        return read

    def _count_failure(self, topic: str) -> None:
        for metrics in (self._metrics.topic(topic), self._all_topics):
            metrics.failed_fetch_requests += 1

    @staticmethod
    def _redirect(partition: Partition, entry: FetchEntry, params: FetchParams, broker_id: int) -> PartitionRead:
        """A read without records that names the preferred replica (KIP-392). Raises KafkaError as any read."""
        read = partition.read(entry, 0, params.isolation, leader_only=params.leader_only, min_one_batch=False)
        return read._replace(records=None, size=0, preferred_read_replica=broker_id)

    def _is_throttled(self, partition: Partition, broker_id: int) -> bool:
        """Whether a follower gets no data for now because of its quota; never one that is in sync."""
        throttle = self._throttle
        return (
            throttle is not None
            and throttle.is_on
            and broker_id not in partition.isr.members
            and throttle.is_exceeded_for(partition.topic_partition)
        )

    @classmethod
    def _counting_throttled(cls, throttle: Throttle, on_fetched: OnFetched) -> OnFetched:
        """A callback that counts throttled bytes before it answers."""

        def answer(results: FetchResults) -> None:
            cls._count_throttled(throttle, results)
            on_fetched(results)

        return answer

    @staticmethod
    def _count_throttled(throttle: Throttle, results: FetchResults) -> None:
        for entry, read in results:
            if read.size:
                throttle.record(entry.topic_partition, read.size)

    def _record_follower(self, broker_id: int, results: FetchResults) -> None:
        """Records a follower's progress; once per request, and not for partitions with an error or divergence."""
        now_ms = self._clock.monotonic_ms()
        for entry, read in results:
            partition = read.partition
            if partition is None or read.diverging is not None or not partition.is_leader:
                continue
            isr = partition.isr
            if partition.record_follower_fetch(broker_id, entry, read.end_offset, now_ms):
                self._parked.note_change(partition, watermark_raised=True)
            if partition.isr is not isr:
                self._on_isr_pending(partition)
            if self._parked.delete.watched:
                self._parked.delete.check_and_complete(entry.topic_partition)

    def _bytes_available(self, entry: FetchEntry, params: FetchParams) -> int:
        partition = self._hosted.partitions.get(entry.topic_partition) or self._hosted.partition(entry.topic_partition)
        partition_log = partition.readable_log(entry.current_leader_epoch, leader_only=params.leader_only)
        if params.replica_id >= 0 and self._is_throttled(partition, params.replica_id):
            return 0
        end_offset = partition.end_offset(params.isolation)
        if entry.fetch_offset >= end_offset:
            if entry.fetch_offset > partition_log.log_end_offset:
                raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"{entry.topic_partition} was truncated")
            return 0
        return min(partition_log.lookups.bytes_available(entry.fetch_offset, end_offset), entry.max_bytes)

    async def shrink_isrs(self) -> None:
        """Removes lagging followers from the in-sync sets; called every replica.lag.time.max.ms / 2."""
        async for some in sliced(list(self._hosted.partitions.values())):
            now_ms = self._clock.monotonic_ms()
            for partition in some:
                with self._supervisor.guard("shrinking of in-sync sets", partition.topic_partition):
                    if partition.is_leader and partition.shrink_isr(now_ms):
                        self._on_isr_pending(partition)

    def notice_log_starts(self) -> None:
        """Notifies fetch sessions of log start offsets that retention has moved; called periodically."""
        for partition in self._hosted.partitions.values():
            if partition.listeners:
                with self._supervisor.guard("notice of log starts", partition.topic_partition):
                    if partition.has_new_log_start():
                        self._parked.note_change(partition, watermark_raised=False)


def _answers_at_once(results: FetchResults, min_bytes: int) -> bool:
    total = 0
    for _entry, read in results:
        if read.error is not ErrorCode.NONE or read.diverging is not None or read.preferred_read_replica >= 0:
            return True
        total += read.size
    return total >= min_bytes
