"""Work on the records of a batch before a leader may append it: verify, check timestamps, recompress, repair.

A pure job over one batch: a small one may run on the event loop, a large one in any thread. Knows no file and no offset
but the batch's own; validation.py decides which batches need it.
Source: LogValidator; docs/architecture.md, "What a batch header may claim".
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.model.answers import MOST_ERRORS, BatchFault, RecordError, RecordErrors, RejectedBatch
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.validation.header_trust import HeaderTrust
from kafka_py.records.batch import (
    HEADER_SIZE,
    BatchHeader,
    CorruptBatch,
    OversizedBatch,
    TimestampType,
    decode_records,
    read_header,
    records_payload,
    stamp_log_append_time,
    stamp_max_timestamp,
)
from kafka_py.records.builder import BatchBuilder, with_records
from kafka_py.records.compression import Codec, MiB, compress
from kafka_py.records.survey import INT64_MAX, SMALLEST_RECORD, Survey, UnexpectedOffset, no_pause, survey_records

_log = logging.getLogger(__name__)

PLAIN_BYTES_PER_MESSAGE_BYTE = 8
LEAST_PLAIN_LIMIT = 64 * MiB
"""Bound on the decompressed records: this many times max.message.bytes, but at least this many bytes."""

ON_LOOP_RECORDS = 2000
ON_LOOP_COMPRESSED_BYTES = 16 * 1024
ON_LOOP_PLAIN_BYTES = MiB
ON_LOOP_RECOMPRESSED_BYTES = 32 * 1024
"""Bounds on work of at most about one millisecond, which may run on the event loop."""
_ON_LOOP_PAUSES = 2

MOST_RENUMBERED = 50_000
"""Most records of a batch that is re-encoded record by record; a larger one with wrong offset deltas is rejected."""


Prepared = tuple[memoryview, BatchHeader]
"""A batch that may be appended, and its header; offsets are not assigned yet."""


def plain_limit(max_message_bytes: int) -> int:
    """Bound on the decompressed size of the records of one batch, in bytes."""
    return max(PLAIN_BYTES_PER_MESSAGE_BYTE * max_message_bytes, LEAST_PLAIN_LIMIT)


class _TooMuch(Exception):
    """Work that was started on the event loop takes too long."""


class _LoopBudget:
    """Replaces a pause callback: ends an iteration that takes too long, for example over very many headers."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = _ON_LOOP_PAUSES

    def __call__(self) -> None:
        if not self._left:
            raise _TooMuch
        self._left -= 1


