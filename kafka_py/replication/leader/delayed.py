"""When a parked produce, fetch or delete-records may be answered.

Synchronous: the operations look at partitions through the functions they are given; the purgatory (base) does the
watching and the timing. Source: docs/reference/replication.md, sections 9 and 15.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.purgatory import DelayedOperation
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.replication.state.reads import FetchEntry, FetchParams, FetchSource


class AppendResult:
    """How the append to one partition went.

    end_offset: one past the last appended record, which acks=-1 waits for. The offsets are -1 where the protocol
    says so; `record_errors` are (index in the batch, message) pairs. unsynced: the log, where flush.messages asks for
    a flush before the answer.
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
        """The append succeeded but must not be acknowledged: the offsets are taken back, the data stays."""
        self.error = error
        self.base_offset = -1
        self.log_append_time = -1


OnAppended = Callable[[list[AppendResult]], None]


class SyncedAnswer:
    """Holds the answer to an append back until the flushes that flush.messages asks for are done.

    A flush that fails takes the directory offline (the log sees to that); the append is not acknowledged then.
    on_synced: called after each flush that succeeded, before the answer: the high watermark may rise.
    """

    __slots__ = ("_failed", "_on_done", "_on_synced", "_results", "_running")

    def __init__(self, on_done: OnAppended, on_synced: Callable[[TopicPartition], None]) -> None:
        self._on_done = on_done
        self._on_synced = on_synced
        self._results: list[AppendResult] | None = None
        self._running = 0
        self._failed: set[TopicPartition] = set()

    def flush(self, log: PartitionLog) -> None:
        """Begins to sync the log."""
        self._running += 1
        log.flush_in_background(then=lambda succeeded: self._flushed(log.topic_partition, succeeded))

    def appended(self, results: list[AppendResult]) -> None:
        """The answer that the replicas allow; at once, or when the last flush is done."""
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
"""(partition, required offset) -> the outcome of an acks=-1 append, None while followers are behind."""


class DelayedProduce(DelayedOperation):
    """An acks=-1 produce that waits until every in-sync replica has its records."""

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
"""How many bytes a fetch of this entry would get; raises KafkaError when the answer is an error instead."""


class DelayedFetch(DelayedOperation):
    """A long poll: waits for min_bytes, or for anything that changes the kind of answer.

    The first attempt looks at every entry; a later one only at what changed, so a wake-up costs as much as what
    happened and not as much as the fetch is large. What it gets is read again when it completes, so it sees all that
    came in meanwhile.
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
        """is_seen: the first attempt need not look at all entries, for the caller does so with `look_at`."""
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
            return self.look_at(changed)
        self._is_seen = True
        return self.look_at(self._source.entries())

    def look_at(self, entries: Iterable[FetchEntry]) -> bool:
        """Counts what these have now, and completes if that is enough or one has an error; whether it did."""
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
    """How the deletion in one partition went.

    end_offset: everything below it is to go, -1 with an error. low_watermark: where all replicas start at the least,
    -1 when not known.
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
        """Whether some replica still holds what is to go."""
        return self.error is ErrorCode.NONE and self.low_watermark < self.end_offset


LowWatermark = Callable[[TopicPartition], int]
"""Where the replicas of a led partition start at the least; raises KafkaError when it is not led here any more."""


class DelayedDeleteRecords(DelayedOperation):
    """A deletion that waits until every live replica's log starts where it was asked to (KIP-107)."""

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
