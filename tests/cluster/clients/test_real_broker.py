"""Our clients against real brokers, ours and Apache's: processes of their own, ZooKeeper and all."""

import asyncio
import time
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.clients import (
    AdminClient,
    AsyncConsumer,
    AsyncProducer,
    ConfigResource,
    ConfigResourceType,
    Consumer,
    ConsumerRecord,
    KafkaError,
    NewTopic,
    Producer,
)
from kafka_py.clients.admin.resources import ConfigSource


@pytest.fixture(scope="module")
def bootstrap(broker_of_each_make: str) -> str:
    """Where clients find a broker that the tests of this module share: one of ours, then Apache's."""
    return broker_of_each_make


def create(bootstrap: str, topic: str, partitions: int = 1, **configs: str) -> None:
    names = {name.replace("_", "."): value for name, value in configs.items()}
    with AdminClient({"bootstrap.servers": bootstrap}) as admin:
        admin.create_topics([NewTopic(topic, partitions, 1, configs=names)]).all()


def read_all(bootstrap: str, topic: str, partitions: int, count: int, **settings: Any) -> list[ConsumerRecord]:
    config = {"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest", **settings}
    records: list[ConsumerRecord] = []
    deadline = time.monotonic() + 20
    with Consumer(config) as consumer:
        consumer.assign([TopicPartition(topic, number) for number in range(partitions)])
        while len(records) < count:
            assert time.monotonic() < deadline, f"only {len(records)} of {count} records came"
            records += consumer.poll(0.2)
    return records


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_codec_and_acks_setting_arrives_unchanged(bootstrap: str, codec: str, acks: str) -> None:
    topic = f"codec-{codec}-{acks}"
    create(bootstrap, topic, 2)
    values = [b"value %d " % number * (number % 50) for number in range(500)]
    config = {"bootstrap.servers": bootstrap, "compression.type": codec, "acks": acks, "linger.ms": 5}
    with Producer(config) as producer:
        for number, value in enumerate(values):
            producer.send(topic, value or None, key=b"%d" % (number % 7), headers=[("n", b"%d" % number)])
    records = read_all(bootstrap, topic, 2, 500)
    got = {int(record.headers[0][1] or b""): record.value for record in records}
    assert got == {number: value or None for number, value in enumerate(values)}


def test_offsets_timestamps_and_positions(bootstrap: str) -> None:
    create(bootstrap, "times")
    partition = TopicPartition("times", 0)
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        sent = [producer.send("times", b"x", timestamp=1_000_000 + number).result(10) for number in range(10)]
    assert [metadata.offset for metadata in sent] == list(range(10))
    with Consumer({"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest"}) as consumer:
        found = consumer.offsets_for_times({partition: 1_000_004})[partition]
        assert found is not None
        assert (found.offset, found.timestamp) == (4, 1_000_004)
        assert consumer.offsets_for_times({partition: 2_000_000}) == {partition: None}
        assert consumer.beginning_offsets([partition]) == {partition: 0}
        assert consumer.end_offsets([partition]) == {partition: 10}
        consumer.assign([partition])
        consumer.seek(partition, 7)
        assert [record.offset for record in consumer.poll(10)] == [7, 8, 9]
        consumer.seek_to_end()
        assert consumer.position(partition) == 10
        assert consumer.poll(0.1).is_empty()


def test_an_idempotent_producer_numbers_its_batches(bootstrap: str) -> None:
    create(bootstrap, "idempotent")
    config = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "batch.size": 500}
    with Producer(config) as producer:
        for number in range(2_000):
            producer.send("idempotent", b"%d" % number)
    assert [int(record.value) for record in read_all(bootstrap, "idempotent", 1, 2_000)] == list(range(2_000))


def test_a_topic_is_created_by_sending_to_it(bootstrap: str) -> None:
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        assert producer.send("made-by-sending", b"v").result(10).offset == 0


def test_topics_from_creation_to_deletion(bootstrap: str) -> None:
    with AdminClient({"bootstrap.servers": bootstrap}) as admin:
        created = admin.create_topics([NewTopic("life", 3, 1, configs={"retention.ms": "12345"})]).value("life")
        assert (created.num_partitions, created.replication_factor) == (3, 1)
        assert admin.create_topics([NewTopic("life")]).errors()["life"].code is ErrorCode.TOPIC_ALREADY_EXISTS
        assert admin.create_topics([NewTopic("bad name!")]).errors()["bad name!"].code is (
            ErrorCode.INVALID_TOPIC_EXCEPTION
        )
        described = admin.describe_topics(["life"]).value("life")
        assert [len(each.replicas) for each in described.partitions] == [1, 1, 1]
        admin.create_partitions({"life": 5}).all()
        assert len(admin.describe_topics(["life"]).value("life").partitions) == 5
        resource = ConfigResource(ConfigResourceType.TOPIC, "life")
        entry = admin.describe_configs([resource]).value(resource)["retention.ms"]
        assert (entry.value, entry.source) == ("12345", ConfigSource.DYNAMIC_TOPIC_CONFIG)
        admin.delete_topics(["life"]).all()
        deadline = time.monotonic() + 10
        while "life" in admin.list_topics() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert "life" not in admin.list_topics()


def test_the_cluster_and_its_directories_are_described(bootstrap: str) -> None:
    create(bootstrap, "sized")
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        producer.send("sized", b"x" * 1000).result(10)
    with AdminClient({"bootstrap.servers": bootstrap}) as admin:
        cluster = admin.describe_cluster()
        assert cluster.controller in cluster.nodes
        node = cluster.nodes[0].id
        (directory,) = admin.describe_log_dirs([node]).value(node).values()
        assert directory.error is None
        assert directory.replicas[TopicPartition("sized", 0)].size_bytes > 1000
        settings = admin.describe_configs([ConfigResource(ConfigResourceType.BROKER, str(node))])
        assert "log.retention.hours" in settings.value(ConfigResource(ConfigResourceType.BROKER, str(node)))


def test_a_record_above_the_topics_limit_is_refused(bootstrap: str) -> None:
    create(bootstrap, "small", max_message_bytes="1000")
    with Producer({"bootstrap.servers": bootstrap, "linger.ms": 20}) as producer:
        with pytest.raises(KafkaError) as caught:
            producer.send("small", b"x" * 2_000).result(10)
        assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE
        futures = [producer.send("small", b"x" * 100) for _ in range(40)]  # together too large, so split
        assert sorted(future.result(10).offset for future in futures) == list(range(40))


def test_the_asyncio_clients(bootstrap: str) -> None:
    create(bootstrap, "async")

    async def scenario() -> list[bytes]:
        config = {"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest"}
        values: list[bytes] = []
        async with AsyncProducer({"bootstrap.servers": bootstrap}) as producer, AsyncConsumer(config) as consumer:
            await consumer.assign([TopicPartition("async", 0)])
            future = await producer.send("async", b"1")
            await future
            await producer.send("async", b"2")
            async for record in consumer:
                values.append(record.value)
                if len(values) == 2:
                    return values
        return values

    assert asyncio.run(scenario()) == [b"1", b"2"]
