"""What the connections of one event loop share: bounds, buffers, and one flush for all that answer in the same turn.

Knows nothing of sockets or slots; those are connection.py's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from kafka_py.net.cold_reads import ColdReads
from kafka_py.net.event_loop.turns import LoopTurns
from kafka_py.net.frames_in import RECEIVE_BUFFER_BYTES, MemoryPool, SizeFault, any_size

if TYPE_CHECKING:
    from kafka_py.net.connection import Connection

OnSent = Callable[[list[object], float, float], None]
"""(notes, began_s, ended_s): the answers given with these notes have left; when that began and ended, by `now_s`."""


class Stage(Protocol):
    """What a connection has to pass before its requests are served: the TLS handshake, a login."""

    def cancel(self) -> None:
        """The connection is closed."""
        ...

    def fail_malformed(self, reason: str) -> bool:
        """What arrived cannot be cut into requests. Whether the stage is not over, and ends the connection by it."""
        ...


def forget(*_: object) -> None:
    """Default callback: does nothing."""


class ConnectionServices:
    """What the connections of one loop share.

    max_request_bytes: larger frames close their connection. max_queued: requests of all connections that wait for their
        turn, beyond which a connection with an unanswered one is not read. on_close: called once for each connection
        that ends.
    on_sent: called for responses that were sent. on_described: for connections whose client has named its software.
    size_fault: says of a large frame whether it is refused.
    """

    __slots__ = (
        "_dirty", "cold_reads", "loop", "max_queued", "max_request_bytes", "now_s", "on_close",
        "on_described", "on_sent", "pool", "queued", "receive_buffer", "size_fault", "turns",
    )  # fmt: skip

    def __init__(
        self, loop: asyncio.AbstractEventLoop, turns: LoopTurns, cold_reads: ColdReads,
        on_close: Callable[[Connection], None], *, max_request_bytes: int, max_queued: int, pool: MemoryPool,
        on_sent: OnSent = forget, on_described: Callable[[Connection], None] = forget,
        size_fault: SizeFault = any_size,
    ) -> None:  # fmt: skip
        self.loop = loop
        self.cold_reads = cold_reads
        self.on_close = on_close
        self.on_sent = on_sent
        self.on_described = on_described
        self.max_request_bytes = max_request_bytes
        self.turns = turns
        self.now_s = turns.now_s
        self.max_queued = max_queued
        self.pool = pool
        self.size_fault = size_fault
        self.receive_buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self.queued = 0
        """Requests of all connections that were read and not handled yet."""
        self._dirty: list[Connection] = []

    def flush_soon(self, connection: Connection) -> None:
        """Flush `connection` when the present callbacks are through: what they answer leaves together."""
        if not self._dirty:
            self.loop.call_soon(self._flush_dirty)
        self._dirty.append(connection)

    def _flush_dirty(self) -> None:
        dirty, self._dirty = self._dirty, []
        for connection in dirty:
            connection.end_turn()
