"""What all admin calls share: the cluster, the search for the controller, and the rule for trying again.

A call is tried until default.api.timeout.ms is over: as a whole when no broker can be reached, and item by item when
the broker asked is not the controller (any more) or wants the client to slow down.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Mapping
from typing import Any, TypeVar

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.admin.configs import AdminOptions
from kafka_py.clients.admin.results import Results
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.clients.errors import ClientTimeout, IllegalState, error_code
from kafka_py.clients.metadata import NO_NODE
from kafka_py.clients.metrics import ADMIN, ClientMetrics, MetricValues
from kafka_py.clients.node_connection import NodeConnection

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_numbers = itertools.count(1)

TRY_AGAIN = (ErrorCode.NOT_CONTROLLER, ErrorCode.THROTTLING_QUOTA_EXCEEDED)
"""Errors of one item after which every call asks for it again."""
UNREACHABLE = (ErrorCode.NETWORK_EXCEPTION, ErrorCode.BROKER_NOT_AVAILABLE)
"""Errors of a whole call after which it is made again."""


class AdminCore:
    """One admin client on one event loop; the calls (topics.py and its neighbours) are functions over it."""

    def __init__(self, configs: Mapping[str, Any], environment: ClientEnvironment) -> None:
        self.options = AdminOptions.load(configs)
        self.client_id = self.options.client_id or f"adminclient-{next(_numbers)}"
        self._environment = environment
        self._clock = environment.clock
        self._metrics = ClientMetrics(self.options, self.client_id, self._clock, ADMIN)
        self._cluster: Cluster | None = None
        self._closed = False

    @property
    def cluster(self) -> Cluster:
        """The cluster, looked for from the first use on."""
        if self._closed:
            raise IllegalState("This admin client has already been closed.")
        if self._cluster is None:
            self._cluster = Cluster(self.options, self.client_id, self._environment, metrics=self._metrics)
            self._cluster.start()
        return self._cluster

    def metrics(self) -> MetricValues:
        """What this client has counted, under Kafka's names."""
        return self._metrics.values()

    def timeout_ms(self, timeout: float | None) -> float:
        """A caller's seconds, or default.api.timeout.ms."""
        return float(self.options.default_api_timeout_ms) if timeout is None else timeout * 1000

    def request_timeout_ms(self, left_ms: float) -> int:
        """What a broker is told it may take."""
        return int(max(1, min(left_ms, self.options.request_timeout_ms)))

    async def per_item(
        self,
        items: Iterable[K],
        attempt: Callable[[list[K], int], Awaitable[Mapping[K, V | KafkaError]]],
        timeout: float | None,
        *,
        try_again: Collection[ErrorCode] = TRY_AGAIN,
    ) -> Results[K, V]:
        """Asks for items until each has its answer; `attempt` gets those still open and the time left in ms.

        try_again: errors of one item after which it is asked for again.
        Raises ClientTimeout when no broker could be reached in time; items that only met such errors keep the last.
        """
        wanted = list(items)
        results: Results[K, V] = Results()
        open_items = list(wanted)
        deadline_ms = self._clock.monotonic_ms() + self.timeout_ms(timeout)
        retries = 0
        while open_items:
            left_ms = deadline_ms - self._clock.monotonic_ms()
            try:
                answers = await attempt(open_items, self.request_timeout_ms(left_ms))
            except KafkaError as error:
                if error.code not in UNREACHABLE:
                    raise
                await self._wait_to_try_again(deadline_ms, retries, error)
            else:
                results.update(answers)
                open_items = [item for item in open_items if _wants_another_try(answers.get(item), try_again)]
                if not open_items or not await self._may_try_again(deadline_ms, retries):
                    break
            retries += 1
        missing = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the broker's answer leaves it out")
        return Results({item: results.get(item, missing) for item in wanted})

    async def once(self, call: Callable[[int], Awaitable[V]], timeout: float | None = None) -> V:
        """One answer; made again while no broker can be reached. `call` gets the time left in ms."""

        async def attempt(_items: list[None], left_ms: int) -> dict[None, V | KafkaError]:
            return {None: await call(left_ms)}

        results: Results[None, V] = await self.per_item([None], attempt, timeout)
        return results.value(None)

    async def _may_try_again(self, deadline_ms: float, retries: int) -> bool:
        left_ms = deadline_ms - self._clock.monotonic_ms()
        if retries >= self.options.retries or left_ms <= self.options.retry_backoff_ms:
            return False
        await asyncio.sleep(self.options.retry_backoff_ms / 1000)
        return True

    async def _wait_to_try_again(self, deadline_ms: float, retries: int, error: KafkaError) -> None:
        if not await self._may_try_again(deadline_ms, retries):
            raise ClientTimeout(f"no broker could be asked in time: {error}") from error

    async def controller(self) -> NodeConnection:
        """A connection to the controller as it is known now.

        One that cannot be reached may have lost the role: the next attempt asks who has it.
        Raises KafkaError(BROKER_NOT_AVAILABLE) while there is none, and as Cluster.connection.
        """
        cluster = self.cluster
        if cluster.view.fetched_ms is None or cluster.view.controller_id == NO_NODE:
            await self.refresh()
        if cluster.view.controller_id == NO_NODE:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, "the cluster has no controller")
        try:
            return await cluster.connection(cluster.view.controller_id)
        except KafkaError as error:
            if error.code in UNREACHABLE:
                await self.refresh()
            raise

    async def refresh(self, timeout_ms: float | None = None) -> None:
        """Asks for the brokers and the controller again. timeout_ms: request.timeout.ms unless given."""
        try:
            await self.cluster.refresh(timeout_ms)
        except ClientTimeout as error:
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION, error.detail) from error

    async def know(self, broker: int) -> None:
        """Asks for the brokers again if this one is not among those that are known."""
        if broker not in self.cluster.view.nodes:
            await self.refresh()

    async def ask_controller(self, make: Callable[[int], Any], request: type, timeout_ms: int) -> Any:
        """The controller's answer. make: from the version to the request; `request` is its class.

        Raises KafkaError as Cluster.send.
        """
        connection = await self.controller()
        message = make(connection.version_for(request))
        return await self.cluster.send(connection.node.id, message, timeout_ms=timeout_ms)

    async def note_not_controller(self, answers: Mapping[Any, object]) -> None:
        """Looks for the controller again when an item says that the broker asked is not it."""
        for found in answers.values():
            if isinstance(found, KafkaError) and found.code is ErrorCode.NOT_CONTROLLER:
                await self.refresh()
                return

    async def close(self) -> None:
        """Closes all connections; may be called again."""
        self._closed = True
        if self._cluster is not None:
            await self._cluster.close()
            self._cluster = None


def _wants_another_try(found: object, try_again: Collection[ErrorCode]) -> bool:
    return isinstance(found, KafkaError) and found.code in try_again


def error_of(code: int, message: str | None, what: str = "") -> KafkaError | None:
    """The error of an answer's item, None when there is none."""
    if not code:
        return None
    known = error_code(code)
    return KafkaError(known, message or f"{what}: {known.meaning}" if what else message or "")
