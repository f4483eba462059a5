"""Requests with many elements: decoded a little at a time, so that they hold up nobody but their own connection.

One such request is decoded at a time, in the order in which they came, and its connection is muted meanwhile: what
follows on it is handed on after it. How many elements a request may have is in the api table.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from kafka_py.base.clock import Clock
from kafka_py.broker.requests import ClientConnection
from kafka_py.wire.compiler import Steps
from kafka_py.wire.primitives import MalformedMessage

PLAIN_BYTES = 2048
"""Frames up to this size are decoded as they come: they have no room for many elements."""
AT_ONCE_ELEMENTS = 1000
"""Larger ones too, when they have no more elements than this."""
TURN_MS = 2.0
"""How long a request is decoded before others have their turn."""


class LargeRequests:
    """The requests that are decoded in turns."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lane = asyncio.Lock()

    async def decode(
        self,
        connection: ClientConnection,
        steps: Steps[Any],
        serve: Callable[[Any], None],
        malformed: Callable[[MalformedMessage], None],
    ) -> None:
        """Decodes one request and hands it to `serve`, or its fault to `malformed`; not when its connection ended.

        steps: of a stepwise decoder (wire/compiler.py). The connection must be muted; it is unmuted afterwards.
        """
        try:
            async with self._lane:
                request = await self._in_turns(connection, steps)
            if request is not None:
                await asyncio.sleep(0)  # its handler has a turn of its own
                serve(request)
        except MalformedMessage as error:
            malformed(error)
        finally:
            connection.unmute()

    async def _in_turns(self, connection: ClientConnection, steps: Steps[Any]) -> Any:
        """The request; None when nobody waits for it any longer."""
        turn_ends_ms = self._clock.monotonic_ms() + TURN_MS
        while not connection.closed:
            try:
                next(steps)
            except StopIteration as done:
                return done.value[0]
            if self._clock.monotonic_ms() >= turn_ends_ms:
                await asyncio.sleep(0)
                turn_ends_ms = self._clock.monotonic_ms() + TURN_MS
        return None
