"""The client's side of a protected connection: what `BrokerConnection.connect` does after the socket is connected.

Source: SslChannelBuilder; SaslClientAuthenticator; KIP-152.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.net.secured.handshakes import Handshake, HandshakeFailed
from kafka_py.net.secured.tls_transport import FileBuffer, MakeTls, TlsTransport

if TYPE_CHECKING:
    from kafka_py.net.client import BrokerConnection


LogIn = Callable[["BrokerConnection"], Awaitable[float | None]]

RENEWAL_S = 30.0
"""As long as the renewal of a session may take."""

_log = logging.getLogger(__name__)


class ConnectionSecurity(NamedTuple):
    """How a client's connections are protected.

    tls_to: (host) -> makes the client's end of a TLS session with it; None without TLS.
    log_in: the first exchange on a connection; in how many ms it has to be repeated, None: never. Raises
        AuthenticationFailed, ConnectionLost. None without logins.
    executor: for the cryptography of handshakes; None for the default executor of the loop.
    """

    tls_to: Callable[[str], MakeTls] | None = None
    log_in: LogIn | None = None
    executor: Executor | None = None


class ConnectionSession:
    """The login of a connection, repeated before its session ends (KIP-368).

    While it is repeated no other request may be sent. on_renewal: tells the owner of the connection, who sends without
    waiting for `settled`.
    """

    __slots__ = ("_connection", "_log_in", "_renewing", "_timer", "on_renewal")

    def __init__(self, connection: BrokerConnection, log_in: LogIn) -> None:
        self._connection = connection
        self._log_in = log_in
        self._timer: asyncio.TimerHandle | None = None
        self._renewing: asyncio.Task[None] | None = None
        self.on_renewal: Callable[[asyncio.Task[None]], None] | None = None

    async def begin(self) -> None:
        """Raises AuthenticationFailed, ConnectionLost."""
        wait_ms = await self._log_in(self._connection)
        if wait_ms is not None and not self._connection.closed:
            self._timer = asyncio.get_running_loop().call_later(wait_ms / 1000.0, self._renew)

    def _renew(self) -> None:
        task = self._renewing = asyncio.get_running_loop().create_task(self._begin_again())
        if self.on_renewal is not None:
            self.on_renewal(task)

    async def _begin_again(self) -> None:
        connection = self._connection
        try:
            await connection.answered()  # its time does not pass while a JoinGroup before it waits for other members
            if connection.closed:  # as a consumer that is closed while it joins
                return
            async with asyncio.timeout(RENEWAL_S):
                await self.begin()
        except Exception as error:
            is_foreseen = isinstance(error, OSError)  # TimeoutError is one
            _log.error("%r: its session could not be renewed: %s", connection, error, exc_info=not is_foreseen)
            connection.close("its session could not be renewed")
        finally:
            self._renewing = None

    async def settled(self) -> None:
        """Returns when the session is not being renewed; at once for the requests of the renewal itself."""
        if self._renewing is not None and asyncio.current_task() is not self._renewing:
            await asyncio.wait([self._renewing])

    def cancel(self) -> None:
        """The connection is closed."""
        if self._timer is not None:
            self._timer.cancel()


async def encrypted(connected: socket.socket, make: MakeTls, executor: Executor | None) -> TlsTransport:
    """The socket as an encrypted stream. Raises HandshakeFailed, and closes the socket then; waits as long as asked."""
    loop = asyncio.get_running_loop()
    transport = TlsTransport(connected, make, loop, FileBuffer())
    secured: asyncio.Future[None] = loop.create_future()
    handshake = Handshake(transport, loop, executor, is_server=False)

    def done(error: HandshakeFailed | None = None) -> None:
        if secured.done():  # the caller was cancelled in the same turn of the event loop
            return
        if error is None:
            secured.set_result(None)
        else:
            secured.set_exception(error)

    handshake.start(done, done)
    try:
        await secured
    except BaseException:
        handshake.cancel()
        transport.close()
        raise
    return transport
