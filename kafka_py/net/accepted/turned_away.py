"""Accepted connections that are kept unread for a while and then closed, because their address connects too fast.

A client that tries again at once gains nothing by it. Source: docs/reference/quotas.md, section 8; KIP-612.
"""

from __future__ import annotations

import asyncio
import socket


class TurnedAway:
    """The sockets that wait for their end."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._timers: dict[socket.socket, asyncio.TimerHandle] = {}

    def keep(self, connected: socket.socket, unread_ms: float) -> None:
        """Closes it after that time."""
        self._timers[connected] = self._loop.call_later(unread_ms / 1000.0, self._end, connected)

    def _end(self, connected: socket.socket) -> None:
        del self._timers[connected]
        connected.close()

    def close(self) -> None:
        """Closes all of them now."""
        for connected, timer in self._timers.items():
            timer.cancel()
            connected.close()
        self._timers.clear()
