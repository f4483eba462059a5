"""Faults of settings, disks, directories, clocks, addresses and ZooKeeper, planted in real brokers."""

import asyncio
import contextlib
import os
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from kafka_py.clients import AdminClient, NewTopic
from kafka_py.operations.doctor.diagnosis import diagnose
from kafka_py.operations.doctor.examine import DoctorRequest
from kafka_py.operations.doctor.findings import DoctorReport, Severity
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.peers.tcp_proxy import TcpProxy
from kafka_py.testing.processes import ZookeeperServer, free_port, free_ports
from kafka_py.testing.topics import ask_metadata

from .diagnosing import diagnosed, ids, the

LATE_CLOCK = """\
import time

_true_time_ns = time.time_ns
time.time_ns = lambda: _true_time_ns() - 600_000_000_000
"""
"""Python runs this before anything else if it is found as sitecustomize.py: a clock that is ten minutes late."""


def together(brokers: list[BrokerProcess]) -> None:
    """Starts them, and waits until each knows all."""
    for broker in brokers:
        broker.launch()
    for broker in brokers:
        broker.wait_started()
    for broker in brokers:
        broker.wait_for(
            lambda broker=broker: len(ask_metadata(broker.bootstrap).brokers) == len(brokers), 60, "all brokers"
        )


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory, zookeeper: ZookeeperServer) -> Iterator[list[BrokerProcess]]:
    """Two brokers that agree on nothing; the clock of the second is late."""
    folder = tmp_path_factory.mktemp("two")
    own: list[Mapping[str, str]] = [
        {"broker.rack": "a", "message.max.bytes": "2000000", "auto.create.topics.enable": "true"},
        {"unclean.leader.election.enable": "true", "inter.broker.protocol.version": "2.4-IV1"},
    ]
    pages = free_ports(2)
    brokers = [
        BrokerProcess(
            folder / str(number), f"{zookeeper.connect}/doctor-two", broker_id=number,
            settings={"auto.create.topics.enable": "false", "offsets.topic.replication.factor": "3",
                      "metrics.http.port": str(pages[number]), **own[number]},
        )
        for number in (0, 1)
    ]  # fmt: skip
    late = folder / "late"
    late.mkdir()
    (late / "sitecustomize.py").write_text(LATE_CLOCK)
    paths = brokers[1].environment.get("PYTHONPATH", "")
    brokers[1].environment["PYTHONPATH"] = f"{late}{os.pathsep}{paths}"
    try:
        together(brokers)
        yield brokers
    finally:
        for broker in brokers:
            broker.kill()


@pytest.fixture(scope="module")
def report(two: list[BrokerProcess]) -> DoctorReport:
    with AdminClient({"bootstrap.servers": two[0].bootstrap}) as admin:
        admin.create_topics(
            [NewTopic("clocks", replica_assignments={0: [0], 1: [1]},
                      configs={"message.timestamp.type": "LogAppendTime"})]
        ).all()  # fmt: skip
    for broker in two:
        broker.wait_for(lambda broker=broker: len(ask_metadata(broker.bootstrap, ["clocks"]).topics[0].partitions) == 2)
    return diagnosed(",".join(broker.bootstrap for broker in two), clock_topic="clocks")


def test_fault_settings_that_differ_between_brokers(report: DoctorReport) -> None:
    finding = the(report, "settings-differ", Severity.WARNING)
    assert "message.max.bytes: '2000000' on broker 0; '1048588' on broker 1" in finding.evidence


def test_fault_unclean_election_as_default(report: DoctorReport) -> None:
    assert the(report, "unclean-election", Severity.WARNING).evidence == ("broker 1",)


def test_fault_topics_that_are_created_by_a_misspelt_name(report: DoctorReport) -> None:
    assert the(report, "auto-creation", Severity.NOTE).evidence == ("broker 0",)


def test_fault_a_protocol_version_that_an_upgrade_left_behind(report: DoctorReport) -> None:
    finding = the(report, "old-protocol", Severity.WARNING)
    assert finding.evidence == ("broker 1: inter.broker.protocol.version=2.4-IV1, its release is 2.8",)


def test_fault_a_factor_of_the_offsets_topic_above_the_number_of_brokers(report: DoctorReport) -> None:
    assert "Start 1 more broker" in the(report, "offsets-factor-above-brokers").repair


def test_fault_a_broker_without_rack(report: DoctorReport) -> None:
    assert the(report, "racks-missing", Severity.WARNING).evidence == ("broker 0: a", "broker 1: no rack")


def test_fault_a_clock_that_is_ten_minutes_late_by_append_times(report: DoctorReport) -> None:
    finding = the(report, "clocks-differ", Severity.WARNING)
    assert "broker 1" in finding.what
    assert any(line.startswith(("broker 1: -600.", "broker 1: -599.")) for line in finding.evidence)


