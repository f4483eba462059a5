"""kafka-py replace: Apache's brokers become ours one by one and go back, under a load of which nothing is lost.

Real brokers of both makes on the same directories, ids and ports, stopped and started by shell commands of a plan.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from acknowledged import Load, Peek, bootstrap_of, check_replicas, until

from kafka_py.base.properties import format_properties
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers.apache import LEAST_CLEANER_BYTES, apache_kafka
from kafka_py.testing.processes import ZookeeperServer, python_environment
from kafka_py.testing.topics import create_topic

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

TOPIC, PARTITIONS = "moved", 2
SETTINGS = {
    "inter.broker.protocol.version": "2.8", "zookeeper.session.timeout.ms": "6000",
    "offsets.topic.replication.factor": "2", "log.cleaner.dedupe.buffer.size": LEAST_CLEANER_BYTES,
    "controlled.shutdown.retry.backoff.ms": "500", "auto.create.topics.enable": "false",
}  # fmt: skip
COMMAND = [sys.executable, "-P", "-m", "kafka_py.cli.umbrella.main", "replace"]


class Site:
    """Two brokers, each as its two start commands; `brokers` knows their files and addresses and starts nothing."""

    def __init__(self, folder: Path, connect: str) -> None:
        self.folder = folder
        self.brokers = [BrokerProcess(folder / f"b{number}", connect, broker_id=number, settings=SETTINGS)
                        for number in (0, 1)]  # fmt: skip
        self.plan = folder / "plan.toml"
        self.plan.write_text("".join(map(self._plan_of, self.brokers)))

    def _plan_of(self, broker: BrokerProcess) -> str:
        config = broker.folder / "server.properties"
        config.write_text(format_properties(broker.properties))
        programs = {
            "apache": apache_kafka().command("kafka.Kafka", str(config), log_level="INFO"),
            "kafka_py": [sys.executable, "-P", "-m", "kafka_py.cli.run_class", "kafka.Kafka", str(config)],
        }
        lines = [f"[[broker]]\nid = {broker.broker_id}\n"]
        for make, program in programs.items():
            pid = broker.folder / "pid"
            log = broker.folder / f"{make}.log"
            start = f"{shlex.join(program)} >> {log} 2>&1 & echo $! > {pid}"
            stop = f"kill $(cat {pid}) && while kill -0 $(cat {pid}) 2> /dev/null; do sleep 0.1; done"
            lines.append(f"{make} = {{ start = '''{start}''', stop = '''{stop}''', config = '{config}' }}\n")
        return "".join(lines)

    def command(self, to: str, *more: str) -> list[str]:
        return [*COMMAND, "--bootstrap-server", bootstrap_of(self.brokers), "--plan", str(self.plan), "--to", to, *more]

    def run(self, to: str, *more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(to, *more), env=python_environment(), text=True, capture_output=True, timeout=240, check=False
        )

    def start(self, make: str, broker: BrokerProcess) -> None:
        import tomllib

        row = tomllib.loads(self.plan.read_text())["broker"][broker.broker_id]
        subprocess.run(row[make]["start"], shell=True, check=True, env=python_environment(), start_new_session=True)

    def make_of(self, broker: BrokerProcess) -> str:
        pid = (broker.folder / "pid").read_text().strip()
        return "kafka_py" if b"kafka_py.cli.run_class" in Path(f"/proc/{pid}/cmdline").read_bytes() else "apache"

    def kill(self) -> None:
        for broker in self.brokers:
            try:
                os.kill(int((broker.folder / "pid").read_text()), signal.SIGKILL)
            except (OSError, ValueError):
                continue


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    apache_kafka()
    zookeeper = ZookeeperServer(tmp_path / "zookeeper").start()
    made = None
    try:
        zookeeper.wait_serving(60)
        made = Site(tmp_path, zookeeper.connect)
        for broker in made.brokers:
            made.start("apache", broker)
        peek = Peek(zookeeper.connect)
        until(lambda: peek.controller() is not None and len(peek.children("/brokers/ids")) == 2)
        where = [broker.bootstrap for broker in made.brokers]
        create_topic(where, TOPIC, PARTITIONS, replication_factor=2, timeout_s=60)
        yield made
        peek.close()
    finally:
        if made is not None:
            made.kill()
        zookeeper.end()


def test_there_and_back_under_load(site: Site) -> None:
    checked = site.run("kafka_py", "--check")
    assert (checked.returncode, checked.stdout) == (0, "Nothing is in the way.\n"), checked.stderr
    load = Load(bootstrap_of(site.brokers), TOPIC, PARTITIONS)
    for to in ("kafka_py", "apache"):
        load.wait_more()
        done = site.run(to)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.endswith(f"All brokers of the plan are {to}\n")
        assert [site.make_of(broker) for broker in site.brokers] == [to, to]
    load.wait_more()
    load.end()
    check_replicas(site.brokers, TOPIC, load)


def test_an_interrupted_one_goes_on_and_a_start_that_fails_goes_back(site: Site) -> None:
    running = subprocess.Popen(
        site.command("kafka_py"), env=python_environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert running.stdout is not None
    for line in running.stdout:
        if "starting kafka_py" in line:
            running.send_signal(signal.SIGINT)
            break
    rest = running.stdout.read()
    assert running.wait(60) == 130, rest
    assert "Interrupted" in rest
    assert sorted(site.make_of(broker) for broker in site.brokers) == ["apache", "kafka_py"]
    plan = site.plan.read_text()
    site.plan.write_text(plan.replace("kafka_py.cli.run_class", "kafka_py.cli.no_such_module"))
    failed = site.run("kafka_py", "--timeout", "15")
    assert failed.returncode == 1
    assert "with --to apache to go back" in failed.stderr
    site.plan.write_text(plan)
    back = site.run("apache")
    assert back.returncode == 0, back.stdout + back.stderr
    assert [site.make_of(broker) for broker in site.brokers] == ["apache", "apache"]


def test_what_is_in_the_way_is_told_and_nothing_is_stopped(site: Site) -> None:
    create_topic([broker.bootstrap for broker in site.brokers], "single", 1, timeout_s=60)
    refused = site.run("kafka_py")
    assert refused.returncode == 1
    assert "single-0" in refused.stdout and "--allow-unavailable" in refused.stdout
    wrong = site.plan.read_text().replace("server.properties'", "wrong.properties'")
    site.plan.write_text(wrong)
    (site.brokers[0].folder / "wrong.properties").write_text("zookeeper.connect=x\nnum.network.threads=none\n")
    (site.brokers[1].folder / "wrong.properties").write_text("zookeeper.connect=x\n")
    refused = site.run("kafka_py", "--check", "--allow-unavailable")
    assert refused.returncode == 1
    assert "num.network.threads" in refused.stdout
    assert [site.make_of(broker) for broker in site.brokers] == ["apache", "apache"]
