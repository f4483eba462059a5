"""All listeners of a broker and the connections they accepted.

Binds first and serves later, so that a broker knows its ports before it registers and answers only afterwards. Knows
sockets, limits and settings; requests go to one callback.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from concurrent.futures import Executor
from heapq import nsmallest
from typing import NamedTuple

from kafka_py.base.chance import Chance
from kafka_py.base.clock import Clock
from kafka_py.base.meters import MetricRegistry, MetricTable
from kafka_py.base.quota_rates import Window
from kafka_py.base.supervision import Supervisor
from kafka_py.net.accepted.first_reads import FirstReads
from kafka_py.net.accepted.idle import IdleSweeps
from kafka_py.net.accepted.turned_away import TurnedAway
from kafka_py.net.address_rates import AddressRates
from kafka_py.net.client_software import UNKNOWN_SOFTWARE, ClientSoftware
from kafka_py.net.cold_reads import ColdReads
from kafka_py.net.configs import NetOptions
from kafka_py.net.connection import Connection, OnRequest
from kafka_py.net.connection_services import ConnectionServices, OnSent, forget
from kafka_py.net.endpoints import Endpoint, Listening, bracketed
from kafka_py.net.event_loop.loop import LoopWatch
from kafka_py.net.event_loop.turns import LoopTurns
from kafka_py.net.frames_in import MemoryPool, SizeFault, any_size
from kafka_py.net.limits import Admission, ConnectionLimits, overrides_of
from kafka_py.net.listener import Listener
from kafka_py.net.memory import keep_freed_memory
from kafka_py.net.metrics import (
    AddressMetrics,
    BrokerAcceptMetrics,
    ProcessorMetrics,
    RequestChannelMetrics,
    ResponseQueueMetrics,
    SocketServerMetrics,
    SoftwareMetrics,
)
from kafka_py.net.network import Network, TcpNetwork, address_of
from kafka_py.net.resets import ResetWatch
from kafka_py.net.secured.stages import ListenerSecurity, Stages
from kafka_py.net.secured.tls_transport import FileBuffer, TlsTransport
from kafka_py.net.secured.unauthenticated import UnauthenticatedConnections
from kafka_py.net.served import Served
from kafka_py.net.transport import PlaintextTransport

_CLOSED_A_TURN = 64
_WINDOW = Window(11, 1000.0)
"""Of rates of connections, where no other is given."""

_log = logging.getLogger(__name__)


def unprotected(_endpoint: Endpoint) -> None:
    """No listener is protected."""


class RequestService(NamedTuple):
    """Who serves the requests that arrive.

    on_request: takes every request, see connection.py. on_sent: notified of answers that have left.
    size_fault: (api key, size) -> why a frame that large is refused, or None.
    security_of: how the connections of a listener are protected, None: not at all; raises ConfigError.
    """

    on_request: OnRequest
    on_sent: OnSent = forget
    size_fault: SizeFault = any_size
    security_of: Callable[[Endpoint], ListenerSecurity | None] = unprotected


class SocketServer:
    """The network side of a broker.

    listening: where to listen, checked; its inter-broker listener is protected from max.connections.
    executor: reads cold file data in, and looks names up; None for the loop's own.
    watch: measures the loop; its figures appear among the metrics. network: TCP unless given.
    addresses: limits of how fast addresses may connect. chance: the system's unless given.
    """

    def __init__(  # noqa: PLR0913  # each of them has a name
        self, options: NetOptions, listening: Listening, service: RequestService, *, loop: asyncio.AbstractEventLoop,
        clock: Clock, registry: MetricRegistry, executor: Executor | None = None, watch: LoopWatch | None = None,
        network: Network | None = None, supervisor: Supervisor | None = None, addresses: AddressRates | None = None,
        chance: Chance | None = None,
    ) -> None:  # fmt: skip
        self._options = options
        self._supervisor = supervisor or Supervisor(clock)
        self._loop = loop
        self._network = network or TcpNetwork()
        self._clock = clock
        self._service = service
        waiting = UnauthenticatedConnections(options.max_unauthenticated_connections, chance or Chance())
        turns = LoopTurns(loop, clock.monotonic_s, watch)
        self._stages = Stages(loop, clock, service.on_request, waiting, turns)
        self._file_buffer = FileBuffer()
        self._buffer_bytes = (
            options.buffer_bytes(NetOptions.socket_send_buffer_bytes),
            options.buffer_bytes(NetOptions.socket_receive_buffer_bytes),
        )
        names = [endpoint.listener_name for endpoint in listening.listeners]
        addresses = addresses or AddressRates(_WINDOW)
        self._limits = ConnectionLimits(options, names, listening.inter_broker_listener, addresses)
        self._limits.override(overrides_of(options.max_connections_per_ip_overrides, address_of))
        self._executor = executor
        self.watch = watch
        self.pool = MemoryPool(options.queued_max_request_bytes, clock.monotonic_ms)
        self.cold_reads = ColdReads(loop, executor)
        self._services = ConnectionServices(
            loop, turns, self.cold_reads, self._on_close, max_request_bytes=options.socket_request_max_bytes,
            max_queued=options.queued_max_requests, pool=self.pool,
            on_described=lambda each: self._count_software(each, 1), on_sent=service.on_sent,
            size_fault=service.size_fault,
        )  # fmt: skip
        self.metrics = SocketServerMetrics(registry, self)
        self._registry = registry
        self._accepts = BrokerAcceptMetrics(registry, self.pool)
        self._tables: list[MetricTable] = [
            self._accepts, AddressMetrics(registry, addresses), RequestChannelMetrics(registry, self),
            ResponseQueueMetrics(registry, self, processor="0"),
        ]  # fmt: skip
        self._software: dict[tuple[str, ClientSoftware], SoftwareMetrics] = {}
        if watch is not None:
            self._tables.append(ProcessorMetrics(registry, watch, networkProcessor="0"))
        self._served: dict[str, Served] = {}
        for endpoint in listening.listeners:
            self._add_listener(endpoint, registry)
        self.connections: dict[str, Connection] = {}
        self._first_reads = FirstReads(turns)
        self._turned_away = TurnedAway(loop, clock.monotonic_s)
        self._resets = ResetWatch(loop)
        self._accepted = 0
        self._idle = IdleSweeps(
            loop, clock, self._supervisor, self.connections, lambda: self._options.connections_max_idle_ms
        )
        self._watchers: list[Callable[[Connection], None]] = []

    def _add_listener(self, endpoint: Endpoint, registry: MetricRegistry) -> None:
        def listen(served: Served) -> Listener:
            return Listener(
                endpoint, self._loop, self._network,
                lambda: self._admit(served), lambda *accepted: self._accept(served, *accepted),
                urgent=set() if self.watch is None else self.watch.urgent, now_s=self._clock.monotonic_s,
            )  # fmt: skip

        name = endpoint.listener_name
        self._served[name] = Served(registry, name, self._limits, listen, self._service.security_of(endpoint))

    # ---- life

    def bind(self) -> dict[str, int]:
        """Take all ports; returns them by listener name. Raises BindFailed and gives back those taken before it."""
        try:
            return {name: served.listener.bind() for name, served in self._served.items()}
        except Exception:
            self.stop_accepting()
            raise

    def start(self) -> None:
        """Serve: accept connections and read requests."""
        keep_freed_memory()
        for served in self._served.values():
            served.listener.start()
        self._idle.start()

    @property
    def expired_connections(self) -> int:
        """How many were closed because their session was over."""
        return sum(served.traffic.expired_connections for served in self._served.values())

    def on_disconnect(self, callback: Callable[[Connection], None]) -> None:
        """Have `callback` called for each connection that ends."""
        self._watchers.append(callback)

    async def reconfigure(self, options: NetOptions) -> None:
        """Take over limits that changed while running. Raises ConfigError and changes nothing."""
        wanted = options.max_connections_per_ip_overrides
        if wanted != self._options.max_connections_per_ip_overrides:
            overrides = await self._loop.run_in_executor(self._executor, overrides_of, wanted, address_of)
            self._apply(options)
            self._limits.override(overrides)
        else:
            self._apply(options)

    def _apply(self, options: NetOptions) -> None:
        self._limits.configure(options)
        self._options = options
        self._let_in()
        self._close_excess()

    def relisten(self, listeners: list[Endpoint], options: NetOptions) -> dict[str, int]:
        """Open new listeners and close those that were removed; returns the bound ports by listener name.

        Connections of a removed listener are closed. A listener that stays is unchanged, whatever its new address is.
        Raises BindFailed, ConfigError, and changes nothing.
        """
        wanted = {endpoint.listener_name: endpoint for endpoint in listeners}
        added = [name for name in wanted if name not in self._served]
        ports: dict[str, int] = {}
        try:
            for name in added:
                self._add_listener(wanted[name], self._registry)
                ports[name] = self._served[name].listener.bind()
            self._limits.serve(list(wanted))
            self._apply(options)
        except Exception:
            for name in added:
                if name in self._served:
                    self._served.pop(name).close()
            self._limits.serve(list(self._served))
            raise
        for name in [name for name in self._served if name not in wanted]:
            self._remove_listener(name)
        for name in added:
            self._served[name].listener.start()
        return ports

    def _remove_listener(self, name: str) -> None:
        """Its connections end while it is still known: each reports its end to it."""
        served = self._served[name]
        served.close()
        for connection in list(served.connections):
            connection.close(f"the listener {name} was removed")
        del self._served[name]

    def stop_accepting(self) -> None:
        for served in self._served.values():
            served.listener.close()

    def close(self) -> None:
        """Stop accepting and end every connection; answers that are ready get one chance to leave."""
        self._idle.close()
        for served in self._served.values():
            served.close()
        for connection in list(self.connections.values()):
            connection.close("the broker is shutting down")
        self._first_reads.close()
        self._turned_away.close()
        self._resets.close()
        for table in (self.metrics, *self._tables):
            table.close()

    # ---- connections

    def _admit(self, served: Served) -> float | None:
        name = served.listener.endpoint.listener_name
        admission = self._limits.admission(name)
        if admission is Admission.WAIT:
            served.held_since_ms = served.held_since_ms or self._clock.monotonic_ms()
            return None
        return self._limits.delay_ms(name, self._clock.monotonic_ms())

    def _accept(self, served: Served, connected: socket.socket, host: str, port: int) -> None:
        endpoint, now_ms = served.listener.endpoint, self._clock.monotonic_ms()
        unread_ms = self._limits.record(endpoint.listener_name, host, now_ms)
        if unread_ms:
            served.accept.ip_throttle_time.update(unread_ms)
            self._turned_away.keep(connected, unread_ms)
            return
        delay_ms = self._limits.delay_ms(endpoint.listener_name, now_ms)
        if delay_ms:
            served.accept.throttle_time.update(delay_ms)
            served.acceptor.blocked += round(delay_ms * 1e6)
        if not self._limits.allows_host(host):
            _log.info("Rejected connection from %s: too many connections from this address", host)
            self.metrics.refused += 1
            connected.close()
            return
        if self._limits.admission(endpoint.listener_name) is Admission.MAKE_ROOM:
            self._make_room(endpoint.listener_name)
        try:
            local_host, local_port = self._network.accepted(connected, *self._buffer_bytes)
        except OSError:  # closed again already
            connected.close()
            return
        self._limits.opened(endpoint.listener_name, host)
        self._accepted += 1
        id = f"{bracketed(local_host)}:{local_port}-{bracketed(host)}:{port}-{self._accepted}"
        security = served.security
        secured = None
        if security is not None and security.make_tls is not None:
            secured = TlsTransport(
                connected, security.make_tls, self._loop, self._file_buffer, self._services.turns.defer
            )
        connection = Connection(
            self._services, secured or PlaintextTransport(connected), self._service.on_request, served.traffic, id=id,
            listener_name=endpoint.listener_name, security_protocol=endpoint.security_protocol,
            peer_host=host, peer_port=port, now_ms=now_ms,
        )  # fmt: skip
        served.traffic.created += 1
        served.accept.accepted += 1
        self._accepts.accepted += 1
        served.connections[connection] = None
        self.connections[connection.id] = connection
        self._resets.watch(connection.fileno, connection)
        self._first_reads.add(host, lambda: self._begin(served, connection, secured))

    def _begin(self, served: Served, connection: Connection, secured: TlsTransport | None) -> None:
        if connection.closed:
            return
        if served.security is None:
            connection.start()
        else:
            self._stages.begin(connection, secured, served.security, served.secured)

    def _on_close(self, connection: Connection) -> None:
        del self.connections[connection.id]
        self._stages.ended(connection)
        self._resets.forget(connection.fileno)
        self._served[connection.listener_name].forget(connection)
        if connection.client_software is not UNKNOWN_SOFTWARE:
            self._count_software(connection, -1)
        self._limits.closed(connection.listener_name, connection.peer_host)
        self._let_in()
        for callback in self._watchers:
            with self._supervisor.guard("connections", connection.id):
                callback(connection)

    def _count_software(self, connection: Connection, change: int) -> None:
        key = connection.listener_name, connection.client_software
        table = self._software.get(key)
        if table is None:
            tags = {
                "clientSoftwareName": connection.client_software.name,
                "clientSoftwareVersion": connection.client_software.version,
                "listener": connection.listener_name,
                "networkProcessor": "0",
            }
            table = self._software[key] = SoftwareMetrics(self._registry, **tags)
        table.connections += change
        if not table.connections:
            self._software.pop(key).close()

    @property
    def queued_requests(self) -> int:
        """Requests of all connections that were read and not handed on."""
        return sum(connection.queued_requests for connection in self.connections.values())

    @property
    def queued_responses(self) -> int:
        """Answers that have not left."""
        return sum(connection.queued_responses for connection in self.connections.values())

    def _let_in(self) -> None:
        """Resume listeners that were held back by the limits."""
        for served in self._served.values():
            if served.held_since_ms is not None:
                name = served.listener.endpoint.listener_name
                if self._limits.admission(name) is not Admission.WAIT:
                    held_ms = self._clock.monotonic_ms() - served.held_since_ms
                    served.acceptor.blocked += round(held_ms * 1e6)
                    served.held_since_ms = None
                    served.listener.resume()

    def _make_room(self, for_listener: str) -> None:
        """Close the longest idle connection of another listener."""
        others = [each for each in self.connections.values() if each.listener_name != for_listener]
        if others:
            oldest = min(others, key=_last_used)
            oldest.close(f"max.connections is reached and listener {for_listener} takes precedence")

    def _close_excess(self) -> None:
        """Closes the longest idle connections above a lowered max.connections, some at a time."""
        others = [each for each in self.connections.values() if not self._limits.is_protected(each.listener_name)]
        for connection in nsmallest(_CLOSED_A_TURN, others, key=_last_used):
            if not self._limits.is_exceeded:
                return
            connection.close("max.connections was lowered")
        if len(others) > _CLOSED_A_TURN:
            self._loop.call_soon(self._close_excess)


def _last_used(connection: Connection) -> tuple[bool, float]:
    """The order in which connections are closed to make room."""
    return connection.is_active, connection.last_active_ms
