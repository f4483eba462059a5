"""The network side of a broker over loopback, on asyncio's loop and on uvloop."""

import asyncio
import os
import socket
import ssl
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.clock import SYSTEM_CLOCK, Clock, SystemClock
from kafka_py.base.errors import ConfigError
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.quota_rates import Window
from kafka_py.base.slices import FileSlice
from kafka_py.net import socket_server
from kafka_py.net.address_rates import AddressRates
from kafka_py.net.configs import NetOptions
from kafka_py.net.connection import Connection
from kafka_py.net.endpoints import Endpoint, listening_of
from kafka_py.net.event_loop.loop import LoopWatch, new_event_loop
from kafka_py.net.listener import BindFailed
from kafka_py.net.secured.stages import ListenerSecurity
from kafka_py.net.secured.tls_transport import TlsTransport
from kafka_py.net.socket_server import RequestService, SocketServer, unprotected
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.tls_ends import server_end

try:
    import uvloop  # noqa: F401

    LOOPS = ["asyncio", "uvloop"]
except ImportError:
    LOOPS = ["asyncio"]


_watches: dict[asyncio.AbstractEventLoop, LoopWatch] = {}


@pytest.fixture(params=LOOPS)
def loop(request: pytest.FixtureRequest) -> Iterator[asyncio.AbstractEventLoop]:
    loop, watch = new_event_loop(SystemClock(), use_uvloop=request.param == "uvloop")
    _watches[loop] = watch
    yield loop
    del _watches[loop]
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


def framed(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(body)) + body for body in bodies)


class Server:
    """A server that echoes `echo...`, parks `park...`, sends a file for `file`, and fails on `fail`."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, clock: Clock = SYSTEM_CLOCK,
        security_of: Callable[[Endpoint], ListenerSecurity | None] = unprotected, **settings: object,
    ) -> None:  # fmt: skip
        given = {name.replace("_", "."): value for name, value in settings.items()}
        given.setdefault("listeners", "PLAINTEXT://127.0.0.1:0")
        self.options = NetOptions.parse(given)
        listening = listening_of(self.options)
        self.registry = MetricRegistry(SystemClock())
        self.parked: list[tuple[Connection, int]] = []
        self.ended: list[Connection] = []
        self.slice: FileSlice | None = None
        self.addresses = AddressRates(Window(11, 1000.0))
        self.server = SocketServer(
            self.options, listening, RequestService(self.on_request, security_of=security_of),
            loop=loop, clock=clock, registry=self.registry, addresses=self.addresses,
            watch=_watches[loop] if clock is SYSTEM_CLOCK else None,
        )  # fmt: skip
        self.server.on_disconnect(self.ended.append)
        self.ports = self.server.bind()
        self.port = self.ports["PLAINTEXT"]
        self.server.start()

    def on_request(self, connection: Connection, slot: int, frame: bytearray) -> None:
        if frame.startswith(b"park"):
            self.parked.append((connection, slot))
        elif frame.startswith(b"file"):
            assert self.slice is not None
            connection.respond(slot, [struct.pack(">i", self.slice.size + 2), b"<", self.slice, b">"])
        elif frame.startswith(b"fail"):
            raise RuntimeError("a bug")
        else:
            connection.respond(slot, [framed(bytes(frame))])


class Peer:
    """A client that speaks bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, port: int, host: str = "127.0.0.1") -> "Peer":
        return cls(*await asyncio.open_connection(host, port))

    def send(self, *bodies: bytes) -> None:
        self.writer.write(framed(*bodies))

    async def answer(self) -> bytes:
        (size,) = struct.unpack(">i", await self.reader.readexactly(4))
        return await self.reader.readexactly(size)

    async def ask(self, body: bytes) -> bytes:
        self.send(body)
        return await self.answer()

    async def is_ended(self) -> bool:
        with suppress(ConnectionError):
            return await self.reader.read() == b""
        return True

    def close(self) -> None:
        self.writer.close()


