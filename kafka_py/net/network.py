"""Where sockets come from: TCP here; a simulated network in tests takes its place.

Knows addresses; nothing of requests. Data is sent and received through the sockets themselves.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from typing import Any, Protocol

BACKLOG = 4096
"""Places of the queue of connections that are not accepted yet; the system may allow fewer (net.core.somaxconn)."""


class ListeningSocket(Protocol):
    """What a listener needs of its socket; a plain non-blocking socket is one."""

    def fileno(self) -> int: ...

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connected socket and (address, port, ...) of its peer. Raises BlockingIOError, OSError."""
        ...

    def getsockname(self) -> Any:
        """(address, port, ...) bound."""
        ...

    def close(self) -> None: ...


class Network(Protocol):
    """What a broker and a client need of the world outside."""

    def listen(self, host: str, port: int) -> ListeningSocket:
        """Take a port (0: any free one). Raises OSError, UnicodeError."""
        ...

    async def connect(
        self, host: str, port: int, *, send_buffer_bytes: int = -1, receive_buffer_bytes: int = -1
    ) -> socket.socket:
        """A connected non-blocking socket, from the running loop. Raises OSError, UnicodeError."""
        ...

    def accepted(self, connected: socket.socket, send_buffer_bytes: int, receive_buffer_bytes: int) -> tuple[str, int]:
        """Make an accepted socket ready; its own (address, port). Raises OSError when it is closed again already."""
        ...


class TcpNetwork:
    """The operating system's."""

    def listen(self, host: str, port: int) -> ListeningSocket:
        listening = _bound(host, port)
        listening.setblocking(False)
        return listening

    async def connect(
        self, host: str, port: int, *, send_buffer_bytes: int = -1, receive_buffer_bytes: int = -1
    ) -> socket.socket:
        """The first address of `host` that answers; raises the last one's OSError."""
        loop = asyncio.get_running_loop()
        failure = OSError(f"{host} has no address")
        for family, kind, protocol, _, address in await _addresses(loop, host, port):
            connecting = socket.socket(family, kind, protocol)
            try:
                connecting.setblocking(False)
                tune(connecting, send_buffer_bytes, receive_buffer_bytes)
                await loop.sock_connect(connecting, address)
                return connecting
            except OSError as error:
                connecting.close()
                failure = error
            except BaseException:
                connecting.close()
                raise
        raise failure

    def accepted(self, connected: socket.socket, send_buffer_bytes: int, receive_buffer_bytes: int) -> tuple[str, int]:
        tune(connected, send_buffer_bytes, receive_buffer_bytes)
        host, port = connected.getsockname()[:2]
        return host, port


def tune(connected: socket.socket, send_buffer_bytes: int, receive_buffer_bytes: int) -> None:
    """Small answers leave at once, dead peers are found, buffers are as configured (-1: the system's)."""
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if send_buffer_bytes >= 0:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)
    if receive_buffer_bytes >= 0:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)


def address_of(host: str) -> str:
    """The address of a host, as connections from it have it; waits for the look-up. Raises OSError, UnicodeError."""
    return str(_java_choice(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM))[4][0])


def _java_choice(found: list[Any]) -> Any:
    """Of the addresses of a name: like Java, a name with both kinds of address means the IPv4 one."""
    return min(found, key=lambda each: each[0] != socket.AF_INET)


def _bound(host: str, port: int) -> socket.socket:
    if not host and socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("", port), family=socket.AF_INET6, backlog=BACKLOG, dualstack_ipv6=True)
        except OSError as error:
            if error.errno not in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
                raise  # else: a kernel that knows IPv6 on a machine that has none
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, address = _java_choice(found)
    return socket.create_server(address[:2], family=family, backlog=BACKLOG)


async def _addresses(loop: asyncio.AbstractEventLoop, host: str, port: int) -> list[Any]:
    # As bytes where it can be: text would load the codec of international names, which takes as long as connecting.
    name: str | bytes = host.encode() if host.isascii() else host
    try:  # a numeric address needs no look-up, and so no thread
        return socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        return list(await loop.getaddrinfo(name, port, type=socket.SOCK_STREAM))
