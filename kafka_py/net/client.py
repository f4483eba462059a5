"""A connection to a broker, seen from the client: requests out, responses back in the same order.

Requests may be sent without waiting for earlier answers. Used by clients, by the controller's channels and by replica
fetchers. Knows how messages are framed and encoded; nothing of brokers, retries or time-outs of a single request.
Source: docs/reference/protocol.md, sections 1 and 2; KIP-35, KIP-511 (ApiVersions).
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from collections import deque
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from kafka_py.base.clock import SYSTEM_CLOCK, Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.turns import finish, run_turn
from kafka_py.net.cold_reads import ColdReads
from kafka_py.net.connection_failures import (
    OTHER_PROTOCOL,
    UNSERVED,
    AuthenticationFailed,
    ConnectionLost,
    of_handshake,
)
from kafka_py.net.endpoints import bracketed
from kafka_py.net.frames_in import DIRECT_BYTES, FrameReceiver, InvalidFrame, MemoryPool, PeerClosed, is_tls
from kafka_py.net.frames_out import Flushed, FrameSender, Part
from kafka_py.net.network import Network, TcpNetwork
from kafka_py.net.secured.client_security import ConnectionSecurity, ConnectionSession, LogIn, encrypted
from kafka_py.net.secured.handshakes import HandshakeFailed, explained
from kafka_py.net.transport import PlaintextTransport, Transport
from kafka_py.wire.apis import APIS, ApiKey, api_of
from kafka_py.wire.frames import (
    LARGE_FRAME_BYTES,
    decode_response,
    decode_response_in_turns,
    encode_request,
    encode_request_in_turns,
    put_correlation_id,
    read_correlation_id,
)
from kafka_py.wire.primitives import MalformedMessage
from kafka_py.wire.schema import schema_of

SOFTWARE_NAME = "kafka-py"
RECEIVE_BUFFER_BYTES = 2 * DIRECT_BYTES
MOST_RESPONSE_BYTES = (1 << 31) - 1
READS_IN_A_ROW = 16
_SIZE_FIELD = 4

_log = logging.getLogger(__name__)


NO_SECURITY = ConnectionSecurity()


class _Awaited(NamedTuple):
    """A request that is on its way."""

    correlation_id: int
    version: int
    response: type[Any]
    future: asyncio.Future[Any]


class BrokerConnection:
    """One open connection; made by `connect`, unusable after the first failure.

    versions: what `negotiate` found: API key -> (lowest, highest version) of the broker.
    last_request_size: of the request that was sent last; bytes_received: of all responses. Both with their size fields.
    """

    __slots__ = (
        "_awaited", "_correlation_id", "_decoding", "_fileno", "_flushing_soon", "_loop", "_now_ms", "_ready",
        "_receiver", "_sender", "_transport", "_undecoded", "_unserved_bytes", "_writes", "bytes_received",
        "client_id", "closed", "host", "last_request_size", "on_end", "port", "session", "versions",
    )  # fmt: skip

    def __init__(
        self, transport: Transport, loop: asyncio.AbstractEventLoop, *, host: str, port: int, client_id: str | None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:  # fmt: skip
        self.host, self.port = host, port
        self.client_id = client_id
        self.closed = False
        self.last_request_size = self.bytes_received = 0
        self._unserved_bytes = 0  # received before anything but ApiVersions was answered
        self.versions: dict[ApiKey, tuple[int, int]] = {}
        self._loop = loop
        self._now_ms = clock.monotonic_ms
        self._transport = transport
        self._fileno = transport.fileno
        self._receiver = FrameReceiver(
            transport.recv_into, memoryview(bytearray(RECEIVE_BUFFER_BYTES)), MOST_RESPONSE_BYTES, MemoryPool(),
            lambda _key, size: OTHER_PROTOCOL if is_tls(size) else None,
        )  # fmt: skip
        self._sender = FrameSender(transport, ColdReads(loop), self._flush)
        self._awaited: deque[_Awaited] = deque()
        self._decoding: Generator[None, None, tuple[int, Any]] | None = None
        self._undecoded: deque[bytearray] = deque()  # frames that arrived while one before them is being decoded
        self._correlation_id = 0
        self._flushing_soon = self._writes = False
        self.session: ConnectionSession | None = None
        self.on_end: Callable[[str], object] = _forget
        """Called once, with the reason, when the connection has ended."""
        self._ready = transport.readiness or loop
        self._ready.add_reader(self._fileno, self._on_readable)

    @classmethod
    async def connect(
        cls, host: str, port: int, *, client_id: str | None = "", timeout_ms: float = 30_000.0,
        send_buffer_bytes: int = -1, receive_buffer_bytes: int = -1, network: Network | None = None,
        clock: Clock = SYSTEM_CLOCK, security: ConnectionSecurity = NO_SECURITY,
    ) -> BrokerConnection:  # fmt: skip
        """Open a connection on the running loop; the addresses of a name are tried one after the other.

        Raises ConnectionLost when none answers, or not within `timeout_ms`; AuthenticationFailed.
        """
        loop = asyncio.get_running_loop()
        where = f"{bracketed(host)}:{port}"
        try:
            async with asyncio.timeout(timeout_ms / 1000.0):
                connected = await (network or TcpNetwork()).connect(
                    host, port, send_buffer_bytes=send_buffer_bytes, receive_buffer_bytes=receive_buffer_bytes
                )
                transport: Transport
                if security.tls_to is None:
                    transport = PlaintextTransport(connected)
                else:
                    transport = await encrypted(connected, security.tls_to(host), security.executor)
                connection = cls(transport, loop, host=host, port=port, client_id=client_id, clock=clock)
                if security.log_in is not None:
                    await connection._log_in(security.log_in)
                return connection
        except TimeoutError:
            raise ConnectionLost(f"connecting to {where} took longer than {timeout_ms:.0f} ms") from None
        except ConnectionLost:
            raise
        except HandshakeFailed as error:
            raise of_handshake(where, error) from error
        except (OSError, UnicodeError) as error:
            code = getattr(error, "errno", None) or 0
            reason = os.strerror(code) if code > 0 else str(error)  # name look-ups fail with negative codes
            raise ConnectionLost(f"cannot connect to {where}: {reason}") from error

    async def _log_in(self, log_in: LogIn) -> None:
        session = ConnectionSession(self, log_in)
        try:
            await session.begin()
        except BaseException:
            self.close("the login was not successful")
            raise
        self.session = session

    def __repr__(self) -> str:
        return f"<BrokerConnection {bracketed(self.host)}:{self.port}>"

    @property
    def in_flight(self) -> int:
        """Requests without an answer so far."""
        return len(self._awaited)

    @property
    def unsent_bytes(self) -> int:
        """What the socket has not taken yet; who sends without waiting for answers stops while it grows."""
        return self._sender.held_bytes

    async def answered(self) -> None:
        """Returns when the requests sent so far are answered, or the connection is closed."""
        if futures := [each.future for each in self._awaited if not each.future.done()]:
            await asyncio.wait(futures)

    # ---- out

    async def send(self, request: Any, version: int) -> Any:
        """The broker's response. A large request is encoded in turns with other work. Raises ConnectionLost."""
        frame = await finish(encode_request_in_turns(request, version, 0, self.client_id), self._now_ms)
        if self.session is not None:
            await self.session.settled()
        if self.closed:
            raise ConnectionLost(f"{self!r} is closed")
        correlation_id = self._next_correlation_id()
        put_correlation_id(frame, correlation_id)  # only now: others may have been sent meanwhile
        return await self._put(frame, request, version, correlation_id)

    def send_nowait(self, request: Any, version: int) -> asyncio.Future[Any]:
        """Send without waiting; the future gets the response, or ConnectionLost.

        What is sent in one turn of the loop leaves together.
        """
        if self.closed:
            future: asyncio.Future[Any] = self._loop.create_future()
            future.set_exception(ConnectionLost(f"{self!r} is closed"))
            return future
        correlation_id = self._next_correlation_id()
        frame = encode_request(request, version, correlation_id, self.client_id)
        return self._put(frame, request, version, correlation_id)

    def send_and_forget(self, request: Any, version: int) -> None:
        """Send a request that has no response: a produce with acks=0. On a closed connection it is lost silently."""
        if not self.closed:
            frame = encode_request(request, version, self._next_correlation_id(), self.client_id)
            self.last_request_size = len(frame)
            self.put_frame(frame)

    def _next_correlation_id(self) -> int:
        correlation_id = self._correlation_id
        self._correlation_id = (correlation_id + 1) & 0x7FFFFFFF
        return correlation_id

    def _put(self, frame: Part, request: Any, version: int, correlation_id: int) -> asyncio.Future[Any]:
        """Queues a request; the future gets its response."""
        future: asyncio.Future[Any] = self._loop.create_future()
        self.last_request_size = len(frame)
        self.put_frame(frame)
        key = schema_of(type(request)).api
        assert key is not None
        self._awaited.append(_Awaited(correlation_id, version, api_of(key).response, future))
        return future

    def put_frame(self, frame: Part) -> None:
        """Queue bytes that are framed already."""
        self._sender.parts.append(frame)
        if not self._flushing_soon and not self._writes:
            self._flushing_soon = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing_soon = False
        if self.closed:
            return
        try:
            blocked = self._sender.flush() is Flushed.BLOCKED
        except OSError as error:
            self._end(str(error))
            return
        if blocked is not self._writes:
            self._writes = blocked
            if blocked:
                self._ready.add_writer(self._fileno, self._flush)
            else:
                self._ready.remove_writer(self._fileno)

    # ---- in

    def _on_readable(self) -> None:
        """Reads until nothing is left: for a connection that was reset uvloop calls once and never again, so the
        error after the last data would not be seen, and requests in flight would wait forever."""
        if self._decoding is not None:
            return
        receiver = self._receiver
        try:
            for _ in range(READS_IN_A_ROW):
                if self.closed:
                    return
                self._undecoded += receiver.receive()
                if not self._decode():
                    self._ready.remove_reader(self._fileno)
                    self._loop.call_soon(self._decode_on)
                    return
                if receiver.failure is not None:
                    self._end_unreadable(receiver.failure)
                    return
        except (BlockingIOError, InterruptedError):
            return
        except ssl.SSLError as error:  # with TLS 1.3 a certificate is refused after the client's side is complete
            failure = ConnectionLost if self.bytes_received else AuthenticationFailed  # later ones: the network's
            self._end(f"SSL handshake failed or broken off: {explained(error)}", failure)
        except OSError as error:
            self._end(self._explained(error))
        except MalformedMessage as error:
            self._end(f"the broker sent what cannot be read: {error}")
        except Exception as error:
            self._end_unforeseen(error)
        else:
            self._loop.call_soon(self._on_readable)  # others on the loop first

    def _explained(self, error: OSError) -> str:
        """Brokers say nothing to bytes of another protocol, or to requests before a login: they only close."""
        is_end = isinstance(error, (PeerClosed, ConnectionResetError))
        return f"{error}{UNSERVED if is_end and self.bytes_received == self._unserved_bytes else ''}"

    def _decode(self) -> bool:
        """Answers what has arrived, in order; False when a large response needs more turns than this one."""
        undecoded = self._undecoded
        while undecoded and not self.closed:
            frame = undecoded[0]
            awaited = self._awaited_by(frame)
            if len(frame) < LARGE_FRAME_BYTES:
                _, message = decode_response(awaited.response, awaited.version, frame)
            else:
                if self._decoding is None:
                    self._decoding = decode_response_in_turns(awaited.response, awaited.version, frame)
                done = run_turn(self._decoding, self._now_ms)
                if done is None:
                    return False
                self._decoding = None
                _, message = done.value
            undecoded.popleft()
            self.bytes_received += len(frame) + _SIZE_FIELD
            self._awaited.popleft()  # only now: one that cannot be read must fail its future too
            if not awaited.future.done():
                awaited.future.set_result(message)
        return True

    def _awaited_by(self, frame: bytearray) -> _Awaited:
        correlation_id = read_correlation_id(frame)
        if not self._awaited or self._awaited[0].correlation_id != correlation_id:
            raise MalformedMessage(f"a response to request {correlation_id}, which is not the oldest in flight")
        return self._awaited[0]

    def _decode_on(self) -> None:
        """The next turn of a large response; reading continues when it is decoded."""
        if self.closed:
            return
        try:
            if not self._decode():
                self._loop.call_soon(self._decode_on)
                return
        except MalformedMessage as error:
            self._end(f"the broker sent what cannot be read: {error}")
            return
        except Exception as error:
            self._end_unforeseen(error)
            return
        if self._receiver.failure is not None:
            self._end_unreadable(self._receiver.failure)
        elif not self.closed:
            self._ready.add_reader(self._fileno, self._on_readable)
            self._loop.call_soon(self._on_readable)

    def _end_unreadable(self, problem: InvalidFrame) -> None:
        failure = AuthenticationFailed if str(problem) == OTHER_PROTOCOL else ConnectionLost
        self._end(f"the broker sent what cannot be read: {problem}", failure)

    def _end_unforeseen(self, error: Exception) -> None:
        """Fails the requests in flight, whose callers would otherwise wait forever."""
        _log.error("%r: a response could not be taken", self, exc_info=error)
        self._end(f"a response could not be taken: {error!r}")

    # ---- versions

    async def negotiate(self, software_version: str = "1") -> dict[ApiKey, tuple[int, int]]:
        """Ask the broker what it speaks; the answer is also kept in `versions`.

        A broker that does not know our newest ApiVersions is asked in the oldest. Raises KafkaError, ConnectionLost.
        """
        api = APIS[ApiKey.API_VERSIONS]
        request = api.request(client_software_name=SOFTWARE_NAME, client_software_version=software_version)
        response = await self.send(request, api.max_version)
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
            response = await self.send(api.request(), api.min_version)
        if response.error_code:
            code = next((each for each in ErrorCode if each == response.error_code), ErrorCode.UNKNOWN_SERVER_ERROR)
            raise KafkaError(code, f"{self!r} does not say which versions it speaks (error {response.error_code})")
        self._unserved_bytes = self.bytes_received
        known = {int(key) for key in ApiKey}
        self.versions = {
            ApiKey(each.api_key): (each.min_version, each.max_version)
            for each in response.api_keys
            if each.api_key in known
        }
        return self.versions

    # ---- end

    def close(self, reason: str = "closed by this side") -> None:
        """End it; requests in flight fail with ConnectionLost."""
        self._end(reason)

    def _end(self, reason: str, failure: type[ConnectionLost] = ConnectionLost) -> None:
        if self.closed:
            return
        self.closed = True
        _log.debug("%r ended: %s", self, reason)
        self._ready.remove_reader(self._fileno)
        if self._writes:
            self._ready.remove_writer(self._fileno)
        if self.session is not None:
            self.session.cancel()
        self._receiver.close()
        self._undecoded.clear()
        self._decoding = None
        self._sender.close()
        self._transport.close()
        while self._awaited:
            future = self._awaited.popleft().future
            if not future.done():
                future.set_exception(failure(f"{bracketed(self.host)}:{self.port}: {reason}"))
        self.on_end(reason)


def _forget(_reason: str) -> None:
    """Nothing depends on the end of the connection."""
