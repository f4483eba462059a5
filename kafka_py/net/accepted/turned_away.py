"""Accepted connections that are kept unread for a while and then closed, because their address connects too fast.

A client that tries again at once gains nothing by it. Thousands may have to be closed at the same moment: others get
their turn in between. Source: docs/reference/quotas.md, section 8; KIP-612.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from heapq import heappop, heappush

CLOSED_A_TURN = 64
CLOSING_TURN_S = 0.0005
"""Connections that are closed in one turn, and how long others wait for them."""


class TurnedAway:
    """The sockets that wait for their end. now_s: the monotonic time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, now_s: Callable[[], float]) -> None:
        self._loop = loop
        self._now_s = now_s
        self._waiting: list[tuple[float, int, socket.socket]] = []  # a heap: (end of its time, number, the socket)
        self._count = 0
        self._turn: asyncio.Handle | None = None
        self._turn_s = 0.0  # when the next turn is due

    def keep(self, connected: socket.socket, unread_ms: float) -> None:
        """Closes it after that time."""
        due_s = self._now_s() + unread_ms / 1000.0
        self._count += 1
        heappush(self._waiting, (due_s, self._count, connected))
        if self._turn is None or due_s < self._turn_s:
            self._schedule()

    def _schedule(self) -> None:
        """The next turn is when the first of them is due: not before others had theirs, however late it is."""
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
        if self._waiting:
            self._turn_s = self._waiting[0][0]
            delay_s = self._turn_s - self._now_s()
            if delay_s > 0:
                self._turn = self._loop.call_later(delay_s, self._close_due)
            else:
                self._turn = self._loop.call_soon(self._close_due)

    def _close_due(self) -> None:
        self._turn = None
        now_s = began_s = self._now_s()
        for _ in range(CLOSED_A_TURN):
            if not self._waiting or self._waiting[0][0] > now_s or now_s >= began_s + CLOSING_TURN_S:
                break
            heappop(self._waiting)[2].close()
            now_s = self._now_s()
        self._schedule()

    def close(self) -> None:
        """Closes all of them now."""
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
        for _, _, connected in self._waiting:
            connected.close()
        self._waiting.clear()
