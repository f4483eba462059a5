"""Brokers are killed while producers run transactions: each transaction is read whole or not at all, and those whose
commit was acknowledged are read.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable

import confluent_kafka
import pytest

from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest

TIMEOUT_S = 60.0
PARTITIONS = 3
WRITERS = 4
SETTINGS = {
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.min.isr": 2,
    "transaction.state.log.num.partitions": 3,
    "min.insync.replicas": 2,
    "zookeeper.session.timeout.ms": 1000,
}


class Writer(threading.Thread):
    """A producer that runs one transaction after the other, every third of which it aborts.

    committed, aborted, unknown: the numbers of transactions; unknown is how one ended that the producer gave up.
    """

    def __init__(self, bootstrap: str, name: str, topic: str) -> None:
        super().__init__(daemon=True)
        self.name = name
        self.committed: set[int] = set()
        self.aborted: set[int] = set()
        self.unknown: set[int] = set()
        self.over = threading.Event()
        self.fault: BaseException | None = None
        self._servers = bootstrap
        self._topic = topic
        self._producer: confluent_kafka.Producer | None = None

    def run(self) -> None:
        number = 0
        try:
            while not self.over.is_set():
                self._transaction(number)
                number += 1
        except BaseException as error:
            self.fault = error

    def _transaction(self, number: int) -> None:
        try:
            producer = self._ready()
            producer.begin_transaction()
            for partition in range(PARTITIONS):
                producer.produce(self._topic, f"{self.name} {number} {partition}", partition=partition)
            if number % 3:
                self._until_done(producer.commit_transaction)
                self.committed.add(number)
            else:
                self._until_done(producer.abort_transaction)
                self.aborted.add(number)
        except confluent_kafka.KafkaException as error:
            self._failed(number, error.args[0])

    def _ready(self) -> confluent_kafka.Producer:
        if self._producer is None:
            self._producer = confluent_kafka.Producer(
                {"bootstrap.servers": self._servers, "transactional.id": self.name, "log_level": 0}
            )
            self._until_done(self._producer.init_transactions)
        return self._producer

    def _failed(self, number: int, error: confluent_kafka.KafkaError) -> None:
        assert self._producer is not None
        if error.txn_requires_abort():
            self._until_done(self._producer.abort_transaction)
            self.aborted.add(number)
        else:
            self.unknown.add(number)
            self._producer = None

    @staticmethod
    def _until_done(call: Callable[[float], object]) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            try:
                call(TIMEOUT_S)
            except confluent_kafka.KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > deadline:
                    raise
            else:
                return


def read_committed(cluster: KafkaCluster, topic: str) -> list[str]:
    consumer = confluent_kafka.Consumer({
        "bootstrap.servers": cluster.bootstrap_servers, "group.id": str(uuid.uuid4()), "log_level": 0,
        "isolation.level": "read_committed", "enable.auto.commit": False, "enable.partition.eof": True,
    })  # fmt: skip
    consumer.assign([confluent_kafka.TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    values, ended = [], 0
    while ended < PARTITIONS:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None
        if message.error():
            assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF, message.error()
            ended += 1
        else:
            values.append(message.value().decode())
    consumer.close()
    return values


def coordinator_of(cluster: KafkaCluster, transactional_id: str) -> int:
    """The broker, once there is one."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            with WireClient(cluster.bootstrap_servers.split(",")[0]) as client:
                found = client.ask(FindCoordinatorRequest(key=transactional_id, key_type=1), 3)
        except OSError:
            found = None
        if found is not None and found.error_code == 0:
            return int(found.node_id)
        assert time.monotonic() < deadline
        time.sleep(0.05)


def wait(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.timeout(300)
def test_transactions_stay_whole_while_coordinators_are_killed(
    kafka_cluster_factory: Callable[..., KafkaCluster],
) -> None:
    with kafka_cluster_factory(brokers=3, settings=SETTINGS) as cluster:
        topic = cluster.create_topic(partitions=PARTITIONS, replication_factor=3)
        writers = [Writer(cluster.bootstrap_servers, f"writer-{number}", topic) for number in range(WRITERS)]
        for writer in writers:
            writer.start()

        def progress(count: int) -> None:
            goals = {writer: len(writer.committed) + count for writer in writers}
            wait(lambda: any(writer.fault for writer in writers)
                 or all(len(writer.committed) >= goal for writer, goal in goals.items()))  # fmt: skip
            assert [writer.fault for writer in writers if writer.fault] == []

        progress(3)
        for writer in writers[:3]:
            killed = cluster.brokers[coordinator_of(cluster, writer.name)]
            killed.kill()
            progress(3)
            killed.start()
            progress(3)
        for writer in writers:
            writer.over.set()
        for writer in writers:
            writer.join(TIMEOUT_S)
        values = read_committed(cluster, topic)
    assert len(values) == len(set(values))
    for writer in writers:
        numbers = [int(value.split()[1]) for value in values if value.startswith(f"{writer.name} ")]
        found = set(numbers)
        assert {number for number in found if numbers.count(number) != PARTITIONS} == set()
        assert writer.committed <= found <= writer.committed | writer.unknown
