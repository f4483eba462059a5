"""Processes of this machine that outlive the command that started them, known by id and start time.

The id alone would not do: once a process has ended, the system gives its id to another one. The manual pages proc(5)
(field 22 of /proc/PID/stat, in which a zombie counts as ended) and random(4) (boot_id) say what is read.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kafka_py.cli.common.detached import start_detached

POLL_S = 0.01
ROOT = Path(__file__).resolve().parents[3]

NOT_INHERITED = frozenset((
    "CLASSPATH", "EXTRA_ARGS", "JMX_PORT", "KAFKA_DEBUG", "KAFKA_GC_LOG_OPTS", "KAFKA_HEAP_OPTS", "KAFKA_JMX_OPTS",
    "KAFKA_JVM_PERFORMANCE_OPTS", "KAFKA_LOG4J_OPTS", "KAFKA_OPTS", "LOG_DIR",
))  # fmt: skip
"""Settings of another Kafka of the user's: its ports and log files are not for these processes."""


class ServerProcess(NamedTuple):
    """One process of a cluster. name: `zookeeper` or `broker-N`. started: see `start_mark`."""

    name: str
    pid: int
    started: str

    @property
    def is_alive(self) -> bool:
        """Whether this very process still runs."""
        return self.started != "" and start_mark(self.pid) == self.started


def start_mark(pid: int) -> str:
    """Boot and clock tick at which the process with this id was started; "" if there is none."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    except OSError:
        return ""
    return "" if state in "ZX" else f"{boot}:{rest[18]}"


def uptime_s(process: ServerProcess) -> float:
    """Seconds since its start."""
    ticks = int(process.started.partition(":")[2] or 0)
    since_boot = float(Path("/proc/uptime").read_text().split()[0])
    return max(0.0, since_boot - ticks / os.sysconf("SC_CLK_TCK"))


def resident_mb(pid: int) -> float:
    """Resident memory in MB; 0 for a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0) / 1024


def python_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What a Python process needs to find kafka_py: nothing where it is installed, PYTHONPATH in a checkout."""
    if not (ROOT / "pyproject.toml").exists():
        return {}
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), environment.get("PYTHONPATH")]))}


def server_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a server: this one, without the settings of another Kafka, and where kafka_py is found."""
    inherited = {name: value for name, value in environment.items() if name not in NOT_INHERITED}
    return {**inherited, **python_environment(environment)}


def spawn(
    name: str, command: Sequence[str], log: Path, *, environment: Mapping[str, str], folder: Path
) -> ServerProcess:
    """Starts a process in a session of its own, its output appended to `log`. Raises OSError."""
    with log.open("ab") as out:
        pid = start_detached(command, out, environment=environment, folder=folder)
    return ServerProcess(name, pid, start_mark(pid))


def reap() -> None:
    """Takes note of children that have ended, so that they do not stay as zombies."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def wait_gone(processes: Sequence[ServerProcess], timeout_s: float) -> list[ServerProcess]:
    """Waits until they have ended; those that still run after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while True:
        reap()
        alive = [process for process in processes if process.is_alive]
        if not alive or time.monotonic() > deadline:
            return alive
        time.sleep(POLL_S)


def terminate(
    processes: Sequence[ServerProcess], timeout_s: float, insist: Callable[[ServerProcess], None] = lambda _: None
) -> None:
    """SIGTERM to all of them; after `timeout_s` SIGKILL to what is left, which `insist` is called with first."""
    for process in processes:
        _signal(process, signal.SIGCONT)
        _signal(process, signal.SIGTERM)
    for process in wait_gone(processes, timeout_s):
        insist(process)
        kill(process)


def kill(process: ServerProcess) -> None:
    """SIGKILL to the process and all that it started; waits for its end."""
    if process.is_alive:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        wait_gone([process], timeout_s=10)


def _signal(process: ServerProcess, number: signal.Signals) -> None:
    if process.is_alive:
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            pass
