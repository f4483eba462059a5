"""Connections that pass a handshake or a login before their requests are served."""

import asyncio
import logging
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.base.clock import SystemClock
from kafka_py.base.meters import MetricRegistry
from kafka_py.net.configs import NetOptions
from kafka_py.net.connection import Connection
from kafka_py.net.endpoints import Endpoint, Listening, SecurityProtocol
from kafka_py.net.principal import ANONYMOUS, Principal
from kafka_py.net.secured.stages import UNAUTHENTICATED_FRAME_BYTES, FailureLog, ListenerSecurity, LoginStage
from kafka_py.net.socket_server import RequestService, SocketServer
from kafka_py.testing.tls_ends import contexts, server_end


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


class World:
    """A server with one secured listener that echoes requests."""

    def __init__(self, security: ListenerSecurity, protocol: SecurityProtocol, settings: dict[str, str]) -> None:
        endpoint = Endpoint("SECURED", protocol, "127.0.0.1", 0)
        self.served: list[tuple[Principal, bytes]] = []
        self.accepted = asyncio.Event()
        self.server = SocketServer(
            NetOptions.parse(settings), Listening([endpoint], [endpoint], "SECURED", None),
            RequestService(self.on_request, security_of=lambda _endpoint: security),
            loop=asyncio.get_running_loop(), clock=SystemClock(), registry=MetricRegistry(SystemClock()),
        )  # fmt: skip
        self.port = self.server.bind()["SECURED"]
        self.server.start()
        begin = self.server._stages.begin

        def noticed(*given: Any) -> None:
            begin(*given)
            self.accepted.set()

        setattr(self.server._stages, "begin", noticed)  # noqa: B010  # it is a method

    @property
    def counts(self) -> tuple[int, int]:
        """Successful and failed authentications."""
        metrics = self.server._served["SECURED"].traffic
        return metrics.successful_authentications, metrics.failed_authentications

    def on_request(self, connection: Connection, slot: int, frame: bytearray) -> None:
        self.served.append((connection.principal, bytes(frame)))
        connection.respond(slot, [framed(bytes(frame))])


def with_server(
    security: ListenerSecurity, protocol: SecurityProtocol, body: Callable[[World], Awaitable[None]], **settings: str
) -> None:
    async def run() -> None:
        world = World(security, protocol, settings)
        try:
            await asyncio.wait_for(body(world), 20)
        finally:
            world.server.close()

    asyncio.run(run())


async def ask(world: World, body: bytes, context: ssl.SSLContext | None = None) -> bytes:
    host = "localhost" if context is not None else None
    reader, writer = await asyncio.open_connection("127.0.0.1", world.port, ssl=context, server_hostname=host)
    try:
        return await exchange(reader, writer, body)
    finally:
        writer.close()


async def ended(reader: asyncio.StreamReader) -> bool:
    try:
        return await reader.read() == b""
    except ConnectionError:  # it was closed before all was read
        return True


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes) -> bytes:
    writer.write(framed(body))
    return await reader.readexactly(struct.unpack(">i", await reader.readexactly(4))[0])


def test_requests_after_a_handshake_are_served_in_the_name_of_the_certificate(tmp_path: Path) -> None:
    server, client = contexts(tmp_path)
    asked: list[bytes | None] = []

    def principal_of(_connection: Connection, certificate: bytes | None) -> Principal:
        asked.append(certificate)
        return Principal("User", "nobody's certificate")

    async def body(world: World) -> None:
        large = b"x" * 300_000
        assert await ask(world, large, client) == large
        assert world.served == [(Principal("User", "nobody's certificate"), large)]
        assert asked == [None]
        assert world.counts == (1, 0)
        assert world.server._served["SECURED"].traffic.unrenewable_authentications == 1

    with_server(ListenerSecurity(server_end(server), principal_of), SecurityProtocol.SSL, body)


