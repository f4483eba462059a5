"""What a producer counts, how it waits when a broker asks for it (KIP-219), and what interceptors hear of failures."""

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients import AsyncProducer, Producer, ProducerRecord, RecordMetadata
from kafka_py.testing.fakes.fake_cluster import HANG, FakeCluster
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1) as made:
        made.create_topic("t", 1)
        made.create_topic("other", 1)
        yield made


def producer(cluster: FakeCluster, **settings: Any) -> Producer:
    names = {name.replace("_", "."): value for name, value in settings.items()}
    return Producer({"bootstrap.servers": cluster.bootstrap_servers, "retry.backoff.ms": 5, "client.id": "p", **names})


def test_records_bytes_and_requests_are_counted_by_topic_and_broker(cluster: FakeCluster) -> None:
    with producer(cluster, linger_ms=1000) as made:
        for number in range(100):
            made.send("t" if number < 70 else "other", b"x" * 100)
        made.flush()
        values = made.metrics()
        assert values.find("record-send-total") == 100
        assert values.find("record-send-total", topic="t") == 70
        assert values.find("record-send-total", topic="other") == 30
        assert values.find("byte-total", topic="t") > 7000
        assert 0 < values.find("record-send-rate") <= 100
        assert values.find("batch-size-max") > values.find("batch-size-avg") > 3000
        assert values.find("records-per-request-avg") == 100 / cluster.count(ProduceRequest)
        assert values.find("request-latency-max", "producer-metrics") > 0
        assert values.find("record-size-max") >= 100
        assert values.find("compression-rate-avg") == 1.0
        assert values.find("connection-count") >= 1
        assert values.find("outgoing-byte-total", "producer-metrics") > 10_000
        assert values.find("buffer-available-bytes") == values.find("buffer-total-bytes") == 33_554_432
        assert (values.find("requests-in-flight"), values.find("record-error-total")) == (0, 0)
        assert 0 <= values.find("metadata-age") < 60
    assert made.metrics().find("record-send-total") == 100


