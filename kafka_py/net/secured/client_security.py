"""The client's side of a protected connection: what `BrokerConnection.connect` does after the socket is connected.

Source: SslChannelBuilder; SaslClientAuthenticator; KIP-152.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.net.secured.handshakes import Handshake
from kafka_py.net.secured.tls_transport import FileBuffer, MakeTls, TlsTransport

if TYPE_CHECKING:
    from kafka_py.net.client import BrokerConnection


class ConnectionSecurity(NamedTuple):
    """How a client's connections are protected.

    tls_to: (host) -> makes the client's end of a TLS session with it; None without TLS.
    log_in: the first exchange on a connection; raises AuthenticationFailed, ConnectionLost; None without logins.
    executor: for the cryptography of handshakes; None for the default executor of the loop.
    """

    tls_to: Callable[[str], MakeTls] | None = None
    log_in: Callable[[BrokerConnection], Awaitable[None]] | None = None
    executor: Executor | None = None


async def encrypted(connected: socket.socket, make: MakeTls, executor: Executor | None) -> TlsTransport:
    """The socket as an encrypted stream. Raises HandshakeFailed, and closes the socket then; waits as long as asked."""
    loop = asyncio.get_running_loop()
    transport = TlsTransport(connected, make, loop, FileBuffer())
    secured: asyncio.Future[None] = loop.create_future()
    handshake = Handshake(transport, loop, executor, is_server=False)
    handshake.start(lambda: secured.set_result(None), secured.set_exception)
    try:
        await secured
    except BaseException:
        handshake.cancel()
        transport.close()
        raise
    return transport