class RecordWork:
    """One batch and the work on its records.

    target: the topic's codec, None to keep the batch's. trust: that of the connection if the header is to be verified.
    checks_keys: whether records need keys (compacted topic). is_required: False for a random verification, which is
    skipped if the decompressed records exceed the bound.
    """

    __slots__ = ("_checks_keys", "_config", "_now_ms", "header", "is_required", "records", "target", "trust")

    def __init__(
        self,
        records: memoryview,
        header: BatchHeader,
        config: LogConfig,
        now_ms: int,
        *,
        target: Codec | None,
        trust: HeaderTrust | None,
        checks_keys: bool,
        is_required: bool,
    ) -> None:
        self.records = records
        self.header = header
        self.target = target
        self.trust = trust
        self.is_required = is_required
        self._checks_keys = checks_keys and config.is_compacted
        self._config = config
        self._now_ms = now_ms

    @property
    def is_large(self) -> bool:
        """Whether it should run in a thread, as far as is known before decompression."""
        size = len(self.records)
        return (
            self.header.record_count > ON_LOOP_RECORDS
            or (self.header.codec_id != 0 and size > ON_LOOP_COMPRESSED_BYTES)
            or (self.target is not None and size > ON_LOOP_RECOMPRESSED_BYTES)
        )

    def run_on_loop(self) -> Prepared | None:
        """As `run`, within the bounds for the event loop; None if the work exceeds them."""
        if self.is_large:
            return None
        limit = ON_LOOP_RECOMPRESSED_BYTES if self.target is not None else ON_LOOP_PLAIN_BYTES
        try:
            return self._run(min(limit, plain_limit(self._config.max_message_bytes)), _LoopBudget(), on_loop=True)
        except (OversizedBatch, _TooMuch):
            return None

    def run(self, pause: Callable[[], None] = no_pause) -> Prepared:
        """Does the work; blocks.

        pause: called at intervals. Raises KafkaError(INVALID_RECORD, INVALID_TIMESTAMP, MESSAGE_TOO_LARGE).
        """
        try:
            return self._run(plain_limit(self._config.max_message_bytes), pause)
        except OversizedBatch as oversized:
            if not self.is_required:
                return self._finish(self.records, self.header)
            raise RejectedBatch(ErrorCode.INVALID_RECORD, str(oversized)) from oversized

    def _run(self, limit: int, pause: Callable[[], None], *, on_loop: bool = False) -> Prepared:
        """Raises as `run`; OversizedBatch; on the loop _TooMuch, before anything is changed."""
        header = self.header
        if header.codec_id and header.record_count * SMALLEST_RECORD > limit:
            raise OversizedBatch(f"{header.record_count} records do not fit into {limit} bytes")
        try:
            plain = records_payload(self.records, 0, header, limit)
            found = survey_records(plain, header, bounds=self._bounds(), pause=pause)
        except OversizedBatch:
            raise
        except UnexpectedOffset:
            if on_loop:  # re-encoding a record takes many times as long as reading it
                raise _TooMuch from None
            return self._renumbered(limit, pause)
        except (CorruptBatch, ValueError) as error:
            raise RejectedBatch(ErrorCode.INVALID_RECORD, str(error), BatchFault.OFFSETS) from error
        self._check(found)
        if self.target is not None and self.target != header.codec_id:
            return self._recompressed(plain, found)
        return self._repaired(found)

    def _bounds(self) -> tuple[int, int] | None:
        if not self._config.checks_timestamps:
            return None
        allowed = self._config.message_timestamp_difference_max_ms
        return self._now_ms - allowed, self._now_ms + allowed

    def _check(self, found: Survey) -> None:
        """Raises RecordErrors for missing keys of a compacted topic, and for timestamps out of bounds."""
        no_key = found.keyless_count if self._checks_keys else 0
        late = found.out_of_bounds_count
        if not no_key and not late:
            return
        keyless = found.keyless if no_key else []
        errors = [RecordError(place, "a compacted topic cannot take a record without a key") for place in keyless]
        allowed = self._config.message_timestamp_difference_max_ms
        known = frozenset(keyless)
        for place, timestamp in found.out_of_bounds:
            if place not in known:
                reason = f"timestamp {timestamp} is over {allowed} ms away from the broker's time {self._now_ms}"
                errors.append(RecordError(place, reason))
        code = ErrorCode.INVALID_TIMESTAMP if len(errors) > len(keyless) else ErrorCode.INVALID_RECORD
        detail = f"of {self.header.record_count} records {no_key} have no key, {late} a timestamp out of bounds"
        raise RecordErrors(code, detail, sorted(errors)[:MOST_ERRORS], no_key=no_key)

    def _repaired(self, found: Survey) -> Prepared:
        """The same records with a corrected largest timestamp in the header."""
        header = self.header
        if found.max_timestamp != header.max_timestamp and not self._config.stamps_append_time:
            self._note_wrong_header()
            stamp_max_timestamp(self.records, 0, TimestampType.CREATE_TIME, found.max_timestamp)
            header = read_header(self.records)
        return self._finish(self.records, header)

    def _recompressed(self, plain: bytes, found: Survey) -> Prepared:
        """The same records in the topic's codec."""
        assert self.target is not None
        if found.max_timestamp != self.header.max_timestamp:
            self._note_wrong_header()
        body = compress(self.target, plain)
        size = HEADER_SIZE + len(body)
        if size > self._config.max_message_bytes:
            raise too_large(size, self._config)
        made = memoryview(with_records(self.header, self.target, body, found.max_timestamp))
        return self._finish(made, read_header(made))

    def _renumbered(self, limit: int, pause: Callable[[], None]) -> Prepared:
        """Re-encodes every record with a correct offset delta."""
        header = self.header
        if header.record_count > MOST_RENUMBERED:
            detail = f"the offset deltas of {header.record_count} records are not 0, 1, 2 and so on"
            raise RejectedBatch(ErrorCode.INVALID_RECORD, detail, BatchFault.OFFSETS)
        self._note_wrong_header()
        try:
            records = decode_records(self.records, header=header, limit=limit)
        except (CorruptBatch, KafkaError) as error:
            raise RejectedBatch(ErrorCode.INVALID_RECORD, str(error), BatchFault.OFFSETS) from error
        builder = BatchBuilder(
            self.target if self.target is not None else header.codec,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
            transactional=header.is_transactional,
        )
        for record in records:
            if not -1 - INT64_MAX <= record.timestamp <= INT64_MAX:
                detail = "a record's timestamp is out of range"
                raise RejectedBatch(ErrorCode.INVALID_RECORD, detail, BatchFault.OFFSETS)
            try:
                builder.append(record.timestamp, record.key, record.value, record.headers)
            except ValueError as too_far:
                raise RejectedBatch(ErrorCode.INVALID_RECORD, str(too_far), BatchFault.OFFSETS) from too_far
        made = memoryview(bytearray(builder.build()))
        if len(made) > self._config.max_message_bytes:
            raise too_large(len(made), self._config)
        work = RecordWork(
            made, read_header(made), self._config, self._now_ms, target=None, trust=None, checks_keys=self._checks_keys,
            is_required=True,
        )
        return work.run(pause)

    def _finish(self, records: memoryview, header: BatchHeader) -> Prepared:
        """Sets the append time for topics with LogAppendTime."""
        if not self._config.stamps_append_time:
            return records, header
        stamp_log_append_time(records, 0, self._now_ms)
        return records, read_header(records)

    def _note_wrong_header(self) -> None:
        trust = self.trust
        if trust is None:
            return
        trust.wrong += 1
        if trust.wrong == 1:
            _log.warning(
                "%s sends batch headers that do not match the records; all its batches are verified from now on",
                trust.client,
            )


def too_large(size: int, config: LogConfig) -> KafkaError:
    """The error for a batch that exceeds max.message.bytes."""
    return KafkaError(
        ErrorCode.MESSAGE_TOO_LARGE, f"a batch of {size} bytes exceeds max.message.bytes {config.max_message_bytes}"
    )
