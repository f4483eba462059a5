"""Steps of handshakes that run on the event loop, a bounded time in each of its turns.

A step in a thread costs two changes of thread and a wait for the interpreter lock, which is more than the cryptography
of a short step. Hundreds of clients may connect at once, and so what does not fit a turn waits for the next one:
connections that are open already are served between.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

TURN_S = 0.002


class ShortSteps:
    """The short steps of all connections of one loop. now_s: a monotonic clock."""

    def __init__(self, loop: asyncio.AbstractEventLoop, now_s: Callable[[], float]) -> None:
        self._loop = loop
        self._now_s = now_s
        self._waiting: deque[Callable[[], None]] = deque()
        self._spent_s = 0.0  # in this turn
        self._is_due = False

    def run(self, step: Callable[[], None]) -> bool:
        """Runs `step` at once; False when it must wait for one of the next turns, after those that came before it."""
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._turn)
        if self._waiting or self._spent_s >= TURN_S:
            self._waiting.append(step)
            return False
        self._timed(step)
        return True

    def _timed(self, step: Callable[[], None]) -> None:
        began_s = self._now_s()
        try:
            step()
        finally:
            self._spent_s += self._now_s() - began_s

    def _turn(self) -> None:
        """Whatever a step raises is the loop's to report, and the next turn begins with the one after it."""
        self._spent_s = 0.0
        self._is_due = bool(self._waiting)
        if self._is_due:
            self._loop.call_soon(self._turn)
        while self._waiting and self._spent_s < TURN_S:
            self._timed(self._waiting.popleft())
