"""kafka-py status: the processes of a cluster, and whether all replicas are in sync. Exit code 0 if all is well."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kafka_py.cli.common.command import run
from kafka_py.cli.common.documents import output_option, print_document
from kafka_py.cli.common.progress import duration
from kafka_py.cli.local_cluster import broker_view, layout, state
from kafka_py.cli.local_cluster.broker_view import BrokerView
from kafka_py.cli.local_cluster.layout import ZOOKEEPER, LocalCluster
from kafka_py.cli.local_cluster.processes import ServerProcess, resident_mb, uptime_s
from kafka_py.cli.umbrella.options import UmbrellaParser, folder_of

MOST_SHOWN = 10


class ProcessStatus(NamedTuple):
    """One line of the table. state: `serving`, `starting` (runs, but does not answer yet) or `stopped`."""

    name: str
    port: int
    state: str
    pid: int | None
    uptime_s: float
    memory_mb: float


def parser() -> UmbrellaParser:
    table = UmbrellaParser("status", "Shows what runs of a cluster, and whether all replicas are in sync.")
    table.data_option()
    output_option(table)
    return table


def look(folder: Path, cluster: LocalCluster) -> tuple[list[ProcessStatus], BrokerView | None]:
    """The state of every process, and what the first broker that answers says of the cluster."""
    alive = {process.name: process for process in state.running(folder)}
    connect = layout.connections_to(folder, cluster)
    found = []
    view: BrokerView | None = None
    for name in cluster.names:
        port = cluster.port_of(name)
        process = alive.get(name)
        if name == ZOOKEEPER:
            serves = process is not None and broker_view.zookeeper_mode(port) is not None
        else:
            seen = broker_view.ask(port, connect, topics=True) if process is not None else None
            serves = seen is not None
            view = view or seen
        found.append(_status(name, port, process, serves))
    return found, view


def _status(name: str, port: int, process: ServerProcess | None, serves: bool) -> ProcessStatus:
    if process is None:
        return ProcessStatus(name, port, "stopped", None, 0.0, 0.0)
    shown = "serving" if serves else "starting"
    return ProcessStatus(name, port, shown, process.pid, uptime_s(process), resident_mb(process.pid))


def lines(cluster: LocalCluster, found: Sequence[ProcessStatus], view: BrokerView | None) -> list[str]:
    """The text of the command."""
    shown = [f"{'NAME':<12}{'PORT':<8}{'STATE':<10}{'PID':<10}{'UPTIME':<12}MEMORY"]
    for row in found:
        running = row.pid is not None
        uptime = duration(row.uptime_s) if running else "-"
        memory = f"{row.memory_mb:.0f} MB" if running else "-"
        shown.append(f"{row.name:<12}{row.port:<8}{row.state:<10}{row.pid or '-':<10}{uptime:<12}{memory}")
    if view is not None:
        security = [] if cluster.protocol == layout.PLAINTEXT else [f"security.protocol={cluster.protocol}"]
        shown += ["", f"bootstrap.servers={cluster.bootstrap_servers}", *security]
        shown.append(f"controller: broker {view.controller}")
        lagging = f"{len(view.lagging)} of them not in sync: {broker_view.shortened(view.lagging, MOST_SHOWN)}"
        shown.append(f"partitions: {view.partitions}, {lagging if view.lagging else 'all in sync'}")
    return shown


def document(cluster: LocalCluster, found: Sequence[ProcessStatus], view: BrokerView | None) -> dict[str, Any]:
    """The same for programs; controller and partitions are null where no broker answers."""
    return {
        "bootstrap_servers": cluster.bootstrap_servers,
        "security_protocol": cluster.protocol,
        "zookeeper": cluster.zookeeper_connect,
        "processes": [row._asdict() for row in found],
        "controller": None if view is None else view.controller,
        "partitions": None if view is None else view.partitions,
        "not_in_sync": None if view is None else list(view.lagging),
    }


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    folder = folder_of(options)
    cluster = layout.read_existing(folder)
    found, view = look(folder, cluster)
    if options.output is not None:
        print_document(document(cluster, found, view), options.output)
    else:
        print("\n".join(lines(cluster, found, view)))
    is_well = all(row.state == "serving" for row in found) and view is not None and not view.lagging
    return 0 if is_well else 1


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
