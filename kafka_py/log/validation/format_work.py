"""Appends that involve message formats 0 and 1: what is stored has the topic's format, whatever the producer sent.

Old producers send several entries, or one wrapper; topics may ask for an old format. Where both fit, the bytes are kept
and only offsets and times are stamped; else every record is written again. A pure job over one message set: a small one
may run on the event loop, a large one in any thread. Knows no file; the log end that it numbers from is handed in.
Source: LogValidator; docs/reference/log.md, section 6; docs/reference/record-formats.md, section 4.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.model.answers import MOST_ERRORS, BatchFault, RecordError, RecordErrors, RejectedBatch
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.validation.record_work import Prepared, plain_limit, too_large
from kafka_py.records import legacy
from kafka_py.records.batch import (
    LOG_APPEND_TIME_FLAG,
    MAGIC,
    NO_TIMESTAMP,
    BatchHeader,
    CorruptBatch,
    OversizedBatch,
    TimestampType,
    iter_headers,
    iter_record_pieces,
    read_header,
    verify_crc,
)
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.records.conversion import AT_ONCE, WrongChecksum, iter_set_records
from kafka_py.records.legacy_builder import LegacyBuilder
from kafka_py.records.legacy_records import SetOutline, outline
from kafka_py.records.survey import no_pause

ON_LOOP_BYTES = 8 * 1024
ON_LOOP_WRAPPER_BYTES = 2 * 1024
ON_LOOP_PLAIN_BYTES = 16 * 1024
"""Bounds on work of about one millisecond: of plain and of compressed records as sent, and of these decompressed."""

_MOST_GROWTH = 2
"""How many times the bound on decompressed records they may take in an old format, whose records are larger."""

_timestamp = operator.itemgetter(1)

Pieces = Iterator[Sequence[Any]]
"""The records of a set, some at a time: tuples that begin with offset, timestamp, key and value."""


class PreparedSet(NamedTuple):
    """A message set of format 0 or 1 that may be appended where the log ends at `first_offset`, and nowhere else.

    offset_of_max_timestamp: as the time index counts, of the last record of a wrapper. log_append_time: -1 without.
    """

    records: memoryview
    first_offset: int
    last_offset: int
    max_timestamp: int
    offset_of_max_timestamp: int
    log_append_time: int


class FormatWork:
    """One message set of a produce request, and the work that the topic's format makes of it.

    first_offset: where the log ends; set by the log before the work runs.
    converted_count: records that were written in another format; 0 before `run`, and where the format was right.
    temporary_bytes: memory that writing them again has taken. began_ms: when the work was handed over; monotonic.
    """

    __slots__ = (
        "_checks_keys", "_config", "_header", "_limit", "_now_ms", "_outline", "_records", "began_ms",
        "converted_count", "first_offset", "temporary_bytes",
    )  # fmt: skip

    def __init__(
        self, records: memoryview, header: BatchHeader, config: LogConfig, now_ms: int, *, checks_keys: bool
    ) -> None:
        """records: as received, writable, with at least one whole batch or entry. header: of the first one; a batch of
        format 2 was checked as far as that. checks_keys: whether records need keys in a compacted topic.
        """
        self._records = records
        self._header = header
        self._config = config
        self._now_ms = now_ms
        self._checks_keys = checks_keys and config.is_compacted
        self._outline: SetOutline | None = None
        self._limit = plain_limit(config.max_message_bytes)
        self.first_offset = 0
        self.converted_count = 0
        self.temporary_bytes = 0
        self.began_ms = 0.0

    def run_on_loop(self) -> Prepared | PreparedSet | None:
        """As `run`, if that takes about a millisecond at most; else None."""
        if len(self._records) > (ON_LOOP_WRAPPER_BYTES if self._header.codec_id else ON_LOOP_BYTES):
            return None
        self._limit, limit = min(ON_LOOP_PLAIN_BYTES, self._limit), self._limit
        try:
            return self._run(no_pause)
        except OversizedBatch:
            return None
        finally:
            self._limit = limit

    def run(self, pause: Callable[[], None] = no_pause) -> Prepared | PreparedSet:
        """Does the work; blocks. A batch of format 2 is given back without its offset, an older set with all.

        pause: called every AT_ONCE records. Raises KafkaError(CORRUPT_MESSAGE, INVALID_RECORD, INVALID_TIMESTAMP,
        MESSAGE_TOO_LARGE); UNKNOWN_SERVER_ERROR, as Apache Kafka, for what the topic's format cannot have.
        """
        try:
            return self._run(pause)
        except OversizedBatch as oversized:
            raise RejectedBatch(ErrorCode.INVALID_RECORD, str(oversized)) from oversized

    def _run(self, pause: Callable[[], None]) -> Prepared | PreparedSet:
        """Raises as `run`; OversizedBatch, before anything is changed."""
        try:
            return self._in_format(pause)
        except OversizedBatch:
            raise
        except WrongChecksum as wrong:
            raise RejectedBatch(ErrorCode.CORRUPT_MESSAGE, str(wrong), BatchFault.CHECKSUM) from wrong
        except CorruptBatch as corrupt:
            raise RejectedBatch(ErrorCode.INVALID_RECORD, str(corrupt)) from corrupt

    def _in_format(self, pause: Callable[[], None]) -> Prepared | PreparedSet:
        config = self._config
        source = self._source_codec(pause)
        target = source if config.target_codec is None else config.target_codec
        if self._outline is not None and self._outline.magic == config.magic and source == target:
            kept = self._kept(self._outline, pause)
            if kept is not None:
                return kept
        return self._rewritten(target, pause)

    # ---- what was sent

    def _source_codec(self, pause: Callable[[], None]) -> Codec:
        """Checks the heads of the entries; the codec of what was sent."""
        if self._header.magic == MAGIC:
            return self._header.codec
        try:
            found = outline(self._records, pause=pause)
        except CorruptBatch as corrupt:
            raise RejectedBatch(ErrorCode.CORRUPT_MESSAGE, str(corrupt)) from corrupt
        self._outline = found
        self._records = self._records[: found.size]
        if found.largest > self._config.max_message_bytes:
            raise too_large(found.largest, self._config)
        if found.codec_id or found.has_append_time or found.other_magic is not None:
            self._verify_checksums(pause)  # of plain entries alone they are verified with the records
        if found.other_magic is not None:
            fault = f"an entry has message format {found.other_magic}, the one before it {found.magic}"
            raise RejectedBatch(ErrorCode.INVALID_RECORD, fault, BatchFault.MAGIC)
        if found.codec_id and found.entry_count > 1:
            fault = "a produce request must hold exactly one compressed message per partition"
            raise RejectedBatch(ErrorCode.INVALID_RECORD, fault)
        if found.codec_id == Codec.ZSTD:
            raise RejectedBatch(ErrorCode.INVALID_RECORD, f"message format {found.magic} has no zstd compression")
        if found.codec_id > Codec.ZSTD:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"compression id {found.codec_id} does not exist")
        if found.has_append_time:
            fault = "a producer cannot send messages with timestamp type LogAppendTime"
            raise RecordErrors(ErrorCode.INVALID_TIMESTAMP, fault, [RecordError(0, fault)])
        return Codec(found.codec_id)

    def _verify_checksums(self, pause: Callable[[], None]) -> None:
        try:
            for count, (pos, header) in enumerate(iter_headers(self._records), 1):
                verify_crc(self._records, pos, header)
                if not count % AT_ONCE:
                    pause()
        except CorruptBatch as corrupt:
            raise RejectedBatch(ErrorCode.CORRUPT_MESSAGE, str(corrupt), BatchFault.CHECKSUM) from corrupt

    def _pieces(self, pause: Callable[[], None]) -> Pieces:
        """All records, checked."""
        header = self._header
        pieces: Pieces
        if header.magic == MAGIC:
            pieces = iter_record_pieces(self._records, header=header, limit=self._limit, at_once=AT_ONCE)
        else:
            pieces = iter_set_records(self._records, limit=self._limit)
        place = 0
        for records in pieces:
            self._check(records, place)
            place += len(records)
            yield records
            pause()

    def _check(self, records: Sequence[Any], first: int) -> None:
        """Raises RecordErrors for missing keys of a compacted topic, and for timestamps out of bounds."""
        errors: list[RecordError] = []
        no_key = late = 0
        if self._checks_keys:
            for place, record in enumerate(records, first):
                if record[2] is None:
                    no_key += 1
                    errors.append(RecordError(place, "a compacted topic cannot take a record without a key"))
        if self._config.checks_timestamps:
            allowed, now_ms = self._config.message_timestamp_difference_max_ms, self._now_ms
            for place, record in enumerate(records, first):
                if record[1] != NO_TIMESTAMP and abs(record[1] - now_ms) > allowed:
                    late += 1
                    reason = f"timestamp {record[1]} is over {allowed} ms away from the broker's time {now_ms}"
                    errors.append(RecordError(place, reason))
        if errors:
            code = ErrorCode.INVALID_TIMESTAMP if late else ErrorCode.INVALID_RECORD
            detail = f"{no_key} records have no key, {late} a timestamp out of bounds"
            raise RecordErrors(code, detail, sorted(errors)[:MOST_ERRORS], no_key=no_key)

    # ---- the bytes as they were sent

    def _kept(self, found: SetOutline, pause: Callable[[], None]) -> PreparedSet | None:
        """The set with its offsets and times stamped; None when its records must be written again.

        In a wrapper of format 0 the offsets are absolute; in one of format 1 some producers number them wrongly.
        """
        if found.codec_id and found.magic == 0:
            return None
        count, largest, place_of_largest = 0, NO_TIMESTAMP, 0
        for records in self._pieces(pause):
            for place, record in enumerate(records, count):
                if found.codec_id and record[0] != place:
                    return None
                if record[1] > largest:
                    largest, place_of_largest = record[1], place
            count += len(records)
        first_offset, last_offset = self.first_offset, self.first_offset + count - 1
        append_time = self._now_ms if self._config.stamps_append_time else NO_TIMESTAMP
        if found.codec_id:
            self._stamp_wrapper(last_offset, largest)
            place_of_largest = count - 1
        else:
            self._stamp_entries(pause)
        if found.magic and append_time != NO_TIMESTAMP:
            largest, place_of_largest = append_time, count - 1 if found.codec_id else 0
        offset_of_largest = first_offset + place_of_largest if found.magic else last_offset
        return PreparedSet(self._records, first_offset, last_offset, largest, offset_of_largest, append_time)

    def _stamp_wrapper(self, last_offset: int, largest: int) -> None:
        """Offset, type and time of the one wrapper of format 1."""
        records = self._records
        entry = legacy.read_entry(records, 0)
        attributes = entry.attributes & ~LOG_APPEND_TIME_FLAG
        if self._config.stamps_append_time:
            attributes, largest = attributes | LOG_APPEND_TIME_FLAG, self._now_ms
        legacy.stamp_offset(records, 0, last_offset)
        if attributes != entry.attributes or largest != entry.timestamp:
            legacy.stamp_timestamp(records, 0, len(records), attributes, largest)

    def _stamp_entries(self, pause: Callable[[], None]) -> None:
        """The offset of every plain entry; in format 1 also the broker's time where the topic has it."""
        records, offset, pos, end = self._records, self.first_offset, 0, len(self._records)
        stamps = records[16] == 1 and self._config.stamps_append_time
        while pos < end:
            past = pos + 12 + int.from_bytes(records[pos + 8 : pos + 12], "big")
            legacy.stamp_offset(records, pos, offset)
            if stamps:
                legacy.stamp_timestamp(records, pos, past, LOG_APPEND_TIME_FLAG, self._now_ms)
            offset += 1
            pos = past
            if offset % AT_ONCE == 0:
                pause()

    # ---- the records written again

    def _rewritten(self, target: Codec, pause: Callable[[], None]) -> Prepared | PreparedSet:
        config = self._config
        timestamp_type = TimestampType.CREATE_TIME
        append_time = NO_TIMESTAMP
        if config.stamps_append_time:
            timestamp_type, append_time = TimestampType.LOG_APPEND_TIME, self._now_ms
        if config.magic == MAGIC:
            return self._up(target, timestamp_type, append_time, pause)
        if target is Codec.ZSTD:
            for _ in self._pieces(pause):
                pass  # what is wrong with the records comes first
            raise self._not_in_format("zstd compression")
        builder = LegacyBuilder(
            config.magic, target, base_offset=self.first_offset, timestamp_type=timestamp_type,
            log_append_time_ms=append_time,
        )  # fmt: skip
        from_format_2 = self._header.magic == MAGIC
        for records in self._pieces(pause):
            if from_format_2 and any(record[4] for record in records):
                raise self._not_in_format("headers")
            self._refuse_negative_times(records)
            builder.extend(records, builder.last_offset + 1)
            self._bound(builder.uncompressed_size)
        made = builder.build()
        self._note(made, builder.record_count, builder.uncompressed_size)
        largest_entry = outline(made, pause=pause).largest
        if largest_entry > config.max_message_bytes:
            raise too_large(largest_entry, config)
        last_offset = builder.last_offset
        offset_of_largest = last_offset if target or config.magic == 0 else builder.offset_of_max_timestamp
        return PreparedSet(
            memoryview(made), self.first_offset, last_offset, builder.max_timestamp,
            offset_of_largest if offset_of_largest >= 0 else last_offset, append_time,
        )  # fmt: skip

    def _up(
        self, target: Codec, timestamp_type: TimestampType, append_time: int, pause: Callable[[], None]
    ) -> Prepared:
        """One batch of format 2; its offset is stamped later."""
        builder = BatchBuilder(target, timestamp_type=timestamp_type, log_append_time_ms=append_time)
        append = builder.append
        for records in self._pieces(pause):
            self._refuse_negative_times(records)
            try:
                for record in records:
                    append(record[1], record[2], record[3])
            except ValueError as too_far:
                raise RejectedBatch(ErrorCode.INVALID_RECORD, str(too_far)) from too_far
            self._bound(builder.uncompressed_size)
        made = builder.build()
        self._note(made, builder.record_count, builder.uncompressed_size)
        if len(made) > self._config.max_message_bytes:
            raise too_large(len(made), self._config)
        batch = memoryview(bytearray(made))
        return batch, read_header(batch)

    def _bound(self, plain_bytes: int) -> None:
        limit = _MOST_GROWTH * self._limit
        if plain_bytes > limit:
            raise OversizedBatch(f"the records take over {limit} bytes in message format {self._config.magic}")

    @staticmethod
    def _refuse_negative_times(records: Sequence[Any]) -> None:
        """Only -1, for none, can be written; Apache's error of MemoryRecordsBuilder is as unspecific."""
        smallest = min(map(_timestamp, records))
        if smallest < NO_TIMESTAMP:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"timestamp {smallest} of a record is negative")

    def _note(self, made: bytes, record_count: int, plain_bytes: int) -> None:
        if self._header.magic != self._config.magic:
            self.converted_count = record_count
        self.temporary_bytes = plain_bytes + len(made)

    def _not_in_format(self, what: str) -> KafkaError:
        config = self._config
        fault = f"message.format.version {config.message_format_version} of the topic has no {what}"
        return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, fault)
