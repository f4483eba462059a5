"""Requests with many elements: decoded in turns, so that they delay only their own connection.

One such request is decoded at a time, in order of arrival, and its connection is muted until its response is sent:
later requests on it are handled after that. The api table bounds the elements of a request.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from kafka_py.base.clock import Clock
from kafka_py.base.turns import Done, next_turn, run_turn
from kafka_py.broker.requests.request_context import ClientConnection
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.compiler import Steps
from kafka_py.wire.primitives import MalformedMessage

_log = logging.getLogger(__name__)

PLAIN_BYTES = 2048
"""Frames up to this size are decoded at once, because they cannot have many elements."""
AT_ONCE_ELEMENTS = 1000
"""Larger frames with at most this many elements are decoded at once, too."""
AT_ONCE_OF = {ApiKey.PRODUCE: 200}
"""The same for APIs with costly elements: a partition's append takes some 15 microseconds."""


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
        """Decodes one request and passes it to `serve`, or the error to `malformed`, unless its connection is closed.

        steps: of a stepwise decoder (wire/compiler.py). The connection must be muted; sending the response unmutes it.
        An unforeseen error closes the connection, which would otherwise stay muted.
        """
        try:
            await self._decode(connection, steps, serve, malformed)
        except Exception:
            host, port = connection.peer_host, connection.peer_port
            _log.exception("Closing connection of %s:%d: its request failed", host, port)
            connection.close("a request failed")

    async def _decode(
        self,
        connection: ClientConnection,
        steps: Steps[Any],
        serve: Callable[[Any], None],
        malformed: Callable[[MalformedMessage], None],
    ) -> None:
        try:
            async with self._lane:
                done = await self._in_turns(connection, steps)
        except MalformedMessage as error:
            malformed(error)
            return
        if done is not None:
            await next_turn()  # its handler runs in a separate turn
            serve(done.value[0])

    async def _in_turns(self, connection: ClientConnection, steps: Steps[Any]) -> Done[tuple[Any, int]] | None:
        """The request; None when its connection is closed."""
        while not connection.closed:
            done = run_turn(steps, self._clock.monotonic_ms)
            if done is not None:
                return done
            await next_turn()
        return None
