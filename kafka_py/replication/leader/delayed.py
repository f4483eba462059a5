"""The delayed operations produce, fetch and delete-records: when each can be completed.

Synchronous: the operations examine partitions through functions that are handed in; the purgatory (base) watches and
times them. Source: docs/reference/replication.md, sections 9 and 15.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.purgatory import DelayedOperation
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.replication.state.reads import FetchEntry, FetchParams, FetchSource


class AppendResult:
    """The result of an append to one partition.

    end_offset: past the last appended record (exclusive); acks=-1 waits for it. Offsets are -1 with an error.
    `record_errors` are (index in the batch, message) pairs. unsynced: the log, if flush.messages asks for a flush
    before the response.
    """

    __slots__ = (
        "base_offset",
        "end_offset",
        "error",
        "log_append_time",
        "log_start_offset",
        "message",
        "record_errors",
        "topic_partition",
        "unsynced",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        error: ErrorCode = ErrorCode.NONE,
        message: str | None = None,
        base_offset: int = -1,
        log_append_time: int = -1,
        log_start_offset: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.topic_partition = topic_partition
        self.error = error
        self.message = message
        self.base_offset = base_offset
        self.log_append_time = log_append_time
        self.log_start_offset = log_start_offset
        self.record_errors: list[tuple[int, str | None]] = []
        self.end_offset = end_offset
        self.unsynced: PartitionLog | None = None

    def fail(self, error: ErrorCode) -> None:
        """Sets an error for records that were appended but must not be acknowledged; the data stays in the log."""
        self.error = error
        self.base_offset = -1
        self.log_append_time = -1


OnAppended = Callable[[list[AppendResult]], None]


class SyncedAnswer:
    """Delays the answer to an append until the flushes that flush.messages asks for are done.

    A failed flush takes the log directory offline (the log does that); the append is then not acknowledged.
    on_synced: called after each successful flush, before the answer, so that the high watermark can rise.
    """

    __slots__ = ("_failed", "_on_done", "_on_synced", "_results", "_running")

    def __init__(self, on_done: OnAppended, on_synced: Callable[[TopicPartition], None]) -> None:
        self._on_done = on_done
        self._on_synced = on_synced
        self._results: list[AppendResult] | None = None
        self._running = 0
        self._failed: set[TopicPartition] = set()

    def flush(self, log: PartitionLog) -> None:
        """Starts to flush the log."""
        self._running += 1
        log.flush_in_background(then=lambda succeeded: self._flushed(log.topic_partition, succeeded))

    def appended(self, results: list[AppendResult]) -> None:
        """Answers with these results, immediately or when the last flush is done."""
        self._results = results
        self._finish()

    def _flushed(self, topic_partition: TopicPartition, succeeded: bool) -> None:
        self._running -= 1
        if succeeded:
            self._on_synced(topic_partition)
        else:
            self._failed.add(topic_partition)
        self._finish()

    def _finish(self) -> None:
        if self._running or self._results is None:
            return
        for result in self._results:
            if result.topic_partition in self._failed and result.error is ErrorCode.NONE:
                result.fail(ErrorCode.KAFKA_STORAGE_ERROR)
        self._on_done(self._results)


AcksOutcome = Callable[[TopicPartition, int], ErrorCode | None]
"""(partition, required offset) -> the outcome of an acks=-1 append, None until it is replicated."""


class DelayedProduce(DelayedOperation):
    """A produce request with acks=-1 that waits until every in-sync replica has its records."""

    __slots__ = ("_on_done", "_on_expired", "_outcome_of", "_waiting", "results")

    def __init__(
        self,
        results: list[AppendResult],
        outcome_of: AcksOutcome,
        on_done: OnAppended,
        on_expired: Callable[[TopicPartition], None],
    ) -> None:
        super().__init__()
        self.results = results
        self._waiting = [result for result in results if result.error is ErrorCode.NONE]
        self._outcome_of = outcome_of
        self._on_done = on_done
        self._on_expired = on_expired

    def try_complete(self) -> bool:
        self._settle()
        return not self._waiting and self.complete()

    def _settle(self) -> None:
        still_waiting = []
        for result in self._waiting:
            outcome = self._outcome_of(result.topic_partition, result.end_offset)
            if outcome is None:
                still_waiting.append(result)
            elif outcome is not ErrorCode.NONE:
                result.fail(outcome)
        self._waiting = still_waiting

    def on_complete(self) -> None:
        for result in self._waiting:
            result.fail(ErrorCode.REQUEST_TIMED_OUT)
        self._on_done(self.results)

    def on_expire(self) -> None:
        for result in self._waiting:
            self._on_expired(result.topic_partition)


BytesAvailable = Callable[[FetchEntry, FetchParams], int]
"""The number of bytes that a fetch of this entry would get; raises KafkaError if it would get an error."""


class DelayedFetch(DelayedOperation):
    """A fetch that waits for min_bytes, or for an error.

    The first attempt examines every entry; later ones only those that have changed, so that the cost of a wake-up does
    not depend on the size of the fetch. The data is read when it completes, and includes all that arrived meanwhile.
    """

    __slots__ = ("_answer", "_bytes_available", "_changed", "_found", "_is_seen", "_on_expired", "_params", "_source",
                 "_total")  # fmt: skip

    def __init__(
        self,
        params: FetchParams,
        source: FetchSource,
        bytes_available: BytesAvailable,
        answer: Callable[[], None],
        on_expired: Callable[[], None],
        *,
        is_seen: bool = False,
    ) -> None:
        """is_seen: the first attempt does not examine all entries, because the caller does so with `examine`."""
        super().__init__()
        self._params = params
        self._source = source
        self._bytes_available = bytes_available
        self._answer = answer
        self._on_expired = on_expired
        self._is_seen = is_seen
        self._changed: list[FetchEntry] = []
        self._found: dict[FetchEntry, int] = {}
        self._total = 0

    def touched(self, key: Hashable) -> None:
        self._changed += self._source.changed(key)

    def try_complete(self) -> bool:
        if self._is_seen:
            changed, self._changed = self._changed, []
            return self.examine(changed)
        self._is_seen = True
        return self.examine(self._source.entries())

    def examine(self, entries: Iterable[FetchEntry]) -> bool:
        """Counts the bytes of these entries; completes if there are enough, or after an error. Whether it completed."""
        wanted, found = self._params.min_bytes, self._found
        try:
            for entry in entries:
                available = self._bytes_available(entry, self._params)
                before = found.get(entry, 0)
                if available != before:
                    found[entry] = available
                    self._total += available - before
                    if self._total >= wanted:
                        return self.complete()
        except KafkaError:
            return self.complete()
        return self._total >= wanted and self.complete()

    def on_complete(self) -> None:
        self._answer()

    def on_expire(self) -> None:
        self._on_expired()


class DeleteRecordsResult:
    """The result of DeleteRecords for one partition.

    end_offset: records below it are deleted (exclusive), -1 with an error. low_watermark: the smallest log start offset
    of the live replicas, -1 when not known.
    """

    __slots__ = ("end_offset", "error", "low_watermark", "topic_partition")

    def __init__(
        self,
        topic_partition: TopicPartition,
        error: ErrorCode = ErrorCode.NONE,
        end_offset: int = -1,
        low_watermark: int = -1,
    ) -> None:
        self.topic_partition = topic_partition
        self.error = error
        self.end_offset = end_offset
        self.low_watermark = low_watermark

    @property
    def is_waiting(self) -> bool:
        """Whether a replica still has records that are to be deleted."""
        return self.error is ErrorCode.NONE and self.low_watermark < self.end_offset


LowWatermark = Callable[[TopicPartition], int]
"""The smallest log start offset of a led partition's live replicas; raises KafkaError if it is no longer led here."""


