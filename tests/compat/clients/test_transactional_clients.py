"""Other people's transactional producers on our coordinator: commits, aborts, fencing, offsets of groups.

W7.24: what a read_committed and a read_uncommitted reader see of three records. W7.25: a second producer with the same
id. S3-120 is the same as W7.24.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator

import aiokafka
import confluent_kafka
import kafka
import pytest

from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.peers import apache, java_clients

TIMEOUT_S = 30.0
PARTITIONS = 3


@pytest.fixture(scope="module")
def cluster(kafka_cluster_factory: Callable[..., KafkaCluster]) -> Iterator[KafkaCluster]:
    settings = {"transaction.state.log.num.partitions": 5, "offsets.topic.num.partitions": 5}
    with kafka_cluster_factory(settings=settings) as made:
        yield made


@pytest.fixture
def topic(cluster: KafkaCluster) -> str:
    return cluster.create_topic(partitions=PARTITIONS)


def read(cluster: KafkaCluster, topic: str, isolation: str = "read_committed") -> list[str]:
    """The values of a topic up to the end that a reader of this isolation level sees, sorted."""
    consumer = confluent_kafka.Consumer({
        "bootstrap.servers": cluster.bootstrap_servers, "group.id": str(uuid.uuid4()), "isolation.level": isolation,
        "enable.auto.commit": False, "enable.partition.eof": True, "auto.offset.reset": "earliest",
    })  # fmt: skip
    consumer.assign([confluent_kafka.TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    values, ended = [], 0
    try:
        while ended < PARTITIONS:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None, f"{ended} partitions have ended"
            if message.error():
                assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF, message.error()
                ended += 1
            else:
                values.append(message.value().decode())
    finally:
        consumer.close()
    return sorted(values)


def librdkafka(cluster: KafkaCluster, transactional_id: str, **settings: object) -> confluent_kafka.Producer:
    producer = confluent_kafka.Producer({
        "bootstrap.servers": cluster.bootstrap_servers, "transactional.id": transactional_id, **settings,
    })  # fmt: skip
    producer.init_transactions(TIMEOUT_S)
    return producer


def send(producer: confluent_kafka.Producer, topic: str, *values: str) -> None:
    for number, value in enumerate(values):
        producer.produce(topic, value, partition=number % PARTITIONS)


def test_w7_24_what_is_committed_is_read_and_what_is_aborted_is_not(cluster: KafkaCluster, topic: str) -> None:
    producer = librdkafka(cluster, "librdkafka")
    producer.begin_transaction()
    send(producer, topic, "msg1", "msg2", "msg3")
    producer.flush(TIMEOUT_S)
    assert read(cluster, topic) == []
    producer.commit_transaction(TIMEOUT_S)
    assert read(cluster, topic) == ["msg1", "msg2", "msg3"]
    producer.begin_transaction()
    send(producer, topic, "never1", "never2")
    producer.flush(TIMEOUT_S)
    producer.abort_transaction(TIMEOUT_S)
    assert read(cluster, topic) == ["msg1", "msg2", "msg3"]
    assert read(cluster, topic, "read_uncommitted") == ["msg1", "msg2", "msg3", "never1", "never2"]


def test_w7_25_a_second_producer_fences_the_first_and_aborts_what_it_began(cluster: KafkaCluster, topic: str) -> None:
    first = librdkafka(cluster, "fenced")
    first.begin_transaction()
    send(first, topic, "of the first")
    first.flush(TIMEOUT_S)
    second = librdkafka(cluster, "fenced")
    with pytest.raises(confluent_kafka.KafkaException) as failed:
        first.commit_transaction(TIMEOUT_S)
    assert failed.value.args[0].fatal()
    second.begin_transaction()
    send(second, topic, "of the second")
    second.commit_transaction(TIMEOUT_S)
    assert read(cluster, topic) == ["of the second"]


def test_a_transaction_that_nobody_ends_is_aborted_in_time(
    kafka_cluster_factory: Callable[..., KafkaCluster]
) -> None:
    settings = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 100}
    with kafka_cluster_factory(settings=settings) as cluster:
        topic = cluster.create_topic(partitions=PARTITIONS)
        producer = librdkafka(cluster, "slow", **{"transaction.timeout.ms": 1000, "message.timeout.ms": 1000})
        producer.begin_transaction()
        send(producer, topic, "too late")
        producer.flush(TIMEOUT_S)
        other = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap_servers})
        send(other, topic, "plain")
        other.flush(TIMEOUT_S)
        while read(cluster, topic) != ["plain"]:  # held back by the open transaction until that is aborted
            pass
        with pytest.raises(confluent_kafka.KafkaException):
            producer.commit_transaction(TIMEOUT_S)
        assert read(cluster, topic) == ["plain"]


@pytest.mark.parametrize("is_commit", [True, False])
def test_offsets_are_committed_with_the_transaction(cluster: KafkaCluster, topic: str, is_commit: bool) -> None:
    group = f"group-{is_commit}"
    plain = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap_servers})
    send(plain, topic, "a", "b", "c")
    plain.flush(TIMEOUT_S)
    consumer = confluent_kafka.Consumer({
        "bootstrap.servers": cluster.bootstrap_servers, "group.id": group, "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    })  # fmt: skip
    consumer.subscribe([topic])
    for _ in range(3):
        message = consumer.poll(TIMEOUT_S)
        assert message is not None and message.error() is None
    producer = librdkafka(cluster, f"offsets-{is_commit}")
    producer.begin_transaction()
    partitions = [confluent_kafka.TopicPartition(topic, number) for number in range(PARTITIONS)]
    producer.send_offsets_to_transaction(
        consumer.position(partitions), consumer.consumer_group_metadata(), TIMEOUT_S
    )
    send(producer, topic, "d")
    (producer.commit_transaction if is_commit else producer.abort_transaction)(TIMEOUT_S)
    committed = consumer.committed(partitions, TIMEOUT_S)
    consumer.close()
    assert [each.offset for each in committed] == ([1, 1, 1] if is_commit else [confluent_kafka.OFFSET_INVALID] * 3)


def test_many_transactions_in_a_row(cluster: KafkaCluster, topic: str) -> None:
    producer = librdkafka(cluster, "many")
    expected = []
    for number in range(30):
        producer.begin_transaction()
        values = [f"{number}-{each}" for each in range(PARTITIONS)]
        send(producer, topic, *values)
        if number % 3:
            producer.commit_transaction(TIMEOUT_S)
            expected += values
        else:
            producer.abort_transaction(TIMEOUT_S)
    assert read(cluster, topic) == sorted(expected)


def test_transactions_outlive_a_restart_of_the_broker(cluster: KafkaCluster, topic: str) -> None:
    producer = librdkafka(cluster, "restart")
    producer.begin_transaction()
    send(producer, topic, "before")
    producer.flush(TIMEOUT_S)
    broker = cluster.brokers[0]
    broker.kill()
    broker.start()
    send(producer, topic, "after")
    producer.commit_transaction(TIMEOUT_S)
    assert read(cluster, topic) == ["after", "before"]


def test_kafka_python(cluster: KafkaCluster, topic: str) -> None:
    producer = kafka.KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, transactional_id="kafka-python")
    producer.init_transactions()
    for values, end in ((["a", "b"], producer.commit_transaction), (["c"], producer.abort_transaction)):
        producer.begin_transaction()
        for value in values:
            producer.send(topic, value.encode())
        producer.flush()
        end()
    producer.close()
    assert read(cluster, topic) == ["a", "b"]
    assert read(cluster, topic, "read_uncommitted") == ["a", "b", "c"]


def test_aiokafka(cluster: KafkaCluster, topic: str) -> None:
    async def run() -> None:
        async with aiokafka.AIOKafkaProducer(
            bootstrap_servers=cluster.bootstrap_servers, transactional_id="aiokafka"
        ) as producer:
            async with producer.transaction():
                await producer.send_and_wait(topic, b"a")
                await producer.send_and_wait(topic, b"b")
            await producer.begin_transaction()
            await producer.send_and_wait(topic, b"c")
            await producer.abort_transaction()

    asyncio.run(asyncio.wait_for(run(), 2 * TIMEOUT_S))
    assert read(cluster, topic) == ["a", "b"]
    assert read(cluster, topic, "read_uncommitted") == ["a", "b", "c"]


def test_the_java_producer(cluster: KafkaCluster, topic: str, apache_kafka: apache.Jars) -> None:
    def record(value: bytes) -> java_clients.ToSend:
        return java_clients.ToSend(topic, value=value)

    script: list[java_clients.ToSend | str] = [
        "begin", record(b"a"), record(b"b"), "commit", "begin", record(b"c"), "flush", "abort",
    ]  # fmt: skip
    java_clients.produce(apache_kafka, cluster.bootstrap_servers, script, transactional_id="java")
    assert read(cluster, topic) == ["a", "b"]
    assert read(cluster, topic, "read_uncommitted") == ["a", "b", "c"]
    again: list[java_clients.ToSend | str] = ["begin", record(b"d"), "commit"]
    java_clients.produce(apache_kafka, cluster.bootstrap_servers, again, transactional_id="java")
    assert read(cluster, topic) == ["a", "b", "d"]
