"""The bytes of producer snapshots."""

import pytest

from kafka_py.log.state.producer_snapshots import CorruptSnapshot, decode_snapshot, encode_snapshot
from kafka_py.log.state.producer_state import AppendedBatch, ProducerStateEntry
from kafka_py.records.crc32c import crc32c


def producers() -> list[tuple[int, ProducerStateEntry]]:
    first = ProducerStateEntry(1)
    first.keep([AppendedBatch(2, 2, 2, 900), AppendedBatch(4, 4, 1, 1000)])
    first.last_timestamp = 1000
    second = ProducerStateEntry(7)
    second.coordinator_epoch = 3
    second.last_timestamp = 2000
    second.txn_first_offset = 99
    return [(1000, first), (1001, second)]


def test_layout_and_only_the_newest_batch_is_kept():
    data = encode_snapshot(producers())
    entries = bytes.fromhex(
        "00000000000003e8 0001 00000004 0000000000000004 00000001 00000000000003e8 ffffffff ffffffffffffffff"
        "00000000000003e9 0007 ffffffff ffffffffffffffff 00000000 00000000000007d0 00000003 0000000000000063"
    )
    body = bytes.fromhex("00000002") + entries
    assert data == b"\0\1" + crc32c(body).to_bytes(4, "big") + body
    (first_id, first), (second_id, second) = decode_snapshot(data)
    assert (first_id, first.epoch, first.batches) == (1000, 1, [AppendedBatch(4, 4, 1, 1000)])
    assert (second_id, second.coordinator_epoch, second.txn_first_offset) == (1001, 3, 99)
    assert second.batches == []


def test_an_empty_snapshot_has_ten_bytes():
    assert len(encode_snapshot([])) == 10
    assert decode_snapshot(encode_snapshot([])) == []


def test_every_flipped_byte_and_every_cut_is_noticed():
    data = encode_snapshot(producers())
    for position in range(len(data)):
        flipped = bytearray(data)
        flipped[position] ^= 0x10
        with pytest.raises(CorruptSnapshot):
            decode_snapshot(bytes(flipped))
        with pytest.raises(CorruptSnapshot):
            decode_snapshot(data[:position])
