"""A client connection against a server over loopback."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kafka_py.base.clock import SystemClock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.meters import MetricRegistry
from kafka_py.net import client
from kafka_py.net.client import BrokerConnection
from kafka_py.net.configs import NetOptions
from kafka_py.net.connection import Connection
from kafka_py.net.connection_failures import ConnectionLost
from kafka_py.net.endpoints import listening_of
from kafka_py.net.event_loop.loop import new_event_loop
from kafka_py.net.socket_server import RequestService, SocketServer
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.frames import encode_response, read_request_header
from kafka_py.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kafka_py.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

Answer = Callable[[Any], Any]

HEARTBEAT = HeartbeatRequest(group_id="", generation_id=0, member_id="")


class Broker:
    """Answers Heartbeat with the generation as throttle time, and ApiVersions as told."""

    def __init__(self, api_versions: Answer | None = None) -> None:
        self.api_versions = api_versions
        self.parked: list[tuple[Connection, int, Any]] = []
        self.park = False
        self.garbage: bytes | None = None
        options = NetOptions.parse({"listeners": "PLAINTEXT://127.0.0.1:0"})
        self.server = SocketServer(
            options, listening_of(options), RequestService(self.on_request),
            loop=asyncio.get_running_loop(), clock=SystemClock(), registry=MetricRegistry(SystemClock()),
        )  # fmt: skip
        self.port = self.server.bind()["PLAINTEXT"]
        self.server.start()

    def on_request(self, connection: Connection, slot: int, frame: bytearray) -> None:
        header, _ = read_request_header(frame)
        if self.garbage is not None:
            connection.respond(slot, [self.garbage])
        elif header.api_key is ApiKey.API_VERSIONS:
            assert self.api_versions is not None
            message, version = self.api_versions(header.api_version)
            connection.respond(slot, encode_response(message, version, header.correlation_id))
        elif self.park:
            self.parked.append((connection, slot, header))
        else:
            self.answer(connection, slot, header)

    def answer(self, connection: Connection, slot: int, header: Any) -> None:
        response = HeartbeatResponse(error_code=0, throttle_time_ms=header.correlation_id)
        connection.respond(slot, encode_response(response, header.api_version, header.correlation_id))


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    loop, _ = new_event_loop(SystemClock())
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(asyncio.wait_for(scenario(), 20))
    finally:
        asyncio.set_event_loop(None)
        loop.close()


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - the condition has no event
        await asyncio.sleep(0.001)


@contextmanager
def closing(broker: Broker, *connections: BrokerConnection) -> Iterator[None]:
    try:
        yield
    finally:
        for connection in connections:
            connection.close()
        broker.server.close()


def test_pipelined_requests_get_their_own_answers() -> None:
    async def scenario() -> None:
        broker = Broker()
        connection = await BrokerConnection.connect("127.0.0.1", broker.port, client_id="me")
        with closing(broker, connection):
            futures = [connection.send_nowait(HEARTBEAT, 4) for _ in range(500)]
            assert connection.in_flight == 500
            assert [(await future).throttle_time_ms for future in futures] == list(range(500))
            assert connection.in_flight == 0
            assert (await connection.send(HEARTBEAT, 1)).throttle_time_ms == 500

    run(scenario)


def test_a_response_that_nobody_foresaw_fails_what_waits_for_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An exception in a reader's callback reaches nobody: whoever waits would wait for ever."""
    async def scenario() -> None:
        broker = Broker()
        connection = await BrokerConnection.connect("127.0.0.1", broker.port)
        with closing(broker, connection):
            monkeypatch.setattr(client, "decode_response", lambda *_: 1 // 0)
            futures = [connection.send_nowait(HEARTBEAT, 4) for _ in range(2)]
            for future in futures:
                with pytest.raises(ConnectionLost, match="ZeroDivisionError"):
                    await future
            assert connection.closed

    run(scenario)
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ZeroDivisionError]


def test_a_request_without_answer_does_not_disturb_the_order() -> None:
    async def scenario() -> None:
        broker = Broker()
        broker.park = True
        connection = await BrokerConnection.connect("localhost", broker.port)
        with closing(broker, connection):
            connection.send_and_forget(HEARTBEAT, 4)
            future = connection.send_nowait(HEARTBEAT, 4)
            await until(lambda: len(broker.parked) == 2)
            silent, answered = broker.parked
            silent[0].respond(silent[1], None)
            broker.answer(*answered)
            assert (await future).throttle_time_ms == 1

    run(scenario)


def test_a_lost_connection_fails_what_is_in_flight() -> None:
    async def scenario() -> None:
        broker = Broker()
        broker.park = True
        connection = await BrokerConnection.connect("127.0.0.1", broker.port)
        futures = [connection.send_nowait(HEARTBEAT, 4) for _ in range(3)]
        await until(lambda: len(broker.parked) == 3)
        futures[1].cancel()
        broker.server.close()
        for future in (futures[0], futures[2]):
            with pytest.raises(ConnectionLost):
                await future
        assert connection.closed
        with pytest.raises(ConnectionLost):
            await connection.send(HEARTBEAT, 4)

    run(scenario)


def test_close_says_why() -> None:
    async def scenario() -> None:
        broker = Broker()
        broker.park = True
        connection = await BrokerConnection.connect("127.0.0.1", broker.port)
        with closing(broker, connection):
            future = connection.send_nowait(HEARTBEAT, 4)
            connection.close("too slow")
            with pytest.raises(ConnectionLost, match=f"127.0.0.1:{broker.port}: too slow"):
                await future

    run(scenario)


