"""How well a broker keeps a client to its byte rate, and what a throttled client does to the others.

    python -m benchmarks.limits.quota_accuracy [--runs N] [--scale N] [--only WORD,...] [--apache] [--others]

Each run is one budget: a client id, used by one or five performance tests at a time, ours or those of Apache Kafka
2.8.2. It has a listener of its own, so that the kernel's counters of its connections (`ss`) say what the broker took
from it or sent to it, whatever the broker is. Counted are 30 seconds that begin when the first window of samples is
over, and three whole windows that begin in the middle of the second one: a client that takes all it can has a burst at
the beginning of each window. Runs go side by side: their rates are so low that the machine is idle. --others: the 99th
percentile of another client's requests beside a throttled producer, and without it. Prints lines for people.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.hostile import Other
from benchmarks.servers import BIN, folder, spawn, zookeeper
from kafka_py.clients.admin.client import AdminClient
from kafka_py.testing.broker import AnyBroker, BrokerProcess
from kafka_py.testing.peers.apache import CLASSIC_JVM, QUICK_JVM, ApacheBroker, apache_kafka
from kafka_py.testing.processes import free_ports

QUOTAS = {"producer": 200_000, "consumer": 400_000}
"""Bytes per second."""
WINDOW_S = 11
TIMES = (("30 s", WINDOW_S, 30.0), ("3 windows", WINDOW_S * 1.5, WINDOW_S * 3.0))
"""Name, begin after the first bytes, length in seconds."""
RECORD_BYTES = 1000
FILLED, FILLED_RECORDS = "filled", 40_000
FETCH_BYTES = 50_000
STARTED_BYTES = 20_000
"""A client that has transferred so much takes part."""
START_TIMEOUT_S = 150
OTHERS_S = 15
_SOCKET = re.compile(r"^\S+\s+(\d+)\s+\d+\s+\S+\s+(\S+) .*?bytes_acked:(\d+) bytes_received:(\d+)")


class Cell(NamedTuple):
    """What is run several times. clients: of one budget. scale: factor of the quota."""

    tool: str
    kind: str
    clients: int
    scale: int

    @property
    def quota(self) -> int:
        return QUOTAS[self.kind] * self.scale

    @property
    def name(self) -> str:
        return f"{self.kind}, {self.clients} of {self.tool}"

    @property
    def at_once(self) -> int:
        """How many runs may go side by side: Java's clients need a while to start."""
        return 10 if self.clients == 1 else 5 if self.tool == "ours" else 2


class Run(NamedTuple):
    """One budget with its listener."""

    client_id: str
    port: int


def transferred(port: int) -> dict[str, tuple[int, int]]:
    """By address of a client: the bytes that the server at this port has read from it, and that it got."""
    listed = subprocess.run(["ss", "-HtinO", f"sport = :{port}"], capture_output=True, text=True, check=True)
    found = {}
    for line in listed.stdout.splitlines():
        row = _SOCKET.match(line)
        if row is not None:
            unread, peer, sent, received = row.groups()
            found[peer] = int(received) - int(unread), int(sent)
    return found


