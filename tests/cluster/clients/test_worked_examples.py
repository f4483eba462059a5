"""Worked examples that take our clients: an own partitioner, positions, borrowed metadata."""

import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.clients import AdminClient, Consumer, ConsumerRecord, NewTopic, Producer
from kafka_py.clients.metadata import ClusterView
from kafka_py.records.java_hash import java_hash_code
from kafka_py.testing.fakes.fake_answers import answer_metadata
from kafka_py.testing.fakes.fake_cluster import FakeCluster
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.api_versions import ApiVersionsRequest
from kafka_py.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

MANY = 1_000


def read(consumer: Consumer, count: int) -> list[ConsumerRecord]:
    """The next `count` records of what the consumer is assigned."""
    records: list[ConsumerRecord] = []
    deadline = time.monotonic() + 20
    while len(records) < count:
        assert time.monotonic() < deadline, f"only {len(records)} of {count} records came"
        records += consumer.poll(0.2)
    return records


# A real broker


class JasonPartitioner:
    """The article's partitioner: keys that are numbers by their value, others by Java's hash."""

    def partition(
        self, topic: str, key: Any, key_bytes: bytes | None, value: Any, value_bytes: bytes | None, cluster: ClusterView
    ) -> int:
        count = len(cluster.topics[topic].partitions)
        return abs(int(key) % count) if key.isdigit() else abs(java_hash_code(key)) % count


def test_s1_196_each_key_in_the_partition_of_its_number(bootstrap: str) -> None:
    """S1-196: 20 messages in five rounds, keys 0 to 3, 4 partitions: five messages in each partition."""
    with AdminClient({"bootstrap.servers": bootstrap}) as admin:
        admin.create_topics([NewTopic("topic3", 4, 1)]).all()
    config = {
        "bootstrap.servers": bootstrap, "partitioner.class": JasonPartitioner,
        "key.serializer": "org.apache.kafka.common.serialization.StringSerializer",
        "value.serializer": "org.apache.kafka.common.serialization.StringSerializer",
    }  # fmt: skip
    with Producer(config) as producer:
        for round_, key in itertools.product(range(1, 6), range(4)):
            producer.send("topic3", f"The {round_} message for key {key}", key=str(key))
    with Consumer({"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest"}) as consumer:
        for number in range(4):
            consumer.assign([TopicPartition("topic3", number)])
            got = [(record.key, record.value) for record in read(consumer, 5)]
            assert got == [(b"%d" % number, b"The %d message for key %d" % (each, number)) for each in range(1, 6)]
        ends = consumer.end_offsets([TopicPartition("topic3", number) for number in range(4)])
        assert set(ends.values()) == {5}


def test_s2_094_the_position_is_the_offset_of_the_next_record(bootstrap: str) -> None:
    """S2-094: offset 5 means that messages 0 to 4 are consumed, and 5 is read next."""
    partition = TopicPartition("position", 0)
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        for number in range(8):
            producer.send("position", b"%d" % number, partition=0)
    config = {"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest", "max.poll.records": 5}
    with Consumer(config) as consumer:
        consumer.assign([partition])
        assert [record.offset for record in read(consumer, 5)] == [0, 1, 2, 3, 4]
        assert consumer.position(partition) == 5
        assert read(consumer, 1)[0].offset == 5


def test_we3_16b_a_position_kept_elsewhere_is_taken_up_again(bootstrap: str) -> None:
    """WE3-16b: a consumer that seeks to the stored last + 1 repeats nothing and loses nothing."""
    partition = TopicPartition("kept-elsewhere", 0)
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        for number in range(50):
            producer.send(partition.topic, b"%d" % number, partition=0)
    store = {partition: 0}
    got: list[bytes] = []
    while len(got) < 50:
        config = {"bootstrap.servers": bootstrap, "auto.offset.reset": "none", "max.poll.records": 20}
        with Consumer(config) as consumer:
            consumer.assign([partition])
            consumer.seek(partition, store[partition])
            for record in read(consumer, 1):
                got.append(record.value)
                store[partition] = record.offset + 1
    assert got == [b"%d" % number for number in range(50)]


# A server that knows nothing but another cluster's metadata


@pytest.fixture
def cluster1() -> Iterator[FakeCluster]:
    with FakeCluster(1, {ApiKey.DESCRIBE_CLUSTER: -1}) as made:
        yield made


@pytest.fixture
def cluster2() -> Iterator[FakeCluster]:
    with FakeCluster(1) as made:
        made.create_topic("topic-demo", 4)
        yield made


def test_w6_20_a_server_may_hand_out_another_clusters_metadata(cluster1: FakeCluster) -> None:
    """W6.20: node (0, localhost, 9093), controller 0, cluster id, topic-demo with 4 partitions, all of node 0."""
    rows = [
        MetadataResponsePartition(
            error_code=0, partition_index=number, leader_id=0, leader_epoch=0, replica_nodes=[0], isr_nodes=[0],
            offline_replicas=[],
        )
        for number in range(4)
    ]  # fmt: skip
    snapshot = MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=0, host="localhost", port=9093)],
        controller_id=0,
        cluster_id="64PniqfkRHa4ASfUisNXrw",
        topics=[MetadataResponseTopic(error_code=0, name="topic-demo", is_internal=False, partitions=rows)],
    )
    cluster1.fail(ApiKey.METADATA, *[lambda _request: snapshot] * MANY)
    with AdminClient({"bootstrap.servers": cluster1.bootstrap_servers}) as admin:
        described = admin.describe_cluster()
    assert described.cluster_id == "64PniqfkRHa4ASfUisNXrw"
    assert [(node.id, node.host, node.port) for node in described.nodes] == [(0, "localhost", 9093)]
    assert described.controller == described.nodes[0]
    with AdminClient({"bootstrap.servers": cluster1.bootstrap_servers}) as admin:
        topic = admin.describe_topics(["topic-demo"]).value("topic-demo")
    assert not topic.is_internal
    for number, row in enumerate(topic.partitions):
        assert (row.partition, row.leader) == (number, described.nodes[0])
        assert [node.id for node in row.replicas] == [node.id for node in row.isr] == [0]


def test_w6_21_clients_leave_the_server_that_only_told_them_where_to_go(
    cluster1: FakeCluster, cluster2: FakeCluster
) -> None:
    """W6.21: all messages land in cluster2, whichever server was asked first; nobody misses cluster1 afterwards."""
    borrowed = [lambda request: answer_metadata(cluster2, 0, request, ErrorCode.NONE)] * MANY
    cluster1.fail(ApiKey.METADATA, *borrowed)
    wanted = [b"%d" % number for number in range(40)]
    reading = {"bootstrap.servers": cluster2.bootstrap_servers, "auto.offset.reset": "earliest"}
    with Producer({"bootstrap.servers": cluster1.bootstrap_servers}) as producer, Consumer(reading) as consumer:
        consumer.assign([TopicPartition("topic-demo", number) for number in range(4)])
        for number, value in enumerate(wanted[:20]):
            producer.send("topic-demo", value, partition=number % 4)
        producer.flush()
        got = read(consumer, 20)
        cluster1.stop_broker(0)
        for number, value in enumerate(wanted[20:]):
            producer.send("topic-demo", value, partition=number % 4).result(10)
        got += read(consumer, 20)
    assert sorted(record.value for record in got) == sorted(wanted)
    assert sum(log.end_offset for log in cluster2.partitions.values()) == 40
    assert not cluster1.partitions
    assert {type(request) for _, request in cluster1.requests} <= {ApiVersionsRequest, MetadataRequest}
