"""The consumer against pretend brokers that fail on request."""

import asyncio
import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients import (
    AsyncConsumer,
    ClientTimeout,
    ConcurrentModification,
    Consumer,
    ConsumerRecord,
    IllegalState,
    LogTruncation,
    NoOffsetForPartition,
    OffsetOutOfRange,
    WakeupError,
)
from kafka_py.records.batch import read_header
from kafka_py.records.builder import BatchBuilder
from kafka_py.testing.fakes.fake_cluster import CUT, HANG, FakeCluster
from kafka_py.testing.processes import wait_until
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.fetch import FetchRequest
from kafka_py.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def fill(cluster: FakeCluster, partition: TopicPartition, *values: bytes, timestamp: int = 1000) -> None:
    builder = BatchBuilder()
    for number, value in enumerate(values):
        builder.append(timestamp + number, None, value)
    cluster.partitions[partition].append(builder.build())
    cluster._loop.call_soon_threadsafe(cluster.note_append)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(2) as made:
        made.create_topic("t", 2)
        yield made


def consumer(cluster: FakeCluster, **settings: Any) -> Consumer:
    names = {name.replace("_", "."): value for name, value in settings.items()}
    config = {"bootstrap.servers": cluster.bootstrap_servers, "retry.backoff.ms": 5, "auto.offset.reset": "earliest"}
    return Consumer({**config, **names})


def read(of: Consumer, count: int, timeout: float = 10.0) -> list[ConsumerRecord]:
    records: list[ConsumerRecord] = []
    deadline = time.monotonic() + timeout
    while len(records) < count:
        assert time.monotonic() < deadline, f"only {len(records)} of {count} records came"
        records += of.poll(0.1)
    return records


def test_all_partitions_are_read_each_in_order(cluster: FakeCluster) -> None:
    fill(cluster, A, b"a0", b"a1")
    fill(cluster, B, b"b0")
    fill(cluster, A, b"a2")
    with consumer(cluster) as made:
        made.assign([A, B])
        records = read(made, 4)
        assert [record.value for record in records if record.partition == 0] == [b"a0", b"a1", b"a2"]
        assert [record.value for record in records if record.partition == 1] == [b"b0"]
        assert made.assignment() == {A, B}
        assert (made.position(A), made.position(B)) == (3, 1)


def test_records_are_grouped_by_partition(cluster: FakeCluster) -> None:
    fill(cluster, A, b"1", b"2")
    with consumer(cluster) as made:
        made.assign([A])
        polled = made.poll(10)
        assert (polled.count(), polled.is_empty(), polled.partitions()) == (2, False, {A})
        assert [record.value for record in polled.records(A)] == [b"1", b"2"]
        assert len(polled.records("t")) == 2
        assert polled.records(B) == []


def test_polling_again_waits_for_new_records(cluster: FakeCluster) -> None:
    with consumer(cluster) as made:
        made.assign([A])
        assert made.poll(0.05).is_empty()
        timer = threading.Timer(0.05, lambda: fill(cluster, A, b"late"))
        timer.start()
        assert [record.value for record in made.poll(10)] == [b"late"]
        timer.join()


def test_max_poll_records_bounds_a_poll(cluster: FakeCluster) -> None:
    fill(cluster, A, *[b"x"] * 25)
    with consumer(cluster, max_poll_records=10) as made:
        made.assign([A])
        assert [len(made.poll(10)) for _ in range(3)] == [10, 10, 5]


def test_we3_12_the_reset_policy_says_where_to_begin(cluster: FakeCluster) -> None:
    fill(cluster, A, *[b"x"] * 9)
    for policy, start in (("latest", 9), ("earliest", 0)):
        with consumer(cluster, auto_offset_reset=policy) as made:
            made.assign([A])
            assert made.position(A) == start
    with consumer(cluster, auto_offset_reset="none") as made:
        made.assign([A])
        with pytest.raises(NoOffsetForPartition) as caught:
            made.poll(1)
        assert caught.value.partitions == {A}


def test_we3_15_an_offset_past_the_end_is_reset(cluster: FakeCluster, caplog: pytest.LogCaptureFixture) -> None:
    fill(cluster, A, *[b"x"] * 100)
    with caplog.at_level(logging.INFO), consumer(cluster, auto_offset_reset="latest") as made:
        made.assign([A])
        made.seek(A, 101)
        deadline = time.monotonic() + 10
        while made.position(A) != 100 and time.monotonic() < deadline:
            made.poll(0.05)
        assert made.position(A) == 100
    assert "Offset 101 is not in the log of t-0" in caplog.text
    assert "Resetting the position of t-0 to offset 100" in caplog.text


