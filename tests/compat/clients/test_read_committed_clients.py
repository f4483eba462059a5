"""Every client library reads with read_committed what was committed and nothing else: transactions of several producers
between one another, aborted ones among them, over many segments, from a leader, its successor and a restarted broker.
"""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import aiokafka
import confluent_kafka
import kafka
import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.clients import Consumer
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.cluster_views import wait_in_sync
from kafka_py.testing.peers import apache, java_clients

TIMEOUT_S = 60.0
PRODUCERS = 3
STEPS = 120


@pytest.fixture(scope="module")
def cluster(kafka_cluster_factory: Callable[..., KafkaCluster]) -> Iterator[KafkaCluster]:
    settings = {"transaction.state.log.num.partitions": 3, "transaction.state.log.replication.factor": 2}
    with kafka_cluster_factory(brokers=2, settings=settings) as made:
        yield made


class Written:
    """A topic of one partition in small segments, and what of it is committed, in order."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self.topic = cluster.create_topic(replication_factor=2, configs={"segment.bytes": 2000})
        self.every: list[str] = []
        self._aborted: set[str] = set()
        rng = random.Random(7)
        boot = {"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"}
        plain = confluent_kafka.Producer(boot)
        producers = [
            confluent_kafka.Producer({**boot, "transactional.id": f"{self.topic}-{number}"})
            for number in range(PRODUCERS)
        ]
        for producer in producers:
            producer.init_transactions(TIMEOUT_S)
        open_values: dict[Any, list[str]] = {}
        for number in range(STEPS):
            producer, value = rng.choice([plain, *producers]), f"value {number}"
            if producer in open_values and rng.random() < 0.35:
                self._end(producer, open_values.pop(producer), is_commit=rng.random() < 0.5)
                continue
            if producer is not plain and producer not in open_values:
                producer.begin_transaction()
                open_values[producer] = []
            producer.produce(self.topic, value, partition=0)
            assert producer.flush(TIMEOUT_S) == 0
            self.every.append(value)
            open_values.get(producer, []).append(value)
        for producer, values in open_values.items():
            self._end(producer, values, is_commit=rng.random() < 0.5)

    def _end(self, producer: confluent_kafka.Producer, values: list[str], *, is_commit: bool) -> None:
        if is_commit:
            producer.commit_transaction(TIMEOUT_S)
        else:
            producer.abort_transaction(TIMEOUT_S)
            self._aborted.update(values)

    @property
    def committed(self) -> list[str]:
        return [value for value in self.every if value not in self._aborted]


@pytest.fixture(scope="module")
def written(cluster: KafkaCluster) -> Written:
    return Written(cluster)


def by_librdkafka(cluster: KafkaCluster, topic: str, isolation: str) -> list[str]:
    consumer = confluent_kafka.Consumer({
        "bootstrap.servers": cluster.bootstrap_servers, "group.id": str(uuid.uuid4()), "isolation.level": isolation,
        "enable.auto.commit": False, "enable.partition.eof": True, "max.partition.fetch.bytes": 1500,
    })  # fmt: skip
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    values = []
    try:
        while True:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None
            if message.error():
                assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF, message.error()
                return values
            values.append(message.value().decode())
    finally:
        consumer.close()


def by_kafka_python(cluster: KafkaCluster, topic: str, isolation: str) -> list[str]:
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=cluster.bootstrap_servers, isolation_level=isolation, max_partition_fetch_bytes=1500,
        group_id=None, consumer_timeout_ms=int(TIMEOUT_S * 1000),
    )  # fmt: skip
    partition = kafka.TopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    values: list[str] = []
    try:
        end = consumer.end_offsets([partition])[partition]
        while consumer.position(partition) < end:
            for records in consumer.poll(1000).values():
                values += [record.value.decode() for record in records]
    finally:
        consumer.close()
    return values


def by_aiokafka(cluster: KafkaCluster, topic: str, isolation: str) -> list[str]:
    async def run() -> list[str]:
        partition = aiokafka.TopicPartition(topic, 0)
        values: list[str] = []
        async with aiokafka.AIOKafkaConsumer(
            bootstrap_servers=cluster.bootstrap_servers, isolation_level=isolation, max_partition_fetch_bytes=1500
        ) as consumer:
            consumer.assign([partition])
            await consumer.seek_to_beginning(partition)
            end = (await consumer.end_offsets([partition]))[partition]
            while await consumer.position(partition) < end:
                for records in (await consumer.getmany(timeout_ms=1000)).values():
                    values += [record.value.decode() for record in records]
        return values

    return asyncio.run(asyncio.wait_for(run(), TIMEOUT_S))


def by_ours(cluster: KafkaCluster, topic: str, isolation: str) -> list[str]:
    partition = TopicPartition(topic, 0)
    values: list[str] = []
    with Consumer({
        "bootstrap.servers": cluster.bootstrap_servers, "isolation.level": isolation, "group.id": str(uuid.uuid4()),
        "enable.auto.commit": False, "max.partition.fetch.bytes": 1500,
    }) as consumer:  # fmt: skip
        consumer.assign([partition])
        consumer.seek_to_beginning([partition])
        end = consumer.end_offsets([partition])[partition]
        while consumer.position(partition) < end:
            values += [record.value.decode() for record in consumer.poll(1.0)]
    return values


READERS = {"librdkafka": by_librdkafka, "kafka-python": by_kafka_python, "aiokafka": by_aiokafka, "ours": by_ours}


@pytest.mark.parametrize("reader", READERS)
def test_committed_records_are_read_in_order(cluster: KafkaCluster, written: Written, reader: str) -> None:
    read = READERS[reader]
    assert read(cluster, written.topic, "read_committed") == written.committed
    assert read(cluster, written.topic, "read_uncommitted") == written.every


def test_the_java_consumer_reads_them_in_order(
    cluster: KafkaCluster, written: Written, newest_clients: apache.Jars
) -> None:
    def values(isolation: str) -> list[str]:
        settings = {"isolation_level": isolation, "max_partition_fetch_bytes": 1500}
        read = java_clients.consume(newest_clients, cluster.bootstrap_servers, [f"{written.topic}:0"], **settings)
        return [(record.value or b"").decode() for record in read]

    assert values("read_committed") == written.committed
    assert values("read_uncommitted") == written.every


def test_each_replica_knows_what_was_aborted_also_after_it_was_killed(cluster: KafkaCluster, written: Written) -> None:
    for broker in cluster.brokers:
        broker.kill()
        assert by_librdkafka(cluster, written.topic, "read_committed") == written.committed
        broker.start()
        wait_in_sync(cluster, written.topic)
    assert by_ours(cluster, written.topic, "read_committed") == written.committed
