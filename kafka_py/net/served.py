"""What belongs to one listener of a broker: the socket, its connections, its metrics, its protection.

Knows nothing of other listeners, nor of how connections are accepted; that is socket_server.py's.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_py.base.meters import MetricRegistry
from kafka_py.net.connection import Connection
from kafka_py.net.limits import ConnectionLimits
from kafka_py.net.listener import Listener
from kafka_py.net.metrics import AcceptMetrics, AcceptorMetrics, CipherMetrics, SocketMetrics
from kafka_py.net.secured.stages import ListenerSecurity


class Served:
    """What belongs to one listener. security: how its connections are protected; None: not at all."""

    __slots__ = (
        "_ciphers", "_gone_receives", "_gone_sends", "_limits", "_registry", "_sessions", "accept", "acceptor",
        "connections", "held_since_ms", "listener", "name", "security", "traffic",
    )  # fmt: skip

    def __init__(
        self, registry: MetricRegistry, name: str, limits: ConnectionLimits, listen: Callable[[Served], Listener],
        security: ListenerSecurity | None,
    ) -> None:  # fmt: skip
        self.name = name
        self.security = security
        self._limits = limits
        self._registry = registry
        self._sessions: dict[Connection, tuple[str, str]] = {}  # cipher suite and version, of those with TLS
        self._ciphers: dict[tuple[str, str], CipherMetrics] = {}
        self.connections: dict[Connection, None] = {}
        self._gone_receives = 0
        self._gone_sends = 0
        self.traffic = SocketMetrics(registry, self, listener=name, networkProcessor="0")
        self.accept = AcceptMetrics(registry, listener=name)
        self.acceptor = AcceptorMetrics(registry, listener=name)
        self.held_since_ms: float | None = None
        self.listener = listen(self)

    def open_connections(self) -> int:
        """As the limits count them."""
        return self._limits.open_connections(self.name)

    def secured(self, connection: Connection, session: tuple[str, str]) -> None:
        """The handshake of a connection is complete. session: cipher suite and version."""
        self._sessions[connection] = session
        self._count(session, 1)

    def _count(self, session: tuple[str, str], change: int) -> None:
        table = self._ciphers.get(session)
        if table is None:
            tags = {"cipher": session[0], "protocol": session[1], "listener": self.name, "networkProcessor": "0"}
            table = self._ciphers[session] = CipherMetrics(self._registry, **tags)
        table.connections += change
        if not table.connections:
            self._ciphers.pop(session).close()

    def forget(self, connection: Connection) -> None:
        """The connection has ended."""
        del self.connections[connection]
        session = self._sessions.pop(connection, None)
        if session is not None:
            self._count(session, -1)
        self._gone_receives += connection.received_requests
        self._gone_sends += connection.sent_responses

    def count_requests(self) -> None:
        """The counts of connections are added up when the metrics are read."""
        traffic = self.traffic
        traffic.receives = self._gone_receives + sum(each.received_requests for each in self.connections)
        traffic.sends = self._gone_sends + sum(each.sent_responses for each in self.connections)

    def close(self) -> None:
        self.listener.close()
        for table in (self.traffic, self.accept, self.acceptor):
            table.close()
