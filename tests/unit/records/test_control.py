"""Markers read and written as Apache Kafka 2.8.2 does."""

import pytest

from kafka_py.records.batch import CorruptBatch, Record, decode_records, read_header, verify_crc
from kafka_py.records.control import (
    ControlType,
    EndTxnMarker,
    end_txn_marker,
    plain_end_txn_marker,
    read_control_type,
    read_end_txn_marker,
)

# As Apache Kafka 2.8.2 writes it: commit, coordinator epoch 4, offset 10.
COMMIT = bytes.fromhex(
    "000000000000000a 00000042 00000003 02 f5e2de90 0030 00000000 00000174876e8000 00000174876e8000"
    "00000000000003e8 0001 ffffffff 00000001 20 00 00 00 08 00000001 0c 000000000004 00"
)


def control_record(key: str, value: str = "000000000004") -> Record:
    return Record(10, 0, bytes.fromhex(key), bytes.fromhex(value))


def test_reference_example_is_written_byte_for_byte():
    marker = end_txn_marker(
        ControlType.COMMIT,
        producer_id=1000,
        producer_epoch=1,
        coordinator_epoch=4,
        timestamp=1_600_000_000_000,
        base_offset=10,
        leader_epoch=3,
    )
    assert marker == COMMIT


def test_reference_example_reads_back():
    verify_crc(COMMIT)
    (record,) = decode_records(COMMIT)
    assert read_control_type(record) is ControlType.COMMIT
    assert read_end_txn_marker(record) == EndTxnMarker(ControlType.COMMIT, 4)


@pytest.mark.parametrize(("type_", "number"), [(ControlType.COMMIT, 1), (ControlType.ABORT, 0)])
def test_w7_28_a_control_batch_holds_one_record_whose_key_tells_its_type(type_, number):
    """W7.28, S3-102, S3-103: key type 1 for commit, 0 for abort; both attribute bits set; one record without deltas."""
    data = end_txn_marker(type_, producer_id=1, producer_epoch=0, coordinator_epoch=0, timestamp=5)
    header = read_header(data)
    assert header.attributes & 0x30 == 0x30
    assert header.record_count == 1
    (record,) = decode_records(data)
    assert record.key == bytes((0, 0, 0, number))
    assert (record.offset, record.timestamp, record.value) == (0, 5, bytes(6))


def test_an_abort_says_so():
    data = end_txn_marker(ControlType.ABORT, producer_id=1, producer_epoch=0, coordinator_epoch=-1, timestamp=5)
    header = read_header(data)
    assert header.is_control and header.is_transactional and header.base_sequence == -1
    assert read_end_txn_marker(decode_records(data)[0]) == EndTxnMarker(ControlType.ABORT, -1)


@pytest.mark.parametrize("key", ["00000002", "00000003", "00000100", "0000ffff"])
def test_other_types_are_unknown(key):
    assert read_control_type(control_record(key)) is ControlType.UNKNOWN
    with pytest.raises(CorruptBatch):
        read_end_txn_marker(control_record(key))


def test_later_versions_read_as_version_0():
    assert read_end_txn_marker(control_record("0005 0001 beef", "0009 00000007 00")) == (ControlType.COMMIT, 7)


@pytest.mark.parametrize("key", ["", "000000", "ffff0001"])
def test_a_short_key_or_negative_version_is_corrupt(key):
    with pytest.raises(CorruptBatch):
        read_control_type(control_record(key))
    with pytest.raises(CorruptBatch):
        read_control_type(Record(0, 0, None, b""))


@pytest.mark.parametrize("value", ["", "0000000000", "ffff00000001"])
def test_a_short_value_or_negative_version_is_corrupt(value):
    with pytest.raises(CorruptBatch):
        read_end_txn_marker(control_record("00000001", value))
    with pytest.raises(CorruptBatch):
        read_end_txn_marker(Record(0, 0, b"\0\0\0\1", None))


def test_no_marker_of_an_unknown_type_is_written():
    with pytest.raises(ValueError, match="COMMIT or ABORT"):
        end_txn_marker(ControlType.UNKNOWN, producer_id=1, producer_epoch=0, coordinator_epoch=0, timestamp=0)


def test_the_marker_of_the_reference_example_is_plain():
    assert plain_end_txn_marker(COMMIT) == EndTxnMarker(ControlType.COMMIT, 4)
    assert plain_end_txn_marker(COMMIT + b"\0") is None
    assert plain_end_txn_marker(COMMIT[:-1]) is None
    data = end_txn_marker(
        ControlType.ABORT, producer_id=2**62, producer_epoch=32767, coordinator_epoch=2**31 - 1, timestamp=2**40
    )
    assert plain_end_txn_marker(memoryview(data)) == EndTxnMarker(ControlType.ABORT, 2**31 - 1)


def test_what_is_taken_for_plain_reads_the_same_when_it_is_decoded():
    """Of all changes of one byte: those of the coordinator epoch and the type remain plain, all others are decoded."""
    plain = 0
    for position in range(22, len(COMMIT)):
        for flip in range(1, 256):
            changed = bytearray(COMMIT)
            changed[position] ^= flip
            found = plain_end_txn_marker(changed)
            if position >= 61 and found is not None:
                plain += 1
                assert read_end_txn_marker(decode_records(changed)[0]) == found
    assert plain == 4 * 255 + 1
