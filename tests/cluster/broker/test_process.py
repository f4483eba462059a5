"""The broker as a process: its script, exit codes, starts that cannot succeed (docs/reference/tools.md, section 22).

Every failed start is one clear line on standard error and exit code 1.
"""

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_py.base.properties import format_properties
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.testing.processes import ROOT, Process, ZookeeperServer, free_port, wait_until
from kafka_py.wire.messages.metadata import MetadataRequest

START = ROOT / "bin" / "kafka-server-start.sh"
STOP = ROOT / "bin" / "kafka-server-stop.sh"

MakeBroker = Callable[..., BrokerProcess]


@pytest.fixture
def make_broker(zk_chroot: str, tmp_path: Path) -> MakeBroker:
    """A broker process, not started; those of one test share a cluster."""

    def make(name: str = "broker", broker_id: int = 0, **settings: str) -> BrokerProcess:
        given = {key.replace("_", "."): value for key, value in settings.items()}
        return BrokerProcess(tmp_path / name, zk_chroot, broker_id=broker_id, settings=given)

    return make


def refused(broker: BrokerProcess) -> str:
    """The line with which a start fails."""
    broker.launch()
    assert broker.wait(30) == 1
    errors = [line for line in broker.output().splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1, broker.output()
    assert "Traceback" not in broker.output()
    return errors[0]


def stop(broker: BrokerProcess, number: signal.Signals = signal.SIGTERM) -> int:
    broker.signal(number)
    return broker.wait(30)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_clean_with_exit_code_0(make_broker: MakeBroker, number: signal.Signals) -> None:
    broker = make_broker()
    try:
        broker.start()
        assert f"[KafkaServer id={broker.broker_id}] started" in broker.output()
        assert stop(broker, number) == 0
        assert (broker.log_dirs[0] / ".kafka_cleanshutdown").exists()
    finally:
        broker.kill()


def test_overrides_win_over_the_file_and_unknown_settings_are_warned_about(make_broker: MakeBroker) -> None:
    broker = make_broker(no_such_thing="1")
    broker.command += ["--override", "broker.id=7", "--override", "num.partitions=5"]
    try:
        broker.start()
        assert "[KafkaServer id=7] started" in broker.output()
        assert "Unknown setting no.such.thing: it is ignored." in broker.output()
        assert stop(broker) == 0
    finally:
        broker.kill()


def test_without_arguments_the_usage_is_printed() -> None:
    done = subprocess.run([START], capture_output=True, text=True)
    assert done.returncode == 1
    assert "USAGE" in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["/no/such/file"], "/no/such/file"),
        (["FILE", "stray"], "stray"),
        (["FILE", "--override"], "requires an argument"),
        (["FILE", "--override", "novalue"], "property=value"),
    ],
)
def test_a_wrong_command_line_is_said(tmp_path: Path, words: list[str], says: str) -> None:
    file = tmp_path / "server.properties"
    file.write_text("zookeeper.connect=localhost:1\n")
    words = [str(file) if word == "FILE" else word for word in words]
    done = subprocess.run([START, *words], capture_output=True, text=True)
    assert done.returncode == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_version_is_told() -> None:
    done = subprocess.run([START, "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()[0]) == (0, "2.8.2")


# Starts that cannot succeed


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"num.partitions": "many"}, "num.partitions"),
        ({"log.segment.bytes": "3"}, "log.segment.bytes"),
        ({"listeners": "PLAINTEXT:/x"}, "listeners"),
        ({"listeners": "SSL://127.0.0.1:0"}, "SSL"),
        ({"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"}, "0.0.0.0"),
        ({"zookeeper.connect": ""}, "zookeeper.connect"),
        ({"zookeeper.connect": "host:port"}, "zookeeper.connect"),
        ({"create.topic.policy.class.name": "no.such.Class"}, "no.such.Class"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_malformed_setting_is_named(make_broker: MakeBroker, settings: dict[str, str], says: str) -> None:
    broker = make_broker()
    broker.properties.update(settings)
    assert says in refused(broker)


def test_a_port_in_use(make_broker: MakeBroker) -> None:
    broker = make_broker()
    with socket.socket() as other:
        other.bind(("127.0.0.1", broker.port))
        other.listen()
        line = refused(broker)
    assert f"127.0.0.1:{broker.port}" in line and "address already in use" in line


def test_zookeeper_that_is_not_there(make_broker: MakeBroker) -> None:
    broker = make_broker(zookeeper_connection_timeout_ms="500")
    broker.properties["zookeeper.connect"] = f"127.0.0.1:{free_port()}"
    began = time.monotonic()
    assert "zookeeper.connect" in refused(broker)
    assert time.monotonic() - began < 15


def test_a_log_directory_that_is_a_file(make_broker: MakeBroker) -> None:
    broker = make_broker()
    broker.log_dirs[0].write_text("I am a file")
    assert str(broker.log_dirs[0]) in refused(broker)


@pytest.mark.parametrize("path", ["/proc/nobody/logs", "/dev/null/logs"])
def test_a_log_directory_that_cannot_be_made(make_broker: MakeBroker, path: str) -> None:
    broker = make_broker()
    broker.properties["log.dirs"] = path
    assert path in refused(broker)


def test_one_of_two_log_directories_that_cannot_be_used_is_left_out(make_broker: MakeBroker) -> None:
    broker = make_broker()
    broker.properties["log.dirs"] = f"{broker.log_dirs[0]},/proc/nobody/logs"
    try:
        broker.start()
        assert "log directory /proc/nobody/logs is offline" in broker.output()
        assert "Traceback" not in broker.output()
        broker.create_topic("t")
        assert stop(broker) == 0
    finally:
        broker.kill()


def test_a_checkpoint_that_cannot_be_read_takes_its_directory_offline(make_broker: MakeBroker) -> None:
    broker = make_broker()
    broker.log_dirs[0].mkdir()
    (broker.log_dirs[0] / "recovery-point-offset-checkpoint").write_text("0\n1\nt zero 5\n")
    broker.launch()
    try:
        assert broker.wait(30) == 1
        assert "recovery-point-offset-checkpoint" in broker.output()
        assert "Traceback" not in broker.output()
    finally:
        broker.kill()


def test_a_log_directory_of_another_cluster_or_broker_or_mode(make_broker: MakeBroker) -> None:
    broker = make_broker()
    broker.log_dirs[0].mkdir()
    meta = broker.log_dirs[0] / "meta.properties"
    for text, says in (
        ("version=0\nbroker.id=0\ncluster.id=someoneElsesCluster22\n", "someoneElsesCluster22"),
        ("version=0\nbroker.id=5\n", "broker.id"),
        ("version=1\nnode.id=5\n", "version 1"),
        ("version=0\nbroker.id=x\n", "broker.id"),
    ):
        meta.write_text(text)
        assert says in refused(broker)


def test_a_log_directory_with_something_else_in_it(make_broker: MakeBroker) -> None:
    broker = make_broker()
    (broker.log_dirs[0] / "holiday pictures").mkdir(parents=True)
    assert "holiday pictures" in refused(broker)


def test_a_log_directory_and_a_broker_id_that_another_broker_uses(make_broker: MakeBroker) -> None:
    first = make_broker("one")
    second = make_broker("two")
    try:
        first.start()
        second.properties["log.dirs"] = first.properties["log.dirs"]
        assert "locked" in refused(second)
        second = make_broker("three")
        assert "broker.id 0" in refused(second)
        second = make_broker("four", broker_id=1)
        second.properties["advertised.listeners"] = f"PLAINTEXT://127.0.0.1:{first.port}"
        assert re.search("broker 0 is already registered with", refused(second))
        with WireClient(first.bootstrap) as client:
            assert len(client.ask(MetadataRequest(topics=None), 9).brokers) == 1
        assert stop(first) == 0
    finally:
        first.kill()
        second.kill()


# After a kill


def test_a_killed_broker_starts_again_as_soon_as_its_session_is_gone(make_broker: MakeBroker) -> None:
    broker = make_broker(zookeeper_session_timeout_ms="1000")
    try:
        broker.start()
        broker.create_topic("t")
        broker.kill()
        broker.start()
        with WireClient(broker.bootstrap) as client:
            # The controller names the live brokers first and the partitions a moment later.
            wait_until(lambda: names_of(client) == ["t"], 20, "the topic")
        assert stop(broker) == 0
    finally:
        broker.kill()


def names_of(client: WireClient) -> list[str]:
    return [topic.name for topic in client.ask(MetadataRequest(topics=None), 9).topics]


@pytest.mark.slow
def test_a_zookeeper_that_goes_away_and_comes_back(tmp_path: Path) -> None:
    with ZookeeperServer(tmp_path / "zookeeper") as zookeeper:
        broker = BrokerProcess(tmp_path / "broker", zookeeper.connect)
        try:
            broker.start()
            broker.create_topic("t")
            zookeeper.signal(signal.SIGSTOP)
            with WireClient(broker.bootstrap) as client:
                assert client.ask(MetadataRequest(topics=None), 9).topics[0].name == "t"
            zookeeper.signal(signal.SIGCONT)
            wait_until(lambda: _can_create(broker), 40, "creating a topic")
            assert stop(broker) == 0
        finally:
            broker.kill()


def _can_create(broker: BrokerProcess) -> bool:
    try:
        broker.create_topic(f"again-{time.monotonic_ns()}")
    except Exception:
        return False
    return True


# kafka-server-stop.sh


def test_stop_sends_its_signal_to_brokers_and_to_nothing_that_only_looks_like_one(
    make_broker: MakeBroker, tmp_path: Path
) -> None:
    """The machine may run brokers of other tests: the script sees only what this test shows it of /proc."""
    broker = make_broker()
    decoy = Process(["sleep", "60"], tmp_path / "decoy.log").start()
    try:
        broker.start()
        proc = tmp_path / "proc"
        for name, pid in (("broker", broker_pid(broker)), ("decoy", decoy.pid)):
            (proc / str(pid)).mkdir(parents=True)
            arguments = Path(f"/proc/{pid}/cmdline").read_bytes()
            if name == "decoy":
                arguments = b"vim\0-m\0kafka_py.cli.run_class\0kafka.Kafka\0"
            (proc / str(pid) / "cmdline").write_bytes(arguments)
        done = run_stop(proc)
        assert (done.returncode, done.stdout) == (0, "")
        assert broker.wait(30) == 0
        assert decoy.running
    finally:
        decoy.kill()
        broker.kill()


def broker_pid(broker: BrokerProcess) -> int:
    """The script replaces itself by the broker, so they have one process id."""
    assert b"kafka.Kafka" in Path(f"/proc/{broker.pid}/cmdline").read_bytes()
    return broker.pid


def run_stop(proc: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    shown = {**os.environ, "KAFKA_PY_PROC": str(proc), **environment}
    return subprocess.run([STOP], capture_output=True, text=True, env=shown)


def test_stop_without_a_broker_says_so(tmp_path: Path) -> None:
    done = run_stop(tmp_path)
    assert (done.returncode, done.stdout.strip()) == (1, "No kafka server to stop")


def test_a_daemon_runs_on_in_the_background_with_its_output_in_the_log_folder(
    make_broker: MakeBroker, tmp_path: Path
) -> None:
    broker = make_broker()
    config = tmp_path / "server.properties"
    config.write_text(format_properties(broker.properties))
    output = tmp_path / "logs" / "kafkaServer.out"
    environment = {**os.environ, "LOG_DIR": str(output.parent)}
    assert subprocess.run([START, "-daemon", config], env=environment, timeout=30).returncode == 0
    wait_until(lambda: output.exists() and "] started" in output.read_text(), 30, "the start")
    pid = next(
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and str(config).encode() in _arguments(entry) and b"python" in _arguments(entry)
    )
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: "shut down completed" in output.read_text(), 30, "the stop")


def _arguments(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes()
    except OSError:
        return b""
