"""Other people's harnesses: they start the scripts with the classic environment and wait for the classic words.

The patterns are those of well-known test suites for Kafka clients and of Kafka's own system tests.
"""

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from kafka_py.base.properties import format_properties
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.processes import ROOT, NotReady, Process, ZookeeperServer, free_port, free_ports, wait_until
from kafka_py.testing.topics import ask_metadata, create_topic

BIN = ROOT / "bin"

ZOOKEEPER_WORDS = [r"binding to port", r"binding to port .*:\d+ \(org\.apache\.zookeeper\.server\.\w+\)"]
BROKER_WORDS = [
    r"started \(kafka\.server\.KafkaServer\)",
    r"\[KafkaServer id=0\] started",
    r"\[Kafka ?Server (id=)?0\],?.* started",
    r"Kafka\s*Server.*started",
]
STOPPED_WORDS = [r"shut down completed \(kafka\.server\.KafkaServer\)", r"\[KafkaServer id=0\] shut down completed"]

LOG4J = """\
log4j.rootLogger=INFO, stdout, logfile
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.appender.logfile=org.apache.log4j.FileAppender
log4j.appender.logfile.File=${kafka.logs.dir}/server.log
log4j.appender.logfile.layout=org.apache.log4j.PatternLayout
log4j.appender.logfile.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


@pytest.fixture
def classic_environment(tmp_path: Path) -> dict[str, str]:
    """All that a harness for the classic broker may set."""
    log4j = tmp_path / "harness log4j.properties"
    log4j.write_text(LOG4J)
    return {
        "KAFKA_HEAP_OPTS": "-Xmx200M -Xms64M",
        "KAFKA_OPTS": "-Dharness=1 -Djava.net.preferIPv4Stack=true",
        "KAFKA_JVM_PERFORMANCE_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "KAFKA_LOG4J_OPTS": f"-Dlog4j.configuration='{log4j.as_uri().replace('%20', ' ')}'",
        "KAFKA_GC_LOG_OPTS": "",
        "LOG_DIR": str(tmp_path / "logs"),
        "SCALA_VERSION": "2.13",
        "KAFKA_HOME": "/nowhere",
    }


def zookeeper_properties(folder: Path, port: int) -> Path:
    file = folder / "zookeeper.properties"
    file.write_text(
        f"dataDir={folder / 'zookeeper'}\nclientPort={port}\nclientPortAddress=127.0.0.1\n"
        "maxClientCnxns=0\nadmin.enableServer=false\n"
    )
    return file


def server_properties(folder: Path, zookeeper: str, broker_id: int = 0, **settings: str) -> tuple[Path, int]:
    """A file of the few lines that a harness writes, and the port in it."""
    port = free_port()
    file = folder / f"server-{broker_id}.properties"
    lines = {
        "broker.id": str(broker_id),
        "listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "log.dirs": str(folder / f"data-{broker_id}"),
        "zookeeper.connect": zookeeper,
        "offsets.topic.replication.factor": "1",
        **{name.replace("_", "."): value for name, value in settings.items()},
    }
    file.write_text(format_properties(lines))
    return file, port


def has_all(process: Process, patterns: list[str]) -> bool:
    output = process.output()
    return all(re.search(pattern, output) for pattern in patterns)


def test_the_words_and_the_environment_of_zookeepers_script(
    tmp_path: Path, classic_environment: dict[str, str]
) -> None:
    port, jmx_port = free_ports(2)
    environment = {**classic_environment, "JMX_PORT": str(jmx_port)}
    file = zookeeper_properties(tmp_path, port)
    command = [BIN / "zookeeper-server-start.sh", file]
    with Process(command, tmp_path / "out", environment=environment) as server:
        server.wait_for(lambda: has_all(server, ZOOKEEPER_WORDS), 60, "its words")
        wait_until(lambda: socket.socket().connect_ex(("127.0.0.1", jmx_port)) == 0, 30, "the JMX port")
        words = Path(f"/proc/{server.pid}/cmdline").read_text().split("\0")
        assert {"-Xmx200M", "-Xms64M", "-Dharness=1", "-XX:TieredStopAtLevel=1"} <= set(words)
        assert (tmp_path / "logs" / "zookeeper-gc.log").exists()


def test_extra_args_replace_what_the_script_gives(tmp_path: Path, classic_environment: dict[str, str]) -> None:
    """EXTRA_ARGS set to nothing is how a harness does without the log of the garbage collector."""
    environment = {**classic_environment, "EXTRA_ARGS": ""}
    file = zookeeper_properties(tmp_path, free_port())
    with Process([BIN / "zookeeper-server-start.sh", file], tmp_path / "out", environment=environment) as server:
        server.wait_for(lambda: has_all(server, ZOOKEEPER_WORDS), 60, "its words")
        assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize("script", [["kafka-server-start.sh"], ["kafka-run-class.sh", "-loggc", "kafka.Kafka"]])
def test_the_words_and_the_environment_of_the_brokers_script(
    tmp_path: Path, zk_chroot: str, classic_environment: dict[str, str], script: list[str]
) -> None:
    environment = {**classic_environment, "JMX_PORT": str(free_port()), "KAFKA_DEBUG": ""}
    file, _ = server_properties(tmp_path, zk_chroot)
    command: list[str | Path] = [BIN / script[0], *script[1:], file]
    with Process(command, tmp_path / "out", environment=environment, folder=tmp_path) as broker:
        broker.wait_for(lambda: has_all(broker, BROKER_WORDS), 60, "its words")
        assert "kafka.Kafka" in Path(f"/proc/{broker.pid}/cmdline").read_text().split("\0")
        broker.signal(signal.SIGTERM)
        assert broker.wait(30) == 0
        assert has_all(broker, STOPPED_WORDS)
    assert "started" in (tmp_path / "logs" / "server.log").read_text()


def test_java_class_names_in_the_settings_are_no_obstacle(tmp_path: Path, zk_chroot: str) -> None:
    classes = {
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        "metric.reporters": "org.apache.kafka.common.metrics.JmxReporter,com.example.Reporter",
        "kafka.metrics.reporters": "kafka.metrics.KafkaCSVMetricsReporter",
        "principal.builder.class": "com.example.Builder",
    }
    with pytest.raises(NotReady, match=r"principal\.builder\.class=\S+ is not supported: "):
        BrokerProcess(tmp_path / "refused", zk_chroot, settings=classes).start()
    classes["kafka_py.unenforced.settings"] = "principal.builder.class"
    with BrokerProcess(tmp_path, zk_chroot, settings=classes) as broker:
        warnings = [line for line in broker.output().splitlines() if " WARN " in line]
        for words in ("principal.builder.class", "metric.reporters=com.example.Reporter"):
            assert [line for line in warnings if words in line], words
        assert not [line for line in warnings if "RackAwareReplicaSelector" in line]
        broker.create_topic("t")


@pytest.fixture
def machine(tmp_path: Path, classic_environment: dict[str, str]) -> Iterator[str]:
    """A machine on which ZooKeeper runs, started as a daemon by its script; its connect string."""
    port = free_port()
    file = zookeeper_properties(tmp_path, port)
    environment = {**os.environ, **classic_environment}
    subprocess.run([BIN / "zookeeper-server-start.sh", "-daemon", file], env=environment, timeout=30, check=True)
    output = tmp_path / "logs" / "zookeeper.out"
    wait_until(lambda: output.exists() and re.search(ZOOKEEPER_WORDS[0], output.read_text()), 60, "ZooKeeper")
    try:
        yield f"127.0.0.1:{port}"
    finally:
        stop_what_names(tmp_path)


def stop_what_names(folder: Path) -> None:
    """Kills the daemons whose command line has the folder in it."""
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(folder) in (entry / "cmdline").read_text(errors="replace"):
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            continue


def test_three_brokers_share_a_machine_by_their_property_files_alone(tmp_path: Path, machine: str) -> None:
    files = [server_properties(tmp_path, machine, number) for number in (1, 2, 3)]
    environment = {name: value for name, value in os.environ.items() if name != "LOG_DIR"}
    for number, (file, _) in enumerate(files, start=1):
        given = {**environment, "LOG_DIR": str(tmp_path / f"logs-{number}")}
        subprocess.run([BIN / "kafka-server-start.sh", "-daemon", file], env=given, timeout=30, check=True)
    for number in (1, 2, 3):
        output = tmp_path / f"logs-{number}" / "kafkaServer.out"
        words = f"[KafkaServer id={number}] started"
        wait_until(partial(says, output, words), 60, words)
    bootstraps = [f"127.0.0.1:{port}" for _, port in files]
    for bootstrap in bootstraps:
        wait_until(partial(knows_brokers, bootstrap, 3), 30, "three brokers")
    assert len({ask_metadata(bootstrap).controller_id for bootstrap in bootstraps} - {-1}) == 1
    assert last_line("zookeeper-shell.sh", machine, "ls", "/brokers/ids") == "[1, 2, 3]"
    assert '"brokerid":' in last_line("zookeeper-shell.sh", machine, "get", "/controller")

    create_topic(bootstraps, "spread", 6)
    described = subprocess.run(
        [BIN / "kafka-topics.sh", "--bootstrap-server", bootstraps[1], "--describe", "--topic", "spread"],
        capture_output=True, text=True, timeout=60, check=True,
    ).stdout  # fmt: skip
    assert sorted(re.findall(r"Leader: (\d)", described)) == ["1", "1", "2", "2", "3", "3"]
    for number in (1, 2, 3):
        assert len(list((tmp_path / f"data-{number}").glob("spread-*"))) == 2


def says(output: Path, words: str) -> bool:
    return output.exists() and words in output.read_text()


def knows_brokers(bootstrap: str, count: int) -> bool:
    return len(ask_metadata(bootstrap).brokers) == count


def last_line(script: str, *arguments: str) -> str:
    done = subprocess.run([BIN / script, *arguments], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()[-1]


def test_a_broker_lives_with_a_session_of_half_a_second(tmp_path: Path) -> None:
    """It keeps its registration, or (on a busy machine) takes it again, and serves throughout."""
    with ZookeeperServer(tmp_path / "zookeeper", tick_ms=100) as zookeeper:
        session = {"zookeeper.session.timeout.ms": "500"}
        with BrokerProcess(tmp_path / "broker", zookeeper.connect, settings=session) as broker:
            ends = time.monotonic() + 4
            made = 0
            while time.monotonic() < ends:
                made += 1
                broker.create_topic(f"topic-{made}")
            assert broker.running
            wait_until(lambda: ask_metadata(broker.bootstrap).controller_id == 0, 10, "the controller")
            known = ask_metadata(broker.bootstrap, [f"topic-{number}" for number in range(1, made + 1)])
            assert {partition.leader_id for topic in known.topics for partition in topic.partitions} == {0}
            lost = [line for line in broker.output().splitlines() if "expired" in line.lower()]
            assert len(lost) <= 2, lost
