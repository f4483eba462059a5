"""The producer against pretend brokers that fail on request."""

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients import AsyncProducer, BufferExhausted, ClientTimeout, IllegalState, Producer, RecordMetadata
from kafka_py.records.batch import decode_records, read_header
from kafka_py.testing.fakes.fake_cluster import CUT, CUT_AFTER, HANG, FakeCluster
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.produce import ProduceRequest


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(2) as made:
        made.create_topic("t", 1)
        made.create_topic("two", 2)
        yield made


def producer(cluster: FakeCluster, **settings: Any) -> Producer:
    names = {name.replace("_", "."): value for name, value in settings.items()}
    return Producer({"bootstrap.servers": cluster.bootstrap_servers, "retry.backoff.ms": 5, **names})


def test_we2_1_closing_waits_for_all_100_messages(cluster: FakeCluster) -> None:
    made = producer(cluster, linger_ms=1000)
    for number in range(100):
        made.send("t", b"%d" % number)
    made.close()
    assert cluster.log("t").values() == [b"%d" % number for number in range(100)]
    with pytest.raises(IllegalState, match="closed"):
        made.send("t", b"late")
    made.close()


def test_we2_2_a_sync_send_tells_where_the_record_went(cluster: FakeCluster) -> None:
    with producer(cluster) as made:
        metadata = made.send("t", b"value", key=b"key", timestamp=123, headers=[("h", b"1"), ("n", None)]).result(10)
        assert metadata == RecordMetadata("t", 0, 0, 123, 3, 5)
    record = decode_records(cluster.log("t").batches[0])[0]
    assert (record.key, record.value, record.headers) == (b"key", b"value", (("h", b"1"), ("n", None)))


def test_we2_3_callbacks_of_a_partition_run_in_order(cluster: FakeCluster) -> None:
    order: list[int] = []

    def note(metadata: RecordMetadata | None, error: KafkaError | None) -> None:
        assert metadata is not None
        order.append(metadata.offset)

    with producer(cluster) as made:
        for _ in range(50):
            made.send("t", b"x", callback=note)
    assert order == list(range(50))


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_arrives(cluster: FakeCluster, codec: str) -> None:
    with producer(cluster, compression_type=codec, linger_ms=20) as made:
        for number in range(200):
            made.send("t", b"value %d" % number)
    assert cluster.log("t").values() == [b"value %d" % number for number in range(200)]
    assert read_header(cluster.log("t").batches[0]).codec.name.lower() == codec


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_acks_setting_works(cluster: FakeCluster, acks: str) -> None:
    with producer(cluster, acks=acks) as made:
        metadata = made.send("t", b"v").result(10)
        assert metadata.offset == (-1 if acks == "0" else 0)
        deadline = time.monotonic() + 5
        while not cluster.log("t").batches and time.monotonic() < deadline:
            time.sleep(0.001)
    assert cluster.log("t").values() == [b"v"]


def test_we2_4_an_election_within_the_retries_is_not_noticed(cluster: FakeCluster) -> None:
    cluster.fail(ApiKey.PRODUCE, *[ErrorCode.NOT_LEADER_OR_FOLLOWER] * 3)
    with producer(cluster, retries=10) as made:
        assert made.send("t", b"v").result(10).offset == 0


def test_we2_4_after_the_last_retry_the_error_comes(cluster: FakeCluster) -> None:
    cluster.fail(ApiKey.PRODUCE, *[ErrorCode.NOT_ENOUGH_REPLICAS] * 20)
    with producer(cluster, retries=2) as made, pytest.raises(KafkaError) as caught:
        made.send("t", b"v").result(10)
    assert caught.value.code is ErrorCode.NOT_ENOUGH_REPLICAS
    assert caught.value.retriable
    assert cluster.count(ProduceRequest) == 3


