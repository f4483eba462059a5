"""Starts all processes of a cluster at once and waits until it is one; if that fails, nothing of it is left running.

Brokers start beside their ZooKeeper and wait for it, so the whole takes hardly longer than the slowest process.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.local_cluster import broker_view, layout, state
from kafka_py.cli.local_cluster.layout import ZOOKEEPER, LocalCluster, connections_to
from kafka_py.cli.local_cluster.ports import free_ports, is_free
from kafka_py.cli.local_cluster.processes import POLL_S, ServerProcess, kill, server_environment, spawn

DEFAULT_PORT = 9092
DEFAULT_ZOOKEEPER_PORT = 2181


class Wanted(NamedTuple):
    """What `kafka-py up` was asked for; None where it was not said. A port of 0 asks for any free one."""

    brokers: int | None = None
    port: int | None = None
    zookeeper_port: int | None = None
    zookeeper: str | None = None
    protocol: str | None = None


def plan(stored: LocalCluster | None, wanted: Wanted, free: Callable[[int], bool] = is_free) -> LocalCluster:
    """The cluster to start: the stored one, or a new one; on ports that are free. Raises CommandFailed."""
    count = len(stored.ports) if stored else wanted.brokers or 1
    if wanted.brokers not in (None, count):
        raise CommandFailed(
            f"This folder has a cluster of {_brokers(count)}, not of {wanted.brokers}: leave --brokers out, "
            "or choose another folder with --data"
        )
    if stored and wanted.zookeeper not in (None, stored.zookeeper):
        raise CommandFailed(
            f"The cluster of this folder is registered in ZooKeeper at {stored.zookeeper_connect}: leave --zookeeper "
            "out, or choose another folder with --data"
        )
    cluster = stored or LocalCluster(ports=(), zookeeper=wanted.zookeeper)
    cluster = replace(cluster, protocol=wanted.protocol or cluster.protocol)
    ports = _broker_ports(cluster.ports, wanted.port, count, free)
    if cluster.zookeeper is not None:
        return cluster.on_ports(ports, None)
    return cluster.on_ports(ports, _zookeeper_port(cluster.zookeeper_port, wanted.zookeeper_port, ports, free))


def _brokers(count: int) -> str:
    return "1 broker" if count == 1 else f"{count} brokers"


def _broker_ports(
    stored: tuple[int, ...], wanted: int | None, count: int, free: Callable[[int], bool]
) -> tuple[int, ...]:
    if wanted == 0:
        return tuple(free_ports(count))
    first = DEFAULT_PORT if wanted is None else wanted
    ports = stored if stored and wanted is None else tuple(range(first, first + count))
    taken = [str(port) for port in ports if not free(port)]
    if taken:
        raise CommandFailed(
            f"Port {', '.join(taken)} is in use by another process: choose others with --port (0: any that are free)"
        )
    return ports


def _zookeeper_port(
    stored: int | None, wanted: int | None, besides: tuple[int, ...], free: Callable[[int], bool]
) -> int:
    """The one asked for must be free; else any will do, for clients do not see it."""
    if wanted:
        if wanted in besides or not free(wanted):
            raise CommandFailed(f"Port {wanted} is in use: choose another for ZooKeeper with --zookeeper-port")
        return wanted
    usual = stored or DEFAULT_ZOOKEEPER_PORT
    if wanted != 0 and usual not in besides and free(usual):
        return usual
    return free_ports(1, besides=besides)[0]


class Starter:
    """Starts processes of one cluster and notes each in its state file; undone by `kill_all`.

    may_install: whether a Java may be installed where there is none.
    """

    def __init__(self, folder: Path, cluster: LocalCluster, environment: Mapping[str, str], *,
                 may_install: bool = False) -> None:  # fmt: skip
        self._folder = folder
        self._cluster = cluster
        self._environment = server_environment(environment)
        self._may_install = may_install
        self._connect = connections_to(folder, cluster)
        self._log_starts: dict[str, int] = {}
        self.started: list[ServerProcess] = []

    def start(self, name: str) -> ServerProcess:
        """Starts one process without waiting. Raises CommandFailed, OSError."""
        log = layout.log_of(self._folder, name)
        self._log_starts[name] = log.stat().st_size if log.exists() else 0
        environment = dict(self._environment)
        command = self._zookeeper_command(environment) if name == ZOOKEEPER else self._broker_command(name)
        process = spawn(name, command, log, environment=environment, folder=log.parent)
        self.started.append(process)
        state.write(self._folder, state.replaced(state.read(self._folder), process))
        return process

    def _broker_command(self, name: str) -> list[str]:
        properties = str(self._folder / name / "server.properties")
        program = [sys.executable, "-P", "-m", "kafka_py.cli.run_class", "kafka.Kafka"]
        return [*program, properties, *self._cluster.overrides(layout.broker_number(name))]

    def _zookeeper_command(self, environment: dict[str, str]) -> list[str]:
        from kafka_py.cli.java_compat.class_archive import zookeeper_archive
        from kafka_py.cli.java_compat.java import server_command

        assert self._cluster.zookeeper_port is not None
        archive = zookeeper_archive(environment, may_install=self._may_install)
        environment["KAFKA_HEAP_OPTS"] = layout.ZOOKEEPER_HEAP
        environment["KAFKA_JVM_PERFORMANCE_OPTS"] = archive.quick_options()
        if archive.fresh is not None:
            archive_note(self._folder).write_text(f"{archive.fresh}\n{archive.path}\n")
        properties = layout.zookeeper_properties(self._folder, self._cluster.zookeeper_port)
        return server_command(properties, environment)

    def wait_zookeeper(self, timeout_s: float) -> None:
        """Waits until the cluster's own ZooKeeper serves. Raises CommandFailed."""
        port = self._cluster.zookeeper_port
        deadline = time.monotonic() + timeout_s
        while port is not None and broker_view.zookeeper_mode(port) is None:
            if not self.started[0].is_alive:
                raise CommandFailed(f"{ZOOKEEPER} could not start: {self._reason(ZOOKEEPER)}")
            if time.monotonic() > deadline:
                raise CommandFailed(f"{ZOOKEEPER} was not ready after {timeout_s:.0f} s: {self._reason(ZOOKEEPER)}")
            time.sleep(POLL_S)

    def wait_ready(self, processes: Sequence[ServerProcess], timeout_s: float) -> None:
        """Waits until every broker among these serves and knows all brokers. Raises CommandFailed."""
        waiting = list(processes)
        deadline = time.monotonic() + timeout_s
        while waiting:
            for process in waiting:
                if not process.is_alive:
                    raise CommandFailed(f"{process.name} could not start: {self._reason(process.name)}")
            waiting = [process for process in waiting if not self._is_ready(process)]
            if waiting and time.monotonic() > deadline:
                name = self._culprit(waiting[0].name)
                raise CommandFailed(f"{name} was not ready after {timeout_s:.0f} s: {self._reason(name)}")
            if waiting:
                time.sleep(POLL_S)

    def _culprit(self, broker: str) -> str:
        """Who is to blame if this broker is not ready: it may only wait for a ZooKeeper that does not serve."""
        port = self._cluster.zookeeper_port
        return broker if port is None or broker_view.zookeeper_mode(port) else ZOOKEEPER

    def _is_ready(self, process: ServerProcess) -> bool:
        if process.name == ZOOKEEPER:
            return True  # a broker that is ready has used it
        port = self._cluster.port_of(process.name)
        if is_free(port):
            return False
        view = broker_view.ask(port, self._connect)
        return view is not None and len(view.brokers) >= len(self._cluster.ports) and view.controller >= 0

    def _reason(self, name: str) -> str:
        """What the process said last: its `Error:` line, else the end of its log."""
        with layout.log_of(self._folder, name).open("rb") as log:
            log.seek(self._log_starts.get(name, 0))
            lines = log.read().decode(errors="replace").splitlines()
        errors = [line.removeprefix("Error: ") for line in lines if line.startswith("Error: ")]
        return errors[-1] if errors else "\n".join(["its log ends with", *lines[-10:]])

    def kill_all(self) -> None:
        """Ends at once what was started here."""
        for process in reversed(self.started):
            kill(process)
        gone = {process.pid for process in self.started}
        state.write(self._folder, [process for process in state.read(self._folder) if process.pid not in gone])
        self.started.clear()


def archive_note(folder: Path) -> Path:
    """Where it is noted that the running ZooKeeper will leave an archive of classes (java_compat/class_archive.py)."""
    return folder / ZOOKEEPER / "class-archive"
