"""What is checked, and what is rewritten, before a batch is appended.

The common case (one v2 batch for a topic that keeps the producer's codec and timestamps) is a straight line over the
header and costs one checksum. Records are decoded only for compacted topics (keys), for a bounded timestamp difference
and for another codec. Knows no file and no offset but the batch's own. Formats 0 and 1 are refused for now.
Source: reference replication, section 1.
"""

from __future__ import annotations

import struct

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.answers import Origin, RecordError, RecordErrors, UnexpectedAppendOffset
from kafka_py.log.configs import LogConfig
from kafka_py.records.batch import (
    CODEC_MASK,
    CONTROL_FLAG,
    CRC_START,
    HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    NO_TIMESTAMP,
    BatchHeader,
    CorruptBatch,
    TimestampType,
    decode_records,
    iter_headers,
    read_header,
    stamp_log_append_time,
    verify_crc,
)
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.records.crc32c import crc32c

_SMALLEST_RECORD = 7
_LAST_CODEC = max(Codec)


def prepare_leader_append(
    records: memoryview, config: LogConfig, now_ms: int, origin: Origin
) -> tuple[memoryview, BatchHeader] | None:
    """The one batch to append and its header, offsets not yet assigned; None when there is no whole batch.

    records: as they came, writable; a partial batch at the end is dropped. The batch is rewritten in place where that
        does (append time) or built anew (another codec).
    Raises KafkaError: CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, INVALID_RECORD, INVALID_TIMESTAMP (as RecordErrors),
        UNSUPPORTED_FOR_MESSAGE_FORMAT, UNKNOWN_SERVER_ERROR for a codec that does not exist, as the classic does.
    """
    if len(records) < LOG_OVERHEAD:
        return None
    try:
        header = read_header(records)
    except CorruptBatch as corrupt:
        _check_cut_short(records, corrupt)
        return None
    size = header.batch_length + LOG_OVERHEAD
    if size != len(records):
        if size > len(records):
            return None
        _refuse_second_batch(records, size)
        records = records[:size]
    if header.magic != MAGIC:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, f"records of message format {header.magic} are not supported"
        )
    if origin is Origin.CLIENT and header.base_offset != 0:
        raise _invalid(f"the base offset of a produced batch must be 0, not {header.base_offset}")
    if size > config.max_message_bytes:
        raise _too_large(size, config)
    if crc32c(records[CRC_START:]) != header.crc:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"the checksum of the batch is not {header.crc}")
    if origin is Origin.CLIENT:
        _check_client_header(header, size)
    if header.attributes & LOG_APPEND_TIME_FLAG:
        raise _all_refused(header, "a producer cannot send batches with timestamp type LogAppendTime")
    if header.attributes & CONTROL_FLAG:
        return _stamped(records, header, config, now_ms)
    if (config.is_compacted and origin is Origin.CLIENT) or config.checks_timestamps:  # coordinators know their keys
        _check_records(records, header, config, now_ms)
    target = config.target_codec
    if target is not None and target != header.attributes & CODEC_MASK:
        return _rebuilt(records, header, target, config, now_ms)
    return _stamped(records, header, config, now_ms) if config.stamps_append_time else (records, header)


def check_follower_batches(
    records: memoryview, log_start_offset: int, log_end_offset: int
) -> list[tuple[int, BatchHeader]]:
    """(position, header) of every whole batch that a follower got; an incomplete one at the end is dropped.

    Raises KafkaError(CORRUPT_MESSAGE); UnexpectedAppendOffset when they do not lie behind the log's end in order.
    """
    batches = []
    next_offset = -1
    position, end = 0, len(records)
    try:
        while (header := _whole_batch(records, position, end)) is not None:
            next_position = position + header[1] + LOG_OVERHEAD
            if crc32c(records[position + CRC_START : next_position]) != header[4]:
                verify_crc(records, position, header)
            if header[0] < next_offset or header[6] < 0:
                raise UnexpectedAppendOffset(
                    f"fetched batch at offset {header.base_offset} lies before offset {next_offset}",
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
    """The header of the v2 batch at `position`; None when it is not all there.

    Raises CorruptBatch, KafkaError(UNSUPPORTED_FOR_MESSAGE_FORMAT).
    """
    if end - position >= HEADER_SIZE:
        header = read_header(records, position)
        if position + header[1] + LOG_OVERHEAD > end:
            return None
    else:
        found = next(iter_headers(records, position, end), None)  # an older format may be shorter
        if found is None:
            return None
        header = found[1]
    if header[3] != MAGIC:
        raise KafkaError(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, f"message format {header.magic} is not supported")
    return header


def _check_cut_short(records: memoryview, corrupt: CorruptBatch) -> None:
    """A header that is merely cut short belongs to a partial batch; raises for any other that cannot be read."""
    size = int.from_bytes(records[8:12], "big", signed=True)
    if size < _SMALLEST_RECORD or size + LOG_OVERHEAD <= len(records):
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(corrupt)) from corrupt


