"""Thousands of connections as fast as one address can open them, against the limits of connection rates.

    python -m benchmarks.limits.connection_storm [--connections N] [--rate N] [--apache]

Once the limit is that of a listener (`max.connection.creation.rate`), once that of the address
(`connection_creation_rate`). Each connection sends a request; it was let in when that is answered. Meanwhile another
address opens connections on another listener, one after the other. Prints lines for people. The short form is
tests/system/test_connection_rates.py.
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

from benchmarks.servers import folder, zookeeper
from kafka_py.clients.admin.client import AdminClient
from kafka_py.testing.broker import AnyBroker, BrokerProcess
from kafka_py.testing.peers.apache import CLASSIC_JVM, ApacheBroker
from kafka_py.testing.processes import free_port
from kafka_py.wire.frames import encode_request
from kafka_py.wire.messages.api_versions import ApiVersionsRequest

WINDOW_S = 10
"""The shortest window of a rate: so many seconds' worth of connections are let in at once."""
STORM_ADDRESS, OTHER_ADDRESS = "127.0.0.3", "127.0.0.2"
REQUEST = bytes(encode_request(ApiVersionsRequest(), 0, 1, "storm"))


class Storm(NamedTuple):
    """let_in_s: when each connection was answered, from the beginning on. closed: those closed by the broker."""

    let_in_s: list[float]
    closed: int
    undecided: int

    def share(self, rate: float, window_s: float = WINDOW_S) -> float:
        """The most that was let in at any time, as a share of what the rate allows until then."""
        let_in = sorted(self.let_in_s)
        return max(count / (rate * (window_s + at_s) + 1) for count, at_s in enumerate(let_in, 1))


def storm(port: int, count: int, patience_s: float) -> Storm:
    """Opens so many connections without waiting, and waits for what becomes of them."""
    began_s = time.monotonic()
    poll = select.epoll()
    undecided: dict[int, socket.socket] = {}
    let_in_s: list[float] = []
    closed = 0
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            each = stack.enter_context(socket.socket())
            each.bind((STORM_ADDRESS, 0))
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
            undecided[each.fileno()] = each
            poll.register(each.fileno(), select.EPOLLOUT)
        while undecided and time.monotonic() < began_s + patience_s:
            for fd, event in poll.poll(0.2):
                each = undecided[fd]
                try:
                    if event & select.EPOLLOUT:
                        each.sendall(REQUEST)
                        poll.modify(fd, select.EPOLLIN)
                        continue
                    if each.recv(4):
                        let_in_s.append(time.monotonic() - began_s)
                    else:
                        closed += 1
                except OSError:
                    closed += 1
                poll.unregister(fd)
                del undecided[fd]
    return Storm(let_in_s, closed, len(undecided))


class Newcomers(threading.Thread):
    """Another address, which opens one connection after the other; `waits_ms`: how long each answer took."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._port = port
        self._over = threading.Event()
        self.waits_ms: list[float] = []
        self.failure: OSError | None = None

    def run(self) -> None:
        while not self._over.wait(0.01):
            began_s = time.monotonic()
            address = ("127.0.0.1", self._port)
            try:
                with socket.create_connection(address, 30, (OTHER_ADDRESS, 0)) as connection:
                    connection.sendall(REQUEST)
                    if not connection.recv(4):
                        raise ConnectionError("closed without an answer")
            except OSError as error:
                self.failure = error
                return
            self.waits_ms.append((time.monotonic() - began_s) * 1000.0)

    def stop(self) -> tuple[float, float]:
        """(99th percentile, longest wait). Raises OSError if a connection failed."""
        self._over.set()
        self.join()
        if self.failure is not None:
            raise self.failure
        waits = sorted(self.waits_ms)
        return waits[int(len(waits) * 0.99)], waits[-1]


@contextlib.contextmanager
def running(
    kind: type[AnyBroker], connect: str, directory: Path, rate: int, settings: Mapping[str, str] | None = None
) -> Iterator[tuple[AnyBroker, int]]:
    """A broker whose second listener, with this port, has the rate; the address of the storm has it everywhere else."""
    ports = {"PLAINTEXT": free_port(), "LIMITED": free_port()}
    settings = {
        **(settings or {}),
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in ports),
        "listener.name.limited.max.connection.creation.rate": str(rate),
    }
    with contextlib.ExitStack() as stack:
        broker: AnyBroker
        if kind is ApacheBroker:
            broker = ApacheBroker(directory, connect, port=ports["PLAINTEXT"], settings=settings, jvm=CLASSIC_JVM)
        else:
            broker = BrokerProcess(directory, connect, port=ports["PLAINTEXT"], settings=settings)
        yield stack.enter_context(broker), ports["LIMITED"]


def limit_address(broker: AnyBroker, rate: float) -> None:
    with AdminClient({"bootstrap.servers": broker.bootstrap}) as admin:
        admin.alter_client_quotas({(("ip", STORM_ADDRESS),): {"connection_creation_rate": rate}}).all()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=5000)
    parser.add_argument("--rate", type=int, default=100)
    parser.add_argument("--apache", action="store_true", help="Apache Kafka 2.8.2 as well")
    options = parser.parse_args()
    kinds: list[type[AnyBroker]] = [BrokerProcess, *([ApacheBroker] if options.apache else [])]
    patience_s = options.connections / options.rate + 30
    for kind in kinds:
        with (
            zookeeper() as connect, folder("storm") as directory,
            running(kind, connect, directory, options.rate) as (broker, limited_port),
        ):  # fmt: skip
            for limit in ("none", "listener", "address"):
                if limit == "address":
                    limit_address(broker, options.rate)
                newcomers = Newcomers(broker.port)
                newcomers.start()
                if limit == "none":
                    time.sleep(5)
                    found = Storm([0.0], 0, 0)
                else:
                    port = limited_port if limit == "listener" else broker.port
                    with ProcessPoolExecutor(1) as process:  # the other address measures, and must not wait for this
                        found = process.submit(storm, port, options.connections, patience_s).result()
                p99_ms, longest_ms = newcomers.stop()
                name = "ours" if kind is BrokerProcess else "Apache"
                print(f"{name:7} limit of {limit:8}: {len(found.let_in_s)} let in within {max(found.let_in_s):.1f} s, "
                      f"{found.closed} closed, {found.undecided} undecided, at most {found.share(options.rate):.3f} of "
                      f"the rate; another address: p99 {p99_ms:.1f} ms, longest {longest_ms:.1f} ms",
                      flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
