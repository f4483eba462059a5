"""What TLS costs: records in and out over a plain and a TLS listener, idle connections.

    python -m benchmarks.security.tls [--records N] [--rounds N] [--apache] [--clients prepared,kcat,java]
        [--at-once N] [--idle N]

kcat and Apache's performance tests of 2.8.2 write and read records of 100 bytes, uncompressed, over TLS 1.3: short
rounds, each with all brokers and listeners in turn, of which medians are printed. One client alone may be what bounds
the rate; with several at once, whose rates are added, all processors are busy. On few processors the clients share them
with the broker, so the broker's own CPU time is the fairer figure. `prepared` sends requests that were encoded
beforehand, one batch in and about 1 MB out for each request, so that the broker is what bounds the rate; 150 records
are the 16 KB of Java's `batch.size`, 9,000 the 1 MB that librdkafka fills. Prints lines for people.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import socket
import ssl
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.idempotence import cpu_us
from benchmarks.servers import Server, folder, zookeeper
from kafka_py.testing.broker import AnyBroker, BrokerProcess
from kafka_py.testing.certificate_files import CertificateFiles
from kafka_py.testing.peers.apache import CLASSIC_JVM, ApacheBroker, apache_kafka
from kafka_py.testing.processes import free_port
from kafka_py.testing.topics import create_topic

VALUE = b"x" * 100
TIMEOUT_S = 300


class Place(NamedTuple):
    """A listener of a broker."""

    server: Server
    broker: str
    listener: str
    port: int

    @property
    def topic(self) -> str:
        return f"bench-{self.listener.lower()}"


class Took(NamedTuple):
    seconds: float
    records: int


class Kcat:
    """The command kcat."""

    def __init__(self, directory: Path, files: CertificateFiles, records: int) -> None:
        self._lines = directory / "lines"
        self._lines.write_bytes((VALUE + b"\n") * records)
        self._tls = ["-X", "security.protocol=ssl", "-X", f"ssl.ca.location={files.authority_pem}"]
        self._records = records

    def _run(self, place: Place, *arguments: str) -> Took:
        tls = self._tls if place.listener == "SSL" else []
        began_s = time.monotonic()
        server = ["-b", f"localhost:{place.port}", "-t", place.topic, "-p", "0"]
        subprocess.run(
            ["kcat", "-q", *server, *tls, *arguments], check=True, stdout=subprocess.DEVNULL, timeout=TIMEOUT_S
        )
        return Took(time.monotonic() - began_s, self._records)

    def write(self, place: Place) -> Took:
        return self._run(place, "-P", "-X", "linger.ms=5", "-X", "acks=1", "-l", str(self._lines))

    def read(self, place: Place) -> Took:
        return self._run(place, "-C", "-o", "beginning", "-c", str(self._records))


class Prepared:
    """benchmarks.load: four connections with four requests each under way."""

    def __init__(self, files: CertificateFiles, batch_records: int) -> None:
        self._authority = str(files.authority_pem)
        self._batch_records = batch_records

    def _run(self, place: Place, kind: str, *arguments: str) -> Took:
        topic = f"{place.topic}-{self._batch_records}"
        tls = ["--secured-port", str(place.port), "--authority", self._authority] if place.listener == "SSL" else []
        command = [
            sys.executable, "-m", "benchmarks.load", kind, "--port", str(place.server.port), "--topic", topic,
            "--batch-records", str(self._batch_records), "--seconds", "4", *tls, *arguments,
        ]  # fmt: skip
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT_S)
        figures = json.loads(done.stdout)
        return Took(figures["seconds"], figures["records"])

    def write(self, place: Place) -> Took:
        return self._run(place, "produce")

    def read(self, place: Place) -> Took:
        return self._run(place, "fetch", "--fetch-batches", str(max(1, 9_000 // self._batch_records)))


class Java:
    """Apache's performance tests; their own figures, without the start of Java."""

    def __init__(self, directory: Path, files: CertificateFiles, records: int) -> None:
        self._settings = {
            "SSL": {
                "security.protocol": "SSL", "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(files.authority_pem), "ssl.enabled.protocols": "TLSv1.3",
            },
            "PLAINTEXT": {},
        }  # fmt: skip
        self._records = records
        for listener, settings in self._settings.items():
            lines = "".join(f"{name}={value}\n" for name, value in settings.items())
            (directory / f"{listener}.properties").write_text(lines)
        self._directory = directory

    def write(self, place: Place) -> Took:
        given = [f"{name}={value}" for name, value in self._settings[place.listener].items()]
        done = apache_kafka().run_fast(
            "org.apache.kafka.tools.ProducerPerformance", "--topic", place.topic, "--num-records", str(self._records),
            "--record-size", str(len(VALUE)), "--throughput", "-1", "--producer-props",
            f"bootstrap.servers=localhost:{place.port}", "acks=1", "linger.ms=5", *given, timeout_s=TIMEOUT_S,
        )  # fmt: skip
        rate = float(_found(r"([\d.]+) records/sec", done.lines[-1:], done.stderr))
        return Took(self._records / rate, self._records)

    def read(self, place: Place) -> Took:
        done = apache_kafka().run_fast(
            "kafka.tools.ConsumerPerformance", "--topic", place.topic, "--bootstrap-server", f"localhost:{place.port}",
            "--messages", str(self._records), "--timeout", "60000", "--hide-header",
            "--consumer.config", str(self._directory / f"{place.listener}.properties"), timeout_s=TIMEOUT_S,
        )  # fmt: skip
        columns = (done.lines or [""])[-1].split(", ")
        if len(columns) < 10:
            raise RuntimeError(done.stderr[-2000:])
        return Took(float(columns[7]) / 1000.0, self._records)  # fetch.time.ms


