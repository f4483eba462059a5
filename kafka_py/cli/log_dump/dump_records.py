"""What kafka-dump-log.sh prints of a .log file: a line per batch and, in depth, a line per record.

Batches are taken as they are: a wrong checksum is shown, not refused. Source: docs/reference/tools.md, section 18.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import NamedTuple

from kafka_py.cli.console.record_texts import Decoder
from kafka_py.records.batch import (
    LOG_OVERHEAD,
    MAGIC,
    NO_SEQUENCE,
    SIZE_UP_TO_MAGIC,
    BatchHeader,
    CorruptBatch,
    Record,
    TimestampType,
    decode_records,
    read_header,
    verify_crc,
)
from kafka_py.records.control import ControlType, read_end_txn_marker
from kafka_py.records.legacy import SMALLEST_ENTRY
from kafka_py.records.legacy_records import LegacyRecord, read_records
from kafka_py.wire.stored_records import UndecodableRecord

_SIZE = Struct(">i")
_CONTROL_KEY = Struct(">hh")
_CONTROL_NAMES = {2: "LEADER_CHANGE"}
_TIME_NAMES = {
    TimestampType.NO_TIMESTAMP_TYPE: "NoTimestampType",
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}


class Depth(NamedTuple):
    """What is shown of records. decoder: None leaves keys and values out. metadata: whether all else is shown."""

    decoder: Decoder | None = None
    metadata: bool = True


class Gap(NamedTuple):
    """Two records in a row whose offsets are not."""

    offset: int
    next_offset: int


def batches(buf: memoryview, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of every whole batch from `position` on. Raises CorruptBatch for a header that is none."""
    end = len(buf)
    while end - position > SIZE_UP_TO_MAGIC:
        size: int = _SIZE.unpack_from(buf, position + 8)[0]
        if size >= SMALLEST_ENTRY[0] and position + LOG_OVERHEAD + size > end:
            return
        header = read_header(buf, position)
        yield position, header
        position += header.size_bytes


def records_of(buf: memoryview, position: int, header: BatchHeader) -> list[Record] | list[LegacyRecord]:
    """The records of a batch of any format. Raises CorruptBatch."""
    if header.magic == MAGIC:
        return decode_records(buf, position, header=header)
    return read_records(buf, position)


def log_lines(
    buf: memoryview, name: str, depth: Depth | None, gaps: list[Gap], seen: Callable[[int], object]
) -> Iterator[str]:
    """The lines of one file; `gaps` gets the offsets that do not follow one another.

    depth: None for batches only. seen: called with the position of every batch.
    Raises CorruptBatch and UndecodableRecord, after what was good before.
    """
    end = 0
    last_offset: int | None = None
    for position, header in batches(buf):
        yield batch_line(buf, position, header)
        end = position + header.size_bytes
        seen(position)
        if depth is None:
            continue
        records = records_of(buf, position, header)
        first_offset = records[0].offset if records else header.base_offset
        for record in records:
            if last_offset is not None and record.offset != last_offset + 1:
                gaps.append(Gap(last_offset, record.offset))
            last_offset = record.offset
            yield record_line(record, header, position, first_offset, depth)
    if end < len(buf):
        yield f"Found {len(buf) - end} invalid bytes at the end of {name}"


def batch_line(buf: memoryview, position: int, header: BatchHeader) -> str:
    """One batch. Raises CorruptBatch for a codec that does not exist."""
    if header.magic == MAGIC:
        start = (
            f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.record_count} "
            f"baseSequence: {header.base_sequence} lastSequence: {header.last_sequence} "
            f"producerId: {header.producer_id} producerEpoch: {header.producer_epoch} "
            f"partitionLeaderEpoch: {header.partition_leader_epoch} "
            f"isTransactional: {_truth(header.is_transactional)} isControl: {_truth(header.is_control)}"
        )
    else:
        start = f"offset: {header.last_offset}"
    return (
        f"{start} position: {position} {_TIME_NAMES[header.timestamp_type]}: {header.max_timestamp} "
        f"size: {header.size_bytes} magic: {header.magic} compresscodec: {header.codec.name} crc: {header.crc} "
        f"isvalid: {_truth(_is_valid(buf, position, header))}"
    )


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _is_valid(buf: memoryview, position: int, header: BatchHeader) -> bool:
    try:
        verify_crc(buf, position, header)
    except CorruptBatch:
        return False
    return True


def record_line(
    record: Record | LegacyRecord, header: BatchHeader, position: int, first_offset: int, depth: Depth
) -> str:
    """One record of the batch at `position`. Raises UndecodableRecord, CorruptBatch for a senseless control record."""
    line = ""
    if depth.metadata:
        line = f"| {_metadata(record, header, position, first_offset)}"
        if header.is_control and isinstance(record, Record):
            line += f" {_control_text(record)}"
    if depth.decoder is not None and not header.is_control:
        try:
            key, value = depth.decoder(record.key, record.value)
        except UndecodableRecord as error:
            raise UndecodableRecord(f"the record at offset {record.offset}: {error}") from error
        if key is not None:
            line += f"{' ' if line else '| '}key: {key}"
        if value is not None:
            line += f" payload: {value}"  # a value alone has no bar in front of it, as in Apache Kafka's output
    return line


def _metadata(record: Record | LegacyRecord, header: BatchHeader, position: int, first_offset: int) -> str:
    if isinstance(record, LegacyRecord):
        base_offset, valid, crc = first_offset, _truth(record.is_valid), str(record.crc)
        end = f"crc: {crc} isvalid: {valid}"
    else:
        base_offset, valid, crc = header.base_offset, "true", "null"
        keys = ",".join(name for name, _ in record.headers)
        end = f"sequence: {_sequence(record, header)} headerKeys: [{keys}]"
    return (
        f"offset: {record.offset} isValid: {valid} crc: {crc} "
        f"keySize: {_size(record.key)} valueSize: {_size(record.value)} "
        f"{_TIME_NAMES[header.timestamp_type]}: {record.timestamp} baseOffset: {base_offset} "
        f"lastOffset: {header.last_offset} baseSequence: {header.base_sequence} lastSequence: {header.last_sequence} "
        f"producerEpoch: {header.producer_epoch} partitionLeaderEpoch: {header.partition_leader_epoch} "
        f"batchSize: {header.size_bytes} magic: {header.magic} compressType: {header.codec.name} position: {position} "
        f"{end}"
    )


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _sequence(record: Record, header: BatchHeader) -> int:
    if header.base_sequence == NO_SEQUENCE:
        return NO_SEQUENCE
    return (header.base_sequence + record.offset - header.base_offset) & 0x7FFFFFFF


def _control_text(record: Record) -> str:
    if record.key is None or len(record.key) < _CONTROL_KEY.size:
        raise CorruptBatch(f"the key of the control record at offset {record.offset} is too short")
    type_id = _CONTROL_KEY.unpack_from(record.key)[1]
    if type_id not in (ControlType.ABORT, ControlType.COMMIT):
        return f"controlType: {_CONTROL_NAMES.get(type_id, 'UNKNOWN')}({type_id})"
    marker = read_end_txn_marker(record)
    return f"endTxnMarker: {marker.control_type.name} coordinatorEpoch: {marker.coordinator_epoch}"
