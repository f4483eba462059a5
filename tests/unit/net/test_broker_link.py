"""The way to one broker: a connection that is kept while it works."""

import asyncio

import pytest

from kafka_py.net.broker_link import BrokerLink
from kafka_py.testing.virtual_time import run_virtual


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
