"""Control records: the markers that end a transaction in a partition.

A control batch holds exactly one; consumers never see it. Layout: key = version i16, type i16; value = version i16,
coordinator_epoch i32; longer ones come from later versions and read as version 0 (KIP-98).
"""

import struct
from enum import IntEnum
from typing import NamedTuple

from kafka_py.records.batch import CODEC_MASK, HEADER_SIZE, NO_LEADER_EPOCH, CorruptBatch, Record
from kafka_py.records.builder import BatchBuilder

_KEY = struct.Struct(">hh")
_VALUE = struct.Struct(">hi")
_VERSION = 0

_PLAIN = struct.Struct(">5shhBhiB")
"""The record of a marker without gaps, headers or time of its own: lengths and deltas, key, value."""
_PLAIN_FIXED = (bytes((32, 0, 0, 0, 8)), _VERSION, 12, _VERSION, 0)
"""Its length, attributes, deltas, the key's length and version, the value's length and version, no headers; lengths are
zigzag varints."""
_PLAIN_SIZE = HEADER_SIZE + _PLAIN.size
_ATTRIBUTES = 22  # position of their low byte


class ControlType(IntEnum):
    """What a control record says; types of KRaft and of times to come are UNKNOWN, to be ignored."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1


class EndTxnMarker(NamedTuple):
    """The end of a producer's transaction. coordinator_epoch: of the coordinator that decided it."""

    control_type: ControlType
    coordinator_epoch: int


def read_control_type(record: Record) -> ControlType:
    """Raises CorruptBatch when the key is too short or its version negative."""
    key = record.key
    if key is None or len(key) < _KEY.size:
        raise CorruptBatch(f"the key of the control record at offset {record.offset} is too short")
    version, control_type = _KEY.unpack_from(key)
    if version < 0:
        raise CorruptBatch(f"the control record at offset {record.offset} has version {version}")
    return _TYPES.get(control_type, ControlType.UNKNOWN)


def read_end_txn_marker(record: Record) -> EndTxnMarker:
    """The marker in a record of type ABORT or COMMIT. Raises CorruptBatch when key or value is none."""
    control_type = read_control_type(record)
    value = record.value
    if control_type is ControlType.UNKNOWN or value is None or len(value) < _VALUE.size:
        raise CorruptBatch(f"the control record at offset {record.offset} is no end of a transaction")
    version, coordinator_epoch = _VALUE.unpack_from(value)
    if version < 0:
        raise CorruptBatch(f"the end of a transaction at offset {record.offset} has version {version}")
    return EndTxnMarker(control_type, coordinator_epoch)


def end_txn_marker(
    control_type: ControlType,
    *,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytes:
    """The control batch that commits or aborts what `producer_id` has written to a partition."""
    if control_type is ControlType.UNKNOWN:
        raise ValueError("a transaction ends with COMMIT or ABORT")
    builder = BatchBuilder(
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
        leader_epoch=leader_epoch,
    )
    builder.append(timestamp, _KEY.pack(_VERSION, control_type), _VALUE.pack(_VERSION, coordinator_epoch))
    return builder.build()


def plain_end_txn_marker(batch: bytes | memoryview) -> EndTxnMarker | None:
    """The marker of a batch that is encoded as every broker encodes it; None for all others, which are decoded.

    Many times faster than decoding: a transaction has a marker in each of its partitions.
    """
    if len(batch) != _PLAIN_SIZE or batch[_ATTRIBUTES] & CODEC_MASK:
        return None
    before_key, version, control_type, before_value, value_version, coordinator_epoch, headers = _PLAIN.unpack_from(
        batch, HEADER_SIZE
    )
    found = _TYPES.get(control_type)
    if (before_key, version, before_value, value_version, headers) != _PLAIN_FIXED or found is None:
        return None
    return EndTxnMarker(found, coordinator_epoch)


_TYPES = {int(ControlType.ABORT): ControlType.ABORT, int(ControlType.COMMIT): ControlType.COMMIT}
