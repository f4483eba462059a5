"""kafka-py up: a real ZooKeeper and brokers on this machine, ready to use, until Ctrl-C, SIGTERM or `kafka-py down`."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from kafka_py.base.properties import format_properties
from kafka_py.cli.common.client_properties import pairs
from kafka_py.cli.common.command import CommandFailed, UsageError, run
from kafka_py.cli.common.termination import Terminated, termination_as_exception
from kafka_py.cli.common.whole_files import write_secret
from kafka_py.cli.local_cluster import layout, state
from kafka_py.cli.local_cluster.layout import LocalCluster
from kafka_py.cli.local_cluster.processes import reap
from kafka_py.cli.local_cluster.scram_accounts import create_accounts
from kafka_py.cli.local_cluster.security import ACLS, ADMIN, PROTOCOLS, ClusterSecurity, make
from kafka_py.cli.local_cluster.starting import Starter, Wanted, plan
from kafka_py.cli.local_cluster.stopping import STOP_TIMEOUT_S, keep_archive, stop_all
from kafka_py.cli.umbrella.options import UmbrellaParser, folder_of

WATCH_S = 0.25
MOST_BROKERS = 100
BROKER_0 = layout.broker_name(0)


def parser() -> UmbrellaParser:
    table = UmbrellaParser("up", "Starts a Kafka cluster on this machine: a real ZooKeeper and brokers.")
    table.data_option()
    table.option("--brokers", "How many brokers a new cluster has (default: 1).", kind=int, metavar="Integer")
    table.option("--port", "Port of the first broker; the others follow. 0: any that are free. Default: 9092, or as "
                 "before.", kind=int, metavar="Integer")  # fmt: skip
    table.option("--zookeeper-port", "Port of ZooKeeper. Default: 2181, or as before, or another if it is in use.",
                 kind=int, metavar="Integer")  # fmt: skip
    table.option("--zookeeper", "Uses a ZooKeeper that runs elsewhere, host:port/path, and starts none.",
                 metavar="String: hosts")  # fmt: skip
    table.option("--security", "How clients come in, and brokers to each other; with users and access control lists. "
                 "Changes a cluster that is stopped. Default: PLAINTEXT, or as before.",
                 choices=(layout.PLAINTEXT, *PROTOCOLS))  # fmt: skip
    table.repeatable("--set", "A setting for every broker's server.properties, which is then written again.",
                     metavar="name=value")  # fmt: skip
    table.flag("--detach", "Return when the cluster is ready and leave it running.")
    table.flag("--install-java", "Install a Java for ZooKeeper where there is none: with apt-get as root, or with pip.")
    table.option("--timeout", "How long the start may take.", kind=float, metavar="Seconds", default=60.0)
    return table


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    _check(options)
    folder = folder_of(options)
    begun = time.monotonic()
    with termination_as_exception():
        cluster = bring_up(folder, options)
        count = len(cluster.ports)
        print(f"Ready in {time.monotonic() - begun:.1f} s: {count} broker{'s' if count > 1 else ''}, "
              f"ZooKeeper at {cluster.zookeeper_connect}, data in {folder}")  # fmt: skip
        if cluster.protocol != layout.PLAINTEXT:
            print(f"security.protocol={cluster.protocol}, settings for clients in {layout.client_properties(folder)}")
        print(f"bootstrap.servers={cluster.bootstrap_servers}", flush=True)
        if options.detach:
            return 0
        try:
            return watch(folder)
        except (KeyboardInterrupt, Terminated):
            bring_down(folder)
            return 0


def _check(options: argparse.Namespace) -> None:
    if options.brokers is not None and not 1 <= options.brokers <= MOST_BROKERS:
        raise UsageError(f"--brokers is a number from 1 to {MOST_BROKERS}, not {options.brokers}")
    for name in ("port", "zookeeper_port"):
        port = getattr(options, name)
        if port is not None and not 0 <= port <= 65535:
            raise UsageError(f"--{name.replace('_', '-')} is a number from 0 to 65535, not {port}")
    if options.port and options.port + (options.brokers or 1) > 65536:
        raise UsageError(f"From port {options.port} on there is no room for {options.brokers} brokers")
    pairs(options.set, "set")


def bring_up(folder: Path, options: argparse.Namespace) -> LocalCluster:
    """Starts the cluster of this folder, a new one where there is none. Raises CommandFailed; then nothing is left."""
    is_new_folder = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stored = layout.read(folder)
        with state.exclusively(folder):
            return _start(folder, stored, options)
    except OSError as error:
        raise CommandFailed(f"{folder} cannot be used: {error.strerror or error}") from error
    finally:
        if is_new_folder and not (folder / layout.FILE).exists():
            shutil.rmtree(folder, ignore_errors=True)


def _start(folder: Path, stored: LocalCluster | None, options: argparse.Namespace) -> LocalCluster:
    alive = state.running(folder)
    if alive:
        shown = ", ".join(f"{process.name} is process {process.pid}" for process in alive)
        raise CommandFailed(f"A cluster already runs in {folder} ({shown}): kafka-py down stops it")
    state.write(folder, [])
    wanted = Wanted(options.brokers, options.port, options.zookeeper_port, options.zookeeper, options.security)
    cluster = plan(stored, wanted)
    before = set(folder.iterdir())
    kept = {path: path.read_text() for path in (*folder.glob("broker-*/server.properties"),
                                                *folder.glob("security/admin.properties"))}  # fmt: skip
    starter = None
    try:
        security = secure(folder, wanted.protocol)
        starter = Starter(folder, cluster, os.environ, may_install=options.install_java)
        settings = None if wanted.protocol is None else {**security.broker_settings(), **ACLS} if security else {}
        layout.make_folders(folder, cluster, pairs(options.set, "set"), settings)
        _start_all(starter, cluster, security, options.timeout)
        layout.write(folder, cluster)
    except BaseException:
        _ignore_signals()
        if starter is not None:
            starter.kill_all()
        if stored is None:
            _remove_new(folder, before)
        for path, text in kept.items():
            if path.read_text() != text:
                write_secret(path, text)
        raise
    return cluster


def secure(folder: Path, protocol: str | None) -> ClusterSecurity | None:
    """Makes users and certificates for a protocol that was asked for; None where there is nothing to make."""
    if protocol in (None, layout.PLAINTEXT):
        return None
    assert protocol is not None
    path = layout.client_properties(folder)
    security = make(path.parent, protocol)
    write_secret(path, format_properties(security.client_settings(ADMIN)))
    return security


def _start_all(starter: Starter, cluster: LocalCluster, security: ClusterSecurity | None, timeout_s: float) -> None:
    """Users are stored before the first broker starts, for brokers log in as one of them. Raises CommandFailed."""
    for name in cluster.names:
        if name == BROKER_0 and security is not None and security.has_logins:
            starter.wait_zookeeper(timeout_s)
            create_accounts(cluster.zookeeper_connect, security.passwords, timeout_s)
        starter.start(name)
    starter.wait_ready(starter.started, timeout_s)


def _remove_new(folder: Path, before: set[Path]) -> None:
    """What a start that failed has made in a folder without a cluster."""
    for path in set(folder.iterdir()) - before:
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()


def watch(folder: Path) -> int:
    """Waits until all processes have ended, and says so when one does that nobody stopped. Returns the exit code."""
    reported: set[int] = set()
    while True:
        reap()
        processes = state.read(folder)
        if not processes:
            return 0  # stopped by another command
        dead = [process for process in processes if not process.is_alive]
        if dead and not state.is_busy(folder):
            for process in dead:
                if process.pid not in reported and process in state.read(folder):
                    reported.add(process.pid)
                    log = layout.log_of(folder, process.name)
                    print(f"{process.name} (process {process.pid}) has ended: see {log}", file=sys.stderr, flush=True)
            if len(reported) == len(processes):
                keep_archive(folder)
                return 1
        time.sleep(WATCH_S)


def bring_down(folder: Path) -> None:
    """Stops everything; more signals do not interrupt it."""
    _ignore_signals()
    print("Stopping", file=sys.stderr, flush=True)
    with state.exclusively(folder):
        stop_all(folder, STOP_TIMEOUT_S, lambda line: print(line, file=sys.stderr))


def _ignore_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
