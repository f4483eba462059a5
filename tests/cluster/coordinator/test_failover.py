"""The coordinator is killed while groups commit: whoever takes over knows every commit that was acknowledged."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import confluent_kafka

from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest

TIMEOUT_S = 60.0
GROUPS = 6
SETTINGS = {
    "offsets.topic.replication.factor": 3,
    "offsets.topic.num.partitions": 3,
    "zookeeper.session.timeout.ms": 1000,
}


class Committer(threading.Thread):
    """A consumer of its own group that commits one offset after the other. `acknowledged`: the last that succeeded."""

    def __init__(self, bootstrap: str, group: str, topic: str) -> None:
        super().__init__(daemon=True)
        self.group = group
        self.acknowledged = -1
        self.over = threading.Event()
        self._topic = topic
        self._consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False, "log_level": 0}
        )

    def run(self) -> None:
        offset = 0
        while not self.over.is_set():
            wanted = confluent_kafka.TopicPartition(self._topic, 0, offset)
            try:
                [done] = self._consumer.commit(offsets=[wanted], asynchronous=False)
            except confluent_kafka.KafkaException:
                time.sleep(0.05)  # no coordinator for now
                continue
            if done.error is None:
                self.acknowledged = offset
                offset += 1
        self._consumer.close()


def wait(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def coordinator_of(bootstrap: str, group: str) -> int:
    with WireClient(bootstrap) as client:
        return int(client.ask(FindCoordinatorRequest(key=group, key_type=0), 3).node_id)


def test_no_acknowledged_commit_is_lost_with_its_coordinator(
    kafka_cluster_factory: Callable[..., KafkaCluster],
) -> None:
    with kafka_cluster_factory(brokers=3, settings=SETTINGS) as cluster:
        topic = cluster.create_topic(replication_factor=3)
        committers = [Committer(cluster.bootstrap_servers, f"group-{number}", topic) for number in range(GROUPS)]
        for committer in committers:
            committer.start()
        wait(lambda: all(committer.acknowledged >= 20 for committer in committers))
        killed = cluster.brokers[coordinator_of(cluster.brokers[0].bootstrap, "group-0")]
        killed.kill()
        before = {committer.group: committer.acknowledged for committer in committers}
        wait(lambda: all(committer.acknowledged >= before[committer.group] + 20 for committer in committers))
        for committer in committers:
            committer.over.set()
        for committer in committers:
            committer.join(TIMEOUT_S)
        reader = [
            confluent_kafka.Consumer(
                {"bootstrap.servers": cluster.bootstrap_servers, "group.id": committer.group, "log_level": 0}
            )
            for committer in committers
        ]
        for committer, consumer in zip(committers, reader, strict=True):
            [found] = consumer.committed([confluent_kafka.TopicPartition(topic, 0)], timeout=TIMEOUT_S)
            consumer.close()
            assert found.offset >= committer.acknowledged
