"""`kafka-py roll` on three real brokers: nothing acknowledged is lost, an interruption is continued."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_py.cli.local_cluster import layout, state
from kafka_py.cli.local_cluster.processes import kill
from kafka_py.cli.local_cluster.rolling import controller_of, new_plan, read_plan
from kafka_py.clients import Consumer, Producer, TopicPartition
from kafka_py.testing.processes import Process, python_environment
from kafka_py.testing.topics import create_topic

pytestmark = pytest.mark.timeout(300)

PROGRAM = [sys.executable, "-P", "-m", "kafka_py.cli.umbrella.main"]
TIMEOUT_S = 120


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The folder of a running cluster of three."""
    data = tmp_path / "cluster"
    options = ["--brokers", "3", "--detach", "--port", "0", "--zookeeper-port", "0"]
    command = [*PROGRAM, "up", "--data", str(data), *options]
    environment = Process(command, tmp_path / "log", environment=python_environment()).environment
    try:
        subprocess.run(command, check=True, env=environment, timeout=TIMEOUT_S, capture_output=True)
        yield data
    finally:
        for process in state.read(data):
            kill(process)


def roll(folder: Path, *arguments: str) -> Process:
    command = [*PROGRAM, "roll", "--data", str(folder), *arguments]
    return Process(command, folder.parent / "roll.log", environment=python_environment())


def test_every_broker_is_restarted_under_load_and_nothing_is_lost(folder: Path) -> None:
    cluster = layout.read_existing(folder)
    servers = cluster.bootstrap_servers.split(",")
    create_topic(servers, "orders", 3, replication_factor=3, configs={"min.insync.replicas": "2"}, timeout_s=TIMEOUT_S)
    before = {process.name: process for process in state.running(folder)}
    settings = {"bootstrap.servers": servers, "acks": "all", "enable.idempotence": True, "linger.ms": 5}
    sent = 0
    with Producer(settings) as producer, roll(folder) as rolling:
        results = []
        while rolling.running:
            results.append(producer.send("orders", str(sent).encode(), partition=sent % 3))
            sent += 1
            if sent % 50 == 0:
                producer.flush()
        assert rolling.wait(TIMEOUT_S) == 0, rolling.output()
        for result in results:
            result.result()
    after = {process.name: process for process in state.running(folder)}
    assert after["zookeeper"] == before["zookeeper"]
    assert all(after[name].pid != before[name].pid for name in before if name != "zookeeper")
    assert rolling.output().endswith("3 brokers restarted\n")
    assert read_plan(folder) is None
    with Consumer({"bootstrap.servers": servers, "auto.offset.reset": "earliest"}) as consumer:
        consumer.assign([TopicPartition("orders", number) for number in range(3)])
        read: list[int] = []
        while len(read) < sent:
            records = list(consumer.poll(timeout=30))
            assert records, f"{len(read)} of {sent}"
            read += [int(record.value) for record in records]
    assert sorted(read) == list(range(sent))


@pytest.mark.slow
def test_a_roll_that_is_interrupted_leaves_no_broker_down_and_is_continued(folder: Path) -> None:
    with roll(folder) as first:
        first.wait_for_output("[1/3]", TIMEOUT_S)
        first.wait_for_output("starting", TIMEOUT_S)
        first.signal(signal.SIGTERM)
        assert first.wait(TIMEOUT_S) == 143
    assert len(state.running(folder)) == 4
    plan = read_plan(folder)
    assert plan is not None
    assert plan.left
    refused = roll(folder, "--brokers", "1")
    assert refused.start().wait(TIMEOUT_S) == 1
    with roll(folder) as second:
        assert second.wait(TIMEOUT_S) == 0, second.output()
        assert re.search(r"Continuing: (none|broker-\d) done", second.output())
    assert read_plan(folder) is None


@pytest.mark.slow
def test_a_broker_that_cannot_start_ends_the_roll_with_its_reason_and_is_started_by_the_next(folder: Path) -> None:
    cluster = layout.read_existing(folder)
    first_name = new_plan(cluster, controller_of(cluster), []).order[0]
    properties = folder / first_name / "server.properties"
    good = properties.read_text()
    properties.write_text(good + "num.partitions=many\n")
    with roll(folder) as failed:
        assert failed.wait(TIMEOUT_S) == 1
        assert f"Error: {first_name} could not start: Invalid value many for configuration" in failed.output()
    assert len(state.running(folder)) == 3
    properties.write_text(good)
    with roll(folder) as mended:
        assert mended.wait(TIMEOUT_S) == 0, mended.output()
        assert f"{first_name}: is down, starting" in mended.output()
    assert len(state.running(folder)) == 4
