"""How many connections a listener accepts in a turn, and when its descriptor is an urgent one."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

from kafka_py.net.endpoints import Endpoint, SecurityProtocol
from kafka_py.net.listener import ACCEPT_TURN_S, ACCEPTS_A_TURN, Listener
from kafka_py.net.network import ListeningSocket

FILENO = 7


class Listening:
    """A bound socket. waiting: connections that may be accepted."""

    def __init__(self) -> None:
        self.waiting = 0

    def fileno(self) -> int:
        return FILENO

    def accept(self) -> tuple[socket.socket, Any]:
        if not self.waiting:
            raise BlockingIOError
        self.waiting -= 1
        connected: Any = None
        return connected, ("10.0.0.1", 5000)

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", 9092

    def close(self) -> None:
        pass


class World:
    """A listener on a loop and a network that the test drives. accept_s: how long a connection takes."""

    def __init__(self, accept_s: float = 0.0) -> None:
        self.now_s = 0.0
        self.readers: dict[int, Callable[[], None]] = {}
        self.accepted = 0
        self.urgent: set[int] = set()
        self.socket = Listening()
        self._accept_s = accept_s
        loop: asyncio.AbstractEventLoop = self  # type: ignore[assignment]
        network: Any = self
        endpoint = Endpoint("PLAINTEXT", SecurityProtocol.PLAINTEXT, "127.0.0.1", 0)
        self.listener = Listener(
            endpoint, loop, network, lambda: 0.0, self.on_accept, urgent=self.urgent, now_s=lambda: self.now_s
        )

    def add_reader(self, fileno: int, callback: Callable[[], None]) -> None:
        self.readers[fileno] = callback

    def remove_reader(self, fileno: int) -> None:
        del self.readers[fileno]

    def listen(self, _host: str, _port: int) -> ListeningSocket:
        return self.socket

    def on_accept(self, _connected: socket.socket, _host: str, _port: int) -> None:
        self.now_s += self._accept_s
        self.accepted += 1

    def turn(self) -> int:
        """How many were accepted in one turn."""
        before = self.accepted
        self.readers[FILENO]()
        return self.accepted - before


def started(accept_s: float = 0.0) -> World:
    world = World(accept_s)
    world.listener.bind()
    world.listener.start()
    return world


def test_a_turn_ends_after_its_time_however_many_wait() -> None:
    world = started(accept_s=0.0001)
    world.socket.waiting = 1000
    count = world.turn()
    assert ACCEPT_TURN_S <= count * 0.0001 < 2 * ACCEPT_TURN_S
    turns = 1
    while world.turn():
        turns += 1
    assert world.accepted == 1000
    assert turns > 10


def test_a_turn_ends_after_so_many_connections_where_time_stands_still() -> None:
    world = started()
    world.socket.waiting = ACCEPTS_A_TURN + 5
    assert [world.turn() for _ in range(3)] == [ACCEPTS_A_TURN, 5, 0]


def test_one_that_takes_longer_than_a_turn_is_accepted() -> None:
    """And no other with it: making room for one of the brokers' own looks at all connections there are."""
    world = started(accept_s=10 * ACCEPT_TURN_S)
    world.socket.waiting = 2
    assert [world.turn() for _ in range(3)] == [1, 1, 0]


def test_its_descriptor_is_urgent_while_the_port_is_bound() -> None:
    world = World()
    assert world.urgent == set()
    world.listener.bind()
    assert world.urgent == {FILENO}
    world.listener.start()
    world.listener.close()
    assert world.urgent == set()
