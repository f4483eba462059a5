"""All partitions of a broker: appends, fetches and offset look-ups, and the operations parked on them (I/O).

Knows its partitions, the purgatories and the log directories; nothing of requests, versions or sockets. What it needs
from elsewhere (is a partition known to the cluster, how to run something a little later) comes in as functions.
Source: reference replication, sections 1, 2, 7, 8, 12, 14 and 16.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.log.log_dirs import LogDirs
from kafka_py.log.partition_log import AppendInfo, Origin, PartitionLog, TimestampOffset
from kafka_py.replication.configs import ReplicationOptions
from kafka_py.replication.delayed import AppendResult, DelayedFetch, DelayedProduce, OnAppended, SyncedAnswer
from kafka_py.replication.metrics import ReplicaMetrics, TopicMetrics
from kafka_py.replication.parked import Parked
from kafka_py.replication.partition import Partition
from kafka_py.replication.reads import (
    EpochEnd,
    FetchEntry,
    FetchParams,
    FetchResults,
    FetchSource,
    Isolation,
    OnFetched,
    PartitionRead,
)

log = logging.getLogger(__name__)

INTERNAL_TOPICS = frozenset(("__consumer_offsets", "__transaction_state"))

# Errors that say nothing about the log: the answer then carries no log start offset (replication.md section 1).
_NO_LOG_START = frozenset(
    (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    )
)
_EXPECTED_PRODUCE_ERRORS = frozenset(
    (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR)
)


class ReplicaManager:
    """The broker's partitions.

    is_known: whether the cluster has the partition, by the metadata cache: decides between "not here" and "not at all".
    """

    def __init__(
        self,
        broker_id: int,
        options: ReplicationOptions,
        log_dirs: LogDirs,
        clock: Clock,
        *,
        parked: Parked,
        is_known: Callable[[TopicPartition], bool],
        metrics: ReplicaMetrics,
    ) -> None:
        self.broker_id = broker_id
        self.options = options
        self.log_dirs = log_dirs
        self.metrics = metrics
        metrics.manager.owner = self
        self._all_topics = metrics.all_topics
        self.partitions: dict[TopicPartition, Partition] = {}
        metrics.measure_partitions(self.partitions)
        self.offline: set[TopicPartition] = set()
        self.parked = parked
        self._clock = clock
        self._is_known = is_known
        self._flushes_due: list[PartitionLog] = []
        self.on_storage_error: Callable[[TopicPartition, OSError], None] = self._log_storage_error

    # ---- partitions

    def new_partition(self, topic_partition: TopicPartition) -> Partition:
        """A partition without role or log; the caller registers it once it has both."""
        return Partition(topic_partition, self.broker_id, self.options.replica_lag_time_max_ms)

    def partition(self, topic_partition: TopicPartition) -> Partition:
        """The hosted partition.

        Raises KafkaError(KAFKA_STORAGE_ERROR) on a failed directory, NOT_LEADER_OR_FOLLOWER when it lives elsewhere,
        UNKNOWN_TOPIC_OR_PARTITION when the cluster has no such partition.
        """
        found = self.partitions.get(topic_partition)
        if found is not None:
            return found
        if topic_partition in self.offline:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{topic_partition} is in an offline log directory")
        if self._is_known(topic_partition):
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER, f"broker {self.broker_id} does not host {topic_partition}"
            )
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic_partition} does not exist")

    def led_partitions(self) -> Iterator[Partition]:
        return (partition for partition in self.partitions.values() if partition.is_leader)

    def count_led(self) -> int:
        return sum(1 for _ in self.led_partitions())

    def count_under_replicated(self) -> int:
        return sum(partition.is_under_replicated for partition in self.led_partitions())

    def count_reassigning(self) -> int:
        return sum(bool(one.adding_replicas or one.removing_replicas) for one in self.led_partitions())

    def count_against_minimum(self, sign: int) -> int:
        """Led partitions whose in-sync set is below (-1) or just at (0) min.insync.replicas."""
        margins = (partition.isr_against_minimum() for partition in self.led_partitions())
        return sum(margin is not None and (margin < 0 if sign else margin == 0) for margin in margins)

    # ---- produce

    def append(
        self,
        records_by_partition: Iterable[tuple[TopicPartition, memoryview]],
        acks: int,
        timeout_ms: int,
        on_done: OnAppended,
        *,
        origin: Origin = Origin.CLIENT,
        internal_topics_allowed: bool = False,
    ) -> None:
        """Appends to each partition and calls `on_done` with the results, in order.

        With acks -1 that may be later: when all in-sync replicas have the records, or `timeout_ms` is over. So it is
        where flush.messages asks for a flush.
        Nothing raises; each partition has its own error.
        """
        now_ms = self._clock.wall_ms()
        results = []
        for topic_partition, records in records_by_partition:
            if topic_partition[0] in INTERNAL_TOPICS and not internal_topics_allowed:
                results.append(
                    AppendResult(
                        topic_partition,
                        ErrorCode.INVALID_TOPIC_EXCEPTION,
                        f"Cannot append to internal topic {topic_partition.topic}",
                    )
                )
            else:
                results.append(self.append_to(topic_partition, records, acks, now_ms, origin))
        if self._flushes_due:
            on_done = self._after_flushes(on_done)
        if acks == -1 and not self._settled(results):
            delayed = DelayedProduce(results, self._acks_all_outcome, on_done, self.metrics.produce_expired)
            self.parked.produce.try_complete_else_watch(
                delayed, [result.topic_partition for result in results if result.error is ErrorCode.NONE], timeout_ms
            )
        else:
            on_done(results)

    def append_to(
        self, topic_partition: TopicPartition, records: memoryview, acks: int, now_ms: int, origin: Origin
    ) -> AppendResult:
        """Appends to one partition; the result carries the error, if any."""
        partition = self.partitions.get(topic_partition)
        topic_metrics = self.metrics.topic(topic_partition[0])
        topic_metrics.produce_requests += 1
        self._all_topics.produce_requests += 1
        try:
            if partition is None:
                partition = self.partition(topic_partition)
            info = partition.append(records, acks, now_ms, origin)
        except (KafkaError, OSError) as error:
            return self._append_failed(topic_partition, partition, error)
        if not info.duplicate:
            self._note_append(partition, topic_metrics, info)
            if info.flush_due and partition.log is not None:
                self._flushes_due.append(partition.log)
        return AppendResult(
            topic_partition,
            ErrorCode.NONE,
            None,
            info.first_offset,
            info.log_append_time,
            info.log_start_offset,
            info.last_offset + 1,
        )

    def _note_append(self, partition: Partition, topic_metrics: TopicMetrics, info: AppendInfo) -> None:
        all_topics = self._all_topics
        topic_metrics.bytes_in += info.size_bytes
        topic_metrics.messages_in += info.record_count
        all_topics.bytes_in += info.size_bytes
        all_topics.messages_in += info.record_count
        raised = partition.maybe_raise_high_watermark(self._clock.monotonic_ms() if partition.followers else 0.0)
        if partition.listeners or self.parked.fetch.watched or (raised and self.parked.produce.watched):
            self.parked.note_change(partition, watermark_raised=raised)

    def _after_flushes(self, on_done: OnAppended) -> OnAppended:
        """Starts the flushes that are due; what it returns answers when they are done as well."""
        answer = SyncedAnswer(on_done)
        due, self._flushes_due = self._flushes_due, []
        for partition_log in due:
            answer.flush(partition_log)
        return answer.appended

    def _append_failed(
        self, topic_partition: TopicPartition, partition: Partition | None, error: KafkaError | OSError
    ) -> AppendResult:
        if isinstance(error, OSError):
            self.on_storage_error(topic_partition, error)
            error = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{topic_partition}: {error}")
        result = AppendResult(topic_partition, error.code, error.detail or None)
        result.record_errors = list(getattr(error, "record_errors", ()))
        if error.code not in _NO_LOG_START and partition is not None and partition.log is not None:
            result.log_start_offset = partition.log.log_start_offset
        if error.code not in _EXPECTED_PRODUCE_ERRORS:
            self._count_failure(topic_partition.topic, error.code)
        return result

    def _count_failure(self, topic: str, code: ErrorCode) -> None:
        for metrics in (self.metrics.topic(topic), self._all_topics):
            metrics.failed_produce_requests += 1
            if code is ErrorCode.CORRUPT_MESSAGE:
                metrics.invalid_crc_records += 1

    def _settled(self, results: list[AppendResult]) -> bool:
        """Whether an acks=-1 append can be answered at once; sets the errors that this look reveals."""
        if not any(result.error is ErrorCode.NONE for result in results):
            return True
        outcomes = []
        for result in results:
            if result.error is ErrorCode.NONE:
                outcome = self._acks_all_outcome(result.topic_partition, result.end_offset)
                if outcome is None:
                    return False
                outcomes.append((result, outcome))
        for result, outcome in outcomes:
            if outcome is not ErrorCode.NONE:
                result.fail(outcome)
        return True

    def _acks_all_outcome(self, topic_partition: TopicPartition, required_offset: int) -> ErrorCode | None:
        partition = self.partitions.get(topic_partition)
        if partition is None:
            return self._absent_error(topic_partition)
        return partition.acks_all_outcome(required_offset)

    def _absent_error(self, topic_partition: TopicPartition) -> ErrorCode:
        try:
            self.partition(topic_partition)
        except KafkaError as error:
            return error.code
        return ErrorCode.NONE

    # ---- fetch

    def fetch(self, params: FetchParams, source: FetchSource, on_fetched: OnFetched) -> None:
        """Reads the source's partitions and calls `on_fetched`: at once, or when enough data is there.

        At once: no waiting allowed, nothing asked for, enough bytes, any error, or a follower that must truncate.
        """
        results = self.read_all(params, source.entries())
        if params.replica_id >= 0:
            self._record_follower(params.replica_id, results)
        keys = () if params.max_wait_ms <= 0 or _answers_at_once(results, params.min_bytes) else source.watch_keys()
        if not keys:
            on_fetched(results)
            return

        def answer() -> None:
            source.unparked()
            on_fetched(self.read_all(params, source.entries()))

        source.parked(results)
        delayed = DelayedFetch(
            params,
            source,
            self._bytes_available,
            answer,
            self.metrics.follower_fetch_expired if params.from_follower else self.metrics.consumer_fetch_expired,
        )
        self.parked.fetch.try_complete_else_watch(delayed, keys, params.max_wait_ms)

    def read_all(self, params: FetchParams, entries: Iterable[FetchEntry]) -> FetchResults:
        """One read of each entry, in order, within the limits of the whole fetch."""
        remaining = params.max_bytes
        min_one_batch = not params.hard_max_bytes
        results = []
        for entry in entries:
            max_bytes = entry.max_bytes
            read = self._read(entry, max_bytes if max_bytes < remaining else remaining, params, min_one_batch)
            if read.size:
                remaining = max(0, remaining - read.size)
                min_one_batch = False
            results.append((entry, read))
        return results

    def _read(self, entry: FetchEntry, max_bytes: int, params: FetchParams, min_one_batch: bool) -> PartitionRead:
        topic_partition = entry.topic_partition
        topic_metrics = self.metrics.topic(topic_partition[0])
        topic_metrics.fetch_requests += 1
        self._all_topics.fetch_requests += 1
        if params.may_read is not None and not params.may_read(topic_partition.topic):
            return PartitionRead(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        try:
            partition = self.partitions.get(topic_partition) or self.partition(topic_partition)
            read = partition.read(
                entry, max_bytes, params.isolation, leader_only=params.leader_only, min_one_batch=min_one_batch
            )
        except KafkaError as error:
            return PartitionRead(error.code)
        except OSError as error:
            self.on_storage_error(topic_partition, error)
            return PartitionRead(ErrorCode.KAFKA_STORAGE_ERROR)
        if params.replica_id >= 0 and params.replica_id not in partition.followers:
            log.warning("Broker %d fetches %s but is no replica of it", params.replica_id, topic_partition)
            return read._replace(records=None, size=0)
        return read

    def _record_follower(self, broker_id: int, results: FetchResults) -> None:
        """What the follower's request tells of it: once per request, and not where the read failed or diverged."""
        now_ms = self._clock.monotonic_ms()
        for entry, read in results:
            partition = read.partition
            if partition is None or read.diverging is not None or not partition.is_leader:
                continue
            if partition.record_follower_fetch(broker_id, entry, read.end_offset, now_ms):
                self.parked.note_change(partition, watermark_raised=True)
            if self.parked.delete.watched:
                self.parked.delete.check_and_complete(entry.topic_partition)

    def _bytes_available(self, entry: FetchEntry, params: FetchParams) -> int:
        partition = self.partitions.get(entry.topic_partition) or self.partition(entry.topic_partition)
        partition_log = partition.readable_log(entry.current_leader_epoch, leader_only=params.leader_only)
        end_offset = partition.end_offset(params.isolation)
        if entry.fetch_offset >= end_offset:
            if entry.fetch_offset > partition_log.log_end_offset:
                raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"{entry.topic_partition} was truncated")
            return 0
        return min(partition_log.bytes_available(entry.fetch_offset, end_offset), entry.max_bytes)

    def notice_log_starts(self) -> None:
        """Tells the fetch sessions of log starts that retention moved; called now and then."""
        for partition in self.partitions.values():
            if partition.listeners and partition.log is not None:
                start = partition.log.log_start_offset
                if start != partition.noted_log_start:
                    partition.noted_log_start = start
                    self.parked.note_change(partition, watermark_raised=False)

    # ---- offsets

    def offset_for_timestamp(
        self,
        topic_partition: TopicPartition,
        timestamp: int,
        isolation: Isolation,
        current_leader_epoch: int,
        replica_id: int,
        *,
        leader_only: bool,
    ) -> TimestampOffset | None:
        """ListOffsets of one partition. Raises KafkaError as Partition.offset_for_timestamp and `partition` do."""
        return self.partition(topic_partition).offset_for_timestamp(
            timestamp, isolation, current_leader_epoch, leader_only=leader_only, replica_id=replica_id
        )

    def old_style_offsets(
        self, topic_partition: TopicPartition, timestamp: int, limit: int, replica_id: int
    ) -> list[int]:
        """ListOffsets v0 of one partition. Raises KafkaError as Partition.old_style_offsets and `partition` do."""
        return self.partition(topic_partition).old_style_offsets(timestamp, limit, replica_id, self._clock.wall_ms())

    def end_of_epoch(self, topic_partition: TopicPartition, epoch: int, current_leader_epoch: int) -> EpochEnd:
        """OffsetForLeaderEpoch of one partition. Raises KafkaError as Partition.end_of_epoch and `partition` do."""
        return self.partition(topic_partition).end_of_epoch(epoch, current_leader_epoch)

    # ---- failing directories

    def mark_offline(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """These partitions' directory failed: from now on they answer KAFKA_STORAGE_ERROR until a restart."""
        for topic_partition in topic_partitions:
            partition = self.partitions.pop(topic_partition, None)
            self.offline.add(topic_partition)
            self.parked.complete(topic_partition, partition)

    def _log_storage_error(self, topic_partition: TopicPartition, error: OSError) -> None:
        log.error("I/O error on %s: %s", topic_partition, error)

    # ---- shutdown

    def close(self) -> None:
        """Answers everything that is parked; the high watermarks are the caller's to write."""
        self.parked.close()


def _answers_at_once(results: FetchResults, min_bytes: int) -> bool:
    total = 0
    for _entry, read in results:
        if read.error is not ErrorCode.NONE or read.diverging is not None:
            return True
        total += read.size
    return total >= min_bytes


