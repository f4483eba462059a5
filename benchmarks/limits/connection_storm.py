"""Thousands of connections as fast as one address can open them, against the limits of connection rates.

    python -m benchmarks.limits.connection_storm [--connections N] [--rate N] [--rounds N] [--only WORD] [--apache]

The limit is that of a listener (`max.connection.creation.rate`) or that of the address (`connection_creation_rate`).
Each connection sends a request; it was let in when that is answered. Meanwhile another address opens connections, one
after the other: on another listener, and for the limit of the address also on the same one. Prints lines for people.
The short form is tests/system/test_connection_rates.py.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
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
WARM_UP_S = 2.0
UNLIMITED = 2**31 - 1
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


class Case(NamedTuple):
    """What limits the storm, and where it goes. limit: "listener", "address", or "none" for no storm."""

    name: str
    limit: str
    is_beside: bool  # the storm has another listener than the other address

    def run(self, kind: type[AnyBroker], connect: str, directory: Path, connections: int, rate: int) -> str:
        """What became of the storm and of the other address, on a broker of its own."""
        patience_s = connections / rate + 30
        of_listener = rate if self.limit == "listener" else UNLIMITED
        with running(kind, connect, directory, of_listener) as (broker, storm_port):
            if self.limit == "address":
                limit_address(broker, rate)
            answered_for(broker.port, WARM_UP_S)
            if self.limit == "none":
                return waited(answered_for(broker.port, 5.0))
            newcomers = Newcomers(broker.port)
            newcomers.start()
            port = storm_port if self.is_beside else broker.port
            with ProcessPoolExecutor(1) as process:  # the other address measures, and must not wait for this
                found = process.submit(storm, port, connections, patience_s).result()
            return (
                f"{len(found.let_in_s)} let in within {max(found.let_in_s):.1f} s, {found.closed} closed, "
                f"{found.undecided} undecided, at most {found.share(rate):.3f} of the rate; {waited(newcomers.stop())}"
            )


CASES = (
    Case("no storm", "none", is_beside=False),
    Case("listener's limit", "listener", is_beside=True),
    Case("address's limit, another listener", "address", is_beside=True),
    Case("address's limit, the same listener", "address", is_beside=False),
)


def answered_for(port: int, lasts_s: float) -> tuple[float, float]:
    """The waits of another address without a storm, as `Newcomers.stop` has them."""
    newcomers = Newcomers(port)
    newcomers.start()
    time.sleep(lasts_s)
    return newcomers.stop()


def waited(waits_ms: tuple[float, float]) -> str:
    return f"another address: p99 {waits_ms[0]:.1f} ms, longest {waits_ms[1]:.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=5000)
    parser.add_argument("--rate", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=1, help="the brokers take turns")
    parser.add_argument("--only", default="", help="cases whose name has this word")
    parser.add_argument("--apache", action="store_true", help="Apache Kafka 2.8.2 as well")
    options = parser.parse_args()
    kinds: list[type[AnyBroker]] = [BrokerProcess, *([ApacheBroker] if options.apache else [])]
    cases = [case for case in CASES if options.only in case.name]
    for case, _, kind in itertools.product(cases, range(options.rounds), kinds):
        with zookeeper() as connect, folder("storm") as directory:
            line = case.run(kind, connect, directory, options.connections, options.rate)
            print(f"{'ours' if kind is BrokerProcess else 'Apache':7} {case.name}: {line}", flush=True)


if __name__ == "__main__":
    main()
