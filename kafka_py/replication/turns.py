"""Work that is done in turns with everything else on the loop."""

from __future__ import annotations

import asyncio

from kafka_py.base.clock import Clock

_TURN_MS = 3.0
"""How long one kind of work may hold the loop."""


class Turn:
    """Lets others have the loop when this work has held it for long."""

    __slots__ = ("_clock", "_ends_ms")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ends_ms = clock.monotonic_ms() + _TURN_MS

    async def maybe_yield(self) -> None:
        if self._clock.monotonic_ms() >= self._ends_ms:
            await asyncio.sleep(0)
            self._ends_ms = self._clock.monotonic_ms() + _TURN_MS