def test_fault_the_same_clock_by_pages_of_metrics(two: list[BrokerProcess]) -> None:
    pages = [f"127.0.0.1:{broker.properties['metrics.http.port']}" for broker in two]
    finding = the(diagnosed(two[0].bootstrap, metrics=pages), "clocks-differ", Severity.WARNING)
    assert pages[1] in finding.what


def test_a_page_that_cannot_be_read_is_named(two: list[BrokerProcess]) -> None:
    report = diagnosed(two[0].bootstrap, metrics=[f"127.0.0.1:{free_port()}"])
    the(report, "metrics-unreadable", Severity.NOTE)


def test_fault_few_descriptors_left(tmp_path: Path, zookeeper: ZookeeperServer) -> None:
    page = free_port()
    broker = BrokerProcess(
        tmp_path, f"{zookeeper.connect}/doctor-descriptors",
        settings={"metrics.http.port": str(page), "auto.create.topics.enable": "false"},
    )  # fmt: skip
    broker.command = ["sh", "-c", 'ulimit -n 120; exec "$@"', "sh", *broker.command]
    with broker, contextlib.ExitStack() as connections:
        for _ in range(85):
            connections.enter_context(socket.create_connection(("127.0.0.1", broker.port)))
        report = diagnosed(broker.bootstrap, metrics=[f"127.0.0.1:{page}"])
    assert "LimitNOFILE" in the(report, "descriptors-nearly-used", Severity.WARNING).repair


def test_fault_a_log_directory_that_failed(tmp_path: Path, zookeeper: ZookeeperServer) -> None:
    (tmp_path / "failed").write_text("a file where a directory should be")
    broker = BrokerProcess(
        tmp_path / "broker", f"{zookeeper.connect}/doctor-directory", settings={"auto.create.topics.enable": "false"},
        log_dirs=[tmp_path / "good", tmp_path / "failed"],
    )  # fmt: skip
    with broker:
        report = diagnosed(broker.bootstrap)
    finding = the(report, "log-dir-offline")
    assert str(tmp_path / "failed") in finding.evidence[0]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no file system may be mounted: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_fault_a_disk_that_is_nearly_full(tmp_path: Path, zookeeper: ZookeeperServer, small_disk: Path) -> None:
    broker = BrokerProcess(
        tmp_path / "broker", f"{zookeeper.connect}/doctor-disk", settings={"auto.create.topics.enable": "false"},
        log_dirs=[small_disk / "logs"],
    )  # fmt: skip
    with broker:
        assert ids(diagnosed(broker.bootstrap)) == []
        (small_disk / "other").write_bytes(bytes(58 << 20))
        finding = the(diagnosed(broker.bootstrap), "disk-nearly-full", Severity.WARNING)
        (small_disk / "more").write_bytes(bytes(4 << 20))
        the(diagnosed(broker.bootstrap), "disk-full")
    assert "retention.bytes" in finding.repair


def test_fault_an_address_at_which_another_broker_answers(
    kafka_cluster_factory: Callable[..., KafkaCluster]
) -> None:
    settings = {"auto.create.topics.enable": False, "offsets.topic.replication.factor": 2}
    with kafka_cluster_factory(brokers=2, settings=settings) as cluster:
        first, second = cluster.brokers
        second.stop()
        second.properties["advertised.listeners"] = f"PLAINTEXT://localhost:{first.port}"
        second.start()
        first.wait_for(lambda: len(ask_metadata(first.bootstrap).brokers) == 2, 60, "both brokers")
        report = diagnosed(first.bootstrap)
    assert "which broker 1 advertises" in the(report, "advertised-other-broker").what


def test_fault_bootstrap_servers_of_two_clusters(two: list[BrokerProcess], module_broker: BrokerProcess) -> None:
    report = diagnosed(f"{two[0].bootstrap},{module_broker.bootstrap}")
    assert len(the(report, "clusters-mixed").evidence) == 2


def test_fault_zookeeper_servers_that_are_down_or_slow(two: list[BrokerProcess], zookeeper: ZookeeperServer) -> None:
    host, port = zookeeper.connect.split(":")
    down = f"127.0.0.1:{free_port()}"
    report = diagnosed(two[0].bootstrap, zookeeper=f"{zookeeper.connect},{down}/chroot")
    assert the(report, "zookeeper-down").evidence[0].startswith(down)

    async def behind_a_slow_network() -> DoctorReport:
        async with _SlowProxy(host, int(port)) as proxy:
            configs = {"bootstrap.servers": two[0].bootstrap}
            return await diagnose(DoctorRequest(configs, zookeeper=f"127.0.0.1:{proxy.port}"))

    the(asyncio.run(behind_a_slow_network()), "zookeeper-slow", Severity.WARNING)


class _SlowProxy(TcpProxy):
    """Every connection begins 700 ms late."""

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.7)
        await super()._accept(reader, writer)
