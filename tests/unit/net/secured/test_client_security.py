"""Connections of clients to listeners of the same and of another security protocol."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.base.clock import SystemClock
from kafka_py.base.meters import MetricRegistry
from kafka_py.net.client import BrokerConnection
from kafka_py.net.configs import NetOptions
from kafka_py.net.connection import Connection
from kafka_py.net.connection_failures import AuthenticationFailed, ConnectionLost
from kafka_py.net.endpoints import Endpoint, Listening, SecurityProtocol
from kafka_py.net.secured import client_security
from kafka_py.net.secured.client_security import ConnectionSecurity, ConnectionSession
from kafka_py.net.secured.stages import ListenerSecurity
from kafka_py.net.socket_server import RequestService, SocketServer
from kafka_py.testing.tls_ends import client_end, contexts, server_end
from kafka_py.wire.apis import ApiKey, api_of
from kafka_py.wire.frames import encode_response
from kafka_py.wire.messages.api_versions import ApiVersionsResponse


def answer(connection: Connection, slot: int, frame: bytearray) -> None:
    """Versions, whatever was asked; correlation ids begin with 0."""
    body = encode_response(ApiVersionsResponse(error_code=0, api_keys=[]), 0, 0)
    connection.respond(slot, list(body) if isinstance(body, list) else [body])


def with_listener(security: ListenerSecurity | None, body: Callable[[int], Awaitable[None]]) -> None:
    async def run() -> None:
        endpoint = Endpoint("L", SecurityProtocol.SSL, "127.0.0.1", 0)
        server = SocketServer(
            NetOptions.parse({}), Listening([endpoint], [endpoint], "L", None),
            RequestService(answer, security_of=lambda _endpoint: security),
            loop=asyncio.get_running_loop(), clock=SystemClock(), registry=MetricRegistry(SystemClock()),
        )  # fmt: skip
        port = server.bind()["L"]
        server.start()
        try:
            await asyncio.wait_for(body(port), 20)
        finally:
            server.close()

    asyncio.run(run())


async def versions(connection: BrokerConnection) -> object:
    try:
        return await connection.send(api_of(ApiKey.API_VERSIONS).request(), 0)
    finally:
        connection.close()


def test_requests_are_answered_over_tls(tmp_path: Path) -> None:
    server, client = contexts(tmp_path)
    logged_in: list[BrokerConnection] = []

    async def log_in(connection: BrokerConnection) -> None:
        logged_in.append(connection)

    async def body(port: int) -> None:
        security = ConnectionSecurity(lambda _host: client_end(client), log_in)
        connection = await BrokerConnection.connect("127.0.0.1", port, security=security)
        assert isinstance(await versions(connection), ApiVersionsResponse)
        assert logged_in == [connection]

    with_listener(ListenerSecurity(server_end(server)), body)


def test_a_certificate_for_another_host_is_a_failed_authentication(tmp_path: Path) -> None:
    server, client = contexts(tmp_path)

    async def body(port: int) -> None:
        security = ConnectionSecurity(lambda _host: client_end(client, "elsewhere"))
        with pytest.raises(AuthenticationFailed, match="not valid for 'elsewhere'"):
            await BrokerConnection.connect("127.0.0.1", port, security=security)

    with_listener(ListenerSecurity(server_end(server)), body)


def test_a_failed_login_closes_the_connection() -> None:
    opened: list[BrokerConnection] = []

    async def log_in(connection: BrokerConnection) -> None:
        opened.append(connection)
        raise AuthenticationFailed("a wrong password")

    async def body(port: int) -> None:
        with pytest.raises(AuthenticationFailed, match="a wrong password"):
            await BrokerConnection.connect("127.0.0.1", port, security=ConnectionSecurity(log_in=log_in))
        assert opened[0].closed

    with_listener(None, body)


def test_a_plain_client_learns_that_the_listener_has_tls(tmp_path: Path) -> None:
    async def body(port: int) -> None:
        connection = await BrokerConnection.connect("127.0.0.1", port)
        with pytest.raises(ConnectionLost) as found:
            await versions(connection)
        assert not isinstance(found.value, AuthenticationFailed)

    with_listener(ListenerSecurity(server_end(contexts(tmp_path)[0])), body)


def test_an_alert_is_no_response() -> None:
    async def run() -> str:
        async def alert(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            writer.write(struct.pack(">BHHBB", 21, 0x0303, 2, 2, 40))
            await reader.read()
            writer.close()

        server = await asyncio.start_server(alert, "127.0.0.1", 0)
        async with server:
            connection = await BrokerConnection.connect("127.0.0.1", server.sockets[0].getsockname()[1])
            with pytest.raises(ConnectionLost) as found:
                await versions(connection)
            return str(found.value)

    assert "listener has TLS" in asyncio.run(run())


def test_a_client_with_tls_learns_that_the_listener_is_plain(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _, client = contexts(tmp_path)

    async def body(port: int) -> None:
        security = ConnectionSecurity(lambda _host: client_end(client))
        with pytest.raises(ConnectionLost, match="may have another security protocol"):
            await BrokerConnection.connect("127.0.0.1", port, security=security)

    with_listener(None, body)
    assert "first bytes of TLS" in caplog.text


def test_the_owner_of_a_connection_learns_of_its_end_once() -> None:
    async def body(port: int) -> None:
        connection, reasons = await BrokerConnection.connect("127.0.0.1", port), list[str]()
        connection.on_end = reasons.append
        connection.close("a test")
        connection.close("again")
        assert reasons == ["a test"]

    with_listener(None, body)


async def nothing() -> None:
    """No request is without a response."""


def test_the_time_of_a_renewal_begins_with_the_response_to_the_last_request_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A JoinGroup waits for the other members of its group for minutes, and its broker reads nothing behind it."""
    monkeypatch.setattr("kafka_py.net.secured.client_security.RENEWAL_S", 0.001)
    logins: list[int] = []

    async def log_in(connection: BrokerConnection) -> float | None:
        logins.append(connection.in_flight)
        return 20.0 if len(logins) == 1 else None

    async def run() -> None:
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[tuple[Connection, int]] = loop.create_future()
        renews: asyncio.Future[asyncio.Task[None]] = loop.create_future()
        endpoint = Endpoint("L", SecurityProtocol.PLAINTEXT, "127.0.0.1", 0)
        server = SocketServer(
            NetOptions.parse({}), Listening([endpoint], [endpoint], "L", None),
            RequestService(lambda connection, slot, frame: arrived.set_result((connection, slot))),
            loop=loop, clock=SystemClock(), registry=MetricRegistry(SystemClock()),
        )  # fmt: skip
        port = server.bind()["L"]
        server.start()
        connection = await BrokerConnection.connect("127.0.0.1", port, security=ConnectionSecurity(log_in=log_in))
        assert connection.session is not None
        connection.session.on_renewal = renews.set_result
        asked = connection.send_nowait(api_of(ApiKey.API_VERSIONS).request(), 0)
        request, renewal = await asyncio.gather(arrived, renews)
        done, _ = await asyncio.wait([renewal], timeout=0.05)  # many times what it may take
        assert not done and not connection.closed and logins == [0]
        answer(*request, bytearray())
        await asyncio.gather(asked, renewal)
        assert logins == [0, 0] and not connection.closed
        connection.close()
        server.close()

    asyncio.run(asyncio.wait_for(run(), 20))


