"""`GET /metrics` for Prometheus, over HTTP on a port of its own (I/O).

Minimal HTTP: one request per connection, only GET and HEAD, small headers, bounds on the time, on connections and on
concurrent scrapes. What is answered, the owner says; `in_slices` lets it do so without delaying other work.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from email.utils import formatdate
from urllib.parse import parse_qs

from kafka_py.base.clock import Clock
from kafka_py.net.scraping.exposition import CONTENT_TYPE, MetricFamilies

SLICE_S = 0.000_25
"""Time that a scrape may hold the event loop in one turn."""
MOST_AT_ONCE = 4
MOST_CONNECTIONS = 64
"""Those above are closed at once: a broker needs its files for its logs and its clients."""
TIMEOUT_S = 10
MOST_HEADER_BYTES = 16 * 1024

ScrapeQuery = Mapping[str, list[str]]
"""The parameters of the query with their values."""
Scrape = Callable[[ScrapeQuery], Awaitable[Sequence[bytes]]]
"""The text of a scrape, in pieces. Raises ValueError for parameters that cannot be."""

_log = logging.getLogger(__name__)


class MetricsEndpoint:
    """The endpoint. port: the bound port, after `start`."""

    def __init__(self, host: str, port: int, scrape: Scrape, clock: Clock) -> None:
        self.host = host
        self.port = port
        self._scrape = scrape
        self._clock = clock
        self._server: asyncio.Server | None = None
        self._scrapes = 0
        self._connections = 0

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
        if self._connections >= MOST_CONNECTIONS:
            writer.transport.abort()
            return
        self._connections += 1
        try:
            async with asyncio.timeout(TIMEOUT_S):
                head = await reader.readuntil(b"\r\n\r\n")
                await self._answer(head, writer)
                writer.close()
                await writer.wait_closed()  # what is buffered has left
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client is gone or too slow: no response
        except Exception:
            _log.exception("A scrape of the metrics failed")
        finally:
            self._connections -= 1
            writer.transport.abort()  # `close` would wait for a peer that does not read

    async def _answer(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        path, _, query = rest.partition(" ")[0].partition("?")
        if method not in ("GET", "HEAD"):
            self._refuse(writer, "405 Method Not Allowed", "only GET")
        elif path != "/metrics":
            self._refuse(writer, "404 Not Found", "the metrics are at /metrics")
        elif self._scrapes >= MOST_AT_ONCE:
            self._refuse(writer, "503 Service Unavailable", "too many scrapes at once")
        else:
            self._scrapes += 1
            try:
                pieces = await self._scrape(parse_qs(query, keep_blank_values=True))
                self._write_head(writer, "200 OK", CONTENT_TYPE, sum(map(len, pieces)))
                for piece in pieces if method == "GET" else ():
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0)  # `drain` waits only while the peer reads more slowly than this writes
            except ValueError as error:
                self._refuse(writer, "400 Bad Request", str(error))
            finally:
                self._scrapes -= 1

    def _refuse(self, writer: asyncio.StreamWriter, status: str, why: str) -> None:
        body = f"{why}\n".encode()
        self._write_head(writer, status, "text/plain; charset=utf-8", len(body))
        writer.write(body)

    def _write_head(self, writer: asyncio.StreamWriter, status: str, kind: str, length: int) -> None:
        date = formatdate(self._clock.wall_ms() / 1000, usegmt=True)  # by which machines' clocks are compared
        head = (
            f"HTTP/1.1 {status}\r\nDate: {date}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n"
            "Connection: close\r\n\r\n"
        )
        writer.write(head.encode())


async def in_slices(work: Iterator[object], now_s: Callable[[], float], slice_s: float = SLICE_S) -> None:
    """Runs a generator to its end, yielding to the event loop after every `slice_s`."""
    ends = now_s() + slice_s
    for _ in work:
        if now_s() >= ends:
            await asyncio.sleep(0)
            ends = now_s() + slice_s


async def pieces_of(families: MetricFamilies, now_s: Callable[[], float]) -> list[bytes]:
    """The text of the families in pieces, yielding to the event loop as `in_slices`. Leaves no samples behind."""
    pieces: list[bytes] = []
    await in_slices(map(pieces.append, families.pieces()), now_s)
    return pieces
