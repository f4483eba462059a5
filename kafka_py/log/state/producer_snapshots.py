"""The `<offset>.snapshot` files: producer state, valid up to that offset (exclusive).

Bytes only; recovery.py and partition_log.py decide which snapshots are kept.
Source: docs/reference/log.md, section 9.

Layout: version i16 (1), crc u32 (CRC-32C from byte 6 on), count i32; per producer 46 bytes: producer_id i64,
epoch i16, last_sequence i32, last_offset i64, offset_delta i32, timestamp i64, coordinator_epoch i32,
current_txn_first_offset i64.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from kafka_py.log.state.producer_state import AppendedBatch, ProducerStateEntry
from kafka_py.records.batch import NO_SEQUENCE
from kafka_py.records.crc32c import crc32c

_VERSION = 1
_HEAD = struct.Struct(">hIi")
_ENTRY = struct.Struct(">qhiqiqiq")
_CRC_FROM = 6
_NO_OFFSET = -1


class CorruptSnapshot(ValueError):
    """The file cannot be used; recovery falls back to an older one, or none."""


def encode_snapshot(producers: Iterable[tuple[int, ProducerStateEntry]]) -> bytes:
    """The file's content; it has only the newest batch of each producer."""
    out = bytearray(_HEAD.size)
    count = 0
    for producer_id, producer in producers:
        last = producer.batches[-1] if producer.batches else None
        first_offset = producer.txn_first_offset
        out += _ENTRY.pack(
            producer_id,
            producer.epoch,
            last.last_sequence if last else NO_SEQUENCE,
            last.last_offset if last else _NO_OFFSET,
            last.offset_delta if last else 0,
            producer.last_timestamp,
            producer.coordinator_epoch,
            _NO_OFFSET if first_offset is None else first_offset,
        )
        count += 1
    _HEAD.pack_into(out, 0, _VERSION, 0, count)
    _HEAD.pack_into(out, 0, _VERSION, crc32c(memoryview(out)[_CRC_FROM:]), count)
    return bytes(out)


def decode_snapshot(data: bytes) -> list[tuple[int, ProducerStateEntry]]:
    """The producers of a snapshot. Raises CorruptSnapshot for another version, a wrong checksum or short data."""
    if len(data) < _HEAD.size:
        raise CorruptSnapshot(f"{len(data)} bytes are too few for a producer snapshot")
    version, crc, count = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise CorruptSnapshot(f"producer snapshot version {version} is not known")
    if crc != crc32c(memoryview(data)[_CRC_FROM:]):
        raise CorruptSnapshot("the producer snapshot's checksum does not match")
    if count < 0 or len(data) != _HEAD.size + count * _ENTRY.size:
        raise CorruptSnapshot(f"a producer snapshot of {count} entries cannot have {len(data)} bytes")
    return [_producer(fields) for fields in _ENTRY.iter_unpack(data[_HEAD.size :])]


def _producer(fields: tuple[int, ...]) -> tuple[int, ProducerStateEntry]:
    producer_id, epoch, last_sequence, last_offset, delta, timestamp, coordinator_epoch, first_offset = fields
    batches = [AppendedBatch(last_sequence, last_offset, delta, timestamp)] if last_offset >= 0 else []
    txn_first_offset = None if first_offset == _NO_OFFSET else first_offset
    return producer_id, ProducerStateEntry(epoch, batches, coordinator_epoch, timestamp, txn_first_offset)
