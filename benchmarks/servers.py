"""What is measured: the limit, and the broker with its ZooKeeper, as processes of their own.

Each runs in a folder of its own on a free port, is read through /proc, and is stopped by its process id.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from benchmarks.protocol import METADATA, Caller, Refused, framed
from kafka_py.testing.processes import ZookeeperServer, free_port

ROOT = Path(__file__).resolve().parents[1]
BIN = ROOT / "bin"
PARTITIONS = 4
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class Server:
    """A process that speaks the protocol at `port`. `started_s`: from its start until it was ready."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], port: int, directory: Path) -> None:
        self.name = name
        self.port = port
        self.directory = directory
        self.started_s = 0.0
        self._process = process

    @property
    def pid(self) -> int:
        """Of the server itself, where a shell script stands before it."""
        pid = self._process.pid
        while "bash" in Path(f"/proc/{pid}/comm").read_text():
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            if not children:
                return pid
            pid = int(children[0])
        return pid

    def check_alive(self) -> None:
        if self._process.poll() is not None:
            raise Refused(f"{self.name} ended with code {self._process.returncode}:\n{self._log_end()}")

    def _log_end(self) -> str:
        return "\n".join((self.directory / "log").read_text(errors="replace").splitlines()[-15:])

    def cpu_seconds(self) -> float:
        """All that its threads have used so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND

    def resident_mb(self) -> float:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def stop(self) -> float:
        """Stop it cleanly, or by force after thirty seconds; returns how long it took."""
        began = time.monotonic()
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        return time.monotonic() - began


def spawn(command: list[str], directory: Path, environment: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start a process whose output goes to `directory`/log; ending its group ends all of it."""
    with (directory / "log").open("ab") as log:
        return subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            start_new_session=True, env={**os.environ, **(environment or {})},
        )  # fmt: skip


def wait_ready(server: Server, timeout_s: float = 60.0) -> None:
    """Until the server answers Metadata with a broker in it."""
    ends = time.monotonic() + timeout_s
    while True:
        server.check_alive()
        try:
            caller = Caller(server.port)
            answer = caller.ask(framed(METADATA, 1, b"\0\0\0\0"))  # no topics
            caller.close()
            if int.from_bytes(answer[4:8], "big"):
                return
        except (OSError, Refused):
            pass
        if time.monotonic() > ends:
            raise Refused(f"{server.name} was not ready after {timeout_s:.0f} s")
        time.sleep(0.005)


@contextlib.contextmanager
def folder(name: str) -> Iterator[Path]:
    """A temporary folder, removed at the end with all logs in it."""
    path = Path(tempfile.mkdtemp(prefix=f"kafka_py-bench-{name}-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def bare_loop() -> Iterator[Server]:
    """The limit, running."""
    with folder("limit") as directory:
        port = free_port()
        command = [sys.executable, "-m", "benchmarks.bare_loop", "--dir", str(directory), "--port", str(port)]
        began = time.monotonic()
        server = Server("the limit", spawn([*command, "--partitions", str(PARTITIONS)], directory), port, directory)
        try:
            wait_ready(server)
            server.started_s = time.monotonic() - began
            yield server
        finally:
            server.stop()


@contextlib.contextmanager
def zookeeper() -> Iterator[str]:
    """A ZooKeeper server, running; yields its `host:port`."""
    with folder("zookeeper") as directory, ZookeeperServer(directory) as server:
        yield server.connect


def start_broker(zookeeper_connect: str, directory: Path, settings: Mapping[str, str] | None = None) -> Server:
    """Start the real broker on the logs in `directory` and wait until it serves; the one place that knows how.

    settings: others than its properties file has.
    """
    port = free_port()
    overrides = {
        "broker.id": "0",
        "zookeeper.connect": zookeeper_connect,
        "listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "log.dirs": str(directory / "data"),
        "num.partitions": str(PARTITIONS),
        "offsets.topic.replication.factor": "1",
        **(settings or {}),
    }
    command = [str(BIN / "kafka-server-start.sh"), str(ROOT / "config" / "server.properties")]
    for name, value in overrides.items():
        command += ["--override", f"{name}={value}"]
    began = time.monotonic()
    server = Server("the broker", spawn(command, directory), port, directory)
    try:
        wait_ready(server)
    except BaseException:
        server.stop()
        raise
    server.started_s = time.monotonic() - began
    return server


@contextlib.contextmanager
def broker(zookeeper_connect: str, settings: Mapping[str, str] | None = None) -> Iterator[Server]:
    """The broker with an empty data folder, running."""
    with folder("broker") as directory:
        server = start_broker(f"{zookeeper_connect}/{directory.name}", directory, settings)
        try:
            yield server
        finally:
            server.stop()


def with_each(run: Callable[[Server], None], settings: Mapping[str, str], *, apache: bool) -> None:
    """Calls `run` with the broker, then with Apache Kafka 2.8.2 if asked to; each runs alone."""
    with zookeeper() as connect:
        with broker(connect, settings) as server:
            run(server)
        if apache:
            with apache_broker(connect, settings) as server:
                run(server)


@contextlib.contextmanager
def apache_broker(zookeeper_connect: str, settings: Mapping[str, str] | None = None) -> Iterator[Server]:
    """Apache Kafka 2.8.2 with the JVM options of its own start script, on an empty data folder, running."""
    from kafka_py.testing.peers.apache import CLASSIC_JVM, ApacheBroker

    with folder("apache") as directory:
        given = {
            "num.partitions": str(PARTITIONS),
            "log.cleaner.dedupe.buffer.size": "134217728",
            "offsets.topic.replication.factor": "1",
            **(settings or {}),
        }
        connect = f"{zookeeper_connect}/{directory.name}"
        with ApacheBroker(directory, connect, settings=given, jvm=CLASSIC_JVM) as broker:
            server = Server("Apache 2.8.2", broker.popen, broker.port, directory)
            wait_ready(server)
            server.started_s = broker.started_in_s
            yield server
