"""Real processes for tests: started with their output kept, waited for, stopped by process id, never by name.

`Process` is any command; `ZookeeperServer` and `ensemble` are the real ZooKeeper on free ports and temporary folders.
Blocking: for fixtures and for tests of processes, not for code on a loop.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from kafka_py.cli.java_compat.class_archive import zookeeper_archive
from kafka_py.cli.java_compat.java import server_command
from kafka_py.cli.local_cluster import processes
from kafka_py.cli.local_cluster.broker_view import zookeeper_mode
from kafka_py.cli.local_cluster.processes import NOT_INHERITED
from kafka_py.testing import guard

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[2]
POLL_S = 0.01
LOWEST_PORT = 10_000
MANY_PORTS = 1000


class NotReady(Exception):
    """Something did not happen in time; the text has the end of the process's output."""


def free_ports(count: int) -> list[int]:
    """Ports of the loopback address that nobody listens on right now, all different.

    Drawn below those that the system gives to outgoing connections: one of these would take a port away before a
    server that needs half a second to start has bound it.
    """
    below = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    wanted = range(LOWEST_PORT, below) if below - LOWEST_PORT > MANY_PORTS else range(1)  # 0: as the system likes
    probes: list[socket.socket] = []
    try:
        while len(probes) < count:
            probe = socket.socket()
            try:
                probe.bind(("127.0.0.1", random.SystemRandom().choice(wanted)))
            except OSError:
                probe.close()
            else:
                probes.append(probe)
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def free_port() -> int:
    """One free port."""
    return free_ports(1)[0]


def wait_until(look: Callable[[], T | None], timeout_s: float, what: str = "it") -> T:
    """The first result that is true. Raises NotReady. For processes only; on a loop a test waits for events."""
    deadline = time.monotonic() + timeout_s
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise NotReady(f"{what} did not happen within {timeout_s} s")
        time.sleep(POLL_S)


def python_environment() -> dict[str, str]:
    """What a Python process of a test needs to find kafka_py."""
    return processes.python_environment(os.environ)


