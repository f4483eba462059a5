"""The core of the admin client: the cluster, the controller's connection, and the rules for retries.

A call is retried until default.api.timeout.ms: as a whole if no broker is reachable, and item by item if the broker is
not (or no longer) the controller or throttles the client.
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
"""Errors of one item that every call retries."""
UNREACHABLE = (ErrorCode.NETWORK_EXCEPTION, ErrorCode.BROKER_NOT_AVAILABLE)
"""Errors of a whole call after which it is retried."""


class AdminCore:
    """One admin client on one event loop; the calls (topics.py and so on) are functions over it."""

    def __init__(self, configs: Mapping[str, Any], environment: ClientEnvironment) -> None:
        self.options = AdminOptions.load(configs)
        self.client_id = self.options.client_id or f"adminclient-{next(_numbers)}"
        self._environment = environment
        self._clock = environment.clock
        self.chance = environment.chance
        self._metrics = ClientMetrics(self.options, self.client_id, self._clock, ADMIN)
        self._cluster: Cluster | None = None
        self._closed = False

    @property
    def cluster(self) -> Cluster:
        """The cluster, to which the first use connects."""
        if self._closed:
            raise IllegalState("This admin client has already been closed.")
        if self._cluster is None:
            self._cluster = Cluster(self.options, self.client_id, self._environment, metrics=self._metrics)
            self._cluster.start()
        return self._cluster

    def metrics(self) -> MetricValues:
        """The values of this client's metrics, under Kafka's names."""
        return self._metrics.values()

    def timeout_ms(self, timeout: float | None) -> float:
        """The caller's time-out (in seconds) in ms; default.api.timeout.ms if it is None."""
        return float(self.options.default_api_timeout_ms) if timeout is None else timeout * 1000

    def request_timeout_ms(self, left_ms: float) -> int:
        """The time-out in a request, in ms."""
        return int(max(1, min(left_ms, self.options.request_timeout_ms)))

    async def per_item(
        self,
        items: Iterable[K],
        attempt: Callable[[list[K], int], Awaitable[Mapping[K, V | KafkaError]]],
        timeout: float | None,
        *,
        try_again: Collection[ErrorCode] = TRY_AGAIN,
    ) -> Results[K, V]:
        """Calls `attempt` with the open items and the time left in ms until each item has a result.

        try_again: errors of one item that are retried; after the time-out the item keeps the last one.
        Raises ClientTimeout if no broker was reachable in time.
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
                if not await self._may_try_again(deadline_ms, retries):
                    if all(item in results for item in open_items):  # as the last answers had them
                        break
                    raise self._unreachable(error) from error
            else:
                results.update(answers)
                open_items = [item for item in open_items if _wants_another_try(answers.get(item), try_again)]
                if not open_items or not await self._may_try_again(deadline_ms, retries):
                    break
            retries += 1
        missing = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the broker's response does not contain it")
        return Results({item: results.get(item, missing) for item in wanted})

    async def once(self, call: Callable[[int], Awaitable[V]], timeout: float | None = None) -> V:
        """The result of `call`, which is repeated while no broker is reachable, and gets the time left in ms."""

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

    def _unreachable(self, error: KafkaError) -> ClientTimeout:
        """The last attempt may only have met the end of the time: the error also says what is wrong otherwise."""
        trouble = self.cluster.trouble
        more = "" if trouble.endswith(str(error)) else trouble
        return ClientTimeout(f"no broker was reachable in time: {error}{more}")

    async def controller(self) -> NodeConnection:
        """A connection to the controller that is known at present.

        If it is unreachable, it may have lost the role: the next attempt requests metadata.
        Raises KafkaError(BROKER_NOT_AVAILABLE) without controller, and what Cluster.connection raises.
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
        """Requests metadata of brokers and controller. timeout_ms: request.timeout.ms by default."""
        try:
            await self.cluster.refresh(timeout_ms)
        except ClientTimeout as error:
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION, error.detail) from error

    async def know(self, broker: int) -> None:
        """Requests metadata if this broker is unknown."""
        if broker not in self.cluster.view.nodes:
            await self.refresh()

    async def ask_controller(self, make: Callable[[int], Any], request: type, timeout_ms: int) -> Any:
        """The controller's response. make: makes the request for a version; `request` is its class.

        Raises KafkaError as Cluster.send.
        """
        connection = await self.controller()
        message = make(connection.version_for(request))
        return await self.cluster.send(connection.node.id, message, timeout_ms=timeout_ms)

    async def note_not_controller(self, answers: Mapping[Any, object]) -> None:
        """Requests metadata if the error of an item is NOT_CONTROLLER."""
        for found in answers.values():
            if isinstance(found, KafkaError) and found.code is ErrorCode.NOT_CONTROLLER:
                await self.refresh()
                return

    async def close(self) -> None:
        """Closes all connections; may be called repeatedly."""
        self._closed = True
        if self._cluster is not None:
            await self._cluster.close()
            self._cluster = None


def _wants_another_try(found: object, try_again: Collection[ErrorCode]) -> bool:
    return isinstance(found, KafkaError) and found.code in try_again


def error_of(code: int, message: str | None, what: str = "") -> KafkaError | None:
    """The error of an item in a response, None if there is none."""
    if not code:
        return None
    known = error_code(code)
    return KafkaError(known, message or f"{what}: {known.meaning}" if what else message or "")
