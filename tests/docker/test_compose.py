"""The compose files with a real engine: nothing that was acknowledged is lost, whatever happens to a container."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_py.clients import Consumer, Producer, TopicPartition
from kafka_py.clients.producer.batches import RecordFuture
from kafka_py.testing.containers.compose_project import FOLDER, PATIENCE_S, ComposeProject, compose_command
from kafka_py.testing.processes import wait_until
from kafka_py.testing.topics import ask_metadata, create_topic

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

BROKERS = ("kafka-1", "kafka-2", "kafka-3")
TOPIC = "orders"
PARTITIONS = 3
PIECE = 200
"""How many more records are acknowledged before, during and after each trouble."""


@pytest.fixture(scope="module")
def cluster(engine: Any, images: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposeProject]:
    if compose_command() is None:
        pytest.skip("no container engine with compose (Debian: apt-get install docker-compose)")
    with ComposeProject(engine, "compose-cluster.yaml", tmp_path_factory.mktemp("cluster"), 3) as project:
        for port in project.ports:
            wait_until(lambda port=port: knows_all(port), PATIENCE_S, "three brokers")
        create_topic([f"localhost:{port}" for port in project.ports], TOPIC, PARTITIONS, replication_factor=3)
        yield project


def knows_all(port: int) -> bool:
    try:
        known = ask_metadata(f"localhost:{port}")
    except OSError:
        return False
    return len(known.brokers) == 3 and known.controller_id >= 0


class Writer:
    """Sends numbers until it is stopped, and keeps which of them were acknowledged by the whole in-sync set."""

    def __init__(self, bootstrap_servers: str, prefix: str) -> None:
        self.acknowledged: set[bytes] = set()
        self.failed: list[BaseException] = []
        self._prefix = prefix
        self._settings = {
            "bootstrap.servers": bootstrap_servers, "acks": "all", "enable.idempotence": True, "linger.ms": 5,
            "delivery.timeout.ms": 180_000, "request.timeout.ms": 5_000,
        }  # fmt: skip
        self._stop = threading.Event()
        self._room = threading.Semaphore(100)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        number = 0
        with Producer(self._settings) as producer:
            while not self._stop.is_set():
                if self._room.acquire(timeout=0.1):
                    value = b"%s-%d" % (self._prefix.encode(), number)
                    producer.send(TOPIC, value, partition=number % PARTITIONS).add_done_callback(self._note(value))
                    number += 1

    def _note(self, value: bytes) -> Callable[[RecordFuture], None]:
        def done(future: RecordFuture) -> None:
            self._room.release()
            error = future.exception()
            if error is None:
                self.acknowledged.add(value)
            else:
                self.failed.append(error)

        return done

    def wait_for_more(self) -> None:
        wanted = len(self.acknowledged) + PIECE
        wait_until(lambda: len(self.acknowledged) >= wanted, PATIENCE_S, "further acknowledgements")

    def __enter__(self) -> Writer:
        self._thread.start()
        self.wait_for_more()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._thread.join()


def stored(bootstrap_servers: str, prefix: str) -> list[bytes]:
    """All values with this prefix that the topic has."""
    found = []
    with Consumer({"bootstrap.servers": bootstrap_servers, "auto.offset.reset": "earliest"}) as consumer:
        partitions = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        while any(consumer.position(partition) < end for partition, end in ends.items()):
            found += [record.value for record in consumer.poll(timeout=5.0)]
    return [value for value in found if value is not None and value.startswith(prefix.encode() + b"-")]


def check_nothing_lost(cluster: ComposeProject, writer: Writer, prefix: str) -> None:
    cluster.wait_in_sync(*BROKERS)
    values = stored(cluster.bootstrap_servers, prefix)
    assert writer.failed == []
    assert writer.acknowledged - set(values) == set()
    assert len(values) == len(set(values))
    print(f"{prefix}: {len(writer.acknowledged)} acknowledged records, all there once")


def test_prometheus_finds_the_metrics_of_every_broker(cluster: ComposeProject) -> None:
    """From inside the network, as the service of the profile `monitoring` does."""
    targets = re.findall(r'"(\S+?:\d+)"', (FOLDER / "prometheus" / "prometheus.yml").read_text())
    assert {target.partition(":")[0] for target in targets} == set(BROKERS)
    program = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())"
    for target in targets:
        shown = cluster.container(BROKERS[0]).exec_run(["python3", "-c", program, f"http://{target}/metrics"])
        assert shown.exit_code == 0 and "kafka_server_" in shown.output.decode()


def test_a_killed_broker_loses_nothing(cluster: ComposeProject) -> None:
    with Writer(cluster.bootstrap_servers, "kill") as writer:
        for service in BROKERS[:2]:
            container = cluster.container(service)
            container.kill("SIGKILL")
            writer.wait_for_more()
            container.start()
            cluster.wait_in_sync(*BROKERS)
            writer.wait_for_more()
    check_nothing_lost(cluster, writer, "kill")


def test_a_cut_network_loses_nothing(cluster: ComposeProject) -> None:
    network = cluster.network()
    container = cluster.container(BROKERS[2])
    with Writer(cluster.bootstrap_servers, "cut") as writer:
        network.disconnect(container, force=True)
        writer.wait_for_more()
        network.connect(container, aliases=[BROKERS[2]])
        cluster.wait_in_sync(*BROKERS)
        writer.wait_for_more()
    check_nothing_lost(cluster, writer, "cut")


def test_a_killed_zookeeper_server_loses_nothing(cluster: ComposeProject) -> None:
    with Writer(cluster.bootstrap_servers, "zookeeper") as writer:
        container = cluster.container("zookeeper-2")
        container.kill("SIGKILL")
        writer.wait_for_more()
        container.start()
        writer.wait_for_more()
    check_nothing_lost(cluster, writer, "zookeeper")


def test_a_rolling_restart_loses_nothing(cluster: ComposeProject) -> None:
    with Writer(cluster.bootstrap_servers, "roll") as writer:
        for service in BROKERS:
            cluster.container(service).restart(timeout=60)
            cluster.wait_in_sync(*BROKERS)
            writer.wait_for_more()
    check_nothing_lost(cluster, writer, "roll")


def test_one_broker_as_compose_yaml_has_it(engine: Any, images: dict[str, str], tmp_path: Path) -> None:
    if compose_command() is None:
        pytest.skip("no container engine with compose (Debian: apt-get install docker-compose)")
    with ComposeProject(engine, "compose.yaml", tmp_path, 1) as project:
        [port] = project.ports
        wait_until(lambda: is_there(port), PATIENCE_S, "the broker")
        project.wait_in_sync("kafka")
        create_topic([f"localhost:{port}"], TOPIC)
        with Producer({"bootstrap.servers": project.bootstrap_servers}) as producer:
            producer.send(TOPIC, b"hello").result(30)
        listed = project.container("kafka").exec_run(["kafka-topics.sh", "--bootstrap-server", "kafka:29092", "--list"])
        assert listed.output.decode() == f"{TOPIC}\n"


def is_there(port: int) -> bool:
    try:
        return ask_metadata(f"localhost:{port}").controller_id >= 0
    except OSError:
        return False
