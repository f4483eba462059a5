"""One answer, decoded: checks, limits, offsets inside batches, aborted transactions."""

from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.fetching.fetched import CompletedFetch, Decoding
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.records.control import ControlType, end_txn_marker

TP = TopicPartition("t", 1)


def batch(base: int, *values: bytes | None, **fields: Any) -> bytes:
    builder = BatchBuilder(base_offset=base, leader_epoch=4, **fields)
    for value in values:
        builder.append(1000, b"k", value)
    return builder.build()


def marker(kind: ControlType, offset: int, producer_id: int) -> bytes:
    return bytes(
        end_txn_marker(
            kind, producer_id=producer_id, producer_epoch=0, coordinator_epoch=0, timestamp=1000, base_offset=offset
        )
    )


def fetched(
    data: bytes, offset: int = 0, aborted: list[tuple[int, int]] | None = None, **decoding: Any
) -> CompletedFetch:
    return CompletedFetch(TP, 1, offset, memoryview(data), aborted or [], Decoding(**decoding))


def values(of: CompletedFetch, limit: int = 100) -> list[Any]:
    return [record.value for record in of.take(limit)]


def test_a_record_has_everything() -> None:
    record = fetched(batch(7, b"v")).take(1)[0]
    assert record[:9] == ("t", 1, 7, 1000, 0, 1, 1, b"k", b"v")
    assert record.leader_epoch == 4


def test_we3_24_null_has_size_minus_one() -> None:
    record = fetched(batch(0, None)).take(1)[0]
    assert (record.value, record.serialized_value_size) == (None, -1)


def test_the_limit_cuts_inside_batches_and_the_rest_follows() -> None:
    data = fetched(batch(0, b"a", b"b", b"c") + batch(3, b"d", b"e"))
    assert values(data, 2) == [b"a", b"b"]
    assert data.next_offset == 2
    assert values(data, 2) == [b"c", b"d"]
    assert values(data, 2) == [b"e"]
    assert data.next_offset == 5
    assert values(data, 2) == []
    assert data.exhausted
    assert data.end_offset == 5


def test_an_offset_inside_a_batch_skips_the_records_before_it() -> None:
    assert values(fetched(batch(0, b"a", b"b", b"c"), offset=1)) == [b"b", b"c"]


def test_an_incomplete_batch_at_the_end_is_left_out() -> None:
    whole = batch(0, b"a")
    data = fetched(whole + batch(1, b"b")[:-1])
    assert values(data) == [b"a"]
    assert data.end_offset == 1


def test_compressed_batches_are_decoded() -> None:
    assert values(fetched(batch(0, b"a", b"b", codec=Codec.GZIP))) == [b"a", b"b"]


def test_a_broken_checksum_is_raised_after_the_good_records_and_at_every_call() -> None:
    broken = bytearray(batch(1, b"b"))
    broken[-2] ^= 1
    data = fetched(batch(0, b"a") + bytes(broken))
    assert values(data) == [b"a"]
    for _ in range(2):
        with pytest.raises(KafkaError, match="offset 1 is invalid") as caught:
            data.take(10)
        assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
    unchecked = fetched(bytes(broken), offset=1, check_crcs=False)
    assert len(unchecked.take(10)) == 1


def test_a_record_that_cannot_be_deserialized_stops_the_position_at_it() -> None:
    def convert(_topic: str, data: bytes) -> int:
        return int(data)

    data = fetched(batch(0, b"1", b"2", b"x", b"4"), value=convert)
    assert values(data) == [1, 2]
    assert data.next_offset == 2
    with pytest.raises(KafkaError, match="offset 2"):
        data.take(10)
    assert data.next_offset == 2


def test_control_batches_are_never_returned_but_passed() -> None:
    data = fetched(batch(0, b"a", producer_id=9, transactional=True) + marker(ControlType.COMMIT, 1, 9))
    assert values(data) == [b"a"]
    assert values(data) == []
    assert data.next_offset == 2


def test_read_committed_leaves_out_what_was_aborted_and_only_that() -> None:
    log = (
        batch(0, b"open 9", producer_id=9, transactional=True)
        + batch(1, b"plain")
        + batch(2, b"other", producer_id=8, transactional=True)
        + marker(ControlType.ABORT, 3, 9)
        + batch(4, b"next 9", producer_id=9, transactional=True)
        + marker(ControlType.COMMIT, 5, 9)
        + marker(ControlType.COMMIT, 6, 8)
    )
    assert values(fetched(log, aborted=[(9, 0)], reads_committed=True)) == [b"plain", b"other", b"next 9"]
    assert values(fetched(log, aborted=[], reads_committed=False)) == [b"open 9", b"plain", b"other", b"next 9"]


def test_a_producer_that_aborts_twice_is_left_out_twice() -> None:
    log = (
        batch(0, b"1", producer_id=9, transactional=True)
        + marker(ControlType.ABORT, 1, 9)
        + batch(2, b"2", producer_id=9, transactional=True)
        + marker(ControlType.ABORT, 3, 9)
        + batch(4, b"3", producer_id=9, transactional=True)
    )
    assert values(fetched(log, aborted=[(9, 2), (9, 0)], reads_committed=True)) == [b"3"]


def test_only_aborted_records_still_move_the_position_on() -> None:
    data = fetched(batch(0, b"1", producer_id=9, transactional=True), aborted=[(9, 0)], reads_committed=True)
    assert values(data) == []
    assert data.next_offset == 1
