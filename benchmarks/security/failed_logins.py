"""Failed logins without end: what they cost the broker in memory and CPU, and another client in waiting.

    python -m benchmarks.security.failed_logins [--logins N] [--at-once N]

Connections log in by PLAIN with wrong passwords, every other one as a user that does not exist, and wait until they are
closed. Meanwhile another client asks over a connection that has logged in. Prints lines for people. The short form is
tests/system/test_failed_logins.py.
"""

from __future__ import annotations

import argparse
import contextlib
import select
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from benchmarks.servers import Server, folder, zookeeper
from kafka_py.cli.local_cluster.broker_view import plain_connection
from kafka_py.security.sasl.server_settings import MODULES
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.testing.processes import free_port
from kafka_py.wire.frames import decode_response, encode_request
from kafka_py.wire.messages.metadata import MetadataRequest
from kafka_py.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kafka_py.wire.messages.sasl_handshake import SaslHandshakeRequest

DELAY_MS = 100.0
"""connection.failed.authentication.delay.ms, its default."""
USER, PASSWORD = "alice", "alice-secret"
REFUSED = 58
_HANDSHAKE = bytes(encode_request(SaslHandshakeRequest(mechanism="PLAIN"), 1, 1, "login"))


def login(user: str, password: str) -> bytes:
    token = SaslAuthenticateRequest(auth_bytes=f"\0{user}\0{password}".encode())
    return _HANDSHAKE + bytes(encode_request(token, 1, 2, "login"))


class Flood(NamedTuple):
    """What became of the logins. shortest_ms: from the login of a connection to its end."""

    refused: int
    other: int
    shortest_ms: float
    seconds: float


def flood(port: int, count: int, at_once: int) -> Flood:
    """Fails to log in so many times, over so many connections at a time."""
    poll = select.epoll()
    under_way: dict[int, tuple[socket.socket, float, bytearray]] = {}
    begun = refused = other = 0
    shortest_s = float("inf")
    began_s = time.monotonic()
    while refused + other < count:
        while begun < count and len(under_way) < at_once:
            sent_s = time.monotonic()
            each = socket.create_connection(("127.0.0.1", port))
            user = USER if begun % 2 else f"nobody-{begun}"
            each.sendall(login(user, f"wrong-{begun}"))
            each.setblocking(False)
            under_way[each.fileno()] = each, sent_s, bytearray()
            poll.register(each.fileno(), select.EPOLLIN)
            begun += 1
        for fd, _ in poll.poll(1.0):
            each, sent_s, received = under_way[fd]
            try:
                data = each.recv(4096)
            except ConnectionError:
                data = b""
            if data:
                received += data
                continue
            shortest_s = min(shortest_s, time.monotonic() - sent_s)
            if is_refused(received):
                refused += 1
            else:
                other += 1
            poll.unregister(fd)
            each.close()
            del under_way[fd]
    return Flood(refused, other, shortest_s * 1000.0, time.monotonic() - began_s)


def is_refused(received: bytearray) -> bool:
    """Whether the second response is SASL_AUTHENTICATION_FAILED."""
    first = 4 + int.from_bytes(received[:4], "big")
    if len(received) <= first + 4:
        return False
    _, response = decode_response(SaslAuthenticateResponse, 1, bytes(received[first + 4 :]))
    return bool(response.error_code == REFUSED)


def logged_in(host: str, port: int, timeout_s: float) -> socket.socket:
    """A connection that has logged in."""
    connection = plain_connection(host, port, timeout_s)
    connection.sendall(login(USER, PASSWORD))
    received = bytearray()
    while len(received) < 4 or len(received) < 4 + int.from_bytes(received[:4], "big") + 20:
        received += connection.recv(4096)
    return connection


class OtherClient(threading.Thread):
    """A client that has logged in and asks every few milliseconds; `waits_ms`: how long each answer took."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._client = WireClient(f"127.0.0.1:{port}", connect=logged_in)
        self._over = threading.Event()
        self.waits_ms: list[float] = []

    def run(self) -> None:
        while not self._over.wait(0.003):
            began_s = time.perf_counter()
            self._client.ask(MetadataRequest(topics=[]), 9)
            self.waits_ms.append((time.perf_counter() - began_s) * 1000.0)

    def stop(self) -> tuple[float, float]:
        """(99th percentile, longest wait)."""
        self._over.set()
        self.join()
        self._client.close()
        waits = sorted(self.waits_ms)
        return waits[int(len(waits) * 0.99)], waits[-1]


@contextlib.contextmanager
def running(
    connect: str, directory: Path, settings: Mapping[str, str] | None = None
) -> Iterator[tuple[Server, int]]:
    """A broker, and the port of its listener with logins."""
    ports = {"PLAINTEXT": free_port(), "SASL_PLAINTEXT": free_port()}
    settings = {
        **(settings or {}),
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{MODULES["PLAIN"]} required user_{USER}="{PASSWORD}";',
    }
    with BrokerProcess(directory, connect, port=ports["PLAINTEXT"], settings=settings) as broker:
        yield Server("ours", broker.popen, broker.port, directory), ports["SASL_PLAINTEXT"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logins", type=int, default=100_000)
    parser.add_argument("--at-once", type=int, default=200)
    options = parser.parse_args()
    with zookeeper() as connect, folder("logins") as directory, running(connect, directory) as (server, port):
        for words, count in (("alone", 0), ("warm", 2000), ("beside failed logins", options.logins)):
            other = OtherClient(port)
            other.start()
            before_mb, cpu_s = server.resident_mb(), server.cpu_seconds()
            if count:
                with ProcessPoolExecutor(1) as process:  # the other client measures, and must not wait for this
                    found = process.submit(flood, port, count, options.at_once).result()
                each_ms = (server.cpu_seconds() - cpu_s) / count * 1e3
                print(f"{found.refused} logins refused, {found.other} ended otherwise, {count / found.seconds:.0f}/s, "
                      f"none closed before {found.shortest_ms:.0f} ms; broker: {before_mb:.1f} MB before, "
                      f"{server.resident_mb():.1f} MB after, CPU {each_ms:.2f} ms each", flush=True)  # fmt: skip
            else:
                time.sleep(10)
            p99_ms, longest_ms = other.stop()
            print(f"another client, {words}: p99 {p99_ms:.1f} ms, longest {longest_ms:.1f} ms", flush=True)


if __name__ == "__main__":
    main()
