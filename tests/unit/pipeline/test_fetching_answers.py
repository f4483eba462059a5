"""Ranges read from pretend brokers that throttle, name another replica, or deny the topic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("numpy")

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.pipeline import fetching
from kafka_py.pipeline.fetching import RangeReader
from kafka_py.pipeline.links import Link
from kafka_py.pipeline.ranges import OffsetRange
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.control import ControlType, end_txn_marker
from kafka_py.testing.fakes.fake_answers import ANSWERS
from kafka_py.testing.fakes.fake_cluster import FakeCluster
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.fetch import (
    AbortedTransaction,
    FetchablePartitionResponse,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(2) as made:
        made.create_topic("t")
        for first in (0, 5):
            builder = BatchBuilder()
            for number in range(first, first + 5):
                builder.append(1000, None, b"%d" % number)
            made.log("t").append(builder.build())
        yield made


@pytest.fixture
def link(cluster: FakeCluster) -> Iterator[Link]:
    made = Link({"bootstrap.servers": cluster.bootstrap_servers, "client.rack": "b"})
    yield made
    made.close()


def read(link: Link, **settings: Any) -> list[int]:
    given = {"fetch_bytes": 1 << 20, "timeout_ms": 10_000, "fail_on_data_loss": True, **settings}
    chunks = RangeReader(link, OffsetRange("t", 0, 0, 10), **given)
    return [int(columns.value(index) or b"-1") for columns in chunks for index in range(columns.record_count)]


def asked(cluster: FakeCluster) -> list[int]:
    """The brokers that got a fetch, in order."""
    return [node_id for node_id, request in cluster.requests if isinstance(request, FetchRequest)]


def throttled(throttle_time_ms: int) -> Any:
    return lambda _request: FetchResponse(
        throttle_time_ms=throttle_time_ms, error_code=ErrorCode.NONE, session_id=0, responses=[]
    )


def instead_of_records(**fields: Any) -> Any:
    row = FetchablePartitionResponse(**{
        "partition": 0, "error_code": ErrorCode.NONE, "high_watermark": 10, "record_set": b"", **fields,
    })  # fmt: skip
    topic = FetchableTopicResponse(topic="t", partition_responses=[row])
    return lambda _request: FetchResponse(
        throttle_time_ms=0, error_code=ErrorCode.NONE, session_id=0, responses=[topic]
    )


def serve_everywhere(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Followers answer fetches as the leader does."""
    whole = ANSWERS[ApiKey.FETCH]
    monkeypatch.setitem(ANSWERS, ApiKey.FETCH, lambda made, _node, request, error: whole(made, 0, request, error))


@pytest.mark.parametrize("throttle_time_ms", [50, 0])
def test_an_answer_without_partitions_is_asked_again(cluster: FakeCluster, link: Link, throttle_time_ms: int) -> None:
    cluster.fail(ApiKey.FETCH, throttled(throttle_time_ms), throttled(throttle_time_ms))
    assert read(link) == list(range(10))


def test_the_time_a_broker_asks_for_is_not_counted_against_the_time_out(cluster: FakeCluster, link: Link) -> None:
    cluster.fail(ApiKey.FETCH, *[throttled(150)] * 4)
    assert read(link, timeout_ms=200) == list(range(10))


