"""Coordinators are killed while transactions commit offsets: a committed one is there, an aborted one never."""

from __future__ import annotations

import threading
from collections.abc import Callable

import confluent_kafka

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients import Producer
from kafka_py.testing.cluster import KafkaCluster
from tests.cluster.coordinator.test_failover import SETTINGS, TIMEOUT_S, coordinator_of, wait

GROUPS = 3
ABORTED = 1_000_000
"""Aborted transactions have offsets from here on."""
TRANSACTIONS = {
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 3,
}


class TransactionalCommitter(threading.Thread):
    """Commits one offset after the other for a group of its own, each in a transaction; every third one is aborted.

    By kafka_py's producer: librdkafka 2.x and kafka-python 3.0 both lose a TxnOffsetCommit on its way to a coordinator
    that is missing in the metadata for a moment, and wait for it without end, whoever's broker that is.

    acknowledged: the last offset whose transaction was committed. attempted: the one that was tried last.
    """

    def __init__(self, bootstrap: str, group: str, topic: str) -> None:
        super().__init__(daemon=True)
        self.group = group
        self.acknowledged = self.attempted = -1
        self.over = threading.Event()
        self._servers = bootstrap
        self._partition = TopicPartition(topic, 0)

    def _new_producer(self) -> Producer:
        return Producer({
            "bootstrap.servers": self._servers, "transactional.id": f"id of {self.group}",
            "transaction.timeout.ms": 10_000, "reconnect.backoff.max.ms": 300,
        })  # fmt: skip

    def run(self) -> None:
        number = 0
        while not self.over.is_set():
            with self._new_producer() as producer:
                try:
                    producer.init_transactions()  # ends what an earlier producer left of its transaction
                    while not self.over.is_set():
                        self._transact(producer, number)
                        number += 1
                except KafkaError:
                    continue

    def _transact(self, producer: Producer, number: int) -> None:
        is_commit = number % 3 < 2
        offset = number if is_commit else ABORTED + number
        producer.begin_transaction()
        producer.send_offsets_to_transaction({self._partition: offset}, self.group)
        if is_commit:
            self.attempted = offset
            producer.commit_transaction()
            self.acknowledged = offset
        else:
            producer.abort_transaction()


def test_offsets_of_transactions_outlive_their_coordinators(kafka_cluster_factory: Callable[..., KafkaCluster]) -> None:
    with kafka_cluster_factory(brokers=3, settings=SETTINGS | TRANSACTIONS) as cluster:
        topic = cluster.create_topic(replication_factor=3)
        committers = [
            TransactionalCommitter(cluster.bootstrap_servers, f"group-{number}", topic) for number in range(GROUPS)
        ]
        for committer in committers:
            committer.start()
        wait(lambda: all(committer.acknowledged >= 10 for committer in committers))
        killed = cluster.brokers[coordinator_of(cluster.brokers[0].bootstrap, "group-0")]
        killed.kill()
        living = next(broker.bootstrap for broker in cluster.brokers if broker is not killed)
        wait(lambda: coordinator_of(living, "group-0") not in (-1, killed.broker_id))
        before = {committer.group: committer.acknowledged for committer in committers}
        wait(lambda: all(committer.acknowledged >= before[committer.group] + 10 for committer in committers))
        for committer in committers:
            committer.over.set()
        for committer in committers:
            committer.join(TIMEOUT_S)
        for committer in committers:
            consumer = confluent_kafka.Consumer({
                "bootstrap.servers": cluster.bootstrap_servers, "group.id": committer.group, "log_level": 0,
                "isolation.level": "read_committed",
            })  # fmt: skip
            [found] = consumer.committed([confluent_kafka.TopicPartition(topic, 0)], timeout=TIMEOUT_S)
            consumer.close()
            assert committer.acknowledged <= found.offset <= max(committer.attempted, committer.acknowledged)
