"""How many connections a listener takes before others get their turn."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

from kafka_py.net.endpoints import Endpoint, SecurityProtocol
from kafka_py.net.listener import ACCEPT_MS, ACCEPTS_A_TURN, Listener
from kafka_py.testing.clock import ManualClock


class Queue:
    """A listening socket whose queue is always as long as `waiting` says, and the loop that looks at it."""

    def __init__(self, waiting: int) -> None:
        self.waiting = waiting
        self.on_readable: Callable[[], None]

    def listen(self, _host: str, _port: int) -> "Queue":
        return self

    def accept(self) -> tuple[object, tuple[str, int]]:
        if not self.waiting:
            raise BlockingIOError
        self.waiting -= 1
        return object(), ("127.0.0.1", 1)

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", 9092

    def fileno(self) -> int:
        return 3

    def add_reader(self, _fd: int, callback: Callable[[], None]) -> None:
        self.on_readable = callback


def accepted_in_turns(waiting: int, takes_ms: float, turns: int) -> list[int]:
    """How many connections each turn takes, if one takes so long."""
    queue, clock = Queue(waiting), ManualClock()
    found: list[int] = []

    def accept(_connected: socket.socket, _host: str, _port: int) -> None:
        clock.advance(takes_ms)
        found[-1] += 1

    loop: asyncio.AbstractEventLoop = queue  # type: ignore[assignment]
    network: Any = queue
    listener = Listener(Endpoint("PLAINTEXT", SecurityProtocol.PLAINTEXT, "127.0.0.1", 9092), loop, clock, network, lambda: 0, accept)
    listener.bind()
    listener.start()
    for _ in range(turns):
        found.append(0)
        queue.on_readable()
    return found


def test_a_turn_has_a_number_of_connections() -> None:
    assert accepted_in_turns(200, 0.0, 3) == [ACCEPTS_A_TURN, 200 - ACCEPTS_A_TURN, 0]


def test_a_turn_is_over_when_it_has_taken_its_time() -> None:
    assert accepted_in_turns(10, ACCEPT_MS / 4, 4) == [4, 4, 2, 0]


def test_a_connection_that_takes_longer_has_a_turn_of_its_own() -> None:
    assert accepted_in_turns(2, ACCEPT_MS * 5, 3) == [1, 1, 0]
