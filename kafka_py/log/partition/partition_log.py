"""One partition's records: append as leader or follower, read, search by time.

Belongs to the event loop. What may be appended is decided in validation.py and producer_state.py; the files and offsets
are kept by stored_log.py, and a log is opened from disk by recovery.py. Knows nothing of replicas or requests.
Source: docs/reference/log.md, sections 3, 6 and 10; docs/reference/replication.md, section 9.
"""

from __future__ import annotations

import logging

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.model.answers import AppendInfo as AppendInfo
from kafka_py.log.model.answers import LogRead as LogRead
from kafka_py.log.model.answers import Origin as Origin
from kafka_py.log.model.answers import TimestampOffset as TimestampOffset
from kafka_py.log.model.answers import UnexpectedAppendOffset as UnexpectedAppendOffset
from kafka_py.log.partition.cleanable_log import CleanableLog
from kafka_py.log.segments.segment import Segment
from kafka_py.log.segments.time_index import TimeOffset
from kafka_py.log.segments.time_search import Search
from kafka_py.log.segments.txn_index import CorruptTxnIndex
from kafka_py.log.state import producer_replay
from kafka_py.log.state.epochs import EpochEnd, EpochStart
from kafka_py.log.state.producer_state import AppendedBatch
from kafka_py.log.validation.header_trust import HeaderTrust
from kafka_py.log.validation.record_work import Prepared, RecordWork, plain_limit
from kafka_py.log.validation.validation import check_follower_batches, prepare_leader_append
from kafka_py.records.batch import (
    CONTROL_FLAG,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    BatchHeader,
    CorruptBatch,
    read_header,
    stamp_offset,
)

_log = logging.getLogger(__name__)

_new = tuple.__new__


