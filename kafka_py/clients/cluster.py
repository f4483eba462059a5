"""A client's metadata of the cluster, kept up to date, and requests to the right broker.

Requests metadata at the start, every metadata.max.age.ms, and when an error shows that it is outdated (at most every
retry.backoff.ms). Opens connections through connections.py. Knows nothing of records or positions.
Source: NetworkClient.leastLoadedNode.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.supervision import Backoff, Supervisor
from kafka_py.clients.bootstrap import CANONICAL, canonical_servers
from kafka_py.clients.configs import ClientOptions, parse_server
from kafka_py.clients.connections import Connections
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.clients.errors import AuthenticationError, ClientTimeout, IllegalState
from kafka_py.clients.loop import wait_until_set
from kafka_py.clients.metadata import ClusterView, Node, bootstrap_view, least_loaded, view_of_response
from kafka_py.clients.metrics import ClientMetrics
from kafka_py.clients.node_connection import NodeConnection
from kafka_py.net.connection_failures import AuthenticationFailed, ConnectionLost
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

_log = logging.getLogger(__name__)

WantedTopics = Callable[[], Collection[str] | None]
"""Returns the topics whose metadata a client needs; None for all."""


def network_error(error: ConnectionLost, node: Node) -> KafkaError:
    """The KafkaError for a lost connection."""
    if isinstance(error, AuthenticationFailed):
        return AuthenticationError(f"Connection to {node} failed authentication due to: {error}")
    return KafkaError(ErrorCode.NETWORK_EXCEPTION, f"Connection to {node} was lost: {error}")


def _fail(waiters: Iterable[asyncio.Future[None]], error: KafkaError) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_exception(error)


class Cluster:
    """Metadata, connections and requests of one client; used on one event loop.

    wanted: the topics whose metadata is requested. auto_create: whether the request may create them.
    metrics: of the client; `start` starts their sample windows, `close` stops them.
    """

    def __init__(
        self,
        options: ClientOptions,
        client_id: str,
        environment: ClientEnvironment,
        *,
        wanted: WantedTopics = tuple,
        auto_create: bool = False,
        metrics: ClientMetrics | None = None,
    ) -> None:
        self.options = options
        self.clock = environment.clock
        self.supervisor = Supervisor(self.clock)
        """Starts the background tasks of this client, and reports their errors."""
        self.metrics = metrics
        self.connections = Connections(options, client_id, environment, metrics)
        servers = [parse_server(server) for server in options.bootstrap_servers if server]
        self._unresolved = servers if options.client_dns_lookup == CANONICAL else []
        self._resolver = environment.resolver
        self._resolving = asyncio.Lock()
        self.view: ClusterView = bootstrap_view([] if self._unresolved else servers)
        self._bootstrap = dict(self.view.nodes)
        self._apart: dict[int, Node] = {}
        self._wanted = wanted
        self._auto_create = auto_create
        self._rng = environment.chance.generator()
        self._listeners: list[Callable[[ClusterView], None]] = []
        self._on_refused: list[Callable[[AuthenticationError], None]] = []
        self._silent: set[int] = set()
        """Brokers that refused this client or were unreachable, since one of them has answered."""
        self._waiters: list[asyncio.Future[None]] = []
        self._needed = asyncio.Event()
        self._hurry = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._closed = False
        self._last_error: Exception | None = None

    def start(self) -> None:
        """Starts to request metadata; does not wait for the first response."""
        if self._keeper is None:
            pause_ms = max(1, self.options.retry_backoff_ms)
            self._keeper = self.supervisor.loop(
                self._keep_fresh, "metadata refresh",
                until=lambda: self._closed, on_failure=self._failed, backoff=Backoff(pause_ms, pause_ms),
            )  # fmt: skip
            self._needed.set()
            if self.metrics is not None:
                self.metrics.start()

    def on_update(self, listener: Callable[[ClusterView], None]) -> None:
        """Calls `listener` with every new view, before callers of `refresh` continue. What it raises is logged."""
        self._listeners.append(listener)

    def on_refused(self, listener: Callable[[AuthenticationError], None]) -> None:
        """Calls `listener` when this client is shut out, whoever waits for metadata.

        That is: a broker that was asked for metadata refuses it, and all others have failed since one has answered. A
        client at work has all it needs, so that nobody waits; what it does next is of no use all the same.
        """
        self._on_refused.append(listener)

    async def close(self) -> None:
        # Not by cancel() alone: before Python 3.12 wait_for may swallow one that comes together with its result.
        self._closed = True
        if self.metrics is not None:
            self.metrics.stop()
        self._hurry.set()
        if self._keeper is not None:
            self._keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeper
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(IllegalState("the client is closed"))
        await self.connections.close()
        self.supervisor.cancel()

    # ---- metadata

    @property
    def trouble(self) -> str:
        """Why the last request for metadata failed, as the end of a sentence; empty when it did not."""
        return f"; the last request for metadata failed with {self._last_error}" if self._last_error is not None else ""

    def request_refresh(self, *, at_once: bool = False) -> None:
        """Requests new metadata after the back-off; at_once: without it, for a new reason such as another topic."""
        self._needed.set()
        if at_once:
            self._hurry.set()

    async def refresh(self, timeout_ms: float | None = None, *, at_once: bool = False) -> ClusterView:
        """Requests metadata and waits for it.

        Raises ClientTimeout, naming the last failure, if none arrives within `timeout_ms` (default:
        request.timeout.ms); AuthenticationError at once.
        """
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self.request_refresh(at_once=at_once)
        timeout_ms = self.options.request_timeout_ms if timeout_ms is None else timeout_ms
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await waiter
        except TimeoutError:
            because = f": {self._last_error}" if self._last_error is not None else ""
            raise ClientTimeout(f"Timed out waiting for metadata after {timeout_ms:.0f} ms{because}") from None
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
        return self.view

    async def _keep_fresh(self) -> None:
        """Requests metadata once, when it is due; after a failure callers of `refresh` continue to wait."""
        await wait_until_set(self._needed, self.options.metadata_max_age_ms)
        self._needed.clear()
        self._hurry.clear()
        waiters, self._waiters = self._waiters, []
        try:
            await self._update()
        except KafkaError as error:
            is_new = str(error) != str(self._last_error)
            _log.log(logging.WARNING if is_new else logging.DEBUG, "Metadata update failed: %s", error)
            self._failed(error)
            if isinstance(error, AuthenticationError):  # who waits is not helped by waiting
                _fail(waiters, error)
                if self._silent.issuperset(self.view.nodes):  # else the next one that is asked may accept it
                    for listener in self._on_refused:
                        self.supervisor.call("listener to refusals", partial(listener, error))
        else:
            self._last_error = None
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)
            waiters = []
        finally:
            self._waiters = [waiter for waiter in waiters if not waiter.done()] + self._waiters
        self.connections.close_idle()
        await wait_until_set(self._hurry, self.options.retry_backoff_ms)

    def _failed(self, error: Exception) -> None:
        """Schedules a retry after a failed request."""
        self._last_error = error
        self._needed.set()

    async def _update(self) -> None:
        wanted = self._wanted()
        request = MetadataRequest(
            topics=None if wanted is None else [MetadataRequestTopic(name=name) for name in wanted],
            allow_auto_topic_creation=self._auto_create,
        )
        response = await self.send_any(request)
        view = view_of_response(response, self.view, self.clock.monotonic_ms())
        if not view.nodes:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, "the metadata response contains no broker")
        self.view = view
        self.connections.forget_others({**view.nodes, **self._bootstrap, **self._apart})
        for listener in self._listeners:
            self.supervisor.call("metadata listener", partial(listener, view))

    # ---- requests

    async def send(self, node_id: int, request: Any, *, timeout_ms: float | None = None) -> Any:
        """Sends a request to one broker and returns the response.

        Raises KafkaError(NETWORK_EXCEPTION) without a response, BROKER_NOT_AVAILABLE if the node is not known,
        UNSUPPORTED_VERSION if the broker is too old or too new for the request.
        """
        node = self.view.nodes.get(node_id)
        if node is None:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {node_id} is not part of the cluster")
        try:
            return await self._send_to(node, request, timeout_ms)
        except KafkaError as error:
            if error.code is ErrorCode.NETWORK_EXCEPTION:
                self.request_refresh()
            raise

    async def send_apart(self, node: Node, request: Any, *, timeout_ms: float | None = None) -> Any:
        """Sends a request over a separate connection, as to a coordinator, whose responses may take long.

        The node's id is one that no broker has. Raises KafkaError(NETWORK_EXCEPTION), UNSUPPORTED_VERSION.
        """
        self._apart[node.id] = node
        return await self._send_to(node, request, timeout_ms)

    async def version_apart(self, node: Node, request: type) -> int:
        """The newest version of a request that both such a node and this client know. Raises as `send_apart`."""
        self._apart[node.id] = node
        return (await self.connections.open(node)).version_for(request)

    def hang_up(self, node_id: int) -> None:
        """Closes the connection to a node, if there is one; requests without response fail."""
        self._apart.pop(node_id, None)
        connection = self.connections.current(node_id)
        if connection is not None:
            connection.close()

    async def _send_to(self, node: Node, request: Any, timeout_ms: float | None) -> Any:
        connection = await self.connections.open(node)
        try:
            return await connection.send(request, timeout_ms=timeout_ms)
        except ConnectionLost as error:
            raise network_error(error, node) from error

    async def send_any(self, request: Any, *, timeout_ms: float | None = None) -> Any:
        """Sends a request to the least loaded broker; if it is unreachable, to the next one, and so on.

        Raises the last error if all are unreachable.
        """
        if self._unresolved:
            await self._resolve()
        failure = KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, "no broker is known")
        for node in self._by_load():
            try:
                answer = await self._send_to(node, request, timeout_ms)
            except AuthenticationError:
                self._silent.add(node.id)
                raise
            except KafkaError as error:
                if error.code is not ErrorCode.NETWORK_EXCEPTION:
                    raise
                self._silent.add(node.id)
                failure = error
            else:
                self._silent.clear()
                return answer
        raise failure

    async def _resolve(self) -> None:
        """Resolves the canonical names of the bootstrap servers. Raises KafkaError(BROKER_NOT_AVAILABLE)."""
        async with self._resolving:
            if self._unresolved:
                self.view = bootstrap_view(await canonical_servers(self._unresolved, self._resolver))
                self._bootstrap, self._unresolved = dict(self.view.nodes), []

    def _by_load(self) -> Iterable[Node]:
        """Nodes in the order to try: connected ones by requests in flight, then the others, then the bootstrap list."""
        nodes = dict(self.view.nodes)
        connected: dict[int, int] = {}
        for node_id in nodes:
            connection = self.connections.current(node_id)
            if connection is not None:
                connected[node_id] = connection.in_flight
        while (chosen := least_loaded(connected, self._rng)) is not None:
            del connected[chosen]
            yield nodes.pop(chosen)
        rest = list(nodes.values())
        self._rng.shuffle(rest)
        yield from sorted(rest, key=lambda node: self.connections.delay_ms(node.id))
        yield from (node for node_id, node in self._bootstrap.items() if node_id not in self.view.nodes)

    def current_connection(self, node_id: int) -> NodeConnection | None:
        """The open connection to a node; None if there is none."""
        return self.connections.current(node_id)

    def lacks_connection(self, node_id: int) -> bool:
        """Whether there is no open connection to a node, such as one that is not known."""
        return self.connections.current(node_id) is None

    async def connection(self, node_id: int) -> NodeConnection:
        """An open connection to a node of the view; raises as `send`."""
        node = self.view.nodes.get(node_id)
        if node is None:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {node_id} is not part of the cluster")
        return await self.connections.open(node)

    # ---- look-ups

    def leader_of(self, partition: TopicPartition) -> Node:
        """The partition's leader.

        Raises KafkaError(UNKNOWN_TOPIC_OR_PARTITION or LEADER_NOT_AVAILABLE); both may succeed after a refresh.
        """
        info = self.view.partition(partition)
        if info is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{partition} is not known{self.trouble}")
        node = self.view.nodes.get(info.leader)
        if node is None:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"{partition} has no leader")
        return node