def test_open_connections_are_counted_by_cipher_suite(tmp_path: Path) -> None:
    server, client = contexts(tmp_path)

    async def body(world: World) -> None:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", world.port, ssl=client, server_hostname="localhost"
        )
        await exchange(reader, writer, b"hello")
        served = world.server._served["SECURED"]
        ((session, table),) = served._ciphers.items()
        assert session == (writer.get_extra_info("cipher")[0], "TLSv1.3")
        assert table.connections == 1
        assert len(world.server._stages._waiting) == 0  # it has authenticated
        (connection,) = served.connections
        connection.close("the test is over")
        assert not served._ciphers and not served._sessions
        writer.close()

    with_server(ListenerSecurity(server_end(server)), SecurityProtocol.SSL, body)


def test_the_first_frame_may_be_large(tmp_path: Path) -> None:
    server, client = contexts(tmp_path)

    async def body(world: World) -> None:
        large = b"z" * 3_000_000
        assert await ask(world, large, client) == large

    with_server(ListenerSecurity(server_end(server)), SecurityProtocol.SSL, body)


def test_a_certificate_without_a_principal_ends_the_connection(tmp_path: Path) -> None:
    server, client = contexts(tmp_path)

    def principal_of(_connection: Connection, _certificate: bytes | None) -> Principal:
        raise ValueError("no rule of ssl.principal.mapping.rules matches CN=x")

    async def body(world: World) -> None:
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await ask(world, b"hello", client)
        assert not world.served
        assert world.counts == (0, 1)

    with_server(ListenerSecurity(server_end(server), principal_of), SecurityProtocol.SSL, body)


def test_plain_bytes_on_a_listener_with_tls_are_counted_and_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kafka_py.net.secured.stages")

    async def body(world: World) -> None:
        for _ in range(20):
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await ask(world, b"\0\x12\0\0")
        assert world.counts == (0, 20)

    with_server(ListenerSecurity(server_end(contexts(tmp_path)[0])), SecurityProtocol.SSL, body)
    lines = [record.getMessage() for record in caplog.records]
    assert "plain bytes" in lines[0]
    assert len(lines) < 20