class AtOnce:
    """Several of these clients at the same time."""

    def __init__(self, client: Prepared | Kcat | Java, count: int) -> None:
        self._client, self._count = client, count

    def _run(self, work: Callable[[Place], Took], place: Place) -> Took:
        with ThreadPoolExecutor(self._count) as threads:
            found = [each.result() for each in [threads.submit(work, place) for _ in range(self._count)]]
        records = sum(each.records for each in found)
        return Took(records / sum(each.records / each.seconds for each in found), records)

    def write(self, place: Place) -> Took:
        return self._run(self._client.write, place)

    def read(self, place: Place) -> Took:
        return self._run(self._client.read, place)


def _found(pattern: str, lines: list[str], otherwise: str) -> str:
    found = re.search(pattern, lines[0]) if lines else None
    if found is None:
        raise RuntimeError(otherwise[-2000:])
    return found[1]


def measure(places: list[Place], clients: dict[str, AtOnce], rounds: int) -> None:
    """Prints medians by client and direction."""
    for place in places:
        create_topic([f"localhost:{place.server.port}"], place.topic, 1)
    for name, client in clients.items():
        found: dict[tuple[Place, str], list[tuple[float, float]]] = {}
        for number in range(rounds + 1):
            for place in places[:: -1 if number % 2 else 1]:
                for direction, work in (("in", client.write), ("out", client.read)):
                    before = cpu_us(place.server)
                    took = work(place)
                    cpu = (cpu_us(place.server) - before) / took.records
                    if number:  # the first round warms up
                        found.setdefault((place, direction), []).append((took.records / took.seconds, cpu))
        for direction in ("in", "out"):
            for place in places:
                rate, cpu = (
                    statistics.median(row[column] for row in found[place, direction]) for column in (0, 1)
                )
                print(f"{name:14} {direction:3} {place.broker:7} {place.listener:9} {rate / 1000:7.0f} "
                      f"k records/s, broker's CPU {cpu:6.2f} s per million records",
                      flush=True)  # fmt: skip


def idle(place: Place, files: CertificateFiles, count: int) -> None:
    server, port = place.server, place.port
    context = ssl.create_default_context(cafile=str(files.authority_pem))
    before = server.resident_mb()
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            plain = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            stack.enter_context(context.wrap_socket(plain, server_hostname="localhost"))
        after = server.resident_mb()
        each = (after - before) * 1024 / max(count, 1)
        print(f"{place.broker:7} {count} idle connections: {after:.0f} MB, {each:.0f} KB each", flush=True)


@contextlib.contextmanager
def running(
    kind: type[AnyBroker], connect: str, files: CertificateFiles, **certificate: Any
) -> Iterator[tuple[Server, dict[str, int]]]:
    """A broker with both listeners, and their ports. certificate: what its key is like, see Authority.issue."""
    ports = {"PLAINTEXT": free_port(), "SSL": free_port()}
    listeners = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
    settings = {"listeners": listeners, **files.broker(**certificate)}
    with folder(kind.__name__) as directory, contextlib.ExitStack() as stack:
        connect, port = f"{connect}/{kind.__name__}", ports["PLAINTEXT"]
        broker: AnyBroker
        if kind is ApacheBroker:
            broker = ApacheBroker(directory, connect, port=port, settings=settings, jvm=CLASSIC_JVM)
        else:
            broker = BrokerProcess(directory, connect, port=port, settings=settings)
        stack.enter_context(broker)
        yield Server(kind.__name__, broker.popen, broker.port, directory), ports


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--at-once", type=int, default=1, help="how many of kcat, of Java")
    parser.add_argument("--idle", type=int, default=2000)
    parser.add_argument("--clients", default="prepared,kcat,java", help="none: idle connections only")
    parser.add_argument("--apache", action="store_true", help="Apache Kafka 2.8.2 as well")
    options = parser.parse_args()
    kinds: dict[str, type[AnyBroker]] = {"ours": BrokerProcess}
    if options.apache:
        kinds["Apache"] = ApacheBroker
    with zookeeper() as connected, folder("certificates") as directory, contextlib.ExitStack() as stack:
        files = CertificateFiles(Path(directory))
        places = []
        for name, kind in kinds.items():
            server, ports = stack.enter_context(running(kind, connected, files))
            places += [Place(server, name, listener, port) for listener, port in ports.items()]
        clients: dict[str, Prepared | Kcat | Java] = {}
        if "prepared" in options.clients:
            clients |= {f"prepared {size:,}": Prepared(files, size) for size in (150, 9_000)}
        if "kcat" in options.clients:
            clients["kcat"] = Kcat(directory, files, options.records)
        if "java" in options.clients:
            clients["java"] = Java(directory, files, options.records)
        several = {  # what is prepared compares the log with what it sent, so it is alone
            name: AtOnce(client, 1 if isinstance(client, Prepared) else options.at_once)
            for name, client in clients.items()
        }
        measure(places, several, options.rounds)
        for place in places:
            if place.listener == "SSL":
                idle(place, files, options.idle)


if __name__ == "__main__":
    main()