class Process:
    """A command that runs beside the test, leader of its own process group; a context manager that stops it.

    Should the test run end without stopping it, killed by SIGKILL even, it is killed too.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        log: Path,
        *,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        """log: the file its output is appended to. environment: on top of the test's own, but for NOT_INHERITED."""
        self.command = [str(part) for part in command]
        self.log = log
        self.environment = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
        self.environment.update(environment or {})
        self._folder = folder
        self._popen: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        with self.log.open("ab") as out:
            self._popen = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=self.environment,
                cwd=self._folder,
                start_new_session=True,
            )
        guard.watch(self._popen.pid)
        return self

    @property
    def popen(self) -> subprocess.Popen[bytes]:
        if self._popen is None:
            raise NotReady(f"{self.command[0]} was not started")
        return self._popen

    @property
    def pid(self) -> int:
        return self.popen.pid

    @property
    def running(self) -> bool:
        return self._popen is not None and self._popen.poll() is None

    def output(self) -> str:
        """Everything it has written so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def wait_for(self, look: Callable[[], T | None], timeout_s: float = 30, what: str = "readiness") -> T:
        """Waits for something true, and gives up at once when the process ends. Raises NotReady."""

        def look_while_running() -> tuple[T] | None:
            found = look()
            if not found and not self.running:
                raise NotReady(f"{self.command[0]} ended with {self.popen.returncode}")
            return (found,) if found else None

        try:
            return wait_until(look_while_running, timeout_s, what)[0]
        except NotReady as error:
            end = "\n".join(self.output().splitlines()[-20:])
            raise NotReady(f"{error}; the end of {self.log}:\n{end}") from None

    def wait_for_output(self, text: str, timeout_s: float = 30) -> None:
        """Waits until it has written this text. Raises NotReady."""
        self.wait_for(lambda: text in self.output(), timeout_s, f"the output {text!r}")

    def resident_mb(self) -> float:
        """Resident memory in MB."""
        return processes.resident_mb(self.pid)

    def cpu_seconds(self) -> float:
        """Processor time used so far, user and system."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wait(self, timeout_s: float = 30) -> int:
        """Its exit code. Raises subprocess.TimeoutExpired."""
        return self.popen.wait(timeout_s)

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to the process itself: SIGSTOP and SIGCONT pause and resume it."""
        if self.running:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL to it and to all that it started."""
        if self.running:
            os.killpg(self.pid, signal.SIGKILL)
            self.popen.wait()

    def stop(self, timeout_s: float = 20) -> int | None:
        """SIGTERM, and SIGKILL if that does not help; its exit code, None if it was never started."""
        if self._popen is None:
            return None
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        try:
            return self._popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._popen.returncode

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class ZookeeperServer(Process):
    """A real ZooKeeper server, alone or as member `number` of an ensemble. Its data survive a restart."""

    def __init__(
        self, folder: Path, port: int | None = None, *, number: int = 0, members: Sequence[str] = (), tick_ms: int = 500
    ) -> None:
        """folder: for its files. members: the `server.N=...` lines of an ensemble.

        tick_ms: sessions may last from 2 to 20 ticks, and are checked for expiry once a tick.
        """
        self.folder = folder
        self.port = port or free_port()
        data = folder / "data"
        data.mkdir(parents=True, exist_ok=True)
        if members:
            (data / "myid").write_text(f"{number}\n")
        self.properties = folder / "zookeeper.properties"
        lines = [
            f"dataDir={data}",
            f"clientPort={self.port}",
            "clientPortAddress=127.0.0.1",
            f"tickTime={tick_ms}",
            "minSessionTimeout=500",
            "maxSessionTimeout=60000",
            "initLimit=20",
            "syncLimit=10",
            "maxClientCnxns=0",
            "admin.enableServer=false",
            "4lw.commands.whitelist=*",
            *members,
        ]
        self.properties.write_text("".join(f"{line}\n" for line in lines))
        # A test server may lose what it holds when the machine dies, and so need not wait for the disk.
        settings = {"KAFKA_HEAP_OPTS": "-Xmx256M", "KAFKA_OPTS": "-Dzookeeper.forceSync=no"}
        super().__init__([], folder / "zookeeper.log", environment=settings)
        self._archive = zookeeper_archive(self.environment)

    def start(self) -> Self:
        """Starts it without waiting; `wait_serving` waits."""
        self.environment["KAFKA_JVM_PERFORMANCE_OPTS"] = self._archive.quick_options()
        self.command = server_command(self.properties, self.environment)
        return super().start()

    def kill(self) -> None:
        super().kill()
        self._archive.finish()

    def stop(self, timeout_s: float = 20) -> int | None:
        code = super().stop(timeout_s)
        self._archive.finish()
        return code

    def end(self) -> None:
        """The quickest end for a server that is no longer needed, nor its data."""
        if self._archive.is_being_made:
            self.stop()
        else:
            self.kill()

    @property
    def connect(self) -> str:
        """Its `zookeeper.connect`."""
        return f"127.0.0.1:{self.port}"

    def mode(self) -> str | None:
        """standalone, leader or follower; None while it does not serve."""
        return zookeeper_mode(self.port, 0.5)

    def wait_serving(self, timeout_s: float = 60) -> str:
        """Its mode, once it serves. Raises NotReady."""
        return self.wait_for(self.mode, timeout_s, "ZooKeeper's readiness")

    def __enter__(self) -> Self:
        self.start()
        try:
            self.wait_serving()
        except BaseException:
            self.kill()
            raise
        return self


def ensemble(folder: Path, count: int = 3) -> list[ZookeeperServer]:
    """The members of an ensemble on this machine, not started."""
    members = ensemble_lines(count)
    return [ZookeeperServer(folder / str(number), number=number, members=members) for number in range(1, count + 1)]


def ensemble_lines(count: int) -> list[str]:
    """The `server.N=...` lines of an ensemble on this machine."""
    ports = free_ports(count * 2)
    pairs = zip(ports[::2], ports[1::2], strict=True)
    return [f"server.{number}=127.0.0.1:{quorum}:{vote}" for number, (quorum, vote) in enumerate(pairs, 1)]
