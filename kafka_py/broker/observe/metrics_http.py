"""`GET /metrics` for Prometheus, on a separate port (metrics.http.port), served by the broker's loop (I/O).

Minimal HTTP: one request per connection, only GET and HEAD, small headers, bounds on the time and on concurrent
scrapes. The text is made in slices of a few milliseconds, so that a scrape does not delay other work.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from email.utils import formatdate

from kafka_py.base.meters import MetricRegistry
from kafka_py.broker.observe.metrics import ProcessMetrics, count_open_files
from kafka_py.broker.observe.prometheus import CONTENT_TYPE, Exposition

SLICE_S = 0.002
"""Time that a scrape may hold the event loop in one turn."""
MOST_AT_ONCE = 4
TIMEOUT_S = 10
MOST_HEADER_BYTES = 16 * 1024

_log = logging.getLogger(__name__)


class MetricsServer:
    """The endpoint. port: the bound port, after `start`."""

    def __init__(self, host: str, port: int, registry: MetricRegistry, process: ProcessMetrics | None = None) -> None:
        self.host = host
        self.port = port
        self._registry = registry
        self._process = process
        self._server: asyncio.Server | None = None
        self._scrapes = 0

    async def start(self) -> None:
        """Listens. Raises OSError when the port is taken."""
        self._server = await asyncio.start_server(self._serve, self.host or None, self.port, limit=MOST_HEADER_BYTES)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stops listening; a running scrape ends with its connection."""
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                head = await reader.readuntil(b"\r\n\r\n")
                await self._answer(head, writer)
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client is gone or too slow: no response
        except Exception:
            _log.exception("A scrape of the metrics failed")
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        path = rest.partition(" ")[0].partition("?")[0]
        if method not in ("GET", "HEAD"):
            self._write(writer, "405 Method Not Allowed", b"only GET\n", plain=True)
        elif path != "/metrics":
            self._write(writer, "404 Not Found", b"the metrics are at /metrics\n", plain=True)
        elif self._scrapes >= MOST_AT_ONCE:
            self._write(writer, "503 Service Unavailable", b"too many scrapes at once\n", plain=True)
        else:
            self._scrapes += 1
            try:
                body = (await self.scrape()).encode()
            finally:
                self._scrapes -= 1
            self._write(writer, "200 OK", body, is_head=method == "HEAD")

    def _write(
        self, writer: asyncio.StreamWriter, status: str, body: bytes, *, plain: bool = False, is_head: bool = False
    ) -> None:
        kind = "text/plain; charset=utf-8" if plain else CONTENT_TYPE
        date = formatdate(self._registry.clock.wall_ms() / 1000, usegmt=True)  # by which machines' clocks are compared
        head = (
            f"HTTP/1.1 {status}\r\nDate: {date}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n"
        )
        writer.write(head.encode())
        if not is_head:
            writer.write(body)

    async def scrape(self) -> str:
        """The current values as text."""
        if self._process is not None:
            loop = asyncio.get_running_loop()
            self._process.open_files = await loop.run_in_executor(None, count_open_files)
        exposition = Exposition()
        await in_slices(exposition.render(self._registry), self._registry.clock.monotonic_s)
        return exposition.text


async def in_slices(work: Iterator[object], now_s: Callable[[], float], slice_s: float = SLICE_S) -> None:
    """Runs a generator to its end, yielding to the event loop after every `slice_s`."""
    ends = now_s() + slice_s
    for _ in work:
        if now_s() >= ends:
            await asyncio.sleep(0)
            ends = now_s() + slice_s
