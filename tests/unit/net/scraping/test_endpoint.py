"""The endpoint of metrics beside clients that do not read, do not ask, or come in large numbers."""

import asyncio
import socket
from collections.abc import Sequence

import pytest

from kafka_py.base.clock import SystemClock
from kafka_py.net.scraping import endpoint
from kafka_py.net.scraping.endpoint import MOST_CONNECTIONS, MetricsEndpoint, ScrapeQuery

PIECES = [b"a 1\n" * 20_000] * 200
GET = b"GET /metrics HTTP/1.1\r\n\r\n"
DEADLINE_S = 10


async def started(pieces: Sequence[bytes] = (b"a 1\n",)) -> MetricsEndpoint:
    async def scrape(_query: ScrapeQuery) -> Sequence[bytes]:
        return pieces

    found = MetricsEndpoint("127.0.0.1", 0, scrape, SystemClock())
    await found.start()
    return found


async def served_by(server: MetricsEndpoint) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(GET)
    try:
        return await asyncio.wait_for(reader.read(), DEADLINE_S)
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


async def one_that_does_not_read() -> None:
    server = await started(PIECES)
    before = asyncio.all_tasks()
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", server.port))
        slow.sendall(GET)
        async with asyncio.timeout(DEADLINE_S):
            while asyncio.all_tasks() == before:  # noqa: ASYNC110  # the kernel's doing
                await asyncio.sleep(0.01)
            while asyncio.all_tasks() != before:  # noqa: ASYNC110  # the kernel's doing
                await asyncio.sleep(0.01)
    await server.close()


async def many_that_ask_for_nothing() -> None:
    server = await started()
    idle = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(MOST_CONNECTIONS)]
    assert await served_by(server) == b""
    for _, writer in idle:
        writer.close()
        await writer.wait_closed()
    async with asyncio.timeout(DEADLINE_S):
        while not (answer := await served_by(server)):  # noqa: ASYNC110  # the kernel's doing
            await asyncio.sleep(0.01)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b"\r\n\r\na 1\n")
    await server.close()


def test_a_client_that_does_not_read_is_cut_off_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "TIMEOUT_S", 0.2)
    asyncio.run(one_that_does_not_read())


def test_connections_that_ask_for_nothing_are_bounded_and_those_after_them_closed() -> None:
    asyncio.run(many_that_ask_for_nothing())