def test_a_connection_that_is_closed_before_its_renewal_begins_is_no_failed_renewal(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A consumer may be closed while its JoinGroup waits, for which the renewal waits too."""

    async def run() -> None:
        logins: list[None] = []
        connection: Any = SimpleNamespace(closed=False, close=pytest.fail)

        async def answered() -> None:
            connection.closed = True

        async def log_in(_connection: BrokerConnection) -> float | None:
            logins.append(None)
            return 1.0

        connection.answered = answered
        session = ConnectionSession(connection, log_in)
        await session.begin()
        renewal: asyncio.Future[asyncio.Task[None]] = asyncio.get_running_loop().create_future()
        session.on_renewal = renewal.set_result
        await asyncio.wait_for(await asyncio.wait_for(renewal, 10), 10)
        assert len(logins) == 1

    asyncio.run(run())
    assert not caplog.records


@pytest.mark.parametrize("error", [ConnectionLost("gone"), ZeroDivisionError("nobody foresaw this")])
def test_a_login_that_cannot_be_repeated_closes_the_connection_whatever_is_raised(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        reasons: list[str] = []
        connection: Any = SimpleNamespace(closed=False, close=reasons.append, answered=nothing)
        answers: Iterator[float | Exception] = iter([1.0, error])

        async def log_in(_connection: BrokerConnection) -> float | None:
            answer = next(answers)
            if isinstance(answer, Exception):
                raise answer
            return answer

        session = ConnectionSession(connection, log_in)
        await session.begin()
        renewal: asyncio.Future[asyncio.Task[None]] = asyncio.get_running_loop().create_future()
        session.on_renewal = renewal.set_result
        await asyncio.wait_for(await asyncio.wait_for(renewal, 10), 10)
        assert reasons == ["its session could not be renewed"]
        assert str(error) in caplog.text

    asyncio.run(run())


@pytest.mark.parametrize("is_served_first", [False, True])
def test_a_session_that_breaks_after_a_response_is_a_lost_connection(tmp_path: Path, is_served_first: bool) -> None:
    """Clients do not repeat what failed by its authentication, but a damaged record comes from somewhere else."""
    server, client = contexts(tmp_path)
    accepted: list[Any] = []

    def made(incoming: Any, outgoing: Any) -> Any:
        accepted.append(outgoing)
        return server_end(server)(incoming, outgoing)

    async def body(port: int) -> None:
        security = ConnectionSecurity(lambda _host: client_end(client))
        connection = await BrokerConnection.connect("127.0.0.1", port, security=security)
        request = api_of(ApiKey.API_VERSIONS).request()
        if is_served_first:
            await connection.send(request, 0)
        accepted[0].write(b"\x17\x03\x03\x00\x20" + bytes(32))  # leaves before the next response
        with pytest.raises(ConnectionLost) as found:
            await connection.send(request, 0)
        assert isinstance(found.value, AuthenticationFailed) is not is_served_first

    with_listener(ListenerSecurity(made), body)


async def session_of(connection: Any, log_in: Callable[[Any], Awaitable[float | None]]) -> ConnectionSession:
    session = ConnectionSession(connection, log_in)
    await session.begin()
    return session


def test_a_renewal_without_an_answer_ends_with_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests wait for the renewal; without a bound they would wait for ever."""
    monkeypatch.setattr(client_security, "RENEWAL_S", 0.05)

    async def run() -> None:
        closed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        connection: Any = SimpleNamespace(closed=False, close=closed.set_result)
        calls: list[int] = []

        async def log_in(_connection: BrokerConnection) -> float | None:
            calls.append(1)
            if len(calls) == 2:
                await asyncio.Event().wait()
            return 1.0

        session = await session_of(connection, log_in)
        assert await asyncio.wait_for(closed, 10) == "its session could not be renewed"
        await asyncio.wait_for(session.settled(), 10)

    asyncio.run(run())


def test_the_session_of_a_connection_that_was_closed_meanwhile_is_not_renewed() -> None:
    async def run() -> None:
        calls: list[int] = []
        connection: Any = SimpleNamespace(closed=True)

        async def log_in(_connection: BrokerConnection) -> float | None:
            calls.append(1)
            return 0.0

        await session_of(connection, log_in)
        for _ in range(5):
            await asyncio.sleep(0)
        assert calls == [1]

    asyncio.run(run())


def test_a_handshake_that_fails_or_is_cancelled_closes_the_socket(tmp_path: Path) -> None:
    async def run() -> None:
        _, client = contexts(tmp_path)
        here, there = socket.socketpair()
        task = asyncio.create_task(client_security.encrypted(here, client_end(client), None))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert here.fileno() == -1
        there.close()

    asyncio.run(run())
