"""One partition's log: append as leader or follower, read, and the offsets that result.

Belongs to the event loop; blocking work is a background job. validation.py and producer_state.py decide what may be
appended; recovery.py opens a log from disk. Knows nothing of replicas or requests.
Source: docs/reference/log.md, sections 3, 6, 10 and 11; docs/reference/replication.md, sections 2 and 9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicId, TopicPartition
from kafka_py.log.model.answers import AppendInfo, LogRead, Origin
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition import truncation
from kafka_py.log.partition.failures import LogFailures
from kafka_py.log.partition.flushing import Flushing
from kafka_py.log.partition.follower_appends import append_fetched
from kafka_py.log.partition.log_compaction import LogCompaction
from kafka_py.log.partition.log_files import LogFiles
from kafka_py.log.partition.log_tail import LogTail
from kafka_py.log.partition.lookups import LogLookups
from kafka_py.log.partition.set_appends import unlike_one_batch
from kafka_py.log.partition.topic_id_file import TopicIdFile
from kafka_py.log.segments.segment import Segment
from kafka_py.log.segments.time_index import TimeOffset
from kafka_py.log.state import producer_replay
from kafka_py.log.state.producer_state import AppendedBatch
from kafka_py.log.validation.format_work import FormatWork, PreparedSet
from kafka_py.log.validation.header_trust import HeaderTrust
from kafka_py.log.validation.record_work import Prepared, RecordWork
from kafka_py.log.validation.validation import prepare_leader_append
from kafka_py.records.batch import (
    CONTROL_FLAG,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    NO_TIMESTAMP,
    BatchHeader,
    CorruptBatch,
    stamp_offset,
)

_new = tuple.__new__


class PartitionLog:
    """The log of one partition. Created by recovery.open_log.

    log_start_offset <= high_watermark <= log_end_offset. recovery_point: everything below it is synced.
    held_end: records from this offset on count as replicated only after a flush; None if no flush is due.
    files, epochs, producers, failures, flushing, compaction, lookups, topic_id_file: the parts of the log. epochs and
        producers are read only.
    """

    __slots__ = (
        "_first_unstable", "_segments", "_tail", "compaction", "config", "epochs", "failures", "files", "flushing",
        "held_end", "high_watermark", "log_end_offset", "log_start_offset", "lookups", "producers", "recovery_point",
        "topic_id_file", "topic_partition",
    )  # fmt: skip

    def __init__(
        self,
        topic_partition: TopicPartition,
        config: LogConfig,
        files: LogFiles,
        failures: LogFailures,
        topic_id_file: TopicIdFile,
        *,
        log_start_offset: int,
        log_end_offset: int,
        recovery_point: int,
        cleaned_to: int = 0,
    ) -> None:
        self.topic_partition = topic_partition
        self.config = config
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.high_watermark = log_start_offset
        self.recovery_point = recovery_point
        self.held_end: int | None = None
        self._first_unstable: int | None = None
        self.files = files
        self.failures = failures
        self.topic_id_file = topic_id_file
        self._segments = files.segments
        self.epochs = files.epoch_checkpoint.epochs
        self.producers = files.producers
        self.flushing = Flushing(self, files, failures)
        self.compaction = LogCompaction(self, files, failures, cleaned_to)
        self.lookups = LogLookups(self, files.segments, failures)
        self._tail = LogTail(files, failures, self.flushing)
        self._update_first_unstable()

    @property
    def topic_id(self) -> TopicId | None:
        """The topic id of its directory; None when it has none."""
        return self.topic_id_file.topic_id

    @property
    def directory(self) -> str:
        """The path of the partition's directory."""
        return self.files.place.path

    @property
    def log_dir(self) -> str:
        """The path of the log directory that contains it."""
        return self.files.context.log_dir

    @property
    def is_usable(self) -> bool:
        """False after the log was closed or deleted, or its directory failed."""
        return not self.failures.reason

    @property
    def segments(self) -> Sequence[Segment]:
        """Oldest first; the last one is active. Read only."""
        return self._segments.segments

    @property
    def size_bytes(self) -> int:
        """Bytes of all segments' data."""
        return self._segments.size_bytes

    def reconfigure(self, config: LogConfig) -> None:
        """Replaces the settings. A topic in message format 0 or 1 has no leader epochs."""
        self.config = config
        if config.magic < MAGIC:
            self.files.epoch_checkpoint.clear()

    # ---- append and read

    def append_as_leader(
        self,
        records: memoryview,
        leader_epoch: int,
        now_ms: int,
        *,
        origin: Origin = Origin.CLIENT,
        trust: HeaderTrust | None = None,
    ) -> AppendInfo:
        """Appends one batch, or a message set of an older format; stamps offsets, leader epoch and the time in place.

        records: one v2 batch with base offset 0, or older entries, writable; nothing is appended without a whole batch.
            now_ms: wall clock. trust: of the connection that sent the batch; without one its header is verified.
        Raises KafkaError with the codes of validation.prepare_leader_append and ProducerStates.check,
            RECORD_LIST_TOO_LARGE for a batch that no segment can hold, KAFKA_STORAGE_ERROR when the disk fails.
        """
        begun = self.begin_append(records, leader_epoch, now_ms, origin=origin, trust=trust)
        if not isinstance(begun, AppendInfo):
            return self.finish_append(begun.run(), leader_epoch, now_ms, origin=origin)
        return begun

    def begin_append(
        self,
        records: memoryview,
        leader_epoch: int,
        now_ms: int,
        origin: Origin = Origin.CLIENT,
        trust: HeaderTrust | None = None,
        *,
        prepared: Prepared | PreparedSet | RecordWork | FormatWork | None = None,
    ) -> AppendInfo | RecordWork | FormatWork:
        """As append_as_leader, but returns work on the records that would hold the event loop too long.

        The caller runs it in a thread and calls finish_append with the result, on the loop; appends that it begins
        meanwhile get lower offsets. prepared: from finish_append, the batch after that work.
        """
        if self.failures.reason:
            self.failures.refuse()
        config = self.config
        if prepared is None:
            prepared = prepare_leader_append(records, config, now_ms, origin, trust)
        if type(prepared) is not tuple:
            prepared = unlike_one_batch(self, prepared, now_ms)  # type: ignore[arg-type,assignment]
            if type(prepared) is not tuple:
                return prepared  # type: ignore[return-value]
        records, header = prepared  # type: ignore[misc]
        if self.topic_id_file.is_unsaved:
            self.topic_id_file.save()
        # Header fields by index: by name they would take twice the time, and this runs for every append.
        first_offset = self.log_end_offset
        last_offset = first_offset + header[6]
        size = header[1] + LOG_OVERHEAD
        if size > config.segment_bytes:
            fault = f"a batch of {size} bytes exceeds segment.bytes {config.segment_bytes}"
            raise KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE, fault)
        has_producer = header[9] >= 0
        if has_producer:
            if header[5] & CONTROL_FLAG:
                producer_replay.check_control_batch(self.producers, records, header)
            else:
                known = self.producers.check(header, origin is Origin.CLIENT)
                if known is not None:
                    return self._repeated(known, header)
        stamp_offset(records, 0, first_offset, leader_epoch)
        if leader_epoch != self.epochs.latest and leader_epoch >= 0:
            self.assign_epoch(leader_epoch, first_offset)
        max_timestamp = header[8]
        largest = _new(TimeOffset, (max_timestamp, last_offset))
        rolled = self._tail.write(records, first_offset, last_offset, largest, config, now_ms)
        self.log_end_offset = last_offset + 1
        if has_producer and (header[5] & CONTROL_FLAG or self.producers.apply(header, first_offset)):
            self._update_transactions(header, records)
        is_flush_due = last_offset + 1 - self.recovery_point >= config.flush_messages
        return _new(  # every field is given; the constructor would take longer
            AppendInfo,
            (
                first_offset, last_offset, max_timestamp,
                max_timestamp if header[5] & LOG_APPEND_TIME_FLAG else NO_TIMESTAMP, self.log_start_offset, header[12],
                size, False, rolled, is_flush_due and self.flush_if_due(first_offset),
            ),
        )  # fmt: skip

    def finish_append(
        self, prepared: Prepared | PreparedSet, leader_epoch: int, now_ms: int, *, origin: Origin = Origin.CLIENT
    ) -> AppendInfo:
        """Appends a batch that has passed validation. Raises KafkaError like append_as_leader."""
        return self.begin_append(prepared[0], leader_epoch, now_ms, origin, prepared=prepared)  # type: ignore[return-value]

    def append_as_follower(self, records: memoryview, now_ms: int, leader_log_start: int = 0) -> AppendInfo:
        """Appends batches fetched from the leader, unchanged; a partial batch at the end is dropped.

        A log without records at or above its own and the leader's log start is restarted at the first batch.
        Raises KafkaError(CORRUPT_MESSAGE, KAFKA_STORAGE_ERROR); UnexpectedAppendOffset for a gap or overlap.
        """
        if self.failures.reason:
            self.failures.refuse()
        if self.topic_id_file.is_unsaved:
            self.topic_id_file.save()
        return append_fetched(self, records, now_ms, leader_log_start)

    def write(self, records: memoryview, base_offset: int, last_offset: int, largest: TimeOffset, now_ms: int) -> bool:
        """Writes whole batches at the log end; see LogTail.write. Only for parts of the log: nothing is checked."""
        rolled = self._tail.write(records, base_offset, last_offset, largest, self.config, now_ms)
        self.log_end_offset = last_offset + 1
        return rolled

    def _repeated(self, known: AppendedBatch, header: BatchHeader) -> AppendInfo:
        return AppendInfo(
            known.first_offset, known.last_offset, max_timestamp=known.timestamp, log_append_time=known.timestamp,
            log_start_offset=self.log_start_offset, record_count=header.record_count, size_bytes=0, duplicate=True,
            flush_due=self.held_end is not None and known.last_offset >= self.held_end,
        )  # fmt: skip

    def update_state(self, header: BatchHeader, batch: memoryview, base_offset: int) -> None:
        """Updates producer state, transaction index and last stable offset after the append of a producer's batch."""
        if header[5] & CONTROL_FLAG or self.producers.apply(header, base_offset):
            self._update_transactions(header, batch)

    def _update_transactions(self, header: BatchHeader, batch: memoryview) -> None:
        """After the append of a producer's control batch, or of the first batch of a transaction."""
        if header[5] & CONTROL_FLAG:
            self._tail.take_marker(batch)
        self._update_first_unstable()

    def flush_if_due(self, first_offset: int) -> bool:
        """If flush.messages is reached, syncs now, or returns True: the caller must flush and delay its response.

        first_offset: of the append.
        """
        if self.log_end_offset - self.recovery_point < self.config.flush_messages:
            return False
        if self.files.context.flush_in_append:
            self.flushing.now()
            return False
        if self.held_end is None:
            self.held_end = first_offset
        return True

    def read(self, offset: int, max_bytes: int, *, up_to_offset: int, min_one_batch: bool = False) -> LogRead:
        """A range of one segment that begins with the batch that holds `offset`; nothing is copied.

        max_bytes: bound on the size. up_to_offset: exclusive upper bound (high watermark, last stable offset or log
            end). min_one_batch: the first batch is returned whole even if it exceeds max_bytes.
        Raises KafkaError(OFFSET_OUT_OF_RANGE, KAFKA_STORAGE_ERROR, CORRUPT_MESSAGE).
        """
        if self.failures.reason:
            self.failures.refuse()
        end_offset = self.log_end_offset
        if offset > end_offset or offset < self.log_start_offset:
            fault = f"offset {offset} is outside of {self.log_start_offset} to {end_offset} of {self.topic_partition}"
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, fault)
        if offset >= up_to_offset or offset == end_offset:
            active = self._segments.active
            return LogRead(None, 0, active.base_offset, active.size)
        try:
            return self._segments.read(offset, max_bytes, up_to_offset, end_offset, min_one_batch)
        except OSError as error:
            self.failures.disk_refused(error)
        except CorruptBatch as corrupt:
            raise self.failures.corrupt(corrupt) from corrupt

    @property
    def owes_flush(self) -> bool:
        """Whether flush.messages asks for a flush that has not ended yet."""
        return self.held_end is not None

    @property
    def last_stable_offset(self) -> int:
        """All transactions below it are decided (exclusive); never above the high watermark."""
        first_unstable = self._first_unstable
        high_watermark = self.high_watermark
        return high_watermark if first_unstable is None or first_unstable > high_watermark else first_unstable

    def update_high_watermark(self, high_watermark: int) -> int:
        """Sets the high watermark, bounded by log start and log end; returns the new value."""
        if high_watermark < self.log_start_offset:
            high_watermark = self.log_start_offset
        if high_watermark > self.log_end_offset:
            high_watermark = self.log_end_offset
        self.high_watermark = high_watermark
        if self._first_unstable is not None:
            self.producers.forget_replicated(high_watermark)
            self._update_first_unstable()
        return high_watermark

    def advance_log_start_offset(self, offset: int) -> bool:
        """Advances the log start offset (DeleteRecords, or the leader's); whether it changed.

        Raises KafkaError(OFFSET_OUT_OF_RANGE) above the high watermark.
        """
        if offset > self.high_watermark:
            fault = f"log start {offset} of {self.topic_partition} is beyond the high watermark {self.high_watermark}"
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, fault)
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self.files.epoch_checkpoint.truncate_from_start(offset)
        self._update_first_unstable()
        return True

    def _update_first_unstable(self) -> None:
        first = self.producers.first_unstable_offset() if self.producers.has_unstable else None
        self._first_unstable = None if first is None else max(first, self.log_start_offset)

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """Assigns leader epoch `epoch` from `start_offset` on; written to disk in the background."""
        if self.config.magic == MAGIC:
            self.files.epoch_checkpoint.assign(epoch, start_offset)

    # ---- roll, flush, truncate, close

    def roll(self, now_ms: int) -> bool:
        """Creates a new segment at the log end; False when the active one is empty."""
        return self._tail.roll(self.log_end_offset, self.config, now_ms)

    def flush_in_background(self, up_to: int | None = None, then: Callable[[bool], None] | None = None) -> None:
        """See Flushing.in_background."""
        self.flushing.in_background(up_to, then)

    def flushed(self, up_to: int) -> None:
        """Sets the recovery point to `up_to`, which is above the previous one."""
        self.recovery_point = up_to
        if self.held_end is not None:
            is_due = self.log_end_offset - up_to >= self.config.flush_messages
            self.held_end = max(self.held_end, up_to) if is_due else None

    def cuts_before(self, offset: int) -> list[int]:
        """See truncation.cuts_before."""
        return truncation.cuts_before(self._segments, offset)

    def truncate_to(self, offset: int) -> bool:
        """Truncates the log to end at `offset` (exclusive); whether data was removed. See truncation.truncate_to."""
        return truncation.truncate_to(self, offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Deletes all records; the log then begins and ends at `offset`. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
        truncation.truncate_fully_and_start_at(self, offset)

    def note_truncation(self, end_offset: int, start_offset: int) -> None:
        """Updates the other offsets and the producer state after a truncation. Raises OSError."""
        before = self.log_start_offset, self.recovery_point, self.compaction.cleaned_to
        self.log_start_offset = start_offset
        self.log_end_offset = end_offset
        if self.recovery_point >= end_offset:  # the cut itself has to be synced, also where the next append rolls
            self.recovery_point = self._segments.active.base_offset
        if self.held_end is not None and (end_offset <= self.held_end or start_offset == end_offset):
            self.held_end = None  # the records that waited for a flush are truncated
        self.compaction.bound()
        after = self.log_start_offset, self.recovery_point, self.compaction.cleaned_to
        self.files.truncated(lowered=any(new < old for new, old in zip(after, before, strict=True)))
        self.files.restore_producers(start_offset, end_offset)
        self._update_first_unstable()
        self.update_high_watermark(min(self.high_watermark, end_offset))

    def close(self) -> None:
        """Flushes, writes a producer snapshot, trims the files and closes them.

        Blocks; in any thread, after the loop has stopped using the log. Raises KafkaError(KAFKA_STORAGE_ERROR).
        """
        if self.failures.reason:
            return
        try:
            self.files.finish(self.log_end_offset, self.config)
        except OSError as error:
            self.failures.io_failed(error)
        self.flushing.now()
        self.failures.disable()