class PartitionLog(CleanableLog):
    """The log of one partition. Made by recovery.open_log."""

    __slots__ = ()

    # -- append

    def append_as_leader(
        self,
        records: memoryview,
        leader_epoch: int,
        now_ms: int,
        *,
        origin: Origin = Origin.CLIENT,
        trust: HeaderTrust | None = None,
    ) -> AppendInfo:
        """Appends one batch: offset, leader epoch and, if the topic wants it, time are stamped in place.

        records: one v2 batch with base offset 0, writable; without a whole batch nothing is appended.
        now_ms: the wall clock. trust: of the connection that sent the batch; without one its header is verified.
        Raises KafkaError with the codes of validation.prepare_leader_append and ProducerStates.check,
            RECORD_LIST_TOO_LARGE for a batch that no segment can hold, KAFKA_STORAGE_ERROR when the disk fails.
        """
        begun = self.begin_append(records, leader_epoch, now_ms, origin=origin, trust=trust)
        if isinstance(begun, RecordWork):
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
        prepared: Prepared | RecordWork | None = None,
    ) -> AppendInfo | RecordWork:
        """As append_as_leader, but work on the records that would hold the event loop is handed back.

        The caller runs it in a thread and calls finish_append with the result, on the loop; appends that it begins
        meanwhile would come before this one. prepared: from finish_append, the batch after that work.
        """
        if self._failed:
            self._refuse()
        config = self.config
        if prepared is None:
            prepared = prepare_leader_append(records, config, now_ms, origin, trust)
            if type(prepared) is not tuple:
                if prepared is None:
                    return AppendInfo(-1, -1, NO_TIMESTAMP, NO_TIMESTAMP, self.log_start_offset, 0, 0)
                done = prepared.run_on_loop()  # type: ignore[union-attr]
                if done is None:
                    return prepared  # type: ignore[return-value]
                prepared = done
        records, header = prepared  # type: ignore[misc]
        if self._id_file is not None:
            self._save_topic_id()
        # Fields by their number: names would take twice the time, and this runs for every append.
        first_offset = self.log_end_offset
        last_offset = first_offset + header[6]
        size = header[1] + LOG_OVERHEAD
        if size > config.segment_bytes:
            fault = f"a batch of {size} bytes exceeds segment.bytes {config.segment_bytes}"
            raise KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE, fault)
        has_producer = header[9] >= 0
        if has_producer:
            known = self._check_producer(records, header, origin)
            if known is not None:
                return self._repeated(known, header)
        stamp_offset(records, 0, first_offset, leader_epoch)
        if leader_epoch != self._epochs.latest and leader_epoch >= 0:
            self.assign_epoch(leader_epoch, first_offset)
        max_timestamp = header[8]
        largest = _new(TimeOffset, (max_timestamp, last_offset))
        rolled = self._write(records, first_offset, last_offset, largest, now_ms)
        if has_producer:
            self._take_over(read_header(records), records)
        self._producers.end_offset = last_offset + 1
        is_flush_due = last_offset + 1 - self.recovery_point >= config.flush_messages
        return _new(  # every field is there; the constructor would take longer
            AppendInfo,
            (
                first_offset, last_offset, max_timestamp,
                max_timestamp if header[5] & LOG_APPEND_TIME_FLAG else NO_TIMESTAMP, self.log_start_offset, header[12],
                size, False, rolled, is_flush_due and self._flush_after_append(first_offset),
            ),
        )  # fmt: skip

    def finish_append(
        self, prepared: Prepared, leader_epoch: int, now_ms: int, *, origin: Origin = Origin.CLIENT
    ) -> AppendInfo:
        """Appends a batch that has passed validation. Raises KafkaError as append_as_leader."""
        return self.begin_append(prepared[0], leader_epoch, now_ms, origin, prepared=prepared)  # type: ignore[return-value]

    def append_as_follower(self, records: memoryview, now_ms: int) -> AppendInfo:
        """Appends what was fetched from the leader, as it is; a partial batch at the end is dropped.

        Raises KafkaError(CORRUPT_MESSAGE, KAFKA_STORAGE_ERROR); UnexpectedAppendOffset when the records do not
            continue the log. An empty log that the records reach beyond is begun anew at their first offset.
        """
        if self._failed:
            self._refuse()
        if self._id_file is not None:
            self._save_topic_id()
        try:
            batches = check_follower_batches(records, self.log_start_offset, self.log_end_offset)
        except UnexpectedAppendOffset as unexpected:
            is_empty = self.log_end_offset == self.log_start_offset
            if not is_empty or not unexpected.first_offset < self.log_end_offset <= unexpected.last_offset:
                raise
            self.truncate_fully_and_start_at(unexpected.first_offset)
            batches = check_follower_batches(records, self.log_start_offset, self.log_end_offset)
        if not batches:
            return AppendInfo(-1, -1, NO_TIMESTAMP, NO_TIMESTAMP, self.log_start_offset, 0, 0)
        producer_replay.check_markers(records, batches, self.topic_partition)
        position, last = batches[-1]
        size = position + last.size_bytes
        if size <= self.config.segment_bytes:
            rolled = self._append_fetched(records[:size], batches, now_ms)
        else:
            rolled = False
            for position, header in batches:
                one = records[position : position + header.size_bytes]
                rolled |= self._append_fetched(one, [(0, header)], now_ms)
        return AppendInfo(
            batches[0][1].base_offset,
            last.last_offset,
            max([header[8] for _, header in batches]),
            NO_TIMESTAMP,
            self.log_start_offset,
            sum([header[12] for _, header in batches]),
            size,
            False,
            rolled,
            self.log_end_offset - self.recovery_point >= self.config.flush_messages
            and self._flush_after_append(batches[0][1].base_offset),
        )

    def _append_fetched(self, records: memoryview, batches: list[tuple[int, BatchHeader]], now_ms: int) -> bool:
        """Writes batches that fit one segment in one go; whether that began a new segment."""
        first_offset, last_offset = batches[0][1].base_offset, batches[-1][1].last_offset
        # The greatest timestamp and, of the batches that have it, the first one's last offset.
        timestamp, negated_offset = max((header[8], -(header[0] + header[6])) for _, header in batches)
        largest = TimeOffset(timestamp, -negated_offset)
        latest = self._epochs.latest
        for _, header in batches:
            epoch = header[2]
            if epoch != latest and epoch >= 0:
                self.assign_epoch(epoch, header[0])
                latest = self._epochs.latest
        base_offset = max(first_offset, self.log_end_offset)
        rolled = self._write(records, base_offset, last_offset, largest, now_ms)
        for position, header in batches:
            if header[9] >= 0:
                self._take_over(header, records[position : position + header.size_bytes])
        self._producers.end_offset = last_offset + 1
        return rolled

    def _check_producer(self, records: memoryview, header: BatchHeader, origin: Origin) -> AppendedBatch | None:
        if not header.attributes & CONTROL_FLAG:
            return self._producers.check(header, from_client=origin is Origin.CLIENT)
        try:
            marker = producer_replay.read_marker(records, header)
        except CorruptBatch as corrupt:
            raise KafkaError(ErrorCode.INVALID_RECORD, str(corrupt)) from corrupt
        if marker is not None:
            self._producers.check_marker(header, marker)
        return None

    def _repeated(self, known: AppendedBatch, header: BatchHeader) -> AppendInfo:
        return AppendInfo(
            known.first_offset, known.last_offset, known.timestamp, known.timestamp, self.log_start_offset,
            header.record_count, 0, True,
            flush_due=known.last_offset >= self.counted_end_offset,
        )  # fmt: skip

    def _take_over(self, header: BatchHeader, batch: memoryview) -> None:
        """Lets the producer state, the transaction index and the last stable offset follow an append."""
        try:
            aborted = producer_replay.apply_batch(self._producers, header, batch)
        except CorruptBatch as corrupt:
            _log.warning("%s: control batch at offset %d: %s", self.topic_partition, header.base_offset, corrupt)
            return
        if aborted is not None:
            try:
                self._segments.active.txn_index.append(aborted)
            except OSError as error:
                self.io_failed(error)
        if header.is_transactional:
            self.update_first_unstable()

    def _write(
        self, records: memoryview, base_offset: int, last_offset: int, largest: TimeOffset, now_ms: int
    ) -> bool:
        """One write at the end of the active segment, or at the start of a new one (True) if it belongs there.

        largest: the largest timestamp of the append and its offset. A failed write leaves no trace.
        Raises KafkaError(KAFKA_STORAGE_ERROR), and KafkaError(CORRUPT_MESSAGE) where the first batch of the active
            segment, which says how old it is, cannot be read.
        """
        config = self.config
        segment = self._segments.active
        try:
            is_full = segment.should_roll(len(records), last_offset, largest[0], config, now_ms)
        except OSError as error:
            self.disk_refused(error)
        except CorruptBatch as corrupt:
            raise self.corrupt(corrupt) from corrupt
        rolled = is_full and self._roll(base_offset, now_ms)
        if rolled:
            segment = self._segments.active
        try:
            segment.append(records, last_offset, largest, config.index_interval_bytes)
        except OSError as error:
            self._take_back(segment)
            self.disk_refused(error)
        self.log_end_offset = last_offset + 1
        return rolled

    def _take_back(self, segment: Segment) -> None:
        """Cuts what a failed append may have written."""
        try:
            segment.file().truncate(segment.size)
        except OSError as error:
            self.io_failed(error)

    def _flush_after_append(self, first_offset: int) -> bool:
        """flush.messages is reached: syncs now, or says that the caller has to; until then the append does not count.

        first_offset: of the append.
        """
        if not self._context.flush_in_append:
            self._hold(first_offset)
            return True
        self.flush()
        return False

    # -- read

    def read(self, offset: int, max_bytes: int, *, up_to_offset: int, min_one_batch: bool = False) -> LogRead:
        """A range of one segment that begins with the batch that holds `offset`; nothing is copied.

        max_bytes: bound on the size. up_to_offset: batches from here on are left out (high watermark, last stable
            offset or log end). min_one_batch: a first batch beyond max_bytes comes whole all the same.
        Raises KafkaError(OFFSET_OUT_OF_RANGE, KAFKA_STORAGE_ERROR, CORRUPT_MESSAGE).
        """
        if self._failed:
            self._refuse()
        end_offset = self.log_end_offset
        if offset > end_offset or offset < self.log_start_offset:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {offset} is outside of {self.log_start_offset} to {end_offset} of {self.topic_partition}",
            )
        segments = self._segments
        if offset >= up_to_offset or offset == end_offset:
            return LogRead(None, 0, segments.active.base_offset, segments.active.size)
        try:
            return segments.read(offset, max_bytes, up_to_offset, end_offset, min_one_batch)
        except OSError as error:
            self.disk_refused(error)
        except CorruptBatch as corrupt:
            raise self.corrupt(corrupt) from corrupt

    def bytes_available(self, offset: int, up_to_offset: int) -> int:
        """Bytes from the batch that holds `offset` up to `up_to_offset`; 0 outside of the log."""
        up_to_offset = min(up_to_offset, self.log_end_offset)
        if not self.log_start_offset <= offset < up_to_offset:
            return 0
        try:
            return self._segments.bytes_between(offset, up_to_offset, self.log_end_offset)
        except OSError as error:
            self.disk_refused(error)
        except CorruptBatch as corrupt:
            raise self.corrupt(corrupt) from corrupt

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record whose timestamp is >= `timestamp`; None when there is none. Blocks; may decode batches.

        Raises KafkaError(KAFKA_STORAGE_ERROR, CORRUPT_MESSAGE).
        """
        search = self.search_by_time(timestamp)
        answer: TimeOffset | None = None
        while True:
            try:
                look = search.send(answer)
            except StopIteration as found:
                return self.at_time(found.value)
            answer = None if look is None else look.run()

    def search_by_time(self, timestamp: int) -> Search:
        """The same in steps, for the event loop (time_search.py); `at_time` makes an answer of what it returns.

        Raises KafkaError(KAFKA_STORAGE_ERROR, CORRUPT_MESSAGE).
        """
        limit = plain_limit(self.config.max_message_bytes)
        try:
            return (
                yield from self._segments.search_by_time(
                    self.topic_partition, timestamp, self.log_start_offset, limit
                )
            )
        except OSError as error:
            self.disk_refused(error)
        except CorruptBatch as corrupt:
            raise self.corrupt(corrupt) from corrupt

    def at_time(self, found: TimeOffset | None) -> TimestampOffset | None:
        """With the leader epoch that the record was written in."""
        return None if found is None else TimestampOffset(*found, self._epochs.epoch_of(found.offset))

    def aborted_transactions(self, fetch_offset: int, data: LogRead) -> list[tuple[int, int]]:
        """(producer id, first offset) of the aborted transactions that a read has met or may have.

        Raises KafkaError(KAFKA_STORAGE_ERROR); UNKNOWN_SERVER_ERROR for a transaction index that cannot be read, as
            Apache Kafka answers it.
        """
        try:
            return self._segments.aborted_transactions(fetch_offset, data, self.log_end_offset)
        except OSError as error:
            self.disk_refused(error)
        except CorruptTxnIndex as corrupt:
            _log.error("%s: %s", self.topic_partition, corrupt)
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{self.topic_partition}: {corrupt}") from corrupt

    # -- epochs

    @property
    def latest_epoch(self) -> int:
        """The newest leader epoch; -1 when none is known."""
        return self._epochs.latest

    @property
    def epoch_entries(self) -> list[EpochStart]:
        """Where each leader epoch began."""
        return self._epochs.entries()

    def end_offset_for_epoch(self, epoch: int) -> EpochEnd:
        """Where `epoch` ends here (KIP-101); see LeaderEpochs.end_offset_for."""
        return self._epochs.end_offset_for(epoch, self.log_end_offset)

    def epoch_of(self, offset: int) -> int:
        """The leader epoch that the record at `offset` was written in; -1 unknown."""
        return self._epochs.epoch_of(offset)

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """Notes that `epoch` begins at `start_offset`; written to disk in the background."""
        self._epochs.assign(epoch, start_offset)
