"""One at a time per key: later holders of a key wait in the order in which they asked.

For work that reads, waits and writes, where two runs over the same thing would undo each other. Knows nothing of what
is done meanwhile; a key without a holder or a waiting task costs no memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager


class KeyedLocks:
    """A first-come, first-served lock per key, on one event loop."""

    def __init__(self) -> None:
        self._locks: dict[Hashable, asyncio.Lock] = {}
        self._users: dict[Hashable, int] = {}

    def __len__(self) -> int:
        """How many keys are held or waited for."""
        return len(self._locks)

    @asynccontextmanager
    async def hold(self, key: Hashable) -> AsyncIterator[None]:
        """Holds `key` for the block; waits while another block holds it. Not re-entrant."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        self._users[key] = self._users.get(key, 0) + 1
        try:
            async with lock:
                yield
        finally:
            self._users[key] -= 1
            if not self._users[key]:
                del self._users[key], self._locks[key]