def _refuse_second_batch(records: memoryview, size: int) -> None:
    """Raises when another whole batch follows the first one."""
    rest = len(records) - size
    if rest >= LOG_OVERHEAD:
        following = int.from_bytes(records[size + 8 : size + 12], "big", signed=True)
        if following + LOG_OVERHEAD <= rest:
            raise _invalid("a produce request must hold exactly one batch per partition")


def _check_client_header(header: BatchHeader, size: int) -> None:
    """What a batch from a client must fulfil beyond its checksum."""
    count = header.record_count
    if count <= 0 or header.last_offset_delta + 1 != count:
        raise _invalid(f"the batch announces {count} records and a last offset delta of {header.last_offset_delta}")
    codec = header.attributes & CODEC_MASK
    if codec == 0 and size < count * _SMALLEST_RECORD:
        raise _invalid(f"{count} records do not fit into {size} bytes")
    if codec > _LAST_CODEC:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"compression id {codec} does not exist")
    if header.attributes & CONTROL_FLAG:
        raise _invalid("clients cannot write control batches")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise _invalid(f"producer {header.producer_id} sent the invalid sequence {header.base_sequence}")


def _check_records(records: memoryview, header: BatchHeader, config: LogConfig, now_ms: int) -> None:
    """Keys of a compacted topic, and timestamps where the topic bounds them."""
    bound = config.message_timestamp_difference_max_ms if config.checks_timestamps else None
    errors: list[RecordError] = []
    late = False
    try:
        for index, record in enumerate(decode_records(records, header=header)):
            if config.is_compacted and record.key is None:
                errors.append(RecordError(index, "a compacted topic cannot take a record without a key"))
            elif bound is not None and record.timestamp != NO_TIMESTAMP and abs(record.timestamp - now_ms) > bound:
                late = True
                reason = f"timestamp {record.timestamp} is more than {bound} ms away from the broker's {now_ms}"
                errors.append(RecordError(index, reason))
    except CorruptBatch as corrupt:
        raise _invalid(str(corrupt)) from corrupt
    if errors:
        code = ErrorCode.INVALID_TIMESTAMP if late else ErrorCode.INVALID_RECORD
        raise RecordErrors(code, f"{len(errors)} of {header.record_count} records were refused", errors)


def _stamped(
    records: memoryview, header: BatchHeader, config: LogConfig, now_ms: int
) -> tuple[memoryview, BatchHeader]:
    """The batch with the broker's time, if the topic wants it."""
    if not config.stamps_append_time:
        return records, header
    stamp_log_append_time(records, 0, now_ms)
    return records, read_header(records)


def _rebuilt(
    records: memoryview, header: BatchHeader, codec: Codec, config: LogConfig, now_ms: int
) -> tuple[memoryview, BatchHeader]:
    """The same records in the topic's codec."""
    append_time = config.stamps_append_time
    builder = BatchBuilder(
        codec,
        timestamp_type=TimestampType.LOG_APPEND_TIME if append_time else TimestampType.CREATE_TIME,
        log_append_time_ms=now_ms if append_time else NO_TIMESTAMP,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=header.is_transactional,
    )
    try:
        for record in decode_records(records, header=header):
            builder.append(record.timestamp, record.key, record.value, record.headers)
    except CorruptBatch as corrupt:
        raise _invalid(str(corrupt)) from corrupt
    try:
        batch = memoryview(bytearray(builder.build()))
    except struct.error:  # a timestamp of more than 64 bits: that of the batch and what the record adds to it
        raise _invalid("a record's timestamp is out of range") from None
    if len(batch) > config.max_message_bytes:
        raise _too_large(len(batch), config)
    return batch, read_header(batch)


def _invalid(detail: str) -> KafkaError:
    return RecordErrors(ErrorCode.INVALID_RECORD, detail, [])


def _all_refused(header: BatchHeader, detail: str) -> RecordErrors:
    errors = [RecordError(index, detail) for index in range(max(header.record_count, 0))]
    return RecordErrors(ErrorCode.INVALID_TIMESTAMP, detail, errors)


def _too_large(size: int, config: LogConfig) -> KafkaError:
    return KafkaError(
        ErrorCode.MESSAGE_TOO_LARGE, f"a batch of {size} bytes exceeds max.message.bytes {config.max_message_bytes}"
    )
