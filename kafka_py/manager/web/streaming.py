"""A response that is made while it is sent, and ends when the browser leaves: exports and live tails.

Whatever happens, `release` is called once: also when the browser leaves before the first byte, or while a part is
being made.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

from starlette.responses import Response
from starlette.types import Receive, Scope, Send


class StreamedAnswer(Response):
    """parts: the body. release: frees what the parts are made with. may_go_on: asked before each part; without it the
    connection is cut."""

    def __init__(
        self,
        parts: AsyncIterator[bytes],
        release: Callable[[], Awaitable[None]],
        *,
        media_type: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(None, 200, headers, media_type)
        del self.headers["content-length"]
        self.may_go_on: Callable[[], bool] = lambda: True
        self._parts = parts
        self._release = release

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.ensure_future(self._send(send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, leaving):
                task.cancel()
            results = await asyncio.gather(sending, leaving, return_exceptions=True)
            with contextlib.suppress(Exception):
                await self._release()
        if isinstance(results[0], Exception) and not isinstance(results[0], OSError):
            raise results[0]  # the connection is cut, so that nobody takes a part for the whole

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for part in self._parts:
            if not self.may_go_on():
                return
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _left(receive: Receive) -> None:
    """Returns when the browser has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
