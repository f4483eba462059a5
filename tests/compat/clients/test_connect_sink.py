"""Kafka Connect of 2.8.2: a sink that reads with isolation.level=read_committed writes committed records alone.

2.8.2 has exactly-once for no connector of its own: sources came with 3.3 (KIP-618), and a sink is as good as the system
that it writes to. What it has is a sink's consumer that reads committed records only, by `consumer.override.`. So the
file of FileStreamSink must hold each committed record once and in order, through restarts of the worker; one that is
killed may write records again that it wrote before, but never one that was aborted. `KAFKA_PY_LONG` has more rounds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import confluent_kafka
import pytest

from kafka_py.base.properties import format_properties
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.peers import apache
from kafka_py.testing.processes import Process, free_port, wait_until

ROUNDS = 10 if "KAFKA_PY_LONG" in os.environ else 2
PER_TRANSACTION = 20
TIMEOUT_S = 120.0

pytestmark = [pytest.mark.slow, pytest.mark.core, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def cluster(kafka_cluster_factory: Callable[..., KafkaCluster]) -> Iterator[KafkaCluster]:
    with kafka_cluster_factory(settings={"transaction.state.log.num.partitions": 3}) as made:
        yield made


@pytest.fixture(scope="module")
def connect() -> apache.Jars:
    try:
        return apache.kafka_connect()
    except apache.Unavailable as why:
        pytest.skip(str(why))


class Worker(Process):
    """A standalone worker with one FileStreamSink of a topic."""

    def __init__(self, jars: apache.Jars, folder: Path, bootstrap: str, topic: str) -> None:
        self.file = folder / "sink.txt"
        worker = {
            "bootstrap.servers": bootstrap, "listeners": f"http://127.0.0.1:{free_port()}",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "offset.storage.file.filename": str(folder / "offsets"), "offset.flush.interval.ms": "500",
            "connector.client.config.override.policy": "All",
        }  # fmt: skip
        sink = {
            "name": "committed", "connector.class": "FileStreamSink", "tasks.max": "1", "topics": topic,
            "file": str(self.file), "consumer.override.isolation.level": "read_committed",
            "consumer.override.session.timeout.ms": "6000",
        }  # fmt: skip
        paths = []
        for name, properties in (("worker", worker), ("sink", sink)):
            paths.append(str(folder / f"{name}.properties"))
            Path(paths[-1]).write_text(format_properties(properties))
        super().__init__(jars.command("org.apache.kafka.connect.cli.ConnectStandalone", *paths), folder / "worker.log")

    def lines(self) -> list[str]:
        """The whole lines of the file."""
        text = self.file.read_text() if self.file.exists() else ""
        return text.split("\n")[:-1]

    def wait_lines(self, count: int) -> None:
        self.wait_for(lambda: len(self.lines()) >= count, TIMEOUT_S, f"{count} lines")


class Writer:
    """Transactions of which every third is aborted; `expected` holds the committed records."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.expected: list[str] = []
        self._topic = topic
        self._number = 0
        self._producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "transactional.id": "writer"})
        self._producer.init_transactions(TIMEOUT_S)

    def write(self, transactions: int) -> None:
        for _ in range(transactions):
            self._number += 1
            is_committed = self._number % 3 != 0
            values = [f"{self._number}-{each}-{is_committed}" for each in range(PER_TRANSACTION)]
            self._producer.begin_transaction()
            for value in values:
                self._producer.produce(self._topic, value, partition=0)
            if is_committed:
                self._producer.commit_transaction(TIMEOUT_S)
                self.expected += values
            else:
                self._producer.flush(TIMEOUT_S)
                self._producer.abort_transaction(TIMEOUT_S)


def test_a_sink_writes_what_was_committed(cluster: KafkaCluster, connect: apache.Jars, tmp_path: Path) -> None:
    topic = cluster.create_topic()
    writer = Writer(cluster.bootstrap_servers, topic)
    worker = Worker(connect, tmp_path, cluster.bootstrap_servers, topic)
    try:
        for _ in range(ROUNDS):
            writer.write(3)
            worker.start()
            worker.wait_lines(len(writer.expected))
            writer.write(3)
            worker.wait_lines(len(writer.expected))
            assert worker.stop(TIMEOUT_S) is not None
            assert worker.lines() == writer.expected
        worker.start()
        writer.write(3)
        worker.wait_lines(len(writer.expected))
        worker.kill()
        worker.start()
        writer.write(1)
        wait_until(lambda: set(writer.expected) <= set(worker.lines()), TIMEOUT_S, "the rest of the committed records")
        assert set(worker.lines()) == set(writer.expected)
    finally:
        worker.kill()