def test_a_client_that_leaves_within_the_handshake_is_no_failed_authentication(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(world: World) -> None:
        closed = asyncio.Event()
        world.server.on_disconnect(lambda _connection: closed.set())
        _, writer = await asyncio.open_connection("127.0.0.1", world.port)
        writer.write(b"\x16\x03\x01")
        await writer.drain()
        await world.accepted.wait()
        writer.close()
        await closed.wait()
        assert world.counts == (0, 0)

    with caplog.at_level(logging.INFO):
        with_server(ListenerSecurity(server_end(contexts(tmp_path)[0])), SecurityProtocol.SSL, body)
    assert "Failed" not in caplog.text


def test_a_handshake_does_not_delay_the_end_of_the_server(tmp_path: Path) -> None:
    async def body(world: World) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", world.port)
        await world.accepted.wait()
        world.server.close()
        assert not world.server.connections
        writer.close()

    with_server(ListenerSecurity(server_end(contexts(tmp_path)[0])), SecurityProtocol.SSL, body)


class OneWord:
    """A login by one word; `slow` is never answered."""

    def __init__(self, stage: LoginStage) -> None:
        self.stage = stage

    def on_request(self, connection: Connection, slot: int, frame: bytearray) -> None:
        if frame == b"slow":
            return
        connection.respond(slot, [framed(b"welcome" if frame == b"sesame" else b"no")])
        if frame == b"sesame":
            self.stage.succeed(Principal("User", "alice"))
        else:
            self.stage.fail("a wrong word", 0.01)


LOGIN = ListenerSecurity(begin_login=lambda stage: OneWord(stage).on_request)


def test_frames_belong_to_the_login_until_it_has_succeeded() -> None:
    async def body(world: World) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
        assert await exchange(reader, writer, b"sesame") == b"welcome"
        large = b"y" * (UNAUTHENTICATED_FRAME_BYTES + 1)
        assert await exchange(reader, writer, large) == large
        assert world.served == [(Principal("User", "alice"), large)]
        assert world.counts == (1, 0)
        writer.close()

    with_server(LOGIN, SecurityProtocol.SASL_PLAINTEXT, body)


def test_a_failed_login_is_answered_counted_and_closed_later() -> None:
    async def body(world: World) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
        assert await exchange(reader, writer, b"wrong") == b"no"
        writer.write(framed(b"sesame"))  # too late
        assert await ended(reader)
        assert not world.served
        assert world.counts == (0, 1)
        writer.close()

    with_server(LOGIN, SecurityProtocol.SASL_PLAINTEXT, body)


def test_large_frames_before_a_login_fail_it_and_are_logged_once_a_second(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kafka_py.net")

    async def body(world: World) -> None:
        for _ in range(20):
            reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
            writer.write(struct.pack(">i", UNAUTHENTICATED_FRAME_BYTES + 1))
            assert await ended(reader)
            writer.close()
        assert world.counts == (0, 20)

    with_server(LOGIN, SecurityProtocol.SASL_PLAINTEXT, body)
    lines = [each for each in (record.getMessage() for record in caplog.records) if "Awaiting" not in each]
    assert 1 <= len(lines) <= 10
    assert "it announced 524289 bytes, at most 524288 are allowed" in lines[0]


def test_large_frames_after_a_login_are_no_failure_of_it() -> None:
    async def body(world: World) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
        assert await exchange(reader, writer, b"sesame") == b"welcome"
        writer.write(struct.pack(">i", (1 << 31) - 1))
        assert await ended(reader)
        assert world.counts == (1, 0)
        writer.close()

    with_server(LOGIN, SecurityProtocol.SASL_PLAINTEXT, body)


def test_a_login_has_a_deadline() -> None:
    async def body(world: World) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
        writer.write(framed(b"slow"))
        await world.accepted.wait()
        (connection,) = world.server.connections.values()
        stage = connection.stage
        assert isinstance(stage, LoginStage) and stage._deadline is not None
        stage.cancel()
        stage.start(LOGIN.begin_login, within_s=0.01)  # type: ignore[arg-type]
        assert await ended(reader)
        assert world.counts == (0, 1)
        writer.close()

    with_server(LOGIN, SecurityProtocol.SASL_PLAINTEXT, body)


def test_tls_and_login_follow_each_other(tmp_path: Path) -> None:
    server, client = contexts(tmp_path)

    async def body(world: World) -> None:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", world.port, ssl=client, server_hostname="localhost"
        )
        assert await exchange(reader, writer, b"sesame") == b"welcome"
        assert await exchange(reader, writer, b"hello") == b"hello"
        writer.close()

    with_server(
        ListenerSecurity(server_end(server), begin_login=LOGIN.begin_login), SecurityProtocol.SASL_SSL, body
    )


def test_a_plain_listener_asks_who_its_clients_are_and_counts_only_refusals() -> None:
    """As Apache Kafka does: a connection without handshake and login has not authenticated."""
    welcome = [True, False]

    def principal_of(connection: Connection, certificate: bytes | None) -> Principal:
        if not welcome.pop(0):
            raise ValueError("only the first is welcome")
        return Principal("User", f"{connection.peer_host} {certificate!r}")

    async def body(world: World) -> None:
        assert await ask(world, b"hello") == b"hello"
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await ask(world, b"hello")
        assert world.served == [(Principal("User", "127.0.0.1 None"), b"hello")]
        assert world.counts == (0, 1)

    with_server(ListenerSecurity(None, principal_of), SecurityProtocol.PLAINTEXT, body)


def test_the_failure_log_counts_what_it_leaves_out_and_forgets_old_addresses(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "kafka_py.net.secured.stages")

    class Clock:
        now = 5.0

        def monotonic_s(self) -> float:
            return self.now

    class Peer:
        peer_host = "h"
        peer_port = 1

    clock, peer = Clock(), Peer()
    failures = FailureLog(clock)  # type: ignore[arg-type]
    for _ in range(5):
        failures.note(peer, "no")  # type: ignore[arg-type]
    clock.now = 6.5
    failures.note(peer, "no")  # type: ignore[arg-type]
    assert [record.getMessage() for record in caplog.records] == [
        "Failed authentication with h:1 (no)",
        "Failed authentication with h:1 (no); 4 more from this address since the last line",
    ]
    for number in range(5_000):
        peer.peer_host = str(number)
        failures.note(peer, "no")  # type: ignore[arg-type]
    assert len(failures._seen) <= 1024
    assert ANONYMOUS.name == "ANONYMOUS"


def test_a_reason_that_quotes_the_client_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    peer: Any = SimpleNamespace(peer_host="h", peer_port=1)
    FailureLog(SystemClock()).note(peer, "no\nFailed with x:1" + "y" * 9999)
    [line] = caplog.messages
    assert line.startswith("Failed authentication with h:1 (no\\nFailed with x:1yyy")
    assert len(line) < 600


def test_a_flood_of_silent_connections_costs_its_sender_its_own_ones(caplog: pytest.LogCaptureFixture) -> None:
    """Also after a handshake: those that have passed it, but not logged in, are counted."""

    async def body(world: World) -> None:
        logged_in = await asyncio.open_connection("127.0.0.1", world.port)
        assert await exchange(*logged_in, b"sesame") == b"welcome"
        silent = [await asyncio.open_connection("127.0.0.1", world.port) for _ in range(30)]
        late = await asyncio.open_connection("127.0.0.1", world.port, local_addr=("127.0.0.2", 0))
        assert await exchange(*late, b"sesame") == b"welcome"
        ends = [asyncio.ensure_future(ended(reader)) for reader, _ in silent]
        while sum(end.done() for end in ends) < 21:
            await asyncio.wait([end for end in ends if not end.done()], return_when=asyncio.FIRST_COMPLETED)
        assert len(world.server._stages._waiting) == 9
        assert await exchange(*logged_in, b"more") == b"more"
        for end in ends:
            end.cancel()
        for _, writer in (logged_in, late, *silent):
            writer.close()

    with caplog.at_level(logging.INFO):
        with_server(
            LOGIN, SecurityProtocol.SASL_PLAINTEXT, body, **{"kafka_py.max.unauthenticated.connections": "10"}
        )
    assert "more than 10 connections had not authenticated yet" in caplog.text


def test_who_has_logged_in_at_once_does_not_leave_for_itself() -> None:
    async def body(world: World) -> None:
        world.server._stages._waiting.most = 0  # each is one too many, and none but itself can leave
        with socket.create_connection(("127.0.0.1", world.port)) as client:
            client.sendall(framed(b"sesame"))  # before it is accepted
            client.setblocking(False)
            reader, writer = await asyncio.open_connection(sock=client)
            assert await reader.readexactly(11) == framed(b"welcome")
            assert await exchange(reader, writer, b"more") == b"more"
            assert world.counts == (1, 0)
            writer.close()

    with_server(LOGIN, SecurityProtocol.SASL_PLAINTEXT, body)


def test_a_failed_login_that_has_to_leave_before_its_delay_is_over_is_counted_once() -> None:
    async def body(world: World) -> None:
        world.server._stages._waiting.most = 0
        with socket.create_connection(("127.0.0.1", world.port)) as client:
            client.sendall(framed(b"wrong"))  # before it is accepted
            client.setblocking(False)
            reader, writer = await asyncio.open_connection(sock=client)
            assert await reader.read() == framed(b"no")
            assert world.counts == (0, 1)
            writer.close()

    with_server(LOGIN, SecurityProtocol.SASL_PLAINTEXT, body)