def command(cell: Cell, run: Run, number: int, directory: Path) -> list[str]:
    """The command line of one client."""
    server = f"127.0.0.1:{run.port}"
    if cell.kind == "producer":
        arguments = [
            "--topic", run.client_id, "--num-records", "100000000", "--record-size", str(RECORD_BYTES),
            "--throughput", str(10 * cell.quota // RECORD_BYTES), "--producer-props", f"bootstrap.servers={server}",
            f"client.id={run.client_id}", "acks=1", "buffer.memory=1000000", "max.block.ms=600000",
            "delivery.timeout.ms=600000",
        ]  # fmt: skip
        script, main_class = "kafka-producer-perf-test.sh", "org.apache.kafka.tools.ProducerPerformance"
    else:
        settings = directory / f"{run.client_id}.properties"
        settings.write_text(f"client.id={run.client_id}\n")
        arguments = [
            "--topic", FILLED, "--bootstrap-server", server, "--messages", "100000000", "--timeout", "600000",
            "--group", f"{run.client_id}-{number}", "--consumer.config", str(settings), "--fetch-size",
            str(FETCH_BYTES),
        ]  # fmt: skip
        script, main_class = "kafka-consumer-perf-test.sh", "kafka.tools.ConsumerPerformance"
    if cell.tool == "ours":
        return [str(BIN / script), *arguments]
    return apache_kafka().command(main_class, *arguments, jvm=QUICK_JVM)


@contextlib.contextmanager
def clients_of(cell: Cell, runs: list[Run]) -> Iterator[None]:
    with folder("clients") as directory:
        started = []
        try:
            for run in runs:
                for number in range(cell.clients):
                    started.append(spawn(command(cell, run, number, directory), directory))
            yield
        finally:
            for each in started:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(each.pid, signal.SIGKILL)
                each.wait()


class Watched:
    """One run: when it began, and the share of its quota that was transferred in each of the TIMES."""

    def __init__(self, run: Run, cell: Cell) -> None:
        self.run = run
        self.shares: dict[str, float] = {}
        self._cell = cell
        self._place = 0 if cell.kind == "producer" else 1
        self._first_byte_s: float | None = None
        self._is_complete = False
        self._bases: dict[str, tuple[float, dict[str, int]]] = {}

    @property
    def is_over(self) -> bool:
        return len(self.shares) == len(TIMES)

    def look(self) -> None:
        """Call often."""
        bytes_of = {peer: row[self._place] for peer, row in transferred(self.run.port).items()}
        now_s = time.monotonic()
        if self._first_byte_s is None:
            if max(bytes_of.values(), default=0) <= STARTED_BYTES:
                return
            self._first_byte_s = now_s
        self._is_complete |= sum(each > STARTED_BYTES for each in bytes_of.values()) >= self._cell.clients
        for name, begin_s, length_s in TIMES:
            if name not in self._bases:
                if self._is_complete and now_s >= self._first_byte_s + begin_s:
                    self._bases[name] = now_s, bytes_of
                continue
            began_s, before = self._bases[name]
            if name not in self.shares and now_s >= began_s + length_s:
                moved = sum(each - before.get(peer, 0) for peer, each in bytes_of.items())
                self.shares[name] = moved / (now_s - began_s) / self._cell.quota


def measure(cell: Cell, runs: list[Run]) -> list[dict[str, float]]:
    """The rate of each run in each of the TIMES, as a share of its quota."""
    watched = [Watched(run, cell) for run in runs]
    with clients_of(cell, runs):
        ends_s = time.monotonic() + START_TIMEOUT_S
        while not all(each.is_over for each in watched):
            time.sleep(0.1)
            for each in watched:
                each.look()
            if time.monotonic() > ends_s:
                raise RuntimeError(f"{cell.name}: a client did not start")
    return [each.shares for each in watched]


@contextlib.contextmanager
def running(kind: type[AnyBroker], connect: str) -> Iterator[tuple[AnyBroker, list[int]]]:
    """A broker with a listener for each run that goes at the same time."""
    main_port, *ports = free_ports(11)
    names = [f"RUN{number}" for number in range(len(ports))]
    listeners = [f"PLAINTEXT://127.0.0.1:{main_port}"]
    listeners += [f"{name}://127.0.0.1:{port}" for name, port in zip(names, ports, strict=True)]
    settings = {
        "listeners": ",".join(listeners),
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in ["PLAINTEXT", *names]),
        "num.partitions": "1",
    }
    with folder(kind.__name__) as directory, contextlib.ExitStack() as stack:
        chroot = f"{connect}/{kind.__name__}"
        broker: AnyBroker
        if kind is ApacheBroker:
            broker = ApacheBroker(directory, chroot, port=main_port, settings=settings, jvm=CLASSIC_JVM)
        else:
            broker = BrokerProcess(directory, chroot, port=main_port, settings=settings)
        yield stack.enter_context(broker), ports


