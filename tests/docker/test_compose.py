"""The compose files with a real engine: nothing that was acknowledged is lost, whatever happens to a container."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafka_py.clients import Consumer, Producer, TopicPartition
from kafka_py.clients.producer.batches import RecordFuture
from kafka_py.testing.containers.compose_project import (
    FOLDER,
    PATIENCE_S,
    PLUGIN,
    SCRIPT,
    ComposeProject,
    compose_commands,
)
from kafka_py.testing.containers.watchers import ManagerClient, target_health
from kafka_py.testing.processes import free_ports, wait_until
from kafka_py.testing.topics import ask_metadata, create_topic

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

BROKERS = ("kafka-1", "kafka-2", "kafka-3")
TOPIC = "orders"
PASSWORD = "correct horse"
PARTITIONS = 3
PIECE = 200
"""How many more records are acknowledged before, during and after each trouble."""


class Watched(NamedTuple):
    """The cluster with what watches it. ready_after_s: from the call of `up` until everything shows three brokers."""

    project: ComposeProject
    manager: ManagerClient
    prometheus_port: int
    ready_after_s: float


@pytest.fixture(scope="module")
def watched(
    engine: Any, images: dict[str, str], prometheus_image: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Watched]:
    if not compose_commands():
        pytest.skip("no container engine with compose (Debian: apt-get install docker-compose)")
    manager_port, prometheus_port = free_ports(2)
    variables = {
        "KAFKA_MANAGER_PUBLISHED_PORT": str(manager_port), "KAFKA_MANAGER_ADMINISTRATOR_PASSWORD": PASSWORD,
        "PROMETHEUS_PUBLISHED_PORT": str(prometheus_port), "PROMETHEUS_IMAGE": prometheus_image,
    }  # fmt: skip
    folder = tmp_path_factory.mktemp("cluster")
    manager = ManagerClient(manager_port, "admin", PASSWORD)
    with ComposeProject(engine, "compose-cluster.yaml", folder, 3, variables=variables) as project:
        for port in project.ports:
            wait_until(lambda port=port: knows_all(port), PATIENCE_S, "three brokers")
        wait_until(lambda: sees(manager.live_brokers, {1, 2, 3}), PATIENCE_S, "three brokers on the manager's page")
        wait_until(lambda: sees(lambda: down(prometheus_port), []), PATIENCE_S, "targets of Prometheus that are up")
        ready_after_s = time.monotonic() - project.begun
        create_topic([f"localhost:{port}" for port in project.ports], TOPIC, PARTITIONS, replication_factor=3)
        yield Watched(project, manager, prometheus_port, ready_after_s)


@pytest.fixture
def cluster(watched: Watched) -> ComposeProject:
    return watched.project


def sees(look: Callable[[], object], wanted: object) -> bool:
    """Whether that is what is seen; what does not answer yet sees nothing."""
    try:
        return look() == wanted
    except OSError:
        return False


def down(prometheus_port: int) -> list[str]:
    """The targets that Prometheus does not find up."""
    return sorted(target for target, health in target_health(prometheus_port).items() if health != "up")


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


def test_prometheus_finds_every_broker_and_the_exporter(watched: Watched) -> None:
    print(f"everything showed three brokers {watched.ready_after_s:.1f} s after `up`")
    targets = re.findall(r'"(\S+?:\d+)"', (FOLDER / "prometheus" / "prometheus.yml").read_text())
    assert {target.partition(":")[0] for target in targets} >= set(BROKERS)
    assert target_health(watched.prometheus_port) == dict.fromkeys(targets, "up")


def test_the_manager_and_prometheus_see_a_killed_broker(watched: Watched) -> None:
    container = watched.project.container(BROKERS[2])
    [target] = [target for target in target_health(watched.prometheus_port) if target.startswith(BROKERS[2])]
    container.kill("SIGKILL")
    wait_until(lambda: sees(watched.manager.live_brokers, {1, 2}), PATIENCE_S, "a broker less on the manager's page")
    wait_until(lambda: sees(lambda: down(watched.prometheus_port), [target]), PATIENCE_S, f"{target} down")
    container.start()
    wait_until(lambda: sees(watched.manager.live_brokers, {1, 2, 3}), PATIENCE_S, "the broker on the manager's page")
    wait_until(lambda: sees(lambda: down(watched.prometheus_port), []), PATIENCE_S, f"{target} up")
    watched.project.wait_in_sync(*BROKERS)


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


def test_a_rolling_restart_loses_nothing_and_the_manager_sees_each_step(watched: Watched) -> None:
    cluster = watched.project
    with Writer(cluster.bootstrap_servers, "roll") as writer:
        for number, service in enumerate(BROKERS, 1):
            container, others = cluster.container(service), {1, 2, 3} - {number}
            container.stop(timeout=60)
            wait_until(lambda others=others: watched.manager.live_brokers() == others, PATIENCE_S, f"{service} stopped")
            container.start()
            cluster.wait_in_sync(*BROKERS)
            wait_until(lambda: watched.manager.live_brokers() == {1, 2, 3}, PATIENCE_S, f"{service} on the page")
            writer.wait_for_more()
    check_nothing_lost(cluster, writer, "roll")


@pytest.mark.parametrize("command", [PLUGIN, SCRIPT], ids=" ".join)
def test_one_broker_as_compose_yaml_has_it(
    engine: Any, images: dict[str, str], command: tuple[str, ...], tmp_path: Path
) -> None:
    """With each compose of this machine; the cluster is started by the newest only."""
    if command not in compose_commands():
        pytest.skip(f"no container engine with {' '.join(command)}")
    with ComposeProject(engine, "compose.yaml", tmp_path, 1, command=command) as project:
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
