"""What is wrong with a produce request's records as a set, by request version (replication facts, section 1)."""

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.handlers.produce import _fault
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec


def batch(codec: Codec = Codec.NONE) -> bytes:
    builder = BatchBuilder(codec)
    builder.append(1000, b"k", b"v")
    return builder.build()


def code(records: bytes | None, version: int = 8) -> ErrorCode | None:
    fault = _fault(None if records is None else memoryview(records), version)
    return None if fault is None else fault[0]


def test_one_whole_batch_is_fine_also_with_a_torn_tail() -> None:
    assert code(batch()) is None
    assert code(batch() + b"\0" * 11) is None
    assert code(batch() + batch()[:-1]) is None


@pytest.mark.parametrize("records", [None, b"", batch()[:-1], batch()[:16]], ids=["null", "empty", "torn", "stump"])
def test_without_a_whole_batch_the_record_is_invalid(records: bytes | None) -> None:
    assert code(records) is ErrorCode.INVALID_RECORD


def test_two_batches_are_invalid() -> None:
    assert code(batch() * 2) is ErrorCode.INVALID_RECORD


def test_older_formats_are_invalid_from_v3_on() -> None:
    old = bytearray(batch())
    old[16] = 1
    assert code(bytes(old)) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("magic", [3, 0x80])
def test_formats_that_do_not_exist_are_corrupt(magic: int) -> None:
    broken = bytearray(batch())
    broken[16] = magic
    assert code(bytes(broken)) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("length", [-1, 0, 13])
def test_a_length_that_cannot_be_is_corrupt(length: int) -> None:
    broken = bytearray(batch())
    broken[8:12] = length.to_bytes(4, "big", signed=True)
    assert code(bytes(broken)) is ErrorCode.CORRUPT_MESSAGE
    assert code(batch() + bytes(broken)) is ErrorCode.CORRUPT_MESSAGE


def test_zstd_needs_v7() -> None:
    assert code(batch(Codec.ZSTD), 6) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert code(batch(Codec.ZSTD), 7) is None


def test_before_v3_nothing_is_looked_at() -> None:
    assert code(b"anything", 2) is None
