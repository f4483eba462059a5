"""One listening socket: bound at start, accepting when asked to, held back while there are too many connections.

Knows addresses and sockets; what becomes of a connection is socket_server.py's to say.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
from collections.abc import Callable

from kafka_py.net.endpoints import Endpoint, bracketed
from kafka_py.net.network import ListeningSocket, Network

ACCEPTS_A_TURN = 512
ACCEPT_TURN_S = 0.002
"""New connections taken before others get their turn, and for how long. The system's queue of a listener is one for all
addresses, so it is emptied faster than the connections that were in it are served."""
OUT_OF_FILES_PAUSE_MS = 500

_log = logging.getLogger(__name__)

_OUT_OF_RESOURCES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

Admit = Callable[[], float | None]
"""Asked before each accept: 0 to go ahead, a delay in ms, or None to wait until `Listener.resume`."""
OnAccept = Callable[[socket.socket, str, int], None]
"""(connected socket, peer's address, peer's port)."""


class BindFailed(Exception):
    """A listener's address cannot be bound; says which one and why, in one line."""


class Listener:
    """Accepts connections for one endpoint.

    `bind` takes the port; clients may connect from then on, but are not served before `start`.
    """

    def __init__(
        self, endpoint: Endpoint, loop: asyncio.AbstractEventLoop, network: Network, admit: Admit, on_accept: OnAccept,
        *, urgent: set[int], now_s: Callable[[], float],
    ) -> None:  # fmt: skip
        """urgent: gets the descriptor while the port is bound, see loop.py. now_s: the monotonic time."""
        self.endpoint = endpoint
        self.port = endpoint.port
        """The bound one, once bound."""
        self._loop = loop
        self._network = network
        self._admit = admit
        self._on_accept = on_accept
        self._urgent = urgent
        self._now_s = now_s
        self._socket: ListeningSocket | None = None
        self._accepts = False
        self._retry: asyncio.TimerHandle | None = None

    def bind(self) -> int:
        """Take the port and return it. Raises BindFailed."""
        host, port = self.endpoint.host, self.endpoint.port
        try:
            listening = self._network.listen(host, port)
        except (OSError, UnicodeError) as error:
            code = getattr(error, "errno", None) or 0
            reason = os.strerror(code) if code > 0 else str(error)  # name look-ups fail with negative codes
            shown = f"{bracketed(host) or '0.0.0.0'}:{port}"
            raise BindFailed(
                f"listeners: cannot bind {self.endpoint.listener_name} to {shown}: {reason.lower()}"
            ) from None
        self._socket = listening
        self._urgent.add(listening.fileno())
        self.port = listening.getsockname()[1]
        return self.port

    def start(self) -> None:
        """Begin to accept."""
        _log.info("Awaiting socket connections on %s:%d.", self.endpoint.host or "0.0.0.0", self.port)
        self.resume()

    def resume(self) -> None:
        """Accept again, after the limits or a lack of file descriptors held it back."""
        self._retry = None
        if self._socket is not None and not self._accepts:
            self._accepts = True
            self._loop.add_reader(self._socket.fileno(), self._on_acceptable)

    def _hold(self, delay_ms: float | None) -> None:
        if self._socket is None:
            return
        if self._accepts:
            self._accepts = False
            self._loop.remove_reader(self._socket.fileno())
        if delay_ms is not None and self._retry is None:
            self._retry = self._loop.call_later(delay_ms / 1000.0, self.resume)

    def _on_acceptable(self) -> None:
        ends_s = self._now_s() + ACCEPT_TURN_S
        for number in range(ACCEPTS_A_TURN):
            if self._socket is None or (number and self._now_s() >= ends_s):
                return
            delay_ms = self._admit()
            if delay_ms is None or delay_ms > 0:
                self._hold(delay_ms)
                return
            try:
                connected, address = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                unforeseen = None if error.errno in _OUT_OF_RESOURCES else error
                _log.error(
                    "Listener %s cannot accept, trying again: %s", self.endpoint.listener_name, error,
                    exc_info=unforeseen,
                )  # fmt: skip
                self._hold(OUT_OF_FILES_PAUSE_MS)
                return
            try:
                self._on_accept(connected, plain_address(address[0]), address[1])
            except Exception:
                _log.exception("Listener %s could not serve a connection, which is closed", self.endpoint.listener_name)
                connected.close()

    def close(self) -> None:
        """Give the port back; accepted connections live on."""
        if self._retry is not None:
            self._retry.cancel()
        self._hold(None)
        if self._socket is not None:
            self._urgent.discard(self._socket.fileno())
            self._socket.close()
            self._socket = None


def plain_address(host: str) -> str:
    """An IPv4 address that came in over an IPv6 socket, as IPv4; others as they are."""
    return host.removeprefix("::ffff:") if "." in host else host
