"""Checks and changes of a batch before it is appended.

The common case (one v2 batch for a topic that keeps the producer's codec and timestamps) reads only the header and
computes one checksum. Work on the records (keys of a compacted topic, bounded timestamps, another codec, a header to be
verified) becomes a RecordWork (record_work.py), what involves message formats 0 and 1 a FormatWork (format_work.py).
Knows no file and no offset but the batch's own. Source: Log.append, LogValidator; docs/reference/log.md, section 6.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.model.answers import (
    MOST_ERRORS,
    BatchFault,
    Origin,
    RecordError,
    RecordErrors,
    RejectedBatch,
    UnexpectedAppendOffset,
)
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.validation.format_work import FormatWork
from kafka_py.log.validation.header_trust import CLOCK_SLACK_MS, HeaderTrust, is_plausible
from kafka_py.log.validation.record_work import Prepared, RecordWork, too_large
from kafka_py.records.batch import (
    CODEC_MASK,
    CONTROL_FLAG,
    CRC_START,
    HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    SIZE_UP_TO_MAGIC,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    CorruptBatch,
    iter_headers,
    read_header,
    stamp_log_append_time,
    verify_crc,
)
from kafka_py.records.compression import Codec
from kafka_py.records.crc32c import crc32c
from kafka_py.records.survey import SMALLEST_RECORD

_LAST_CODEC = max(Codec)
_SELDOM = CODEC_MASK | CONTROL_FLAG | TRANSACTIONAL_FLAG


def prepare_leader_append(
    records: memoryview, config: LogConfig, now_ms: int, origin: Origin, trust: HeaderTrust | None = None
) -> Prepared | RecordWork | FormatWork | None:
    """The one batch to append, or the work on its records that comes first; None when there is no whole batch.

    records: as received, writable; a partial batch at the end is dropped. Append time is stamped in place. trust: that
    of the sending connection; without it every header of a client is verified.
    Raises KafkaError: CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, INVALID_RECORD, INVALID_TIMESTAMP (as RecordErrors),
        UNSUPPORTED_FOR_MESSAGE_FORMAT, UNKNOWN_SERVER_ERROR for an unknown codec, as Apache Kafka.
    """
    if len(records) < LOG_OVERHEAD:
        return None
    try:
        header = read_header(records)
    except CorruptBatch as corrupt:
        _check_cut_short(records, corrupt)
        return None
    # Header fields by index: by name they would take twice the time, and this runs for every append.
    size = header[1] + LOG_OVERHEAD
    if header[3] != MAGIC and size <= len(records):
        return FormatWork(records, header, config, now_ms, checks_keys=origin is Origin.CLIENT)
    if size != len(records):
        if size > len(records):
            return None
        if size > config.max_message_bytes:
            raise too_large(size, config)
        _refuse_second_batch(records, size)
        records = records[:size]
    from_client = origin is Origin.CLIENT
    if from_client and header[0] != 0:
        raise _invalid(f"the base offset of a produced batch must be 0, not {header.base_offset}")
    if size > config.max_message_bytes:
        raise too_large(size, config)
    if crc32c(records[CRC_START:]) != header[4]:
        fault = f"the checksum of the batch is not {header.crc}"
        raise RejectedBatch(ErrorCode.CORRUPT_MESSAGE, fault, BatchFault.CHECKSUM)
    attributes = header[5]
    if from_client:
        count = header[12]
        fits = count * SMALLEST_RECORD <= size - HEADER_SIZE
        if attributes & _SELDOM or not 0 < count == header[6] + 1 or header[9] >= 0 > header[11] or not fits:
            _check_client_header(header, size)
        wants_verification = (
            trust is None
            or not config.takes_as_sent
            or not -1 < header[8] >= header[7]  # as is_plausible, without the call
            or header[8] - now_ms > CLOCK_SLACK_MS
            or trust.wants_verification(header)
        )
    else:
        wants_verification = config.changes_records
    if attributes & LOG_APPEND_TIME_FLAG:
        raise _all_refused(header, "a producer cannot send batches with timestamp type LogAppendTime")
    if wants_verification:
        work = _record_work(records, header, config, now_ms, origin, trust)
        if work is not None:
            return work
    return _stamped(records, now_ms) if config.stamps_append_time else (records, header)


def _record_work(
    records: memoryview,
    header: BatchHeader,
    config: LogConfig,
    now_ms: int,
    origin: Origin,
    trust: HeaderTrust | None,
) -> RecordWork | FormatWork | None:
    """The work on the records; None when the header is sufficient.

    Batches of coordinators, which include control batches, are not verified.
    """
    if header.attributes & CONTROL_FLAG:
        return None
    if config.magic < MAGIC:
        if header.producer_id >= 0:
            raise _refused_by_format(header, config)
        return FormatWork(records, header, config, now_ms, checks_keys=origin is Origin.CLIENT)
    target = config.target_codec
    if target is not None and target == header.attributes & CODEC_MASK:
        target = None
    from_client = origin is Origin.CLIENT
    is_required = target is not None or config.checks_timestamps or (from_client and config.is_compacted)
    if not is_required:
        if not from_client:
            return None
        if trust is None or not (config.stamps_append_time or is_plausible(header, now_ms)):
            is_required = True
        elif not config.takes_as_sent and not trust.wants_verification(header):
            return None
    return RecordWork(
        records, header, config, now_ms, target=target, trust=trust, checks_keys=from_client, is_required=is_required
    )


def check_follower_batches(
    records: memoryview, log_start_offset: int, log_end_offset: int
) -> list[tuple[int, BatchHeader]]:
    """(position, header) of every whole batch that a follower got; an incomplete one at the end is dropped.

    Entries of formats 0 and 1 are compared by their last offsets, the only ones that their headers have.
    Raises KafkaError(CORRUPT_MESSAGE); UnexpectedAppendOffset when they are not in order after the log end.
    """
    batches = []
    next_offset = -1
    position, end = 0, len(records)
    try:
        while (header := _whole_batch(records, position, end)) is not None:
            next_position = position + header[1] + LOG_OVERHEAD
            if crc32c(records[position + CRC_START : next_position]) != header[4]:
                verify_crc(records, position, header)  # formats 0 and 1 have another checksum
            if header[0] < next_offset or header[6] < 0:
                raise UnexpectedAppendOffset(
                    f"fetched batch at offset {header.base_offset} is below the expected offset {next_offset}",
                    header.base_offset,
                    header.last_offset,
                )
            next_offset = header[0] + header[6] + 1
            batches.append((position, header))
            position = next_position
    except CorruptBatch as corrupt:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(corrupt)) from corrupt
    if batches and batches[0][1].base_offset < log_end_offset:
        raise UnexpectedAppendOffset(
            f"fetched records begin at offset {batches[0][1].base_offset}, the log ends at {log_end_offset}",
            batches[0][1].base_offset,
            batches[-1][1].last_offset,
        )
    return batches


def _whole_batch(records: memoryview, position: int, end: int) -> BatchHeader | None:
    """The header of the batch or entry at `position`; None when it is not complete. Raises CorruptBatch."""
    if end - position >= HEADER_SIZE:
        header = read_header(records, position)
        if position + header[1] + LOG_OVERHEAD > end:
            return None
    else:
        found = next(iter_headers(records, position, end), None)  # an older format may be shorter
        if found is None:
            return None
        header = found[1]
    return header


def _check_cut_short(records: memoryview, corrupt: CorruptBatch) -> None:
    """Raises `corrupt` unless the header is only truncated and so belongs to a partial batch."""
    size = int.from_bytes(records[8:12], "big", signed=True)
    if size < SMALLEST_RECORD or size + LOG_OVERHEAD <= len(records):
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(corrupt)) from corrupt


def _refuse_second_batch(records: memoryview, size: int) -> None:
    """Raises when another whole batch follows the first one."""
    rest = len(records) - size
    if rest >= LOG_OVERHEAD:
        following = int.from_bytes(records[size + 8 : size + 12], "big", signed=True)
        if following + LOG_OVERHEAD <= rest:
            other_format = rest >= SIZE_UP_TO_MAGIC and records[size + 16] != records[16]
            fault = BatchFault.MAGIC if other_format else None
            raise _invalid("a produce request must hold exactly one batch per partition", fault)


def _check_client_header(header: BatchHeader, size: int) -> None:
    """Checks of a client's batch header that are not part of the fast path."""
    count = header.record_count
    if count <= 0 or header.last_offset_delta + 1 != count:
        raise _invalid(
            f"the batch header has {count} records and a last offset delta of {header.last_offset_delta}",
            BatchFault.OFFSETS,
        )
    codec = header.attributes & CODEC_MASK
    if codec == 0 and size - HEADER_SIZE < count * SMALLEST_RECORD:
        raise _invalid(f"{count} records do not fit into {size} bytes")
    if codec > _LAST_CODEC:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"compression id {codec} does not exist")
    if header.attributes & CONTROL_FLAG:
        raise _invalid("clients cannot write control batches")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise _invalid(
            f"producer {header.producer_id} sent the invalid sequence {header.base_sequence}", BatchFault.OFFSETS
        )
    if header.producer_id < 0 and header.attributes & TRANSACTIONAL_FLAG:
        raise _invalid("a transactional batch without producer id belongs to no transaction")


def _refused_by_format(header: BatchHeader, config: LogConfig) -> KafkaError:
    """For a batch of a producer with an id, in a topic whose message format is older than producer ids."""
    kind = "transactional" if header.is_transactional else "idempotent"
    fault = f"{kind} records need message.format.version 0.11.0 or later, the topic has {config.message_format_version}"
    return KafkaError(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, fault)


def _stamped(records: memoryview, now_ms: int) -> Prepared:
    """The batch with the broker's time."""
    stamp_log_append_time(records, 0, now_ms)
    return records, read_header(records)


def _invalid(detail: str, fault: BatchFault | None = None) -> KafkaError:
    return RejectedBatch(ErrorCode.INVALID_RECORD, detail, fault)


def _all_refused(header: BatchHeader, detail: str) -> RecordErrors:
    errors = [RecordError(index, detail) for index in range(min(max(header.record_count, 0), MOST_ERRORS))]
    return RecordErrors(ErrorCode.INVALID_TIMESTAMP, detail, errors)
