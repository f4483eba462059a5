"""New TLS connections a second, with a request or without, and who else waits for them.

    python -m benchmarks.security.new_connections [--apache] [--keys ec,rsa] [--kinds request,resumed] [--seconds N]
        [--rounds N] [--processes N]

Processes connect one connection after the other with OpenSSL's client over TLS 1.3, verify nothing, and count by their
own clock, from when all of them are ready. `request` asks each connection for ApiVersions and reads the response;
`resumed` does so too, and offers a session of before, which Apache does not always take. Beside them one plain
connection asks for ApiVersions all the time. Brokers, keys and kinds take turns; medians of the rounds are printed, as
lines for people.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import ssl
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.idempotence import cpu_us
from benchmarks.security.tls import Place, running
from benchmarks.servers import folder, zookeeper
from kafka_py.testing.broker import AnyBroker, BrokerProcess
from kafka_py.testing.certificate_files import CertificateFiles
from kafka_py.testing.peers.apache import ApacheBroker
from kafka_py.wire.frames import encode_request
from kafka_py.wire.messages.api_versions import ApiVersionsRequest

KINDS = ("handshake", "request", "resumed")
KEYS = {"ec": 0, "rsa": 2048}
PAUSE_S = 0.002
"""Of the plain connection, between two requests."""


def generate(port: int, kind: str, seconds: float) -> tuple[int, float, int]:
    """What one process does: waits for a line, then connects for so long. Returns (connections, seconds, resumed)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    session: ssl.SSLSession | None = None
    resumed = [0, 0]

    def one() -> ssl.SSLSession | None:
        with (
            socket.create_connection(("127.0.0.1", port)) as plain,
            context.wrap_socket(plain, session=session) as secured,
        ):
            if kind == "handshake":
                secured.recv(0)
                return None
            secured.sendall(api_versions())
            _read_one(secured)
            resumed[bool(secured.session_reused)] += 1
            return secured.session if kind == "resumed" else None

    for _ in range(20):
        session = session or one()
    print("ready", flush=True)
    sys.stdin.readline()
    resumed[True] = 0
    count, began_s = 0, time.monotonic()
    while time.monotonic() < began_s + seconds:
        one()
        count += 1
    return count, time.monotonic() - began_s, resumed[True]


def api_versions() -> bytes:
    return bytes(encode_request(ApiVersionsRequest(), 0, 1, "bench"))


def _read_one(connected: socket.socket) -> None:
    left = 4 + int.from_bytes(_exactly(connected, 4))
    _exactly(connected, left - 4)


def _exactly(connected: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        got = connected.recv(size - len(found))
        if not got:
            raise ConnectionError("the broker closed the connection")
        found += got
    return found


class Beside:
    """One plain connection that asks for ApiVersions until it is told to end: how long each response took."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._ends = threading.Event()
        self._took_ms: list[float] = []
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> list[float]:
        self._thread.start()
        return self._took_ms

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    def _run(self) -> None:
        with socket.create_connection(("127.0.0.1", self._port)) as connected:
            while not self._ends.wait(PAUSE_S):
                began_s = time.perf_counter()
                connected.sendall(api_versions())
                _read_one(connected)
                self._took_ms.append((time.perf_counter() - began_s) * 1000)


class Figures(NamedTuple):
    """rate: connections a second. cpu_ms: of the broker, for each. busy: its share of a processor. beside_ms: p99.

    resumed: the share of the connections that resumed the session of before.
    """

    rate: float
    cpu_ms: float
    busy: float
    beside_ms: float
    resumed: float


def measure(secured: Place, plain_port: int, kind: str, processes: int, seconds: float) -> Figures:
    command = [sys.executable, "-m", "benchmarks.security.new_connections", "--generate", str(secured.port), kind]
    started = [
        subprocess.Popen(
            [*command, "--seconds", str(seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(processes)
    ]
    for each in started:
        assert each.stdout is not None and each.stdout.readline() == "ready\n"
    before, began_s = cpu_us(secured.server), time.monotonic()
    with Beside(plain_port) as took_ms:
        answers = [each.communicate("go\n")[0].split() for each in started]
    cpu_s, took_s = (cpu_us(secured.server) - before) / 1e6, time.monotonic() - began_s
    count = sum(int(answer[0]) for answer in answers)
    rate = sum(int(answer[0]) / float(answer[1]) for answer in answers)
    resumed = sum(int(answer[2]) for answer in answers) / count
    return Figures(rate, cpu_s / count * 1000, cpu_s / took_s, statistics.quantiles(took_ms, n=100)[98], resumed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--apache", action="store_true", help="Apache Kafka 2.8.2 as well")
    parser.add_argument("--keys", default=",".join(KEYS))
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--generate", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.generate:
        port, kind = options.generate
        print(*generate(int(port), kind, options.seconds), flush=True)
        return
    makes: dict[str, type[AnyBroker]] = {"ours": BrokerProcess}
    if options.apache:
        makes["Apache"] = ApacheBroker
    found: dict[tuple[str, str, str], list[Figures]] = {}
    with zookeeper() as connected, folder("certificates") as directory, contextlib.ExitStack() as stack:
        places = []
        for key in options.keys.split(","):
            files = CertificateFiles(Path(directory) / key)
            for name, made in makes.items():
                server, ports = stack.enter_context(running(made, f"{connected}/{key}", files, rsa_bits=KEYS[key]))
                places.append((key, Place(server, name, "SSL", ports["SSL"]), ports["PLAINTEXT"]))
        for number in range(options.rounds + 1):
            for kind in options.kinds.split(","):
                for key, place, plain_port in places[:: -1 if number % 2 else 1]:
                    figures = measure(place, plain_port, kind, options.processes, options.seconds)
                    if number:  # the first round warms up
                        found.setdefault((kind, key, place.broker), []).append(figures)
    for (kind, key, broker), rows in sorted(found.items()):
        middle = Figures(*(statistics.median(column) for column in zip(*rows, strict=True)))
        print(f"{kind:9} {key:3} {broker:6} {middle.rate:5.0f} connections/s, broker's CPU {middle.cpu_ms:.2f} ms "
              f"each, {middle.busy:.0%} busy, {middle.resumed:.0%} resumed, "
              f"a plain request beside it: p99 {middle.beside_ms:.1f} ms", flush=True)


if __name__ == "__main__":
    main()
