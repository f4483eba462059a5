"""Requests of one look: so many at the same time and no more, each with a deadline.

A broker that could not be reached, or did not answer in time, is not asked again in the same look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.errors import AuthenticationError, ClientTimeout
from kafka_py.operations.cluster_view.snapshot import UnseenPart, ViewPart
from kafka_py.wire.primitives import MalformedMessage

V = TypeVar("V")

GONE = (ErrorCode.NETWORK_EXCEPTION, ErrorCode.BROKER_NOT_AVAILABLE, ErrorCode.REQUEST_TIMED_OUT)


@dataclass(frozen=True, slots=True)
class LookLimits:
    """timeout_ms: of each request. parallel: requests at a time; parallel_per_broker: of them to one broker.

    partitions, groups: the most that one request names.
    """

    timeout_ms: int = 10_000
    parallel: int = 32
    parallel_per_broker: int = 4
    partitions: int = 250
    groups: int = 50


class LookRequests:
    """Asks brokers on behalf of one look, and collects what failed."""

    def __init__(self, admin: AsyncAdminClient, limits: LookLimits) -> None:
        self.admin = admin
        self.limits = limits
        self.unseen: list[UnseenPart] = []
        self._slots = asyncio.Semaphore(limits.parallel)
        self._slots_of: dict[int, asyncio.Semaphore] = {}
        self._gone: dict[int, KafkaError] = {}

    def note(self, part: ViewPart | None, broker: int | None, error: KafkaError, item: str = "") -> None:
        """Notes what could not be seen."""
        self.unseen.append(UnseenPart(part, broker, item, error.code, error.detail or error.code.meaning))

    async def ask(self, broker: int, request: Any) -> Any:
        """The broker's response. Raises KafkaError."""

        async def send() -> Any:
            await self.admin.know(broker)
            return await self.admin.cluster.send(broker, request, timeout_ms=self.limits.timeout_ms)

        return await self.call(broker, send)

    async def call(self, broker: int, make: Callable[[], Awaitable[V]]) -> V:
        """The result of `make()`, which sends requests to this broker. Raises KafkaError."""
        slots = self._slots_of.setdefault(broker, asyncio.Semaphore(self.limits.parallel_per_broker))
        async with slots:
            if broker in self._gone:
                raise self._gone[broker]
            async with self._slots:
                try:
                    return await in_time(make, self.limits.timeout_ms)
                except KafkaError as error:
                    if error.code in GONE or isinstance(error, (AuthenticationError, ClientTimeout)):
                        self._gone[broker] = error
                    raise


async def in_time(make: Callable[[], Awaitable[V]], timeout_ms: float) -> V:
    """The result of `make()`. Raises KafkaError: REQUEST_TIMED_OUT after the time-out, CORRUPT_MESSAGE for a response
    that cannot be read."""
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            return await make()
    except TimeoutError:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"no response within {timeout_ms:.0f} ms") from None
    except MalformedMessage as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"the response cannot be read: {error}") from error


async def first_answer(cluster: Cluster, request: Any, timeout_ms: float) -> Any:
    """The response of whichever broker answers first. Raises KafkaError: the last one if none answers.

    The first broker is that which the client prefers. While there is no answer another one is asked every tenth of
    the time-out, so that one that hangs does not hide the rest.
    """
    pause_s = timeout_ms / 10_000
    tasks = {asyncio.ensure_future(cluster.send_any(request, timeout_ms=timeout_ms))}
    failure: BaseException = KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, "no broker is known")
    asked: set[int] = set()
    try:
        while tasks:
            others = [node for node in cluster.view.nodes if node not in asked]
            done, tasks = await asyncio.wait(
                tasks, timeout=pause_s if others else None, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                error = task.exception()
                if error is None:
                    return task.result()
                failure = error
            if others and tasks:
                asked.add(others[0])
                tasks.add(asyncio.ensure_future(cluster.send(others[0], request, timeout_ms=timeout_ms)))
        raise failure
    finally:
        for task in tasks:
            task.cancel()