def test_the_replica_that_the_leader_names_is_read(
    cluster: FakeCluster, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve_everywhere(cluster, monkeypatch)
    cluster.fail(ApiKey.FETCH, instead_of_records(preferred_read_replica=1))
    assert read(link) == list(range(10))
    assert asked(cluster) == [0, 1]


@pytest.mark.parametrize(
    "code", [ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_SERVER_ERROR]
)
def test_a_named_replica_that_fails_is_left_for_the_leader(cluster: FakeCluster, link: Link, code: ErrorCode) -> None:
    cluster.fail(ApiKey.FETCH, instead_of_records(preferred_read_replica=1), code)
    assert read(link) == list(range(10))
    assert asked(cluster) == [0, 1, 0]


def test_a_named_replica_that_is_not_known_is_not_asked(cluster: FakeCluster, link: Link) -> None:
    cluster.fail(ApiKey.FETCH, instead_of_records(preferred_read_replica=7))
    assert read(link) == list(range(10))
    assert asked(cluster) == [0, 0]


def test_a_deleted_topic_ends_the_range_where_loss_is_accepted(
    cluster: FakeCluster, link: Link, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(fetching, "UNKNOWN_FOR_S", 0.2)
    del cluster.partitions[TopicPartition("t", 0)]
    assert read(link, timeout_ms=30_000, fail_on_data_loss=False) == []
    assert "t-0 does not exist; its offsets from 0 to 10 are skipped" in caplog.text


def test_a_deleted_topic_fails_the_range_where_loss_is_not_accepted(
    cluster: FakeCluster, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "UNKNOWN_FOR_S", 0.0)
    del cluster.partitions[TopicPartition("t", 0)]
    with pytest.raises(KafkaError, match="reading t-0 at offset 0"):
        read(link, timeout_ms=500)


def test_a_topic_that_is_denied_for_a_moment_is_read(cluster: FakeCluster, link: Link) -> None:
    cluster.fail(ApiKey.FETCH, *[ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 3)
    assert read(link, fail_on_data_loss=False) == list(range(10))


def written(number: int, producer: int = -1, *, transactional: bool = True) -> bytes:
    """A batch with the record `number` at that offset; -1 for no producer."""
    is_in_one = transactional and producer >= 0
    builder = BatchBuilder(
        base_offset=number, producer_id=producer, producer_epoch=0, base_sequence=0, transactional=is_in_one
    )
    builder.append(1000, None, b"%d" % number)
    return builder.build()


def ended(offset: int, producer: int, kind: ControlType) -> bytes:
    return end_txn_marker(
        kind, producer_id=producer, producer_epoch=0, coordinator_epoch=0, timestamp=1000, base_offset=offset
    )


FIRST = written(0, 1) + written(1, 2) + written(2)
SECOND = (
    written(3, 1) + ended(4, 1, ControlType.ABORT) + written(5, 1) + ended(6, 1, ControlType.COMMIT)
    + ended(7, 2, ControlType.COMMIT) + written(8, 1, transactional=False) + written(9)
)  # fmt: skip


@pytest.mark.parametrize(
    ("isolation", "seen"),
    [("read_committed", [1, 2, 5, 8, 9]), ("read_uncommitted", [0, 1, 2, 3, 5, 8, 9])],
)
def test_what_aborted_transactions_wrote_is_left_out_for_committed_readers(
    cluster: FakeCluster, isolation: str, seen: list[int]
) -> None:
    aborted = [AbortedTransaction(producer_id=1, first_offset=0)] if isolation == "read_committed" else None
    for part in (FIRST, SECOND):
        cluster.fail(ApiKey.FETCH, instead_of_records(record_set=part, aborted_transactions=aborted))
    link = Link({"bootstrap.servers": cluster.bootstrap_servers, "isolation.level": isolation})
    try:
        assert read(link) == seen
    finally:
        link.close()
    fetches = [request for _, request in cluster.requests if isinstance(request, FetchRequest)]
    assert {request.isolation_level for request in fetches} == {int(isolation == "read_committed")}


def test_an_aborted_transaction_whose_marker_is_gone_hides_nothing_of_the_next_answer(cluster: FakeCluster) -> None:
    aborted = [AbortedTransaction(producer_id=1, first_offset=0)]
    cluster.fail(ApiKey.FETCH, instead_of_records(record_set=FIRST, aborted_transactions=aborted))
    cluster.fail(ApiKey.FETCH, instead_of_records(
        record_set=written(8, 1) + ended(9, 1, ControlType.COMMIT), aborted_transactions=None))  # fmt: skip
    link = Link({"bootstrap.servers": cluster.bootstrap_servers, "isolation.level": "read_committed"})
    try:
        assert read(link) == [1, 2, 8]
    finally:
        link.close()
