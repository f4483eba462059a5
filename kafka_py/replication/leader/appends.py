"""Appends to the partitions that this broker leads, answered when they are replicated as acks asks for.

Synchronous, results by callback. Knows the hosted partitions and the purgatories; nothing of requests.
Source: docs/reference/replication.md, section 1; ReplicaManager.appendRecords.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from kafka_py.base.chance import Random
from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import INTERNAL_TOPICS, TopicPartition
from kafka_py.base.turns import sliced
from kafka_py.log.disk.background import Background
from kafka_py.log.model.answers import AppendInfo, BatchFault, Origin, RejectedBatch
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.log.validation.format_work import FormatWork, PreparedSet
from kafka_py.log.validation.header_trust import HeaderTrust
from kafka_py.log.validation.record_work import Prepared
from kafka_py.replication.leader.append_lines import AppendLines, GatheredResults, PartitionAppend, WaitingAppend, Work
from kafka_py.replication.leader.delayed import AppendResult, DelayedProduce, OnAppended, SyncedAnswer
from kafka_py.replication.leader.purgatories import Parked
from kafka_py.replication.state.hosted import HostedPartitions
from kafka_py.replication.state.metrics import ReplicaMetrics, TopicMetrics
from kafka_py.replication.state.partition import Partition

_log = logging.getLogger(__name__)


SYNC_AGAIN_MS = 5_000
"""How often flushes that failed because no file descriptor was free are retried."""

ON_LOOP_MS = 3.0
"""How long the sets of old formats in one request may be worked on on the event loop; the others go to a thread."""

# Errors after which the response has no log start offset (docs/reference/replication.md, section 1).
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


class Appends:
    """Appends of producers and of the broker itself."""

    def __init__(
        self,
        hosted: HostedPartitions,
        parked: Parked,
        clock: Clock,
        metrics: ReplicaMetrics,
        background: Background,
        rng: Random,
    ) -> None:
        """background: processes the records of large batches. rng: selects the batches that are verified."""
        self._hosted = hosted
        self._parked = parked
        self._clock = clock
        self._metrics = metrics
        self._all_topics = metrics.all_topics
        self._rng = rng
        self._turn_at_ms = -1
        self._turn_spent_ms = 0.0
        """How long sets of old formats were worked on on the event loop, in requests that came at `_turn_at_ms`."""
        self._has_flushes = False
        """Whether flush.messages has ever asked for a flush; if not, results are not searched for flushes."""
        self._lines = AppendLines(
            background,
            begin=lambda append: self._begin(*append),
            finish=self._finish,
            fail=self._append_failed,
        )

    def new_trust(self, client: str) -> HeaderTrust:
        """The state to be kept with a producer's connection and passed to each of its appends."""
        return HeaderTrust(client, self._rng)

    def append(
        self,
        records_by_partition: Iterable[tuple[TopicPartition, memoryview]],
        acks: int,
        timeout_ms: int,
        on_done: OnAppended,
        *,
        origin: Origin = Origin.CLIENT,
        internal_topics_allowed: bool = False,
        trust: HeaderTrust | None = None,
    ) -> None:
        """Appends to each partition and calls `on_done` with the results, in order.

        With acks -1 `on_done` is called when all in-sync replicas have the records, or after `timeout_ms`. The call is
        also deferred when flush.messages asks for a flush, or the records of a large batch are processed in a thread.
        trust: that of the connection; without one every batch of a client is verified.
        Never raises; each partition has its own error.
        """
        now_ms = self._clock.wall_ms()
        lines = self._lines.lines
        results: list[AppendResult] = []
        gathered: GatheredResults | None = None
        for topic_partition, records in records_by_partition:
            if topic_partition[0] in INTERNAL_TOPICS and not internal_topics_allowed:
                results.append(
                    AppendResult(
                        topic_partition,
                        ErrorCode.INVALID_TOPIC_EXCEPTION,
                        f"Cannot append to internal topic {topic_partition.topic}",
                    )
                )
                continue
            outcome = None
            if not lines or topic_partition not in lines:
                outcome = self._begin(topic_partition, records, acks, now_ms, origin, trust)
                if type(outcome) is AppendResult:
                    results.append(outcome)
                    continue
            if gathered is None:
                gathered = GatheredResults(results, lambda done: self._answer(done, acks, timeout_ms, on_done))
            append = PartitionAppend(topic_partition, records, acks, now_ms, origin, trust)
            waiting = WaitingAppend(append, gathered.expect(len(results)))
            results.append(AppendResult(topic_partition))
            if outcome is None:
                self._lines.join(waiting)
            else:
                self._lines.open(waiting, outcome)  # type: ignore[arg-type]
        if gathered is not None:
            gathered.complete()
        elif acks == -1 or self._has_flushes:
            self._answer(results, acks, timeout_ms, on_done)
        else:
            on_done(results)

    def _answer(self, results: list[AppendResult], acks: int, timeout_ms: int, on_done: OnAppended) -> None:
        """Calls `on_done` when the records are replicated, and flushed where flush.messages asks for it."""
        if self._has_flushes:
            due = [result.unsynced for result in results if result.unsynced is not None]
            on_done = self._after_flushes(due, on_done) if due else on_done
        if acks == -1 and not self._settled(results):
            delayed = DelayedProduce(results, self._acks_all_outcome, on_done, self._metrics.produce_expired)
            self._parked.produce.try_complete_else_watch(
                delayed, [result.topic_partition for result in results if result.error is ErrorCode.NONE], timeout_ms
            )
        else:
            on_done(results)

    def _begin(
        self,
        topic_partition: TopicPartition,
        records: memoryview,
        acks: int,
        now_ms: int,
        origin: Origin,
        trust: HeaderTrust | None,
    ) -> AppendResult | Work:
        """Appends to one partition; returns the result, or work to be done in a thread before."""
        partition = self._hosted.partitions.get(topic_partition)
        topic_metrics = self._metrics.topics.get(topic_partition[0]) or self._metrics.topic(topic_partition[0])
        topic_metrics.produce_requests += 1
        self._all_topics.produce_requests += 1
        try:
            if partition is None:
                partition = self._hosted.partition(topic_partition)
            info = partition.append(records, acks, now_ms, origin, trust)
        except Exception as error:
            return self._append_failed(PartitionAppend(topic_partition, records, acks, now_ms, origin, trust), error)
        if type(info) is not AppendInfo:
            if isinstance(info, FormatWork):
                append = PartitionAppend(topic_partition, records, acks, now_ms, origin, trust)
                return self._try_on_loop(append, info)
            return info  # type: ignore[return-value]
        return self._appended(partition, info, topic_metrics)

    def _try_on_loop(self, append: PartitionAppend, work: FormatWork) -> AppendResult | FormatWork:
        """Does the work on a small message set of an old format now; returns the work on a large one."""
        work.began_ms = self._clock.monotonic_ms()
        if append.now_ms != self._turn_at_ms:
            self._turn_at_ms, self._turn_spent_ms = append.now_ms, 0.0
        if self._turn_spent_ms >= ON_LOOP_MS:  # a request may have sets for very many partitions
            return work
        try:
            prepared = work.run_on_loop()
        except Exception as error:
            return self._append_failed(append, error)
        finally:
            self._turn_spent_ms += self._clock.monotonic_ms() - work.began_ms
        return work if prepared is None else self._finish(append, prepared, work)

    def _finish(self, append: PartitionAppend, prepared: Prepared | PreparedSet, work: Work) -> AppendResult:
        """Appends records that `work` has prepared; in a thread, so the partition's role may have changed meanwhile."""
        try:
            partition = self._hosted.partition(append.topic_partition)
            info = partition.finish_append(prepared, append.acks, append.now_ms, append.origin)
        except Exception as error:
            return self._append_failed(append, error)
        topic_metrics = self._metrics.topic(append.topic_partition.topic)
        if isinstance(work, FormatWork) and work.converted_count:
            time_ms = self._clock.monotonic_ms() - work.began_ms
            topic = append.topic_partition.topic
            self._metrics.note_produce_conversion(topic, work.converted_count, work.temporary_bytes, time_ms)
        return self._appended(partition, info, topic_metrics)

    def _appended(self, partition: Partition, info: AppendInfo, topic_metrics: TopicMetrics) -> AppendResult:
        first_offset, last_offset, _, log_append_time, log_start_offset, count, size, duplicate, _, flush_due = info
        if not duplicate:
            all_topics = self._all_topics
            topic_metrics.bytes_in += size
            topic_metrics.messages_in += count
            all_topics.bytes_in += size
            all_topics.messages_in += count
            raised = partition.maybe_raise_high_watermark(self._clock.monotonic_ms() if partition.followers else 0.0)
            parked = self._parked  # _note_raised inlined, because this runs for every append
            if partition.listeners or parked.fetch.watched or (raised and parked.produce.watched):
                parked.note_change(partition, watermark_raised=raised)
        result = AppendResult(
            partition.topic_partition,
            ErrorCode.NONE,
            None,
            first_offset,
            log_append_time,
            log_start_offset,
            last_offset + 1,
        )
        if flush_due:
            result.unsynced = partition.log
            self._has_flushes = True
        return result

    def _after_flushes(self, due: list[PartitionLog], on_done: OnAppended) -> OnAppended:
        """Starts the flushes that are due; returns a function that calls `on_done` when they are done as well."""
        answer = SyncedAnswer(on_done, self._synced)
        for partition_log in due:
            answer.flush(partition_log)
        return answer.appended

    def sync_owed(self, partition: Partition) -> None:
        """Starts the flush that a led partition owes to flush.messages, so that the high watermark can rise.

        The earlier flush failed because no file descriptor was free, or it was started while the broker followed.
        """
        partition_log = partition.log
        if partition.is_leader and partition_log is not None and partition_log.owes_flush:
            self._has_flushes = True
            SyncedAnswer(lambda _results: None, self._synced).flush(partition_log)

    async def sync_all_owed(self) -> None:
        """`sync_owed` for all partitions; called every SYNC_AGAIN_MS."""
        if self._has_flushes:
            async for some in sliced(list(self._hosted.partitions.values())):
                for partition in some:
                    self.sync_owed(partition)

    def _synced(self, topic_partition: TopicPartition) -> None:
        """Raises the high watermark after a flush for flush.messages: the leader's copy counts now."""
        partition = self._hosted.partitions.get(topic_partition)
        if partition is not None and partition.is_leader:
            self._note_raised(partition, partition.maybe_raise_high_watermark(self._clock.monotonic_ms()))

    def _note_raised(self, partition: Partition, raised: bool) -> None:
        if partition.listeners or self._parked.fetch.watched or (raised and self._parked.produce.watched):
            self._parked.note_change(partition, watermark_raised=raised)

    def _append_failed(self, append: PartitionAppend, error: Exception) -> AppendResult:
        """The result of an append that raised; an unexpected error is UNKNOWN_SERVER_ERROR of this partition only."""
        topic_partition = append.topic_partition
        partition = self._hosted.partitions.get(topic_partition)
        if isinstance(error, OSError):
            self._hosted.on_storage_error(topic_partition, error)
            error = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{topic_partition}: {error}")
        elif not isinstance(error, KafkaError):
            _log.error("%s: an append failed", topic_partition, exc_info=error)
            error = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error))
        result = AppendResult(topic_partition, error.code, error.detail or None)
        result.record_errors = list(getattr(error, "record_errors", ()))
        if error.code not in _NO_LOG_START and partition is not None and partition.log is not None:
            result.log_start_offset = partition.log.log_start_offset
        if error.code not in _EXPECTED_PRODUCE_ERRORS:
            self._count_failure(append, error)
        return result

    def _count_failure(self, append: PartitionAppend, error: KafkaError) -> None:
        """Counts a refused append in the same metrics as ReplicaManager and LogValidator of Apache Kafka."""
        for metrics in (self._metrics.topic(append.topic_partition.topic), self._all_topics):
            metrics.failed_produce_requests += 1
            if error.code is ErrorCode.MESSAGE_TOO_LARGE:
                metrics.bytes_rejected += len(append.records)
        if not isinstance(error, RejectedBatch) or error.fault is None:
            return
        if error.fault is BatchFault.CHECKSUM:
            self._all_topics.invalid_crc_records += error.faulty
        elif error.fault is BatchFault.MAGIC:
            self._all_topics.invalid_magic_records += error.faulty
        elif error.fault is BatchFault.OFFSETS:
            self._all_topics.invalid_offset_records += error.faulty
        else:
            self._all_topics.no_key_records += error.faulty

    def _settled(self, results: list[AppendResult]) -> bool:
        """Whether an acks=-1 append can be answered immediately; sets the errors of partitions that have failed."""
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
        partition = self._hosted.partitions.get(topic_partition)
        if partition is None:
            return self._absent_error(topic_partition)
        return partition.acks_all_outcome(required_offset)

    def _absent_error(self, topic_partition: TopicPartition) -> ErrorCode:
        try:
            self._hosted.partition(topic_partition)
        except KafkaError as error:
            return error.code
        return ErrorCode.NONE
