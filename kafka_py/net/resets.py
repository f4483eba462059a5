"""Connections that the peer has reset, noticed where the event loop does not tell.

libuv, and with it uvloop, stops to watch a descriptor that has an error and calls no reader: a connection cut off hard
would stay open until the idle sweep. One epoll descriptor that the loop watches holds all connections here; it reports
errors and hang-ups without being asked. asyncio's own loop calls the reader and needs none of this.
"""

from __future__ import annotations

import asyncio
import select
from typing import Protocol


class Resettable(Protocol):
    """What is asked of a connection."""

    def on_reset(self) -> None: ...


class ResetWatch:
    """Calls `on_reset` of the connections among `watch`ed descriptors that fail, until they are closed."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._connections: dict[int, Resettable] = {}
        self._epoll: select.epoll | None = None
        if type(loop).__module__.partition(".")[0] == "uvloop":
            self._epoll = select.epoll()
            loop.add_reader(self._epoll.fileno(), self._on_events)

    def watch(self, fileno: int, connection: Resettable) -> None:
        """From now until the descriptor is closed."""
        if self._epoll is not None:
            self._connections[fileno] = connection
            self._epoll.register(fileno, 0)

    def forget(self, fileno: int) -> None:
        """The connection has closed its descriptor."""
        self._connections.pop(fileno, None)

    def _on_events(self) -> None:
        assert self._epoll is not None
        for fileno, _ in self._epoll.poll(0):
            connection = self._connections.get(fileno)
            if connection is not None:
                connection.on_reset()

    def close(self) -> None:
        if self._epoll is not None:
            self._loop.remove_reader(self._epoll.fileno())
            self._epoll.close()
            self._epoll = None
        self._connections.clear()