class DelayedDeleteRecords(DelayedOperation):
    """A DeleteRecords that waits until the logs of all live replicas start at the requested offset (KIP-107)."""

    __slots__ = ("_low_watermark", "_on_done", "_on_expired", "_waiting", "results")

    def __init__(
        self,
        results: list[DeleteRecordsResult],
        low_watermark: LowWatermark,
        on_done: Callable[[list[DeleteRecordsResult]], None],
        on_expired: Callable[[TopicPartition], None],
    ) -> None:
        super().__init__()
        self.results = results
        self._waiting = [result for result in results if result.is_waiting]
        self._low_watermark = low_watermark
        self._on_done = on_done
        self._on_expired = on_expired

    def try_complete(self) -> bool:
        for result in self._waiting:
            try:
                result.low_watermark = self._low_watermark(result.topic_partition)
            except KafkaError as error:
                result.error, result.low_watermark = error.code, -1
        self._waiting = [result for result in self._waiting if result.is_waiting]
        return not self._waiting and self.complete()

    def on_complete(self) -> None:
        for result in self._waiting:
            result.error = ErrorCode.REQUEST_TIMED_OUT
        self._on_done(self.results)

    def on_expire(self) -> None:
        for result in self._waiting:
            self._on_expired(result.topic_partition)