@pytest.mark.parametrize(
    "garbage",
    [b"\0\0\0\x02ab", b"\0\0\0\x08\0\0\0\x63\0\0\0\0", b"\0\0\0\x04\0\0\0\0", b"\xff\xff\xff\xff"],
    ids=["too short for a header", "another correlation id", "no body", "negative size"],
)
def test_an_answer_that_cannot_be_read_ends_the_connection(garbage: bytes) -> None:
    async def scenario() -> None:
        broker = Broker()
        broker.garbage = garbage
        connection = await BrokerConnection.connect("127.0.0.1", broker.port)
        with closing(broker, connection):
            with pytest.raises(ConnectionLost, match="cannot be read"):
                await connection.send(HEARTBEAT, 1)
            assert connection.closed

    run(scenario)


def test_nobody_there_is_one_clear_line() -> None:
    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with pytest.raises(ConnectionLost, match=f"cannot connect to 127.0.0.1:{port}: Connection refused"):
            await BrokerConnection.connect("127.0.0.1", port)
        with pytest.raises(ConnectionLost, match=r"cannot connect to no.such.host.invalid:1"):
            await BrokerConnection.connect("no.such.host.invalid", 1)

    run(scenario)


def test_connecting_takes_no_longer_than_allowed() -> None:
    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            port = full.getsockname()[1]
            waiting = []
            for _ in range(4):  # fill the queue of a listener that accepts nothing
                each = socket.socket()
                each.setblocking(False)
                each.connect_ex(("127.0.0.1", port))
                waiting.append(each)
            with pytest.raises(ConnectionLost, match="took longer than 50 ms"):
                await BrokerConnection.connect("127.0.0.1", port, timeout_ms=50)
            for each in waiting:
                each.close()

    run(scenario)


def test_negotiate_keeps_what_the_broker_speaks() -> None:
    def answer(version: int) -> tuple[ApiVersionsResponse, int]:
        keys = [ApiVersion(api_key=key, min_version=0, max_version=newest) for key, newest in ((0, 9), (9999, 1))]
        return ApiVersionsResponse(error_code=0, api_keys=keys), version

    async def scenario() -> None:
        broker = Broker(answer)
        connection = await BrokerConnection.connect("127.0.0.1", broker.port)
        with closing(broker, connection):
            assert await connection.negotiate() == {ApiKey.PRODUCE: (0, 9)}
            assert connection.versions == {ApiKey.PRODUCE: (0, 9)}

    run(scenario)


def test_negotiate_steps_down_to_an_old_broker() -> None:
    asked: list[int] = []

    def answer(version: int) -> tuple[ApiVersionsResponse, int]:
        asked.append(version)
        code = ErrorCode.UNSUPPORTED_VERSION if version > 2 else ErrorCode.NONE
        keys = [ApiVersion(api_key=18, min_version=0, max_version=2)]
        return ApiVersionsResponse(error_code=code, api_keys=keys), 0

    async def scenario() -> None:
        broker = Broker(answer)
        connection = await BrokerConnection.connect("127.0.0.1", broker.port)
        with closing(broker, connection):
            assert await connection.negotiate() == {ApiKey.API_VERSIONS: (0, 2)}
        assert asked == [3, 0]

    run(scenario)


def test_negotiate_reports_an_error_answer() -> None:
    async def scenario() -> None:
        refusal = ApiVersionsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, api_keys=[])
        broker = Broker(lambda version: (refusal, version))
        connection = await BrokerConnection.connect("127.0.0.1", broker.port)
        with closing(broker, connection), pytest.raises(KafkaError) as caught:
            await connection.negotiate()
        assert caught.value.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED

    run(scenario)


def test_large_requests_and_answers_pass() -> None:
    async def scenario() -> None:
        broker = Broker()
        connection = await BrokerConnection.connect("127.0.0.1", broker.port)
        with closing(broker, connection):
            large = HeartbeatRequest(group_id="g" * 30_000, generation_id=0, member_id="")
            futures = [connection.send_nowait(large, 4) for _ in range(100)]
            assert [(await future).throttle_time_ms for future in futures] == list(range(100))

    run(scenario)


def test_api_versions_is_a_request_like_any_other() -> None:
    async def scenario() -> None:
        nothing = ApiVersionsResponse(error_code=0, api_keys=[])
        broker = Broker(lambda version: (nothing, version))
        connection = await BrokerConnection.connect("127.0.0.1", broker.port)
        with closing(broker, connection):
            assert await connection.send(ApiVersionsRequest(), 0) == nothing

    run(scenario)


@pytest.mark.parametrize("use_uvloop", [False, True], ids=["asyncio", "uvloop"])
def test_a_reset_behind_an_answer_is_seen_at_once(use_uvloop: bool) -> None:
    """uvloop tells of a reset only once; what was in flight used to wait for its time-out."""
    if use_uvloop:
        pytest.importorskip("uvloop")

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.setblocking(False)
            connection = await BrokerConnection.connect("127.0.0.1", server.getsockname()[1])
            accepted, _ = await loop.sock_accept(server)
        answered, lost = (connection.send_nowait(HEARTBEAT, 4) for _ in range(2))
        await asyncio.sleep(0)  # both leave
        response = HeartbeatResponse(error_code=0)
        encoded = b"".join(part for part in encode_response(response, 4, 0) if isinstance(part, bytes))
        with socket.socket(fileno=accepted.detach()) as peer:
            peer.setblocking(True)
            peer.sendall(encoded)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closing resets
        assert await asyncio.wait_for(answered, 5) == response
        with pytest.raises(ConnectionLost, match="reset"):
            await asyncio.wait_for(lost, 5)
        assert connection.closed

    loop, _ = new_event_loop(SystemClock(), use_uvloop=use_uvloop)
    try:
        loop.run_until_complete(scenario())
    finally:
        loop.close()
