"""New connections begin to be read in turn of their addresses, some in each turn of the loop.

The first request of a connection costs several times what accepting it does. Without this an address that opens
thousands of connections at once has all of them served before the next connection of another address is even accepted.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

BEGUN_A_TURN = 16


class FirstReads:
    """The accepted connections that are not read yet."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: dict[str, deque[Callable[[], None]]] = {}  # by address, the next one first
        self._is_due = False

    def add(self, address: str, begin: Callable[[], None]) -> None:
        """Has `begin` called in one of the next turns, after those that were added for its address before."""
        self._waiting.setdefault(address, deque()).append(begin)
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        """Whatever a connection raises is the loop's to report, and the next turn begins with the one after it."""
        waiting = self._waiting
        try:
            for _ in range(BEGUN_A_TURN):
                if not waiting:
                    break
                address = next(iter(waiting))
                queue = waiting.pop(address)
                begin = queue.popleft()
                if queue:
                    waiting[address] = queue  # behind all other addresses
                begin()
        finally:
            self._is_due = bool(waiting)
            if waiting:
                self._loop.call_soon(self._turn)

    def close(self) -> None:
        """Begins none of those that wait."""
        self._waiting.clear()
