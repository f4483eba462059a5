"""A TCP link that a test can cut, mend or make one-way, between a client and a real server.

Runs on the test's loop. `cut` breaks all connections and refuses new ones until `mend`; `swallow_replies` lets
requests through and drops the answers, as a network does just before it breaks; `ignore_next` accepts connections and
never answers them, as a server does that has bound its port and is not ready yet.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

_PIECE = 1 << 16


class TcpProxy:
    """Forwards a local port to a server; an async context manager."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._down = False
        self._swallow = False
        self._ignored = 0
        self.port = 0
        self.connections = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cut()
        if self._server is not None:
            self._server.close()

    def cut(self) -> None:
        """Breaks every connection; new ones are accepted and closed at once."""
        self._down = True
        for writer in self._writers:
            writer.transport.abort()

    def mend(self) -> None:
        """New connections work again, in both directions."""
        self._down = self._swallow = False

    def swallow_replies(self) -> None:
        """What the server sends from now on is lost."""
        self._swallow = True

    def ignore_next(self, count: int = 1) -> None:
        """The next connections are accepted and stay open; nobody reads from them, nobody answers."""
        self._ignored = count

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self._down:
            writer.transport.abort()
            return
        if self._ignored:
            self._ignored -= 1
            self._writers.add(writer)
            return
        try:
            from_server, to_server = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, to_server}
        try:
            await asyncio.gather(self._pump(reader, to_server, False), self._pump(from_server, writer, True))
        finally:
            self._writers -= {writer, to_server}

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, replies: bool) -> None:
        try:
            while piece := await reader.read(_PIECE):
                if not (replies and self._swallow):
                    writer.write(piece)
                    await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()