def test_a_fatal_error_is_not_retried(cluster: FakeCluster) -> None:
    cluster.fail(ApiKey.PRODUCE, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    with producer(cluster) as made, pytest.raises(KafkaError) as caught:
        made.send("t", b"v").result(10)
    assert not caught.value.retriable
    assert cluster.count(ProduceRequest) == 1


def test_the_producer_follows_a_leader_to_another_broker(cluster: FakeCluster) -> None:
    with producer(cluster) as made:
        made.send("t", b"1").result(10)
        cluster.move_leader("t", 0, 1)
        made.send("t", b"2").result(10)
    assert cluster.log("t").values() == [b"1", b"2"]


def test_a_cut_connection_is_opened_again(cluster: FakeCluster) -> None:
    with producer(cluster, reconnect_backoff_ms=5) as made:
        made.send("t", b"1").result(10)
        cluster.fail(ApiKey.PRODUCE, CUT, CUT)
        made.send("t", b"2").result(10)
    assert cluster.log("t").values() == [b"1", b"2"]


def test_a_broker_that_comes_back_is_found_again(cluster: FakeCluster) -> None:
    with producer(cluster, reconnect_backoff_ms=5, reconnect_backoff_max_ms=20) as made:
        made.send("t", b"1").result(10)
        cluster.stop_broker(0)
        future = made.send("t", b"2")
        assert not future.done()
        cluster.start_broker(0)
        assert future.result(10).offset == 1


def test_without_an_answer_the_request_is_repeated(cluster: FakeCluster) -> None:
    cluster.fail(ApiKey.PRODUCE, HANG)
    with producer(cluster, request_timeout_ms=100, reconnect_backoff_ms=5) as made:
        made.send("t", b"v").result(10)
    assert cluster.log("t").values() == [b"v", b"v"]  # at least once


def test_delivery_timeout_ends_the_retries(cluster: FakeCluster) -> None:
    cluster.fail(ApiKey.PRODUCE, *[ErrorCode.NOT_ENOUGH_REPLICAS] * 500)
    text = r"1 record\(s\) for t-0 were not delivered within delivery.timeout.ms"
    with producer(cluster, delivery_timeout_ms=150, request_timeout_ms=100) as made, pytest.raises(
        KafkaError, match=text
    ):
        made.send("t", b"v").result(10)


def test_a_leaderless_partition_expires_too(cluster: FakeCluster) -> None:
    with producer(cluster, delivery_timeout_ms=150, request_timeout_ms=100, metadata_max_age_ms=20) as made:
        made.send("t", b"1").result(10)
        cluster.stop_broker(0)
        with pytest.raises(KafkaError) as caught:
            made.send("t", b"2").result(10)
    assert caught.value.code in (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NETWORK_EXCEPTION)


def test_we2_15_with_five_in_flight_a_retried_batch_can_land_after_the_next(cluster: FakeCluster) -> None:
    assert order_after_one_failure(cluster, in_flight=5) == [b"2", b"1"]


def test_we2_15_with_one_in_flight_the_order_is_kept(cluster: FakeCluster) -> None:
    assert order_after_one_failure(cluster, in_flight=1) == [b"1", b"2"]


def order_after_one_failure(cluster: FakeCluster, in_flight: int) -> list[bytes | None]:
    cluster.fail(ApiKey.PRODUCE, ErrorCode.NOT_ENOUGH_REPLICAS)
    settings: dict[str, Any] = {"max_in_flight_requests_per_connection": in_flight, "batch_size": 0}
    with producer(cluster, retry_backoff_ms=50, **settings) as made:
        made.partitions_for("t")
        futures = [made.send("t", b"1"), made.send("t", b"2")]
        for future in futures:
            future.result(10)
    return cluster.log("t").values()


def test_idempotence_keeps_order_and_count_through_lost_answers(cluster: FakeCluster) -> None:
    cluster.fail(ApiKey.PRODUCE, CUT_AFTER, ErrorCode.NOT_LEADER_OR_FOLLOWER, CUT, CUT_AFTER)
    with producer(cluster, enable_idempotence=True, batch_size=0, reconnect_backoff_ms=5) as made:
        for number in range(40):
            made.send("t", b"%d" % number)
            if number == 10:
                made.flush()
    assert cluster.log("t").values() == [b"%d" % number for number in range(40)]


def test_a_broker_that_forgot_the_producer_gets_the_next_epoch(cluster: FakeCluster) -> None:
    with producer(cluster, enable_idempotence=True) as made:
        made.send("t", b"1").result(10)
        cluster.fail(ApiKey.PRODUCE, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        made.send("t", b"2").result(10)
        made.send("t", b"3").result(10)
    headers = [read_header(batch) for batch in cluster.log("t").batches]
    assert [(header.producer_epoch, header.base_sequence) for header in headers] == [(0, 0), (1, 0), (1, 1)]


def test_a_batch_that_cannot_be_delivered_does_not_block_its_successors(cluster: FakeCluster) -> None:
    with producer(cluster, enable_idempotence=True, batch_size=0) as made:
        made.partitions_for("t")
        cluster.fail(ApiKey.PRODUCE, ErrorCode.INVALID_RECORD)
        bad, good = made.send("t", b"bad"), made.send("t", b"good")
        with pytest.raises(KafkaError, match="INVALID_RECORD"):
            bad.result(10)
        good.result(10)
    assert cluster.log("t").values() == [b"good"]


def test_without_the_right_to_be_idempotent_everything_fails(cluster: FakeCluster) -> None:
    cluster.fail(ApiKey.INIT_PRODUCER_ID, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    with producer(cluster, enable_idempotence=True) as made:
        with pytest.raises(KafkaError, match="CLUSTER_AUTHORIZATION_FAILED"):
            made.send("t", b"v").result(10)
        with pytest.raises(KafkaError, match="CLUSTER_AUTHORIZATION_FAILED"):
            made.send("t", b"v")


@pytest.mark.parametrize("idempotent", [False, True])
def test_a_batch_too_large_for_the_broker_is_split(cluster: FakeCluster, idempotent: bool) -> None:
    cluster.fail(ApiKey.PRODUCE, ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.MESSAGE_TOO_LARGE)
    in_flight = 5 if idempotent else 1  # else the halves could change places, as any retried batch
    settings: dict[str, Any] = {"max_in_flight_requests_per_connection": in_flight}
    with producer(cluster, linger_ms=50, enable_idempotence=idempotent, **settings) as made:
        futures = [made.send("t", b"%d" % number) for number in range(8)]
        assert [future.result(10).offset for future in futures] == list(range(8))
    assert cluster.log("t").values() == [b"%d" % number for number in range(8)]
    assert len(cluster.log("t").batches) > 2


def test_we2_10_a_single_record_too_large_for_the_broker_fails_at_once(cluster: FakeCluster) -> None:
    cluster.fail(ApiKey.PRODUCE, ErrorCode.MESSAGE_TOO_LARGE)
    with producer(cluster) as made, pytest.raises(KafkaError, match="MESSAGE_TOO_LARGE"):
        made.send("t", b"v").result(10)
    assert cluster.count(ProduceRequest) == 1


def test_we2_13_a_full_buffer_blocks_and_then_raises(cluster: FakeCluster) -> None:
    cluster.fail(ApiKey.PRODUCE, *[HANG] * 100)
    with producer(cluster, buffer_memory=32_768, max_block_ms=100) as made:
        made.partitions_for("t")
        started = time.monotonic()
        with pytest.raises(BufferExhausted, match=r"within max\.block\.ms, 100 ms"):
            for _ in range(10):
                made.send("t", b"x" * 16_000)
        assert time.monotonic() - started >= 0.09
        made.close(timeout=0)


def test_a_full_buffer_only_delays_while_the_broker_answers(cluster: FakeCluster) -> None:
    with producer(cluster, buffer_memory=65_536) as made:
        for _ in range(200):
            made.send("t", b"x" * 5_000)
    assert cluster.log("t").end_offset == 200


def test_we2_14_a_sixth_request_waits_for_the_first_answer(cluster: FakeCluster) -> None:
    cluster.fail(ApiKey.PRODUCE, *[HANG] * 5)
    with producer(cluster, batch_size=0, request_timeout_ms=300) as made:
        made.partitions_for("t")
        for _ in range(8):
            made.send("t", b"v")
        deadline = time.monotonic() + 5
        while cluster.count(ProduceRequest) < 5 and time.monotonic() < deadline:
            time.sleep(0.001)
        made.partitions_for("t")  # a turn of the producer's own loop: what the sends set off has been done
        assert made.metrics().find("requests-in-flight") == 5
        assert cluster.count(ProduceRequest) == 5
        made.close(timeout=0)


def test_linger_collects_records_and_flush_ends_it(cluster: FakeCluster) -> None:
    with producer(cluster, linger_ms=10_000) as made:
        future = made.send("t", b"1")
        made.send("t", b"2")
        assert not future.done()
        made.flush(5)
        assert future.done()
    assert cluster.count(ProduceRequest) == 1


def test_an_unknown_topic_times_out_by_name(cluster: FakeCluster) -> None:
    with producer(cluster, max_block_ms=100) as made:
        with pytest.raises(ClientTimeout, match="topic nowhere is still unknown after"):
            made.send("nowhere", b"v")
        with pytest.raises(ClientTimeout, match="topic t has 1 partitions, and no partition 5"):
            made.send("t", b"v", partition=5)
        with pytest.raises(ValueError, match="-1"):
            made.send("t", b"v", partition=-1)


def test_an_invalid_topic_name_is_refused_at_once(cluster: FakeCluster) -> None:
    with producer(cluster) as made:
        cluster.fail(ApiKey.METADATA, *[ErrorCode.INVALID_TOPIC_EXCEPTION] * 3)
        with pytest.raises(KafkaError, match="INVALID_TOPIC_EXCEPTION"):
            made.send("a b", b"v")


def test_a_topic_may_be_created_by_asking(cluster: FakeCluster) -> None:
    cluster.auto_create_partitions = 3
    with producer(cluster) as made:
        made.send("fresh", b"v").result(10)
        assert [info.partition for info in made.partitions_for("fresh")] == [0, 1, 2]


def test_keys_and_partitions_are_obeyed(cluster: FakeCluster) -> None:
    with producer(cluster) as made:
        for number in range(20):
            made.send("two", b"%d" % number, key=b"kafka")
        made.send("two", b"there", partition=1)
    assert cluster.log("two", 0).end_offset == 20  # murmur2("kafka") is even
    assert cluster.log("two", 1).values() == [b"there"]


def test_serializers_and_an_own_partitioner_are_used(cluster: FakeCluster) -> None:
    chosen: list[Any] = []

    def choose(topic: str, key: Any, key_bytes: bytes, value: Any, value_bytes: bytes, view: Any) -> int:
        chosen.append((topic, key, key_bytes, value, value_bytes, len(view.topics[topic].partitions)))
        return 1

    no_bytes = {"key_serializer": str.encode, "value_serializer": str, "partitioner_class": choose}
    with producer(cluster, **no_bytes) as made, pytest.raises(TypeError, match=r"set value\.serializer"):
        made.send("two", 7, key="k")
    with producer(cluster, key_serializer=str.encode, value_serializer=str.encode, partitioner_class=choose) as made:
        made.send("two", "v", key="k").result(10)
    assert chosen[-1] == ("two", "k", b"k", "v", b"v", 2)
    assert cluster.log("two", 1).values() == [b"v"]


def test_many_threads_may_share_one_producer(cluster: FakeCluster) -> None:
    with producer(cluster) as made:
        threads = [
            threading.Thread(target=lambda name=name: [made.send("two", b"%d" % name) for _ in range(500)])
            for name in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    values = cluster.log("two", 0).values() + cluster.log("two", 1).values()
    assert sorted(values, key=str) == sorted([b"%d" % name for name in range(4)] * 500, key=str)


def test_closing_without_time_fails_what_is_left(cluster: FakeCluster) -> None:
    made = producer(cluster, linger_ms=10_000)
    future = made.send("t", b"v")
    made.close(timeout=0)
    with pytest.raises(KafkaError, match="closed before the response"):
        future.result(1)


def test_older_brokers_get_older_versions() -> None:
    versions = {ApiKey.PRODUCE: 3, ApiKey.METADATA: 5, ApiKey.API_VERSIONS: 2}
    with FakeCluster(1, versions) as old:
        old.create_topic("t")
        with producer(old) as made:
            assert made.send("t", b"v").result(10).offset == 0


def test_the_async_producer_sends_from_tasks(cluster: FakeCluster) -> None:
    async def scenario() -> list[int]:
        config = {"bootstrap.servers": cluster.bootstrap_servers, "buffer.memory": 65_536, "linger.ms": 1}
        async with AsyncProducer(config) as made:
            futures = [await made.send("t", b"x" * 1000) for _ in range(300)]
            await made.flush()
            return [(await future).offset for future in futures]

    assert asyncio.run(scenario()) == list(range(300))


def test_a_callback_may_send_but_not_wait(cluster: FakeCluster) -> None:
    outcome: list[Any] = []
    with producer(cluster) as made:

        def again(_metadata: Any, _error: Any) -> None:
            outcome.append(made.send("t", b"second"))
            try:
                made.flush()
            except IllegalState as error:
                outcome.append(error)

        made.send("t", b"first", callback=again).result(10)
        made.flush()
        assert outcome[0].result(10).offset == 1
    assert isinstance(outcome[1], IllegalState)
