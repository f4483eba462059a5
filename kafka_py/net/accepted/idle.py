"""Closes connections without traffic for `connections.max.idle.ms`.

Thousands that were opened together are idle together: others get their turn in between.
Source: docs/reference/quotas.md, section 8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from kafka_py.base.clock import Clock
from kafka_py.base.supervision import Supervisor

SWEEPS_PER_IDLE_TIME = 16
SHORTEST_SWEEP_MS = 20.0
LONGEST_SWEEP_MS = 10_000.0
SWEEP_TURN_MS = 1.0
"""How long a sweep holds the loop before others have their turn."""
_LOOKED_AT_A_LOOK = 64
"""Connections with traffic that are passed over between two looks at the clock."""


class IdleConnection(Protocol):
    """The interface of a connection that sweeps use."""

    id: str
    closed: bool
    is_active: bool
    last_active_ms: float
    mutes: int

    @property
    def unanswered(self) -> int: ...

    def close(self, reason: str) -> None: ...


class IdleSweeps:
    """Looks at all connections now and then. max_idle_ms: negative for never."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, clock: Clock, supervisor: Supervisor,
        connections: Mapping[str, IdleConnection], max_idle_ms: Callable[[], float],
    ) -> None:  # fmt: skip
        self._loop = loop
        self._clock = clock
        self._supervisor = supervisor
        self._connections = connections
        self._max_idle_ms = max_idle_ms
        self._next: asyncio.Handle | None = None

    def start(self) -> None:
        """Has the next sweep made when it is due."""
        idle_ms = self._max_idle_ms()
        if idle_ms >= 0:
            delay_ms = min(max(idle_ms / SWEEPS_PER_IDLE_TIME, SHORTEST_SWEEP_MS), LONGEST_SWEEP_MS)
            self._next = self._loop.call_later(delay_ms / 1000.0, self._sweep)

    def _sweep(self) -> None:
        self._go_on(iter(list(self._connections.values())))

    def _go_on(self, remaining: Iterator[IdleConnection]) -> None:
        """Closes what had no traffic; a connection that waits for our answer is not idle, unless it is muted: whether
        its client is there is not seen then.
        """
        now_ms = self._clock.monotonic_ms()
        oldest_ms, ends_ms = now_ms - self._max_idle_ms(), now_ms + SWEEP_TURN_MS
        passed = 0
        for connection in remaining:
            if connection.is_active or (connection.unanswered and not connection.mutes):
                connection.is_active = False
                connection.last_active_ms = now_ms
                passed += 1
                if passed % _LOOKED_AT_A_LOOK:
                    continue
            elif connection.last_active_ms < oldest_ms and not connection.closed:
                with self._supervisor.guard("connections", connection.id):
                    connection.close("idle for connections.max.idle.ms")
            if self._clock.monotonic_ms() >= ends_ms:
                self._next = self._loop.call_soon(self._go_on, remaining)
                return
        self.start()

    def close(self) -> None:
        """Makes no further sweep."""
        if self._next is not None:
            self._next.cancel()
            self._next = None