def test_retries_splits_and_errors_are_counted(cluster: FakeCluster) -> None:
    cluster.fail(ApiKey.PRODUCE, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    with producer(cluster) as made:
        made.send("t", b"v").result(30)
        cluster.fail(ApiKey.PRODUCE, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        assert made.send("t", b"v").exception(30) is not None
        with pytest.raises(KafkaError):
            made.send("t", b"x" * 2_000_000)
        values = made.metrics()
        assert (values.find("record-retry-total"), values.find("record-retry-total", topic="t")) == (1, 1)
        assert (values.find("record-error-total"), values.find("record-error-total", topic="t")) == (2, 1)
    cluster.fail(ApiKey.PRODUCE, ErrorCode.MESSAGE_TOO_LARGE)
    with producer(cluster, linger_ms=1000) as made:
        for _ in range(4):
            made.send("t", b"v")
        made.flush()
        assert made.metrics().find("batch-split-total") == 1


def test_compression_is_measured(cluster: FakeCluster) -> None:
    with producer(cluster, linger_ms=1000, compression_type="gzip") as made:
        for _ in range(100):
            made.send("t", b"x" * 100)
        made.flush()
        assert made.metrics().find("compression-rate-avg") < 0.2
        assert made.metrics().find("compression-rate", topic="t") < 0.2


def test_who_waits_for_memory_is_seen(cluster: FakeCluster) -> None:
    cluster.fail(ApiKey.PRODUCE, *[HANG] * 100)
    with producer(cluster, buffer_memory=32_768, max_block_ms=100) as made:
        made.partitions_for("t")
        with pytest.raises(KafkaError, match=r"max\.block\.ms"):
            for _ in range(10):
                made.send("t", b"x" * 16_000)
        values = made.metrics()
        assert values.find("buffer-exhausted-total") == 1
        assert values.find("bufferpool-wait-time-total") >= 90e6
        assert values.find("bufferpool-wait-ratio") > 0
        assert values.find("waiting-threads") == 0
        made.close(timeout=0)


def throttled_for(ms: int) -> Any:
    def answer(request: ProduceRequest) -> ProduceResponse:
        done = PartitionProduceResponse(index=0, error_code=0, base_offset=0, log_append_time_ms=-1)
        return ProduceResponse(
            responses=[TopicProduceResponse(name="t", partition_responses=[done])], throttle_time_ms=ms
        )

    return answer


def test_a_broker_that_asks_for_a_pause_gets_one_and_is_then_sent_larger_batches(cluster: FakeCluster) -> None:
    cluster.fail(ApiKey.PRODUCE, throttled_for(300))
    with producer(cluster) as made:
        made.send("t", b"first").result(30)
        began = time.monotonic()
        futures = [made.send("t", b"%d" % number) for number in range(20)]
        for future in futures:
            future.result(30)
        assert time.monotonic() - began >= 0.2
        assert made.metrics().find("produce-throttle-time-max") == 300
    assert cluster.count(ProduceRequest) == 2


def test_the_delivery_timeout_goes_on_while_a_broker_wants_to_be_left_alone(cluster: FakeCluster) -> None:
    cluster.fail(ApiKey.PRODUCE, throttled_for(60_000))
    with producer(cluster, delivery_timeout_ms=300, request_timeout_ms=250) as made:
        made.send("t", b"first").result(30)
        error = made.send("t", b"late").exception(30)
        assert error is not None and error.code is ErrorCode.REQUEST_TIMED_OUT
        made.close(timeout=0)


def test_an_old_brokers_answer_was_late_enough_already() -> None:
    with FakeCluster(1, versions={ApiKey.PRODUCE: 5}) as old:
        old.create_topic("t", 1)
        old.fail(ApiKey.PRODUCE, throttled_for(60_000))
        with producer(old) as made:
            for number in range(3):
                made.send("t", b"%d" % number).result(30)


class Listening:
    """An interceptor that notes in which thread it is asked, and what it hears."""

    def __init__(self) -> None:
        self.threads: list[str] = []
        self.heard: list[tuple[str, int, int, ErrorCode | None]] = []

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        self.threads.append(threading.current_thread().name)
        return record._replace(headers=[("seen", b"yes")])

    def on_acknowledgement(self, metadata: RecordMetadata, error: KafkaError | None) -> None:
        self.threads.append(threading.current_thread().name)
        self.heard.append((metadata.topic, metadata.partition, metadata.offset, error.code if error else None))


def test_interceptors_hear_of_successes_failures_and_refusals(cluster: FakeCluster) -> None:
    listening = Listening()
    order: list[int] = []
    with producer(cluster, interceptor_classes=[listening]) as made:
        made.send("t", b"v", callback=lambda _metadata, _error: order.append(len(listening.heard))).result(30)
        cluster.fail(ApiKey.PRODUCE, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        assert made.send("t", b"v").exception(30) is not None
        with pytest.raises(KafkaError):
            made.send("t", b"x" * 2_000_000, partition=0)
    assert order == [1]
    assert listening.heard == [
        ("t", 0, 0, None),
        ("t", 0, -1, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        ("t", 0, -1, ErrorCode.MESSAGE_TOO_LARGE),
    ]
    here = threading.current_thread().name
    network = "kafka-producer-network-thread | p"
    assert listening.threads == [here, network, here, network, here, here]


async def intercepted(cluster: FakeCluster, listening: Listening) -> None:
    configs = {"bootstrap.servers": cluster.bootstrap_servers, "interceptor.classes": [listening]}
    async with AsyncProducer(configs) as made:
        await (await made.send("t", b"v"))
        with pytest.raises(KafkaError):
            await made.send("t", b"x" * 2_000_000)
        assert made.metrics().find("record-error-total") == 1


def test_the_async_producer_has_interceptors_too(cluster: FakeCluster) -> None:
    listening = Listening()
    asyncio.run(intercepted(cluster, listening))
    assert [code for *_, code in listening.heard] == [None, ErrorCode.MESSAGE_TOO_LARGE]


class Closable:
    """A serializer and partitioner that can be closed, and fails at it once."""

    def __init__(self, *, fails: bool = False) -> None:
        self.closed = 0
        self.fails = fails

    def serialize(self, topic: str, data: Any) -> bytes:
        return bytes(data)

    def partition(self, *_: Any) -> int:
        return 0

    def close(self) -> None:
        self.closed += 1
        if self.fails:
            raise RuntimeError("no")


def test_closing_closes_serializers_and_partitioners_once(cluster: FakeCluster) -> None:
    keys, values, partitioner = Closable(fails=True), Closable(), Closable()
    made = producer(cluster, key_serializer=keys, value_serializer=values, partitioner_class=partitioner)
    made.send("t", b"v", key=b"k").result(30)
    made.close()
    made.close()
    assert (keys.closed, values.closed, partitioner.closed) == (1, 1, 1)
