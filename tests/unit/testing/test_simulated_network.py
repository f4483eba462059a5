"""The simulated network: bytes take time, wait while a way is cut, and end with their node."""

import asyncio
import random

import pytest

from kafka_py.testing.simulation.network import SimulatedNetwork
from kafka_py.testing.simulation.nodes import NodeLoop


@pytest.fixture
def loop():
    loop = NodeLoop()
    loop.set_exception_handler(lambda *_: None)
    yield loop
    loop.close()


async def connected(network):
    """(client's socket, server's socket) of a new connection between "client" and "server"."""
    listening = network.listen("server", 1)
    client = await network.connect("client", "server", 1)
    server, peer = listening.accept()
    assert peer[0] == "client"
    return client, server


def test_bytes_arrive_whole_and_in_order_after_a_while(loop):
    async def scenario():
        network = SimulatedNetwork(loop, random.Random(1), (1.0, 20.0))
        client, server = await connected(network)
        sent = bytes(range(256)) * 4000
        began = loop.time()
        sending = asyncio.ensure_future(loop.sock_sendall(client, sent))
        received = bytearray()
        while len(received) < len(sent):
            received += await loop.sock_recv(server, 1 << 16)
        await sending
        return received == sent, loop.time() - began

    same, took_s = loop.run_until_complete(scenario())
    assert same
    assert 0.001 <= took_s <= 1.0


def test_what_is_sent_into_a_cut_arrives_when_it_is_mended(loop):
    async def scenario():
        network = SimulatedNetwork(loop, random.Random(1))
        client, server = await connected(network)
        network.cut("client", "server")
        await loop.sock_sendall(client, b"late")
        await asyncio.sleep(30)
        with pytest.raises(BlockingIOError):
            server.recv(10)
        network.mend("client", "server")
        return await loop.sock_recv(server, 10)

    assert loop.run_until_complete(scenario()) == b"late"


def test_nobody_connects_through_a_cut_or_to_a_dead_node(loop):
    async def scenario():
        network = SimulatedNetwork(loop, random.Random(1))
        network.listen("server", 1)
        network.cut("client", "server")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await network.connect("client", "server", 1)
        network.mend("client", "server")
        network.node_died("server")
        with pytest.raises(ConnectionRefusedError):
            await network.connect("client", "server", 1)

    loop.run_until_complete(scenario())


def test_the_peer_of_a_dead_node_sees_the_end(loop):
    async def scenario():
        network = SimulatedNetwork(loop, random.Random(1))
        client, _server = await connected(network)
        network.node_died("server")
        return await loop.sock_recv(client, 10)

    assert loop.run_until_complete(scenario()) == b""


def test_a_reset_ends_both_sides(loop):
    async def scenario():
        network = SimulatedNetwork(loop, random.Random(1))
        client, server = await connected(network)
        network.reset("server", "client")
        return await loop.sock_recv(client, 10), await loop.sock_recv(server, 10)

    assert loop.run_until_complete(scenario()) == (b"", b"")