def test_without_a_policy_an_offset_out_of_range_is_raised(cluster: FakeCluster) -> None:
    fill(cluster, A, b"x")
    with consumer(cluster, auto_offset_reset="none") as made:
        made.assign([A])
        made.seek(A, 7)
        with pytest.raises(OffsetOutOfRange) as caught:
            made.poll(10)
        assert caught.value.offsets == {A: 7}


def test_seek_goes_anywhere_in_the_log(cluster: FakeCluster) -> None:
    fill(cluster, A, *[b"%d" % number for number in range(20)])
    with consumer(cluster) as made:
        made.assign([A])
        read(made, 20)
        made.seek(A, 13)
        assert made.position(A) == 13
        assert [record.value for record in read(made, 7)] == [b"%d" % number for number in range(13, 20)]
        made.seek_to_beginning([A])
        assert read(made, 20)[0].offset == 0
        made.seek_to_end()
        assert made.position(A) == 20
        with pytest.raises(ValueError, match="negative"):
            made.seek(A, -1)
        with pytest.raises(IllegalState, match="t-1 is not assigned"):
            made.seek(B, 0)


def test_we3_16_offsets_are_found_by_time(cluster: FakeCluster) -> None:
    fill(cluster, A, b"1", b"2", b"3", timestamp=5000)
    with consumer(cluster) as made:
        found = made.offsets_for_times({A: 5001, B: 0})
        assert found[B] is None
        assert found[A] is not None
        assert (found[A].offset, found[A].timestamp) == (1, 5001)  # type: ignore[union-attr]
        assert made.offsets_for_times({A: 9000}) == {A: None}
        assert made.beginning_offsets([A, B]) == {A: 0, B: 0}
        assert made.end_offsets([A, B]) == {A: 3, B: 0}
        with pytest.raises(ValueError, match="is negative"):
            made.offsets_for_times({A: -1})


def test_paused_partitions_wait(cluster: FakeCluster) -> None:
    fill(cluster, A, b"a")
    fill(cluster, B, b"b")
    with consumer(cluster) as made:
        made.assign([A, B])
        made.pause([A])
        assert made.paused() == {A}
        assert [record.value for record in read(made, 1)] == [b"b"]
        assert made.poll(0.05).is_empty()
        made.resume([A])
        assert [record.value for record in read(made, 1)] == [b"a"]


def test_records_fetched_before_a_pause_are_kept_for_later(cluster: FakeCluster) -> None:
    fill(cluster, A, *[b"x"] * 4)
    with consumer(cluster, max_poll_records=2) as made:
        made.assign([A])
        made.poll(10)
        made.pause([A])
        assert made.poll(0.05).is_empty()
        made.resume([A])
        assert [record.offset for record in made.poll(10)] == [2, 3]


def test_we3_6_polling_without_assignment_is_refused(cluster: FakeCluster) -> None:
    with consumer(cluster) as made:
        made.assign([A])
        made.unsubscribe()
        with pytest.raises(IllegalState, match="nothing to poll"):
            made.poll(0)


def test_the_consumer_follows_a_leader(cluster: FakeCluster) -> None:
    fill(cluster, A, b"1")
    with consumer(cluster) as made:
        made.assign([A])
        read(made, 1)
        cluster.move_leader("t", 0, 1)
        fill(cluster, A, b"2")
        assert [record.value for record in read(made, 1)] == [b"2"]


def truncate(cluster: FakeCluster, offset: int) -> None:
    """The next leader of partition A lacks what comes from `offset` on, and has got other records instead."""
    state = cluster.partitions[A]
    while state.end_offset > offset:
        state.end_offset = read_header(state.batches.pop()).base_offset
    cluster.move_leader("t", 0, 1 - state.leader)
    fill(cluster, A, b"new 2", b"new 3", b"new 4")


