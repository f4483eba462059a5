"""Fetch from follower (KIP-392): a consumer reads from the replica in its own rack. With librdkafka's consumer."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka
import pytest
from acknowledged import Peek, until

from kafka_py.testing.cluster import KafkaCluster

SETTINGS = {
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    "replica.fetch.wait.max.ms": 100,
    "auto.leader.rebalance.enable": False,
}


@pytest.fixture(scope="module")
def cluster(kafka_cluster_factory: Callable[..., KafkaCluster]) -> Iterator[KafkaCluster]:
    """Broker 0 is in rack 0, broker 1 in rack 1."""
    with kafka_cluster_factory(brokers=2, settings=SETTINGS) as made:
        for broker in made.brokers:
            broker.stop()
            broker.properties["broker.rack"] = f"rack{broker.broker_id}"
            broker.start()
        yield made


class Reader:
    """A consumer in a rack. source: the broker that it reads partition 0 from, by its statistics."""

    def __init__(self, cluster: KafkaCluster, topic: str, rack: str) -> None:
        self.source = -1
        self.values: list[bytes] = []
        self._topic = topic
        settings = {
            "bootstrap.servers": cluster.bootstrap_servers, "group.id": "racks", "client.rack": rack,
            "enable.auto.commit": False, "statistics.interval.ms": 50, "stats_cb": self._on_statistics,
            "fetch.wait.max.ms": 100,
        }  # fmt: skip
        self._consumer = confluent_kafka.Consumer(settings)
        self._consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])

    def _on_statistics(self, text: str) -> None:
        partitions: dict[str, Any] = json.loads(text)["topics"].get(self._topic, {}).get("partitions", {})
        if "0" in partitions:
            self.source = partitions["0"]["broker"]

    def poll(self) -> None:
        message = self._consumer.poll(0.1)
        if message is not None and not message.error():
            self.values.append(message.value())

    def reads_from(self, broker_id: int, count: int) -> bool:
        self.poll()
        return self.source == broker_id and len(self.values) == count

    def close(self) -> None:
        self._consumer.close()


@pytest.mark.parametrize("rack", ["rack0", "rack1", "elsewhere"])
def test_each_rack_reads_from_its_own_replica_and_strangers_from_the_leader(cluster: KafkaCluster, rack: str) -> None:
    topic = cluster.create_topic(replication_factor=2)
    peek = Peek(cluster.zookeeper_connect)
    nearest = {"rack0": 0, "rack1": 1}.get(rack, peek.state(topic, 0)["leader"])
    peek.close()
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})
    for number in range(10):
        producer.produce(topic, b"%d" % number)
    producer.flush(30)
    reader = Reader(cluster, topic, rack)
    until(lambda: reader.reads_from(nearest, 10))
    producer.produce(topic, b"one more")
    producer.flush(30)
    until(lambda: reader.reads_from(nearest, 11))
    reader.close()