async def until(condition: Any) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the condition has no event
            await asyncio.sleep(0.001)


def test_requests_of_all_sizes_come_back(loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> None:
        server = Server(loop)
        peer = await Peer.connect(server.port)
        bodies = [b"e" * size for size in (1, 0, 200, 65_000, 65_536, 70_000, 300_000, 3_000_000, 5)]
        peer.send(*bodies)
        assert [await peer.answer() for _ in bodies] == bodies
        peer.close()
        await until(lambda: server.ended)
        server.server.close()

    loop.run_until_complete(scenario())


def test_many_connections_pipeline_in_order(loop: asyncio.AbstractEventLoop) -> None:
    async def one(port: int, number: int) -> None:
        peer = await Peer.connect(port)
        bodies = [b"echo %d %d" % (number, request) for request in range(200)]
        peer.send(*bodies)
        assert [await peer.answer() for _ in bodies] == bodies
        peer.close()

    async def scenario() -> None:
        server = Server(loop)
        await asyncio.gather(*(one(server.port, number) for number in range(20)))
        server.server.close()

    loop.run_until_complete(scenario())


def test_a_parked_request_does_not_stop_the_next_ones(loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> None:
        server = Server(loop)
        peer = await Peer.connect(server.port)
        peer.send(b"park", b"echo")
        await until(lambda: server.parked)
        other = await Peer.connect(server.port)
        assert await other.ask(b"meanwhile") == b"meanwhile"
        connection, slot = server.parked.pop()
        connection.respond(slot, [framed(b"parked")])
        assert await peer.answer() == b"parked"
        assert await peer.answer() == b"echo"
        server.server.close()

    loop.run_until_complete(scenario())


@pytest.mark.parametrize("size", [1, 100_000, 20_000_000])
def test_a_file_is_sent_whole(loop: asyncio.AbstractEventLoop, tmp_path: Path, size: int) -> None:
    async def scenario() -> None:
        server = Server(loop)
        with tempfile.TemporaryFile(dir=tmp_path) as file:
            content = os.urandom(size)
            file.write(b"before" + content + b"after")
            file.flush()
            server.slice = FileSlice(file, 6, size)
            peer = await Peer.connect(server.port)
            peer.send(b"echo", b"file", b"file", b"echo")
            assert await peer.answer() == b"echo"
            assert await peer.answer() == b"<" + content + b">"
            assert await peer.answer() == b"<" + content + b">"
            assert await peer.answer() == b"echo"
            peer.close()
            await until(lambda: server.ended)
        server.server.close()

    loop.run_until_complete(scenario())


def test_a_cold_file_is_read_in_by_a_thread(
    loop: asyncio.AbstractEventLoop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preadv = os.preadv
    cold = [True]

    def cold_once(fd: int, buffers: Any, position: int, flags: int = 0) -> int:
        if flags and cold:
            cold.pop()
            raise BlockingIOError
        return preadv(fd, buffers, position)

    async def scenario() -> None:
        server = Server(loop)
        with tempfile.TemporaryFile(dir=tmp_path) as file:
            file.write(b"x" * 1_000_000)
            file.flush()
            server.slice = FileSlice(file, 0, 1_000_000)
            monkeypatch.setattr(os, "preadv", cold_once)
            peer = await Peer.connect(server.port)
            assert await peer.ask(b"file") == b"<" + b"x" * 1_000_000 + b">"
            assert not cold
            peer.close()
            await until(lambda: server.ended)
        server.server.close()

    loop.run_until_complete(scenario())


@pytest.mark.parametrize("size", [-1, -(2**31), 104_857_601, 2**31 - 1])
def test_a_garbage_size_closes_this_connection_only(loop: asyncio.AbstractEventLoop, size: int) -> None:
    async def scenario() -> None:
        server = Server(loop)
        good, bad = await Peer.connect(server.port), await Peer.connect(server.port)
        bad.writer.write(struct.pack(">i", size) + b"rest")
        assert await bad.is_ended()
        assert await good.ask(b"echo") == b"echo"
        server.server.close()

    loop.run_until_complete(scenario())


def test_http_is_garbage_too(loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> None:
        server = Server(loop)
        peer = await Peer.connect(server.port)
        peer.writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await peer.is_ended()  # "GET " read as a size is over the limit
        server.server.close()

    loop.run_until_complete(scenario())


def test_a_failing_request_closes_its_connection_only(
    loop: asyncio.AbstractEventLoop, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        server = Server(loop)
        good, bad = await Peer.connect(server.port), await Peer.connect(server.port)
        bad.send(b"fail")
        assert await bad.is_ended()
        assert await good.ask(b"echo") == b"echo"
        server.server.close()

    loop.run_until_complete(scenario())
    assert len(caplog.records) == 1


def test_a_reset_is_quiet(loop: asyncio.AbstractEventLoop, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        server = Server(loop)
        peer = await Peer.connect(server.port)
        peer.send(b"park")
        await until(lambda: server.parked)
        peer.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.writer.transport.abort()
        await until(lambda: server.ended)
        connection, slot = server.parked.pop()
        connection.respond(slot, [b"nobody is there"])
        await asyncio.sleep(0)
        server.server.close()

    loop.run_until_complete(scenario())
    assert caplog.records == []


def test_a_client_that_does_not_read_holds_nobody_up(loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> None:
        server = Server(loop)
        lazy = socket.create_connection(("127.0.0.1", server.port))
        lazy.setblocking(False)
        requests = framed(b"e" * 100_000)
        with suppress(BlockingIOError):
            for _ in range(10_000):
                await loop.sock_sendall(lazy, requests) if lazy.send(requests) < len(requests) else None
                if len(server.server.connections) and next(iter(server.server.connections.values()))._writes:
                    break
                await asyncio.sleep(0)
        good = await Peer.connect(server.port)
        assert await good.ask(b"echo") == b"echo"
        lazy.close()
        server.server.close()

    loop.run_until_complete(asyncio.wait_for(scenario(), 30))


def test_idle_connections_are_closed_and_waiting_ones_are_not(loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> None:
        server = Server(loop, connections_max_idle_ms=150, connection_failed_authentication_delay_ms=1)
        idle, waiting, busy = [await Peer.connect(server.port) for _ in range(3)]
        waiting.send(b"park")
        reading = asyncio.create_task(idle.is_ended())
        while not reading.done():
            assert await busy.ask(b"echo") == b"echo"
            await asyncio.sleep(0.01)
        assert await reading
        assert len(server.ended) == 1
        connection, slot = server.parked.pop()
        connection.respond(slot, [framed(b"parked")])
        assert await waiting.answer() == b"parked"
        server.server.close()

    loop.run_until_complete(scenario())


def test_a_connection_that_fails_to_close_and_a_watcher_that_fails_leave_the_sweep_and_the_others_alone(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        server = Server(loop, connections_max_idle_ms=150, connection_failed_authentication_delay_ms=1)

        def fail(_connection: Connection) -> None:
            raise ZeroDivisionError

        server.server._watchers.insert(0, fail)
        peers = [await Peer.connect(server.port) for _ in range(2)]
        for peer in peers:
            assert await peer.ask(b"echo") == b"echo"
        broken = next(iter(server.server.connections.values()))
        original = Connection.close

        def close(self: Connection, reason: str) -> None:
            if self is broken and reason.startswith("idle"):
                raise RuntimeError("nobody foresaw this")
            original(self, reason)

        monkeypatch.setattr(Connection, "close", close)
        assert await peers[1].is_ended()
        assert len(server.ended) == 1
        later = await Peer.connect(server.port)
        assert await later.ask(b"echo") == b"echo"
        assert await later.is_ended()  # by a later sweep
        assert server.server._supervisor.failures["connections"] >= 3
        server.server.close()

    loop.run_until_complete(scenario())
    assert {record.exc_info[0] for record in caplog.records if record.exc_info} == {RuntimeError, ZeroDivisionError}


def test_a_connection_that_cannot_be_served_is_closed_and_the_next_one_accepted(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        server = Server(loop)
        monkeypatch.setattr(type(server.server._limits), "allows_host", lambda *_: 1 // 0)
        refused = await Peer.connect(server.port)
        assert await refused.is_ended()
        monkeypatch.undo()
        peer = await Peer.connect(server.port)
        assert await peer.ask(b"echo") == b"echo"
        peer.close()
        server.server.close()

    loop.run_until_complete(scenario())
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ZeroDivisionError]


def test_at_max_connections_new_ones_wait_for_a_slot(loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> None:
        server = Server(loop, max_connections=2)
        first, second = await Peer.connect(server.port), await Peer.connect(server.port)
        assert await first.ask(b"1") == b"1"
        assert await second.ask(b"2") == b"2"
        third = await Peer.connect(server.port)  # the kernel takes it, the broker does not yet
        third.send(b"3")
        assert await first.ask(b"1") == b"1"
        assert len(server.server.connections) == 2
        first.close()
        assert await third.answer() == b"3"
        server.server.close()

    loop.run_until_complete(scenario())


def test_too_many_from_one_address_are_closed(loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> None:
        server = Server(loop, max_connections_per_ip=1)
        first = await Peer.connect(server.port)
        assert await first.ask(b"1") == b"1"
        second = await Peer.connect(server.port)
        assert await second.is_ended()
        assert await first.ask(b"1") == b"1"
        assert server.server.metrics.refused == 1
        first.close()
        await until(lambda: server.ended)
        assert await (await Peer.connect(server.port)).ask(b"again") == b"again"
        server.server.close()

    loop.run_until_complete(scenario())


def test_names_in_the_overrides_are_looked_up_at_the_start_and_at_each_change(
    loop: asyncio.AbstractEventLoop,
) -> None:
    setting = "max.connections.per.ip.overrides"

    async def ended(server: Server) -> bool:
        """Whether the connections to come are closed."""
        peer = await Peer.connect(server.port)
        peer.send(b"echo")
        is_ended = not await peer.reader.read(1)
        peer.close()
        await until(lambda: not server.server.connections)
        return is_ended

    async def scenario() -> None:
        server = Server(loop, max_connections_per_ip_overrides="localhost:0")
        assert await ended(server)
        await server.server.reconfigure(server.options.override({setting: "localhost:5,10.0.0.1:0"}))
        assert not await ended(server)
        with pytest.raises(ConfigError, match="no host that can be looked up"):
            await server.server.reconfigure(server.options.override({setting: "not..a..host:0"}))
        assert not await ended(server)
        await server.server.reconfigure(server.options.override({setting: "10.0.0.1:5,localhost:0"}))
        assert await ended(server)
        server.server.close()
        with pytest.raises(ConfigError, match="no host that can be looked up"):
            Server(loop, max_connections_per_ip_overrides="not..a..host:0")

    loop.run_until_complete(scenario())


def test_the_inter_broker_listener_pushes_out_an_idle_client(loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> None:
        server = Server(
            loop,
            listeners="PLAINTEXT://127.0.0.1:0,EXTERNAL://127.0.0.1:0",
            listener_security_protocol_map="PLAINTEXT:PLAINTEXT,EXTERNAL:PLAINTEXT",
            max_connections=2,
        )
        older = await Peer.connect(server.ports["PLAINTEXT"])
        assert await older.ask(b"echo") == b"echo"
        client = await Peer.connect(server.ports["EXTERNAL"])
        assert await client.ask(b"echo") == b"echo"
        server.server._served["PLAINTEXT"].connections.copy().popitem()[0].is_active = False
        broker = await Peer.connect(server.ports["PLAINTEXT"])
        assert await broker.ask(b"echo") == b"echo"
        assert await client.is_ended()
        assert await older.ask(b"echo") == b"echo"
        server.server.close()

    loop.run_until_complete(asyncio.wait_for(scenario(), 30))


def test_limits_can_be_raised_while_running(loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> None:
        server = Server(loop, max_connections=1)
        first = await Peer.connect(server.port)
        assert await first.ask(b"1") == b"1"
        second = await Peer.connect(server.port)
        second.send(b"2")
        await first.ask(b"1")
        await server.server.reconfigure(server.options.override({"max.connections": "2"}))
        assert await second.answer() == b"2"
        server.server.close()

    loop.run_until_complete(scenario())


def test_a_removed_listener_ends_its_connections_and_no_others(loop: asyncio.AbstractEventLoop) -> None:
    async def main() -> None:
        both = "PLAINTEXT://127.0.0.1:0,EXTRA://127.0.0.1:0"
        protocols = "PLAINTEXT:PLAINTEXT,EXTRA:PLAINTEXT"
        server = Server(loop, listeners=both, listener_security_protocol_map=protocols)
        stays = await Peer.connect(server.port)
        go = [await Peer.connect(server.ports["EXTRA"]) for _ in range(3)]
        for peer in (stays, *go):
            assert await peer.ask(b"echo 1") == b"echo 1"
        third = f"PLAINTEXT://127.0.0.1:{server.port},THIRD://127.0.0.1:0"
        options = NetOptions.parse(
            {"listeners": third, "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,THIRD:PLAINTEXT"}
        )
        wrong = options.override({"listener.name.third.max.connections": "0"})
        with pytest.raises(ConfigError, match=r"listener\.name\.third\.max\.connections"):
            server.server.relisten(listening_of(wrong).listeners, wrong)
        assert await go[0].ask(b"echo 1") == b"echo 1"
        added = server.server.relisten(listening_of(options).listeners, options)
        for peer in go:
            assert await peer.is_ended()
        assert len(server.ended) == 3
        assert await stays.ask(b"echo 2") == b"echo 2"
        assert await (await Peer.connect(added["THIRD"])).ask(b"echo 3") == b"echo 3"
        server.server.close()
        assert not server.server.connections

    loop.run_until_complete(main())


def test_half_open_requests_cost_little(loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> None:
        server = Server(loop)
        peers = [await Peer.connect(server.port) for _ in range(50)]
        for peer in peers:
            peer.writer.write(struct.pack(">i", 100_000_000) + b"x" * 10)
        await until(lambda: sum(each._receiver._filled for each in server.server.connections.values()) == 500)
        held = sum(len(each._receiver._frame or b"") for each in server.server.connections.values())
        assert held <= 50 * 128 * 1024
        server.server.close()
        assert server.server.pool.used_bytes == 0

    loop.run_until_complete(scenario())


def test_a_port_in_use_is_one_clear_line(loop: asyncio.AbstractEventLoop) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BindFailed) as caught:
            Server(loop, listeners=f"PLAINTEXT://127.0.0.1:{port}")
    assert str(caught.value) == f"listeners: cannot bind PLAINTEXT to 127.0.0.1:{port}: address already in use"


def test_ports_taken_before_the_failure_are_given_back(loop: asyncio.AbstractEventLoop) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(BindFailed):
        Server(
            loop,
            listeners=f"PLAINTEXT://127.0.0.1:{port},B://127.0.0.1:{taken.getsockname()[1]}",
            listener_security_protocol_map="PLAINTEXT:PLAINTEXT,B:PLAINTEXT",
        )
    socket.create_server(("127.0.0.1", port)).close()


def test_an_unknown_host_is_one_clear_line(loop: asyncio.AbstractEventLoop) -> None:
    with pytest.raises(BindFailed, match=r"listeners: cannot bind PLAINTEXT to no\.such\.host\.invalid:1: "):
        Server(loop, listeners="PLAINTEXT://no.such.host.invalid:1")


def test_the_empty_host_listens_everywhere(loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> None:
        server = Server(loop, listeners="PLAINTEXT://:0")
        assert await (await Peer.connect(server.port)).ask(b"v4") == b"v4"
        (connection,) = server.server.connections.values()
        assert connection.peer_host == "127.0.0.1"
        if socket.has_dualstack_ipv6():
            with suppress(OSError):  # a machine without an IPv6 loopback
                assert await (await Peer.connect(server.port, "::1")).ask(b"v6") == b"v6"
        server.server.close()

    loop.run_until_complete(scenario())


def test_the_traffic_shows_in_the_metrics(loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> None:
        server = Server(loop)
        peer = await Peer.connect(server.port)
        await peer.ask(b"echo")
        beans = {reading.mbean: reading.attributes for reading in server.registry.read()}
        name = "kafka.server:type=socket-server-metrics,listener=PLAINTEXT"
        traffic = beans[name + ",networkProcessor=0"]
        assert traffic["connection-count"] == 1
        assert (traffic["request-total"], traffic["response-total"]) == (1, 1)
        assert (traffic["incoming-byte-total"], traffic["outgoing-byte-total"]) == (8, 8)
        assert name in beans
        server.server.close()
        assert list(server.registry.read()) == []

    loop.run_until_complete(scenario())


def test_an_address_that_connects_too_fast_is_kept_unread_and_closed(loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> None:
        server = Server(loop)
        server.addresses.set_limit("127.0.0.1", 1)
        peers = [await Peer.connect(server.port) for _ in range(10)]
        for peer in peers:
            assert await peer.ask(b"echo") == b"echo"
        late = await Peer.connect(server.port)
        late.send(b"echo")
        assert await late.is_ended()
        assert len(server.server.connections) == 10
        accept: Any = {reading.mbean: reading.attributes for reading in server.registry.read()}
        listener = accept["kafka.server:type=socket-server-metrics,listener=PLAINTEXT"]
        assert listener["ip-connection-accept-throttle-time"] > 0
        assert accept["kafka.server:type=socket-server-metrics,ip=127.0.0.1"]["connection-accept-rate"] > 0
        server.server.close()

    loop.run_until_complete(scenario())


def test_a_listener_over_its_rate_accepts_later_and_others_at_once(loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> None:
        server = Server(
            loop,
            listeners="PLAINTEXT://127.0.0.1:0,OTHER://127.0.0.1:0",
            listener_security_protocol_map="PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT",
            listener_name_plaintext_max_connection_creation_rate=10,
        )
        peers = [await Peer.connect(server.port) for _ in range(115)]
        other = await Peer.connect(server.ports["OTHER"])
        assert await other.ask(b"echo") == b"echo"
        for peer in peers:
            assert await peer.ask(b"echo") == b"echo"
        found: Any = {reading.mbean: reading.attributes for reading in server.registry.read()}
        delays = found["kafka.server:type=socket-server-metrics,listener=PLAINTEXT"]["connection-accept-throttle-time"]
        assert delays > 0
        served = server.server._served
        assert served["PLAINTEXT"].acceptor.blocked >= delays * 1e6
        assert served["OTHER"].acceptor.blocked == 0
        server.server.close()

    loop.run_until_complete(scenario())


def test_a_lowered_limit_closes_the_longest_idle_connections(loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> None:
        server = Server(loop)
        peers = [await Peer.connect(server.port) for _ in range(3)]
        for peer in peers:
            assert await peer.ask(b"echo") == b"echo"
        await server.server.reconfigure(NetOptions.parse({**server.options.originals, "max.connections": "1"}))
        await until(lambda: len(server.server.connections) == 1)
        server.server.close()

    loop.run_until_complete(scenario())


def test_a_lowered_limit_closes_no_connection_between_brokers(loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> None:
        server = Server(
            loop,
            listeners="PLAINTEXT://127.0.0.1:0,EXTERNAL://127.0.0.1:0",
            listener_security_protocol_map="PLAINTEXT:PLAINTEXT,EXTERNAL:PLAINTEXT",
        )
        brokers = [await Peer.connect(server.ports["PLAINTEXT"]) for _ in range(2)]
        clients = [await Peer.connect(server.ports["EXTERNAL"]) for _ in range(2)]
        for peer in (*brokers, *clients):
            assert await peer.ask(b"echo") == b"echo"
        await server.server.reconfigure(NetOptions.parse({**server.options.originals, "max.connections": "1"}))
        for client in clients:
            assert await client.is_ended()
        for broker in brokers:
            assert await broker.ask(b"echo") == b"echo"
        server.server.close()

    loop.run_until_complete(asyncio.wait_for(scenario(), 30))


def test_another_address_is_served_before_most_of_those_that_one_opened_at_once(
    loop: asyncio.AbstractEventLoop,
) -> None:
    """Counted, not timed: whose first requests are handled before that of the connection which came last."""
    storm, other, many = "127.0.0.3", "127.0.0.2", 400
    served: list[str] = []

    async def scenario() -> None:
        server = Server(loop, ManualClock())  # turns end by numbers alone, not because other work held this up
        serve = server.on_request

        def on_request(connection: Connection, slot: int, frame: bytearray) -> None:
            served.append(connection.peer_host)
            serve(connection, slot, frame)

        server.server._service = server.server._service._replace(on_request=on_request)
        peers = []
        for address in [storm] * many + [other]:  # all of them are connected before the loop accepts the first one
            peers.append(socket.create_connection(("127.0.0.1", server.port), 10, (address, 0)))
            peers[-1].sendall(framed(b"echo"))
        await until(lambda: len(served) == many + 1)
        for peer in peers:
            peer.close()
        server.server.close()

    loop.run_until_complete(scenario())
    assert served.index(other) < many / 2


def test_a_connection_that_is_closed_before_it_is_read_is_not_begun(loop: asyncio.AbstractEventLoop) -> None:
    async def scenario() -> None:
        server = Server(loop)
        faults: list[dict[str, Any]] = []
        loop.set_exception_handler(lambda _, fault: faults.append(fault))
        peers = [socket.create_connection(("127.0.0.1", server.port), 10) for _ in range(100)]
        while len(server.ended) < 100:
            await until(lambda: server.server.connections)
            for connection in list(server.server.connections.values()):
                connection.close("of a test")
        late = await Peer.connect(server.port)
        assert await late.ask(b"echo") == b"echo"
        assert [peer.recv(1) for peer in peers] == [b""] * 100
        assert faults == []
        for peer in peers:
            peer.close()
        server.server.close()

    loop.run_until_complete(scenario())


def test_all_that_is_done_in_turns_shares_those_of_the_loop(loop: asyncio.AbstractEventLoop) -> None:
    server = Server(loop).server
    turns = server._services.turns
    assert turns.watch is _watches[loop]
    assert server._first_reads._turns is turns
    assert server._stages._short_steps._turns is turns
    server.close()


def test_what_a_tls_stream_holds_takes_its_turns_with_all_others(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[TlsTransport] = []

    class Noted(TlsTransport):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(self)

    def security_of(_endpoint: Endpoint) -> ListenerSecurity:
        return ListenerSecurity(make_tls=server_end(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)))

    monkeypatch.setattr(socket_server, "TlsTransport", Noted)
    server = Server(loop, security_of=security_of).server
    with socket.create_connection(("127.0.0.1", server._served["PLAINTEXT"].listener.port)):
        while not made:
            loop.run_until_complete(asyncio.sleep(0))
    assert made[0]._defer == server._services.turns.defer
    server.close()