@pytest.mark.parametrize("poll_before", [True, False])
def test_kip_320_a_truncated_log_is_noticed(
    cluster: FakeCluster, caplog: pytest.LogCaptureFixture, poll_before: bool
) -> None:
    """The old position is within the new log, yet what was read there is gone: it goes on where the logs part."""
    for value in (b"0", b"1", b"old 2", b"old 3"):
        fill(cluster, A, value)
    with caplog.at_level(logging.INFO), consumer(cluster) as made:
        made.assign([A])
        fetcher = made._core._core.started().fetcher
        if poll_before:
            read(made, 4)
        else:
            wait_until(lambda: made.poll(0) or fetcher._held._held.get(A), 30, "an answer held")
        truncate(cluster, 2)
        expected = [b"new 2", b"new 3", b"new 4"]
        assert [record.value for record in read(made, 3)][-3:] == expected
        assert made.position(A) == 5
    assert "The log of t-0 was truncated below offset 4" in caplog.text


def test_kip_320_without_a_policy_the_application_decides(cluster: FakeCluster) -> None:
    for value in (b"0", b"1", b"old 2", b"old 3"):
        fill(cluster, A, value)
    with consumer(cluster, auto_offset_reset="none") as made:
        made.assign([A])
        made.seek(A, 0)
        read(made, 4)
        truncate(cluster, 2)
        with pytest.raises(LogTruncation) as caught:
            read(made, 1)
        assert (caught.value.partition, caught.value.diverging_offset) == (A, 2)
        made.seek(A, 2)
        assert [record.value for record in read(made, 3)] == [b"new 2", b"new 3", b"new 4"]


def test_kip_320_a_position_is_validated_again_until_the_leader_answers(cluster: FakeCluster) -> None:
    fill(cluster, A, b"1")
    with consumer(cluster) as made:
        made.assign([A])
        read(made, 1)
        cluster.fail(ApiKey.OFFSET_FOR_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH, CUT)
        cluster.move_leader("t", 0, 1)
        fill(cluster, A, b"2")
        assert [record.value for record in read(made, 1)] == [b"2"]
        assert cluster.count(OffsetForLeaderEpochRequest) == 3


@pytest.mark.parametrize(
    "trouble",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        CUT,
    ],
)
def test_passing_trouble_is_survived(cluster: FakeCluster, trouble: Any) -> None:
    cluster.fail(ApiKey.FETCH, trouble, trouble)
    fill(cluster, A, b"1")
    with consumer(cluster, reconnect_backoff_ms=5) as made:
        made.assign([A])
        assert [record.value for record in read(made, 1)] == [b"1"]


def test_a_fetch_without_answer_is_repeated(cluster: FakeCluster) -> None:
    cluster.fail(ApiKey.FETCH, HANG)
    fill(cluster, A, b"1")
    with consumer(cluster, request_timeout_ms=50, fetch_max_wait_ms=10, reconnect_backoff_ms=5) as made:
        made.assign([A])
        read(made, 1)


