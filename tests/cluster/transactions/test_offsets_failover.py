"""Coordinators are killed while transactions commit offsets: a committed one is there, an aborted one never."""

from __future__ import annotations

import threading
from collections.abc import Callable

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, TopicPartition

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

    acknowledged: the last offset whose transaction was committed. attempted: the one that was tried last.
    """

    def __init__(self, bootstrap: str, group: str, topic: str) -> None:
        super().__init__(daemon=True)
        self.group = group
        self.acknowledged = self.attempted = -1
        self.over = threading.Event()
        self._servers = bootstrap
        self._where = topic
        self._consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0})
        self._producer = self._new_producer()

    def _new_producer(self) -> confluent_kafka.Producer:
        return confluent_kafka.Producer({
            "bootstrap.servers": self._servers, "transactional.id": f"id of {self.group}", "log_level": 0,
            "transaction.timeout.ms": 10_000,
        })  # fmt: skip

    def run(self) -> None:
        number, is_ready = 0, False
        while not self.over.is_set():
            try:
                if not is_ready:
                    self._producer = self._new_producer()
                    self._producer.init_transactions(TIMEOUT_S)
                    is_ready = True
                if number % 3 == 2:
                    self._transact(ABORTED + number, is_commit=False)
                else:
                    self._transact(number, is_commit=True)
                number += 1
            except KafkaException:
                is_ready = False  # the next producer of this id ends what is left of the transaction
        self._consumer.close()

    def _transact(self, offset: int, *, is_commit: bool) -> None:
        self._producer.begin_transaction()
        offsets = [TopicPartition(self._where, 0, offset)]
        self._again(lambda: self._producer.send_offsets_to_transaction(
            offsets, self._consumer.consumer_group_metadata(), TIMEOUT_S
        ))  # fmt: skip
        if is_commit:
            self.attempted = offset
            self._again(lambda: self._producer.commit_transaction(TIMEOUT_S))
            self.acknowledged = offset
        else:
            self._again(lambda: self._producer.abort_transaction(TIMEOUT_S))

    def _again(self, call: Callable[[], object]) -> None:
        while True:
            try:
                call()
                return
            except KafkaException as failure:
                error: KafkaError = failure.args[0]
                if not error.retriable() or self.over.is_set():
                    raise


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
        killed.start()  # a commit of offsets on its way by librdkafka waits for the coordinator that it knows
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
            [found] = consumer.committed([TopicPartition(topic, 0)], timeout=TIMEOUT_S)
            consumer.close()
            assert committer.acknowledged <= found.offset <= max(committer.attempted, committer.acknowledged)
