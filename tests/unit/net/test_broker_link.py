"""The way to one broker: a connection that is kept while it works."""

import asyncio

import pytest

from kafka_py.base.meters import MetricRegistry
from kafka_py.net.broker_link import BrokerLink, CountedConnection
from kafka_py.net.metrics import LinkMetrics
from kafka_py.testing.virtual_time import run_virtual, virtual_clock


class Peer:
    def __init__(self, *script):
        self.script = list(script)
        self.connections = 0
        self.open = 0

    async def connect(self):
        if self.script and self.script[0] == "refuse":
            raise ConnectionRefusedError(self.script.pop(0))
        self.connections += 1
        self.open += 1
        return self

    async def send(self, request, version):
        step = self.script.pop(0) if self.script else None
        if step == "silence":
            await asyncio.sleep(10_000)
        if isinstance(step, BaseException):
            raise step
        return request, version

    def close(self):
        self.open -= 1


def test_one_connection_serves_request_after_request():
    async def run():
        peer = Peer()
        link = BrokerLink(peer.connect, 1000)
        assert [await link.exchange(number, 3) for number in range(3)] == [(0, 3), (1, 3), (2, 3)]
        assert (peer.connections, peer.open) == (1, 1)
        link.disconnect()
        link.disconnect()
        assert peer.open == 0

    run_virtual(run())


@pytest.mark.parametrize(
    ("fault", "raised"),
    [(ConnectionResetError(), ConnectionResetError), ("silence", TimeoutError), (ValueError(), ValueError),
     (asyncio.CancelledError(), asyncio.CancelledError)],
)  # fmt: skip
def test_a_request_that_fails_closes_the_connection_and_the_next_opens_another(fault, raised):
    async def run():
        peer = Peer(fault)
        link = BrokerLink(peer.connect, 1000)
        with pytest.raises(raised):
            await link.exchange("a", 0)
        assert peer.open == 0
        assert await link.exchange("b", 0) == ("b", 0)
        assert (peer.connections, peer.open) == (2, 1)

    run_virtual(run())


def test_a_broker_that_cannot_be_reached_is_asked_again():
    async def run():
        peer = Peer("refuse")
        link = BrokerLink(peer.connect, 1000)
        with pytest.raises(ConnectionRefusedError):
            await link.exchange("a", 0)
        assert await link.exchange("a", 0) == ("a", 0)

    run_virtual(run())


class MarkerLikeMetrics(LinkMetrics, group="test:type=links"):
    """Of the connections below."""


def test_the_traffic_of_connections_is_counted():
    class Wire(Peer):
        last_request_size = bytes_received = 0

        async def send(self, request, version):
            self.last_request_size = len(request)
            await super().send(request, version)
            self.bytes_received += 10

    async def run():
        registry = MetricRegistry(virtual_clock())
        traffic, peer = MarkerLikeMetrics(registry), Wire(None, None, ConnectionResetError())

        async def connect():
            await peer.connect()
            return CountedConnection(peer, traffic)

        link = BrokerLink(connect, 1000)
        await link.exchange(b"12345", 0)
        await link.exchange(b"123", 0)
        assert shown(registry)["connection-count"] == 1
        with pytest.raises(ConnectionResetError):
            await link.exchange(b"lost", 0)
        link.disconnect()
        await link.exchange(b"1", 0)
        expected = {
            "connection-count": 1, "connection-creation-total": 2, "connection-close-total": 1, "request-total": 3,
            "response-total": 3, "outgoing-byte-total": 9, "incoming-byte-total": 30, "request-size-max": 5,
            "request-size-avg": 3,
        }  # fmt: skip
        found = shown(registry)
        assert {name: found[name] for name in expected} == expected

    def shown(registry):
        [reading] = registry.read()
        return reading.attributes

    run_virtual(run())
