"""One connection per broker: opened when first needed, opened again with back-off, closed when idle.

Knows nodes, versions and time-outs; nothing of topics. The bytes are net/client.py's business.
Source: reconnect.backoff.*, socket.connection.setup.timeout.*, connections.max.idle.ms of the Java clients; KIP-144.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import kafka_py
from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.configs import ClientOptions
from kafka_py.clients.metadata import Node
from kafka_py.net.client import BrokerConnection, ConnectionLost
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.schema import schema_of

JITTER = 0.2
"""Waits before reconnecting are drawn from 20 % around their value, so that clients do not come back all at once."""

Connect = Callable[[Node, float], Awaitable[BrokerConnection]]
"""From (node, time-out in ms) to an open, negotiated connection."""


class NodeConnection:
    """An open connection with what the client needs to know of it."""

    __slots__ = ("_loop", "_request_timeout_s", "_versions", "last_used", "node", "wire")

    def __init__(self, node: Node, wire: BrokerConnection, request_timeout_ms: float) -> None:
        self.node = node
        self.wire = wire
        self._loop = asyncio.get_running_loop()
        self._request_timeout_s = request_timeout_ms / 1000
        self._versions: dict[type, int] = {}
        self.last_used = self._loop.time()

    @property
    def is_open(self) -> bool:
        return not self.wire.closed

    @property
    def in_flight(self) -> int:
        """Requests sent and not answered."""
        return self.wire.in_flight

    @property
    def unsent_bytes(self) -> int:
        """What the socket has not taken yet."""
        return self.wire.unsent_bytes

    def version_for(self, request: type) -> int:
        """The newest version of the request that both sides know.

        Raises KafkaError(UNSUPPORTED_VERSION) when there is none.
        """
        version = self._versions.get(request)
        if version is None:
            key = schema_of(request).api
            assert key is not None
            version = self._versions[request] = self._negotiated(key)
        return version

    def _negotiated(self, key: ApiKey) -> int:
        theirs = self.wire.versions.get(key)
        ours = APIS[key]
        if theirs is not None:
            version = min(ours.max_version, theirs[1])
            if version >= max(ours.min_version, theirs[0]):
                return version
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION, f"the broker at {self.node} has no version of {ours.name} that we know"
        )

    def send(
        self, request: Any, *, version: int | None = None, timeout_ms: float | None = None
    ) -> asyncio.Future[Any]:
        """Sends at once; the future holds the response, or ConnectionLost.

        An answer that does not come in time costs the connection, for the ones behind it cannot come either.
        """
        self.last_used = self._loop.time()
        if version is None:
            version = self.version_for(type(request))
        future = self.wire.send_nowait(request, version)
        timeout_s = self._request_timeout_s if timeout_ms is None else timeout_ms / 1000
        timer = self._loop.call_later(timeout_s, self._give_up, future)
        future.add_done_callback(lambda _future: timer.cancel())
        return future

    def send_and_forget(self, request: Any) -> None:
        """Sends a request that the broker does not answer: a produce with acks=0."""
        self.last_used = self._loop.time()
        self.wire.send_and_forget(request, self.version_for(type(request)))

    def _give_up(self, future: asyncio.Future[Any]) -> None:
        if not future.done():
            self.wire.close("a request was not answered within request.timeout.ms")

    def close(self) -> None:
        self.wire.close("the client closed it")


class Link:
    """What is remembered of one node, connected or not."""

    __slots__ = ("connecting", "connection", "failures", "retry_at")

    def __init__(self) -> None:
        self.connection: NodeConnection | None = None
        self.connecting: asyncio.Task[NodeConnection] | None = None
        self.failures = 0
        self.retry_at = 0.0


class Connections:
    """All connections of one client.

    connect: opens and negotiates one connection; handed in so that tests need no sockets.
    """

    def __init__(
        self, options: ClientOptions, client_id: str, clock: Clock, connect: Connect | None = None
    ) -> None:
        self._options = options
        self._client_id = client_id
        self._clock = clock
        self._connect = connect or self._connect_by_tcp
        self._links: dict[int, Link] = {}
        self._draw = random.Random()
        self._closed = False

    def current(self, node_id: int) -> NodeConnection | None:
        """The node's open connection, None when there is none now."""
        link = self._links.get(node_id)
        if link is None or link.connection is None or not link.connection.is_open:
            return None
        return link.connection

    def delay_ms(self, node_id: int) -> float:
        """How long the back-off forbids to connect to the node; 0 when it does not."""
        link = self._links.get(node_id)
        return max(0.0, link.retry_at - self._clock.monotonic_ms()) if link else 0.0

    async def open(self, node: Node) -> NodeConnection:
        """A connection to the node; callers share one attempt, and wait out the back-off first.

        Raises KafkaError(NETWORK_EXCEPTION) when it cannot be opened.
        """
        current = self.current(node.id)
        if current is not None and current.node[:3] == node[:3]:
            return current
        if self._closed:
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION, "the client is closed")
        link = self._links.setdefault(node.id, Link())
        if current is not None:  # the broker came back at another address
            current.close()
        if link.connecting is None:
            link.connecting = asyncio.get_running_loop().create_task(self._establish(node, link))
        return await asyncio.shield(link.connecting)

    async def _establish(self, node: Node, link: Link) -> NodeConnection:
        try:
            delay_ms = link.retry_at - self._clock.monotonic_ms()
            if delay_ms > 0:
                await asyncio.sleep(delay_ms / 1000)
            setup_ms = self._setup_timeout_ms(link.failures)
            try:
                wire = await self._connect(node, setup_ms)
            except (OSError, TimeoutError, ConnectionLost) as error:
                self._note_failure(link)
                reason = str(error) or type(error).__name__
                where = f"node {node.id} ({node.host}:{node.port})"
                raise KafkaError(ErrorCode.NETWORK_EXCEPTION, f"Connection to {where} failed: {reason}") from error
            link.failures = 0
            link.connection = NodeConnection(node, wire, self._options.request_timeout_ms)
            # Should it be lost at once, the next attempt still waits reconnect.backoff.ms.
            link.retry_at = self._clock.monotonic_ms() + self._jittered(self._options.reconnect_backoff_ms)
            return link.connection
        finally:
            link.connecting = None

    def _note_failure(self, link: Link) -> None:
        options = self._options
        wait_ms = min(options.reconnect_backoff_ms * 2.0**link.failures, options.reconnect_backoff_max_ms)
        link.failures = min(link.failures + 1, 30)
        link.retry_at = self._clock.monotonic_ms() + self._jittered(max(wait_ms, options.reconnect_backoff_ms))

    def _setup_timeout_ms(self, failures: int) -> float:
        options = self._options
        longest = options.socket_connection_setup_timeout_max_ms
        return self._jittered(min(options.socket_connection_setup_timeout_ms * 2.0**failures, longest))

    def _jittered(self, value_ms: float) -> float:
        return value_ms * self._draw.uniform(1 - JITTER, 1 + JITTER)

    async def _connect_by_tcp(self, node: Node, timeout_ms: float) -> BrokerConnection:
        wire = await BrokerConnection.connect(
            node.host,
            node.port,
            client_id=self._client_id,
            timeout_ms=timeout_ms,
            send_buffer_bytes=self._options.send_buffer_bytes,
            receive_buffer_bytes=self._options.receive_buffer_bytes,
        )
        try:
            async with asyncio.timeout(self._options.request_timeout_ms / 1000):
                await wire.negotiate(kafka_py.__version__)
        except BaseException:
            wire.close("versions could not be negotiated")
            raise
        return wire

    def close_idle(self) -> None:
        """Closes connections without traffic for connections.max.idle.ms."""
        if self._options.connections_max_idle_ms < 0:
            return
        oldest = asyncio.get_running_loop().time() - self._options.connections_max_idle_ms / 1000
        for link in self._links.values():
            connection = link.connection
            if connection is not None and not connection.in_flight and connection.last_used < oldest:
                connection.close()
                link.connection = None

    def forget_others(self, known: dict[int, Node]) -> None:
        """Closes connections to nodes that are no longer part of the cluster."""
        for node_id in [each for each in self._links if each not in known]:
            link = self._links[node_id]
            if link.connecting is None and (link.connection is None or not link.connection.in_flight):
                if link.connection is not None:
                    link.connection.close()
                del self._links[node_id]

    async def close(self) -> None:
        """Closes all; requests still in flight fail."""
        self._closed = True
        for link in self._links.values():
            if link.connecting is not None:
                link.connecting.cancel()
            if link.connection is not None:
                link.connection.close()
        self._links.clear()
