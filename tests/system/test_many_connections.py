"""Connections without end: idle ones, slow ones, lying ones, storms. Memory stays bounded and others are served.

Figures of each test are printed (pytest -rP shows them).
"""

import contextlib
import resource
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.local_broker import batch
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.testing.processes import wait_until
from kafka_py.wire.frames import encode_request
from kafka_py.wire.messages.metadata import MetadataRequest
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

IDLE = 1000
SLOW = 100
STORM = 2000
PATIENCE_S = 10.0
"""Beyond this a client counts as not served; far more than it takes."""


@pytest.fixture(scope="module")
def broker(zookeeper, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 8192), hard), hard))
    settings = {"zookeeper.session.timeout.ms": "18000"}
    folder = tmp_path_factory.mktemp("connections")
    with BrokerProcess(folder, f"{zookeeper.connect}/connections", settings=settings) as broker:
        broker.create_topic("t")
        yield broker


def produce_request() -> ProduceRequest:
    data = [PartitionProduceData(index=0, records=batch(b"v" * 100))]
    return ProduceRequest(acks=1, timeout_ms=5000, topic_data=[TopicProduceData(name="t", partition_data=data)])


class Client(threading.Thread):
    """Another client that goes on producing; `times_s`: how long each answer took."""

    def __init__(self, broker: BrokerProcess) -> None:
        super().__init__(daemon=True)
        self._broker = broker
        self._over = threading.Event()
        self.times_s: list[float] = []
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            with WireClient(self._broker.bootstrap, timeout_s=PATIENCE_S) as client:
                while not self._over.is_set():
                    began_s = time.perf_counter()
                    answer = client.ask(produce_request(), 8)
                    assert answer.responses[0].partition_responses[0].error_code == 0
                    self.times_s.append(time.perf_counter() - began_s)
        except BaseException as error:
            self.failure = error

    def __enter__(self) -> "Client":
        self.start()
        wait_until(lambda: self.times_s or self.failure, PATIENCE_S, "the first answer")
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join(PATIENCE_S)

    def is_served(self, more: int = 20) -> None:
        """Waits for `more` answers. Raises NotReady."""
        wanted = len(self.times_s) + more
        wait_until(lambda: len(self.times_s) >= wanted or self.failure, PATIENCE_S, "answers to another client")
        assert self.failure is None, self.failure

    def figures(self) -> str:
        times = sorted(self.times_s)
        middle, late = times[len(times) // 2], times[int(len(times) * 0.99)]
        return f"{len(times)} requests meanwhile: median {middle * 1e3:.2f} ms, 99 % {late * 1e3:.1f} ms, max {times[-1] * 1e3:.1f} ms"  # noqa: E501


@contextlib.contextmanager
def connections(broker: BrokerProcess, count: int) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(socket.create_connection(("127.0.0.1", broker.port), PATIENCE_S)) for _ in range(count)
        ]


def told(what: str, before_mb: float, broker: BrokerProcess, client: Client) -> float:
    """Prints the figures; by how many megabytes the broker has grown."""
    now_mb = broker.resident_mb()
    print(f"{what}: {before_mb:.1f} MB before, {now_mb:.1f} MB with them; {client.figures()}")
    return now_mb - before_mb


def is_alive(connection: socket.socket) -> bool:
    connection.sendall(encode_request(MetadataRequest(topics=[]), 9, 1, "idle"))
    return len(connection.recv(4)) == 4


@pytest.mark.slow
def test_a_thousand_idle_connections(broker: BrokerProcess) -> None:
    with Client(broker) as client:
        client.is_served()
        before_mb = broker.resident_mb()
        with connections(broker, IDLE) as idle:
            assert all(is_alive(connection) for connection in idle)
            client.is_served()
            grown_mb = told(f"{IDLE} idle connections", before_mb, broker, client)
    assert grown_mb < 30
    with WireClient(broker.bootstrap) as after:
        assert after.ask(MetadataRequest(topics=None), 9).brokers


@pytest.mark.slow
@pytest.mark.parametrize("announced", [1_000_000, 104_857_600])
def test_a_hundred_slow_connections_hold_memory_for_what_they_sent_not_for_what_they_announced(
    broker: BrokerProcess, announced: int
) -> None:
    with Client(broker) as client:
        client.is_served()
        before_mb = broker.resident_mb()
        with connections(broker, SLOW) as slow:
            for connection in slow:
                connection.sendall(struct.pack(">i", announced) + b"x" * 70_000)
            client.is_served(50)
            for connection in slow:
                connection.sendall(b"x")
            client.is_served(50)
            grown_mb = told(f"{SLOW} half frames of {announced} bytes", before_mb, broker, client)
        client.is_served()
    assert grown_mb < SLOW * 4 * 0.07 + 30


@pytest.mark.slow
def test_half_headers_dripped_byte_by_byte(broker: BrokerProcess) -> None:
    whole = encode_request(MetadataRequest(topics=[]), 9, 1, "slow")
    with Client(broker) as client, connections(broker, SLOW) as slow:
        for place in range(len(whole)):
            for connection in slow:
                connection.sendall(whole[place : place + 1])
        assert all(len(connection.recv(4)) == 4 for connection in slow)
        client.is_served()


@pytest.mark.slow
def test_a_storm_of_connections(broker: BrokerProcess) -> None:
    """Half of them are cut off hard, with a frame begun; every tenth asks for something."""
    with Client(broker) as client:
        client.is_served()
        before_mb = broker.resident_mb()
        began_s = time.perf_counter()
        for number in range(STORM):
            with socket.create_connection(("127.0.0.1", broker.port), PATIENCE_S) as connection:
                if number % 2:
                    connection.sendall(b"\0\0")
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                elif number % 10 == 0:
                    assert is_alive(connection)
        took_s = time.perf_counter() - began_s
        client.is_served()
        grown_mb = told(f"{STORM} connections in {took_s:.1f} s", before_mb, broker, client)
    assert grown_mb < 20
    wait_until(lambda: open_sockets(broker) < 20, PATIENCE_S, "the end of the connections")
    assert "Traceback" not in broker.output()


def open_sockets(broker: BrokerProcess) -> int:
    count = 0
    for entry in Path(f"/proc/{broker.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            count += entry.readlink().name.startswith("socket:")
    return count