def test_a_missing_right_is_raised(cluster: FakeCluster) -> None:
    cluster.fail(ApiKey.FETCH, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    with consumer(cluster) as made:
        made.assign([A])
        with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED"):
            made.poll(10)


def test_an_offset_look_up_is_repeated_until_its_time_is_over(cluster: FakeCluster) -> None:
    cluster.fail(ApiKey.LIST_OFFSETS, ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.NOT_LEADER_OR_FOLLOWER, CUT)
    with consumer(cluster, reconnect_backoff_ms=5) as made:
        assert made.end_offsets([A]) == {A: 0}
        cluster.fail(ApiKey.LIST_OFFSETS, *[ErrorCode.LEADER_NOT_AVAILABLE] * 500)
        with pytest.raises(ClientTimeout, match=r"offsets of t-0 were not found within 100 ms"):
            made.end_offsets([A], timeout=0.1)


def test_we3_18_a_second_thread_is_refused_and_wakeup_is_not(cluster: FakeCluster) -> None:
    outcome: list[BaseException] = []
    with consumer(cluster) as made:
        made.assign([A])

        def poll() -> None:
            try:
                made.poll(10)
            except BaseException as error:
                outcome.append(error)

        thread = threading.Thread(target=poll)
        thread.start()
        deadline = time.monotonic() + 10
        while made._owner is None and time.monotonic() < deadline:
            time.sleep(0.001)
        with pytest.raises(ConcurrentModification, match="another thread or task"):
            made.position(A)
        made.wakeup()
        thread.join(5)
        assert isinstance(outcome[0], WakeupError)
        made.poll(0)  # the wake-up was used up


def test_we3_20_a_record_larger_than_the_limits_is_still_delivered(cluster: FakeCluster) -> None:
    fill(cluster, A, b"0123456789")
    with consumer(cluster, fetch_max_bytes=1, max_partition_fetch_bytes=1) as made:
        made.assign([A])
        assert read(made, 1)[0].value == b"0123456789"


def test_deserializers_convert_and_name_what_they_cannot(cluster: FakeCluster) -> None:
    fill(cluster, A, b"1", b"x", b"3")
    with consumer(cluster, value_deserializer=int) as made:
        made.assign([A])
        assert read(made, 1)[0].value == 1
        with pytest.raises(KafkaError, match="offset 1 of t-0"):
            made.poll(1)
        made.seek(A, 2)
        assert read(made, 1)[0].value == 3


def test_read_committed_hides_aborted_records_and_what_is_still_open(cluster: FakeCluster) -> None:
    state = cluster.partitions[A]
    for producer_id, value in ((9, b"aborted"), (8, b"committed"), (7, b"open")):
        builder = BatchBuilder(producer_id=producer_id, producer_epoch=0, transactional=True)
        builder.append(1, None, value)
        state.append(builder.build())
    state.aborted, state.last_stable_offset = [(9, 0)], 2
    with consumer(cluster, isolation_level="read_committed", fetch_max_wait_ms=20) as made:
        made.assign([A])
        assert [record.value for record in read(made, 1)] == [b"committed"]
        assert made.poll(0.05).is_empty()
        assert made.position(A) == 2
        assert made.lag(A) == 0


def test_topics_can_be_asked_about(cluster: FakeCluster) -> None:
    with consumer(cluster) as made:
        assert [info.partition for info in made.partitions_for("t")] == [0, 1]
        assert made.partitions_for("nowhere") == []
        assert set(made.list_topics()) == {"t"}


def test_older_brokers_get_older_versions() -> None:
    versions = {ApiKey.FETCH: 4, ApiKey.LIST_OFFSETS: 1, ApiKey.METADATA: 4, ApiKey.API_VERSIONS: 1}
    with FakeCluster(1, versions) as old:
        old.create_topic("t", 1)
        fill(old, A, b"1")
        with consumer(old) as made:
            made.assign([A])
            assert read(made, 1)[0].value == b"1"


def test_nothing_is_fetched_for_what_is_held_already(cluster: FakeCluster) -> None:
    for _ in range(50):
        fill(cluster, A, *[b"x" * 100] * 10)
    with consumer(cluster, max_partition_fetch_bytes=1000, fetch_max_wait_ms=10) as made:
        made.assign([A])
        made.poll(10)
        fetcher = made._core._core.started().fetcher
        wait_until(lambda: fetcher._held.has_enough(A) and not fetcher._busy, 30, "answers ahead")
        asked = cluster.count(FetchRequest)
        for _ in range(5):
            made.end_offsets([A])  # the loop and the broker have had their turns
        assert cluster.count(FetchRequest) == asked
        read(made, 480)


def test_the_async_consumer_iterates(cluster: FakeCluster) -> None:
    fill(cluster, A, b"1", b"2")

    async def scenario() -> list[Any]:
        config = {"bootstrap.servers": cluster.bootstrap_servers, "auto.offset.reset": "earliest"}
        seen = []
        async with AsyncConsumer(config) as made:
            await made.assign([A])
            async for record in made:
                seen.append(record.value)
                if len(seen) == 2:
                    break
        return seen

    assert asyncio.run(scenario()) == [b"1", b"2"]


def test_polling_without_waiting_lets_the_loop_read_on(cluster: FakeCluster) -> None:
    fill(cluster, A, b"1")

    async def scenario() -> None:
        config = {"bootstrap.servers": cluster.bootstrap_servers, "auto.offset.reset": "earliest"}
        async with AsyncConsumer(config) as made, asyncio.timeout(30):
            await made.assign([A])
            while not await made.poll(0):
                pass

    asyncio.run(scenario())


def test_a_closed_consumer_says_so(cluster: FakeCluster) -> None:
    made = consumer(cluster)
    made.close()
    made.close()
    with pytest.raises(IllegalState, match="consumer is closed"):
        made.poll(0)
