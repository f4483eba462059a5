"""Faults of a produce request's records as a set, by request version (docs/reference/replication.md, section 1)."""

import gc
import random
import weakref
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.handlers.records.produce import _fault, _known_error, handle
from kafka_py.log.validation.header_trust import HeaderTrust
from kafka_py.net.client_software import UNKNOWN_SOFTWARE
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.replication.leader.delayed import AppendResult
from kafka_py.security.acls.authorization import ALLOW_ALL
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData


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


def test_clients_get_errors_that_they_know() -> None:
    assert _known_error(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, 2) is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert _known_error(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, 1) is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_request_that_waits_for_followers_keeps_none_of_its_records() -> None:
    """Up to the queued bytes of a connection would stay in memory while one follower is slow."""
    kept: list[Any] = []

    class Appends:
        def new_trust(self, client: str) -> HeaderTrust:
            return HeaderTrust(client, random.Random(1))

        def append(self, accepted: Any, acks: int, timeout_ms: int, on_done: Any, **_: Any) -> None:
            kept.append(on_done)

    node = SimpleNamespace(
        appends=Appends(), authorizer=ALLOW_ALL,
        metadata=SimpleNamespace(has_partition=lambda topic_partition: topic_partition.partition == 0),
    )  # fmt: skip
    connection = SimpleNamespace(batch_trust=None, client_software=UNKNOWN_SOFTWARE, peer_host="h")
    context = SimpleNamespace(api_version=8, client_id="c", connection=connection, large_request=None)
    rows = [PartitionProduceData(index=number, records=memoryview(batch())) for number in range(2)]
    records = [weakref.ref(row.records) for row in rows]
    request = ProduceRequest(acks=-1, timeout_ms=1, topic_data=[TopicProduceData(name="t", partition_data=rows)])
    handle(node, context, request)  # type: ignore[arg-type]
    assert len(kept) == 1
    del rows, request
    gc.collect()
    assert [each() for each in records] == [None, None]


@pytest.mark.parametrize(("record_errors", "is_short"), [((), True), ([(0, "no key"), (1, "no key")], False)])
def test_an_answer_that_names_single_records_is_not_taken_for_a_short_one(record_errors: Any, is_short: bool) -> None:
    """A thousand records may be refused for each of many small batches: too many to be encoded without a pause."""

    class Appends:
        def append(self, accepted: Any, acks: int, timeout_ms: int, on_done: Any, **_: Any) -> None:
            [(topic_partition, _records)] = accepted
            result = AppendResult(topic_partition, ErrorCode.INVALID_RECORD, "refused")
            result.record_errors += record_errors
            on_done([result])

    node = SimpleNamespace(
        appends=Appends(), authorizer=ALLOW_ALL, metadata=SimpleNamespace(has_partition=lambda _: True)
    )
    answers: list[Any] = []
    context = SimpleNamespace(
        api_version=8, client_id="c", connection=SimpleNamespace(batch_trust=HeaderTrust("c", random.Random(1))),
        large_request=None, has_short_answer=True, answer=answers.append,
        metrics=SimpleNamespace(count_error=lambda _name: None),
    )  # fmt: skip
    rows = [PartitionProduceData(index=0, records=memoryview(batch()))]
    request = ProduceRequest(acks=1, timeout_ms=1, topic_data=[TopicProduceData(name="t", partition_data=rows)])
    handle(node, context, request)  # type: ignore[arg-type]
    [topic] = answers[0].responses
    assert len(topic.partition_responses[0].record_errors) == len(record_errors)
    assert context.has_short_answer is is_short