def fill(broker: AnyBroker) -> None:
    broker.create_topic(FILLED, 1)
    subprocess.run(
        [BIN / "kafka-producer-perf-test.sh", "--topic", FILLED, "--num-records", str(FILLED_RECORDS), "--record-size",
         str(RECORD_BYTES), "--throughput", "-1", "--producer-props", f"bootstrap.servers={broker.bootstrap}"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip


def accuracy(broker: AnyBroker, name: str, ports: list[int], options: argparse.Namespace) -> None:
    """Prints a line for each cell."""
    fill(broker)
    cells = [
        Cell(tool, kind, clients, options.scale)
        for kind in QUOTAS for clients in (1, 5) for tool in ("ours", "java")
    ]  # fmt: skip
    for cell in cells:
        if options.only and not all(word in cell.name for word in options.only.split(",")):
            continue
        shares: list[dict[str, float]] = []
        while len(shares) < options.runs:
            at_once = min(cell.at_once, options.runs - len(shares))
            made = [
                Run(f"{cell.kind}-{cell.tool}-{cell.clients}-{len(shares) + number}", ports[number])
                for number in range(at_once)
            ]
            with AdminClient({"bootstrap.servers": broker.bootstrap}) as admin:
                limits = {f"{cell.kind}_byte_rate": float(cell.quota)}
                admin.alter_client_quotas({(("client-id", run.client_id),): limits for run in made}).all()
            if cell.kind == "producer":
                for run in made:
                    broker.create_topic(run.client_id, 1)
            shares += measure(cell, made)
        for time_name, _, _ in TIMES:
            found = sorted(each[time_name] for each in shares)
            print(f"{name:7} {cell.name:20} {time_name:9} {len(found)} runs: rate / quota {found[0]:.3f} to "
                  f"{found[-1]:.3f}, median {statistics.median(found):.3f}", flush=True)  # fmt: skip


def others(broker: AnyBroker, name: str, rounds: int) -> None:
    """Prints the 99th percentile of another client, by turns alone and beside a producer that is throttled."""
    broker.create_topic("t1", 1)
    broker.create_topic("throttled", 1)
    with AdminClient({"bootstrap.servers": broker.bootstrap}) as admin:
        admin.alter_client_quotas({(("client-id", "load"),): {"producer_byte_rate": 200_000.0}}).all()
    found: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    for number in range(2 * rounds + 1):
        is_beside = number % 2 == 1
        producer = None
        if is_beside:
            arguments = ["produce", "--port", str(broker.port), "--topic", "throttled", "--seconds", str(OTHERS_S)]
            producer = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.load", *arguments, "--batch-records", "100"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        other = Other(broker.port)
        other.start()
        time.sleep(OTHERS_S)
        longest_ms, most_ms = other.stop()
        if producer is not None:
            producer.kill()
            producer.wait()
        if number:  # the first one warms up
            found[is_beside].append((most_ms, longest_ms))
    for is_beside, rows in found.items():
        p99, longest = (statistics.median(row[place] for row in rows) for place in (0, 1))
        words = "beside a throttled producer" if is_beside else "alone"
        print(f"{name:7} another client {words:28} p99 {p99:.2f} ms, longest {longest:.1f} ms", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--scale", type=int, default=1, help="factor of all quotas")
    parser.add_argument("--only", default="", metavar="WORD,...", help="cells whose names have all these words")
    parser.add_argument("--apache", action="store_true", help="Apache Kafka 2.8.2 instead of our broker")
    parser.add_argument("--others", action="store_true", help="what a throttled client does to another one, instead")
    options = parser.parse_args()
    kind: type[AnyBroker] = ApacheBroker if options.apache else BrokerProcess
    name = "Apache" if options.apache else "ours"
    with zookeeper() as connect, running(kind, connect) as (broker, ports):
        if options.others:
            others(broker, name, rounds=5)
        else:
            accuracy(broker, name, ports, options)


if __name__ == "__main__":
    main()
