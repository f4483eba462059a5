"""Processes by id and start time, and the file that lists them."""

import os
import sys
import threading
from pathlib import Path

import pytest

from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.local_cluster import state
from kafka_py.cli.local_cluster.ports import free_ports, is_free
from kafka_py.cli.local_cluster.processes import (
    ServerProcess,
    kill,
    resident_mb,
    server_environment,
    spawn,
    start_mark,
    terminate,
    uptime_s,
)

WAITS = "import signal, sys, threading; signal.signal(signal.SIGTERM, {handler}); print('up', flush=True); {wait}"
FOREVER = "threading.Event().wait()"


def run(folder: Path, handler: str = "signal.SIG_DFL") -> ServerProcess:
    """A process that has set its handler of SIGTERM."""
    log = folder / "log"
    code = WAITS.format(handler=handler, wait=FOREVER)
    process = spawn("broker-0", [sys.executable, "-c", code], log, environment=os.environ, folder=folder)
    while "up" not in log.read_text() and process.is_alive:
        threading.Event().wait(0.01)
    return process


def test_a_process_is_known_by_its_id_and_its_start(tmp_path: Path) -> None:
    process = run(tmp_path)
    assert process.is_alive
    assert not process._replace(started="").is_alive
    assert not process._replace(started="12345678:1").is_alive, "another process with this id"
    assert not process._replace(pid=os.getpid()).is_alive
    assert resident_mb(process.pid) > 1
    assert 0 <= uptime_s(process) < 3600
    terminate([process], 20)
    assert not process.is_alive
    assert start_mark(process.pid) == ""
    assert resident_mb(process.pid) == 0


def test_what_does_not_stop_is_named_and_killed(tmp_path: Path) -> None:
    process = run(tmp_path, "signal.SIG_IGN")
    insisted: list[ServerProcess] = []
    terminate([process], 0.05, insisted.append)
    assert insisted == [process]
    assert not process.is_alive
    kill(process)  # no harm done to what has ended


def test_the_list_of_processes_is_kept_in_order_and_without_those_that_ended(tmp_path: Path) -> None:
    assert state.read(tmp_path) == []
    ended = ServerProcess("broker-10", 1 << 22, "00000000:1")
    own = ServerProcess("broker-9", os.getpid(), start_mark(os.getpid()))
    zookeeper = ServerProcess("zookeeper", os.getpid(), start_mark(os.getpid()))
    listed: list[ServerProcess] = []
    for process in (ended, own, zookeeper, own):
        listed = state.replaced(listed, process)
    state.write(tmp_path, listed)
    assert [process.name for process in state.read(tmp_path)] == ["zookeeper", "broker-9", "broker-10"]
    assert [process.name for process in state.running(tmp_path)] == ["zookeeper", "broker-9"]
    state.write(tmp_path, [])
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_list_is_named(tmp_path: Path) -> None:
    (tmp_path / state.FILE).write_text('[{"name": 1}]')
    with pytest.raises(CommandFailed, match="stop the processes by hand and remove it"):
        state.read(tmp_path)


def test_one_command_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "PATIENCE_S", 0.02)
    assert not state.is_busy(tmp_path)
    with state.exclusively(tmp_path):
        assert state.is_busy(tmp_path)
        with pytest.raises(CommandFailed, match="Another kafka-py command works on"), state.exclusively(tmp_path):
            pass
    with state.exclusively(tmp_path):
        pass


def test_free_ports_are_different_and_free() -> None:
    first = free_ports(3)
    assert len(set(first)) == 3
    assert all(map(is_free, first))
    assert not set(first) & set(free_ports(3, besides=first))


def test_settings_of_another_kafka_do_not_reach_the_processes() -> None:
    given = {"JMX_PORT": "9999", "LOG_DIR": "/logs", "PATH": "/bin"}
    assert {name for name in server_environment(given) if name != "PYTHONPATH"} == {"PATH"}
