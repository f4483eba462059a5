"""kafka-py exporter beside a real broker: promtool accepts the text, and the values are the cluster's."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_py.clients import Consumer, Producer
from kafka_py.operations.exporter.names import FAMILIES
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers import promtool
from kafka_py.testing.processes import Process, python_environment, wait_until

COMMAND = [sys.executable, "-P", "-m", "kafka_py.cli.umbrella.main", "exporter", "--bootstrap-server"]
OTHERS = ["--interval", "1", "--port", "0"]


def fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=20) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        return str(answer.read().decode())


def values_of(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


class Exporter:
    """`kafka-py exporter` as a process. url: of the metrics."""

    def __init__(self, folder: Path, bootstrap: str, *arguments: str) -> None:
        command = [*COMMAND, bootstrap, *OTHERS, *arguments]
        self.process = Process(command, folder / "exporter.log", environment=python_environment()).start()
        said = self.process.wait_for(lambda: next((x for x in self.process.output().split() if "http" in x), None))
        self.url = said

    def until(self, *samples: str) -> dict[str, float]:
        """The values, as soon as all of these are there."""

        def look() -> dict[str, float] | None:
            found = values_of(fetch(self.url))
            return found if all(each in found for each in samples) else None

        return wait_until(look, 30, str(samples))


@pytest.fixture(scope="module")
def fed(module_broker: BrokerProcess) -> str:
    """A broker with records of which a group has committed some."""
    module_broker.create_topic("t", 2)
    configs = {"bootstrap.servers": module_broker.bootstrap}
    with Producer(configs) as producer:
        for number in range(10):
            producer.send("t", b"%d" % number, partition=number % 2)
        producer.flush()
    with Consumer({**configs, "group.id": "g", "auto.offset.reset": "earliest", "max.poll.records": 1}) as consumer:
        consumer.subscribe(["t"])
        wait_until(lambda: consumer.poll(0.1) or None, 30)
        consumer.commit()
    return module_broker.bootstrap


@pytest.fixture
def exporter(fed: str, tmp_path: Path) -> Iterator[Exporter]:
    made = Exporter(tmp_path, fed)
    yield made
    made.process.stop()


@pytest.mark.skipif(promtool.program() is None, reason="promtool is not installed")
def test_what_prometheus_gets_of_a_cluster(exporter: Exporter, fed: str) -> None:
    group = 'consumergroup="g",topic="t"'
    found = exporter.until(f"kafka_consumergroup_lag_sum{{{group}}}")
    assert found["kafka_brokers"] == 1
    assert found['kafka_topic_partition_current_offset{topic="t",partition="0"}'] == 5
    assert found['kafka_topic_partition_leader_is_preferred{topic="t",partition="1"}'] == 1
    assert found[f"kafka_consumergroup_current_offset_sum{{{group}}}"] == 1
    assert found[f"kafka_consumergroup_lag_sum{{{group}}}"] >= 4
    assert found['kafka_consumergroup_members{consumergroup="g"}'] == 0
    assert [key for key in found if key.startswith("kafka_consumergroup_lag_seconds")]
    text = fetch(exporter.url)
    assert promtool.complaints(text) == []
    described = [line.split(" ")[2] for line in text.splitlines() if line.startswith("# TYPE ")]
    assert sorted(described) == sorted(row.name for row in FAMILIES)
    assert exporter.process.stop() == 0
    assert "Traceback" not in exporter.process.output()


def test_only_the_chosen_topics_and_groups(fed: str, tmp_path: Path) -> None:
    made = Exporter(tmp_path, fed, "--topics", "^__consumer", "--groups", "^none$")
    try:
        found = made.until("kafka_brokers")
        assert 'kafka_topic_partitions{topic="__consumer_offsets"}' in found
        assert not [key for key in found if 'topic="t"' in key or "consumergroup" in key]
    finally:
        made.process.stop()


def test_without_a_broker_it_serves_that_none_answers(tmp_path: Path) -> None:
    made = Exporter(tmp_path, "127.0.0.1:1")
    try:
        assert made.until("kafka_exporter_up") == {"kafka_exporter_up": 0}
        with pytest.raises(urllib.error.HTTPError, match="404"):
            fetch(made.url.replace("/metrics", "/"))
    finally:
        made.process.stop()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--topics", "("), "--topics is no regular expression: (: "),
        (("--interval", "0.5"), "--interval must be at least 1.0 seconds"),
        (("--port", "70000"), "--port is between 0 and 65535, not 70000"),
    ],
)
def test_what_cannot_be(arguments: tuple[str, ...], told: str) -> None:
    done = subprocess.run(
        [*COMMAND, "127.0.0.1:1", *arguments],
        env=python_environment(), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1 and done.stderr.startswith(told)
