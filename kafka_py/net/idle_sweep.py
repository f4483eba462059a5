"""Closes connections that had no traffic for connections.max.idle.ms, some in each turn of the loop.

Clients that came together fall silent together: thousands of connections may be due in the same sweep.
Source: docs/reference/configs.tsv; Selector (maybeCloseOldestConnection).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping

from kafka_py.base.clock import Clock
from kafka_py.base.supervision import Supervisor
from kafka_py.net.connection import Connection

SWEEPS_PER_IDLE_TIME = 16
SHORTEST_SWEEP_MS = 20.0
LONGEST_SWEEP_MS = 10_000.0
TURN_MS = 1.0
"""How long others wait for a part of a sweep."""


class IdleSweep:
    """Looks at all connections again and again.

    connections: the open ones. max_idle_ms: how long one may be silent, at present; below 0: for ever.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, clock: Clock, supervisor: Supervisor,
        connections: Mapping[str, Connection], max_idle_ms: Callable[[], float],
    ) -> None:  # fmt: skip
        self._loop = loop
        self._now_ms = clock.monotonic_ms
        self._supervisor = supervisor
        self._connections = connections
        self._max_idle_ms = max_idle_ms
        self._left: deque[Connection] = deque()  # of the present sweep
        self._next: asyncio.Handle | None = None

    def start(self) -> None:
        idle_ms = self._max_idle_ms()
        if idle_ms >= 0:
            delay_ms = min(max(idle_ms / SWEEPS_PER_IDLE_TIME, SHORTEST_SWEEP_MS), LONGEST_SWEEP_MS)
            self._next = self._loop.call_later(delay_ms / 1000.0, self._begin)

    def _begin(self) -> None:
        self._left.extend(self._connections.values())
        self._turn()

    def _turn(self) -> None:
        """Who waits for our response is not idle."""
        now_ms = began_ms = self._now_ms()
        oldest_ms = now_ms - self._max_idle_ms()
        while self._left and now_ms < began_ms + TURN_MS:
            connection = self._left.popleft()
            if connection.is_active or connection.unanswered:
                connection.is_active = False
                connection.last_active_ms = now_ms
            elif connection.last_active_ms < oldest_ms:
                with self._supervisor.guard("connections", connection.id):
                    connection.close("idle for connections.max.idle.ms")
            now_ms = self._now_ms()
        if self._left:
            self._next = self._loop.call_soon(self._turn)
        else:
            self.start()

    def close(self) -> None:
        self._left.clear()
        if self._next is not None:
            self._next.cancel()
            self._next = None
