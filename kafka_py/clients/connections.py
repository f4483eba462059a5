"""One connection per broker: opened when first needed, re-opened with back-off, closed when idle.

Knows nodes and when to connect to them; nothing of topics. node_connection.py has one connection.
Source: KIP-144; ClusterConnectionStates (reconnect.backoff.*, socket.connection.setup.timeout.*).
"""

from __future__ import annotations

import asyncio
import logging

import kafka_py
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.configs import ClientOptions
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.clients.errors import AuthenticationError
from kafka_py.clients.metadata import Node
from kafka_py.clients.metrics import ClientMetrics
from kafka_py.clients.node_connection import Counts, NodeConnection
from kafka_py.clients.security import security_of
from kafka_py.net.client import BrokerConnection
from kafka_py.net.connection_failures import AuthenticationFailed, ConnectionLost

_log = logging.getLogger(__name__)

JITTER = 0.2
"""Reconnect back-offs vary randomly by 20 %, so that clients do not reconnect at the same time."""


class NodeConnectionState:
    """The connection state of one node, connected or not."""

    __slots__ = ("connecting", "connection", "failures", "retry_at")

    def __init__(self) -> None:
        self.connection: NodeConnection | None = None
        self.connecting: asyncio.Task[NodeConnection] | None = None
        self.failures = 0
        self.retry_at = 0.0


class Connections:
    """All connections of one client.

    environment: provides the random numbers of the back-offs.
    metrics: count the traffic; None for no metrics.
    """

    def __init__(
        self,
        options: ClientOptions,
        client_id: str,
        environment: ClientEnvironment,
        metrics: ClientMetrics | None = None,
    ) -> None:
        self._options = options
        self._client_id = client_id
        self._clock = environment.clock
        self._network = environment.network
        self._security = security_of(options, environment)
        self._connect = environment.connect or self._connect_over_network
        self._states: dict[int, NodeConnectionState] = {}
        self._rng = environment.chance.generator()
        self._closed = False
        self._metrics = metrics
        self._counts: dict[int, Counts] = {}
        self._whole = None if metrics is None else metrics.traffic.whole(metrics, owner=self)

    @property
    def open_count(self) -> int:
        """The number of open connections."""
        return sum(state.connection is not None and state.connection.is_open for state in self._states.values())

    def _counts_of(self, node_id: int) -> Counts | None:
        if self._metrics is None or self._whole is None:
            return None
        found = self._counts.get(node_id)
        if found is None:
            found = Counts(self._whole, self._metrics.traffic.node(self._metrics, f"node-{node_id}"))
            self._counts[node_id] = found
        return found

    def current(self, node_id: int) -> NodeConnection | None:
        """The node's open connection, None if there is none."""
        state = self._states.get(node_id)
        if state is None or state.connection is None or not state.connection.is_open:
            return None
        return state.connection

    def delay_ms(self, node_id: int) -> float:
        """The remaining back-off of the node in ms; 0 without one."""
        state = self._states.get(node_id)
        return max(0.0, state.retry_at - self._clock.monotonic_ms()) if state else 0.0

    async def open(self, node: Node) -> NodeConnection:
        """Opens a connection to the node after the back-off; concurrent callers share one attempt.

        Raises KafkaError(NETWORK_EXCEPTION) when it cannot be opened, AuthenticationError.
        """
        current = self.current(node.id)
        if current is not None and current.node[:3] == node[:3]:
            return current
        if self._closed:
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION, "the client is closed")
        state = self._states.setdefault(node.id, NodeConnectionState())
        if current is not None:  # the broker has restarted with another address
            current.close()
        if state.connecting is None:
            state.connecting = asyncio.get_running_loop().create_task(self._establish(node, state))
        return await asyncio.shield(state.connecting)

    async def _establish(self, node: Node, state: NodeConnectionState) -> NodeConnection:
        try:
            delay_ms = state.retry_at - self._clock.monotonic_ms()
            if delay_ms > 0:
                await asyncio.sleep(delay_ms / 1000)
            setup_ms = self._setup_timeout_ms(state.failures)
            try:
                wire = await self._connect(node, setup_ms)
            except AuthenticationFailed as error:
                self._note_failure(state)
                where = f"node {node.id} ({node.host}:{node.port})"
                raise AuthenticationError(f"Connection to {where} failed authentication due to: {error}") from error
            except Exception as error:
                if not isinstance(error, (OSError, TimeoutError, ConnectionLost)):  # such as an invalid host name
                    _log.warning("Connecting to %s failed unexpectedly", node, exc_info=True)
                self._note_failure(state)
                reason = str(error) or type(error).__name__
                where = f"node {node.id} ({node.host}:{node.port})"
                raise KafkaError(ErrorCode.NETWORK_EXCEPTION, f"Connection to {where} failed: {reason}") from error
            state.failures = 0
            if self._whole is not None:
                self._whole.created += 1
            counts = self._counts_of(node.id)
            state.connection = NodeConnection(node, wire, self._options.request_timeout_ms, self._clock, counts)
            # If the connection is lost immediately, the next attempt still waits reconnect.backoff.ms.
            state.retry_at = self._clock.monotonic_ms() + self._jittered(self._options.reconnect_backoff_ms)
            return state.connection
        finally:
            state.connecting = None

    def _note_failure(self, state: NodeConnectionState) -> None:
        options = self._options
        wait_ms = min(options.reconnect_backoff_ms * 2.0**state.failures, options.reconnect_backoff_max_ms)
        state.failures = min(state.failures + 1, 30)
        state.retry_at = self._clock.monotonic_ms() + self._jittered(max(wait_ms, options.reconnect_backoff_ms))

    def _setup_timeout_ms(self, failures: int) -> float:
        options = self._options
        longest = options.socket_connection_setup_timeout_max_ms
        return self._jittered(min(options.socket_connection_setup_timeout_ms * 2.0**failures, longest))

    def _jittered(self, value_ms: float) -> float:
        return value_ms * self._rng.uniform(1 - JITTER, 1 + JITTER)

    async def _connect_over_network(self, node: Node, timeout_ms: float) -> BrokerConnection:
        wire = await BrokerConnection.connect(
            node.host,
            node.port,
            client_id=self._client_id,
            timeout_ms=timeout_ms,
            send_buffer_bytes=self._options.send_buffer_bytes,
            receive_buffer_bytes=self._options.receive_buffer_bytes,
            network=self._network,
            clock=self._clock,
            security=self._security,
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
        oldest = self._clock.monotonic_s() - self._options.connections_max_idle_ms / 1000
        for state in self._states.values():
            connection = state.connection
            if connection is not None and not connection.in_flight and connection.last_used < oldest:
                connection.close()
                state.connection = None

    def forget_others(self, known: dict[int, Node]) -> None:
        """Closes connections to nodes that are no longer part of the cluster."""
        for node_id in [each for each in self._states if each not in known]:
            state = self._states[node_id]
            if state.connecting is None and (state.connection is None or not state.connection.in_flight):
                if state.connection is not None:
                    state.connection.close()
                del self._states[node_id]
                counts = self._counts.pop(node_id, None)
                if counts is not None:
                    counts.node.close()

    async def close(self) -> None:
        """Closes all connections; requests in flight fail."""
        self._closed = True
        for state in self._states.values():
            if state.connecting is not None:
                state.connecting.cancel()
            if state.connection is not None:
                state.connection.close()
        self._states.clear()
