"""New connections begin to be read in turn of their addresses, for some time in each turn of the loop.

The first request of a connection costs several times what accepting it does. Without this an address that opens
thousands of connections at once has all of them served before the next connection of another address is even accepted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from kafka_py.net.event_loop.turns import LoopTurns

FIRST_READS_A_TURN = 16
"""Connections that begin in one turn, if its time allows: a request that has arrived is served at once."""


class FirstReads:
    """The accepted connections that are not read yet."""

    def __init__(self, turns: LoopTurns) -> None:
        self._turns = turns
        self._waiting: dict[str, deque[Callable[[], None]]] = {}  # by address, the next one first
        self._is_due = False

    def add(self, address: str, begin: Callable[[], None]) -> None:
        """Has `begin` called in one of the next turns, after those that were added for its address before."""
        self._waiting.setdefault(address, deque()).append(begin)
        if not self._is_due:
            self._is_due = True
            self._turns.put_off(self._turn)

    def _turn(self) -> None:
        """Whatever a connection raises is the loop's to report, and the next turn begins with the one after it."""
        waiting = self._waiting
        share = self._turns.share()
        try:
            for _ in range(FIRST_READS_A_TURN):
                if not waiting:
                    break
                address = next(iter(waiting))
                queue = waiting.pop(address)
                begin = queue.popleft()
                if queue:
                    waiting[address] = queue  # behind all other addresses
                begin()
                if share.is_over():
                    break
        finally:
            self._is_due = bool(waiting)
            if waiting:
                self._turns.put_off(self._turn)

    def close(self) -> None:
        """Begins none of those that wait."""
        self._waiting.clear()
