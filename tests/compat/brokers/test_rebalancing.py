"""kafka-py rebalance on Apache's brokers, on a mixed cluster and on old ones: under a load of which nothing is lost.

Three brokers of which the last holds nothing of the topic; afterwards the files of all replicas are compared.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from acknowledged import Load, bootstrap_of, check_replica, log_bytes, until
from old_broker import OldBroker
from uneven_directories import UnevenDirectories

from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.admin.resources import ConfigResource, ConfigResourceType, ConfigSource
from kafka_py.clients.admin.topics import NewTopic
from kafka_py.operations.rebalancing.throttles import BROKER_THROTTLES, TOPIC_THROTTLES
from kafka_py.testing.broker import AnyBroker, BrokerProcess
from kafka_py.testing.peers.apache import LEAST_CLEANER_BYTES, ApacheBroker, apache_kafka
from kafka_py.testing.processes import ZookeeperServer, python_environment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

TOPIC, PARTITIONS = "skewed", 8
COMMAND = [sys.executable, "-P", "-m", "kafka_py.cli.umbrella.main", "rebalance"]
SETTINGS = {
    "zookeeper.session.timeout.ms": "6000", "replica.lag.time.max.ms": "6000", "auto.create.topics.enable": "false",
    "log.cleaner.dedupe.buffer.size": LEAST_CLEANER_BYTES, "auto.leader.rebalance.enable": "false",
    "controlled.shutdown.enable": "false",
}  # fmt: skip
MAKES: Mapping[str, Callable[..., AnyBroker]] = {"apache": ApacheBroker, "ours": BrokerProcess, "old": OldBroker}
OLD_VERSION = "1.1.1"
MOST_INTERRUPTIONS = 8


class Skewed:
    """Three brokers of these makes, each with two log directories, and the topic on two of them."""

    def __init__(self, folder: Path, connect: str, makes: Sequence[str], protocol: str) -> None:
        self.connect, self.folder = connect, folder
        self.brokers: list[AnyBroker] = []
        for number, make in enumerate(makes):
            more: dict[str, Any] = {"version": OLD_VERSION} if make == "old" else {}
            home = folder / f"broker-{number}"
            self.brokers.append(MAKES[make](
                home, connect, broker_id=number, settings={**SETTINGS, "inter.broker.protocol.version": protocol},
                log_dirs=[home / "disk1", home / "disk2"], **more,
            ))  # fmt: skip
        self.bootstrap = bootstrap_of(self.brokers)

    def start(self) -> None:
        for broker in self.brokers:
            broker.launch()
        for broker in self.brokers:
            broker.wait_started(120)
        with self.admin() as admin:
            until(lambda: len(admin.describe_cluster().nodes) == len(self.brokers))
            rows = {number: [0, 1] if number % 3 else [1, 0] for number in range(PARTITIONS)}
            admin.create_topics([NewTopic(TOPIC, replica_assignments=rows)]).all()
            until(lambda: self.is_placed(admin, rows))

    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap})

    def is_placed(self, admin: AdminClient, rows: dict[int, list[int]]) -> bool:
        found = admin.describe_topics([TOPIC]).all()[TOPIC].partitions
        return {row.partition: sorted(node.id for node in row.isr) for row in found} == {
            number: sorted(ids) for number, ids in rows.items()
        }

    def replicas(self, admin: AdminClient) -> dict[int, list[int]]:
        found = admin.describe_topics([TOPIC]).all()[TOPIC].partitions
        return {row.partition: [node.id for node in row.replicas] for row in found}

    def begin(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*COMMAND, "--bootstrap-server", self.bootstrap, *words], cwd=self.folder, env=python_environment(),
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *words: str) -> tuple[str, str]:
        running = self.begin(*words)
        out, errors = running.communicate(timeout=300)
        assert running.returncode == 0, out + errors
        return out, errors

    def plan(self, *words: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run("--output", "json", *words)[0])
        return found

    def check_end(self, load: Load) -> None:
        """All replicas of each partition are equal and hold all that was acknowledged; no throttle is left."""
        with self.admin() as admin:
            for partition, ids in self.replicas(admin).items():
                held = [self.brokers[id_] for id_ in ids]
                until(lambda of=held, number=partition: len({log_bytes(one, TOPIC, number) for one in of}) == 1)
                check_replica(log_bytes(held[0], TOPIC, partition), load.acknowledged[partition])
            resources: dict[ConfigResource, Sequence[str]] = {
                ConfigResource(ConfigResourceType.BROKER, str(one.broker_id)): BROKER_THROTTLES for one in self.brokers
            }
            resources[ConfigResource(ConfigResourceType.TOPIC, TOPIC)] = TOPIC_THROTTLES
            own = (ConfigSource.DYNAMIC_TOPIC_CONFIG, ConfigSource.DYNAMIC_BROKER_CONFIG)
            found = admin.describe_configs(resources).all()
            left = [entry for one in found.values() for entry in one.values() if entry.source in own and entry.value]
            assert left == []

    def kill(self) -> None:
        for broker in self.brokers:
            broker.kill()


@pytest.fixture
def skewed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Skewed]:
    apache_kafka()
    makes, protocol = request.param
    zookeeper = ZookeeperServer(tmp_path / "zookeeper").start()
    made = None
    try:
        zookeeper.wait_serving(60)
        made = Skewed(tmp_path, f"{zookeeper.connect}/skewed", makes, protocol)
        made.start()
        yield made
    finally:
        if made is not None:
            made.kill()
        zookeeper.end()


def on(*makes: str, protocol: str = "2.8") -> pytest.MarkDecorator:
    return pytest.mark.parametrize("skewed", [pytest.param((makes, protocol), id="-".join(makes))], indirect=True)


@on("apache", "apache", "apache")
def test_brokers_of_apache_reach_the_goals_under_load(skewed: Skewed) -> None:
    load = Load(skewed.bootstrap, TOPIC, PARTITIONS)
    load.wait_more(2000)
    words = ("--topics", TOPIC, "--goals", "replicas,leaders")
    first = skewed.plan(*words)
    assert first["moved_replicas"] > 0
    skewed.run(*words, "--execute", "--throttle", "5MB", "--batch-partitions", "2")
    load.wait_more()
    again = skewed.plan(*words)
    assert (again["moves"], again["elections"], again["violations_after"]) == ([], [], [])
    load.end()
    skewed.check_end(load)


@on("apache", "ours", "apache")
def test_a_mixed_cluster_reaches_the_goals_although_the_run_is_interrupted_and_killed(skewed: Skewed) -> None:
    load = Load(skewed.bootstrap, TOPIC, PARTITIONS)
    load.wait_more(2000)
    draw = random.Random(7)
    words: tuple[str, ...] = ("--topics", TOPIC, "--remove-brokers", "0", "--execute", "--state", "s",
                              "--throttle", "5MB", "--batch-partitions", "2")  # fmt: skip
    interruptions = 0
    while True:
        running = skewed.begin(*words)
        try:
            patience_s = draw.uniform(1.5, 4) if interruptions < MOST_INTERRUPTIONS else 300
            out, errors = running.communicate(timeout=patience_s)
            if running.returncode == 0:
                break
            assert running.returncode == 130, out + errors
        except subprocess.TimeoutExpired:
            interruptions += 1
            running.send_signal(draw.choice([signal.SIGKILL, signal.SIGINT]))
            out, errors = running.communicate(timeout=300)
            assert running.returncode in (0, 130, -signal.SIGKILL, -signal.SIGINT), out + errors
        words = ("--resume", "s") if (skewed.folder / "s").exists() else words
    assert interruptions > 0
    load.wait_more()
    load.end()
    with skewed.admin() as admin:
        assert all(sorted(ids) == [1, 2] for ids in skewed.replicas(admin).values())
        assert admin.list_partition_reassignments() == {}
    assert skewed.plan("--topics", TOPIC, "--remove-brokers", "0")["moves"] == []
    skewed.check_end(load)


@on("old", "old", "old", protocol="1.1")
def test_old_brokers_are_rebalanced_through_zookeeper(skewed: Skewed) -> None:
    load = Load(skewed.bootstrap, TOPIC, PARTITIONS)
    load.wait_more(2000)
    words = ("--topics", TOPIC, "--goals", "replicas,leaders")
    zookeeper = ("--zookeeper", skewed.connect, "--throttle", "5MB", "--batch-partitions", "2", "--state", "s")
    running = skewed.begin(*words, "--execute", *zookeeper)
    until(lambda: (skewed.folder / "s").exists())
    running.send_signal(signal.SIGKILL)
    running.communicate(timeout=60)
    skewed.run("--resume", "s", *zookeeper[:2])
    load.wait_more()
    again = skewed.plan(*words)
    assert (again["moves"], again["elections"], again["violations_after"]) == ([], [], [])
    load.end()
    skewed.check_end(load)


@on("apache", "ours")
def test_brokers_of_both_makes_even_out_their_log_directories(skewed: Skewed) -> None:
    uneven = UnevenDirectories(skewed.brokers, skewed.folder)
    uneven.even_out()
    uneven.drain()
