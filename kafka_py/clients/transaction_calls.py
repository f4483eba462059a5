"""Requests about transactions by explicit transactional id, producer id and epoch, each to its coordinator.

For a process that ends transactions of other processes: the driver of the transactional Spark sink ends those that its
tasks have flushed. Coordinators that move, load or are busy are asked again, until the time is over.
Source: KIP-98; docs/reference/groups.md, section 8; TransactionCoordinator.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.errors import error_code
from kafka_py.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from kafka_py.wire.messages.end_txn import EndTxnRequest
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.init_producer_id import InitProducerIdRequest

T = TypeVar("T")

BY_TRANSACTIONAL_ID = 1
"""The key type of FindCoordinator."""

AT_ONCE = 32
"""Most requests under way."""

MOVED = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.BROKER_NOT_AVAILABLE,
    }
)
BUSY = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
ENDED = frozenset(
    {
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    }
)
"""What a coordinator answers about a transaction that it knows no longer, or otherwise."""


class ProducerEpoch(NamedTuple):
    """What identifies a transactional producer."""

    producer_id: int
    epoch: int


class TransactionCalls:
    """On one cluster. timeout_ms: how long a call is retried; pause_ms: between two tries."""

    def __init__(self, cluster: Cluster, *, timeout_ms: float, pause_ms: float) -> None:
        self._cluster = cluster
        self._timeout_ms = timeout_ms
        self._pause_ms = pause_ms
        self._coordinators: dict[str, int] = {}
        self._gate = asyncio.Semaphore(AT_ONCE)

    async def init_producer_id(self, transactional_id: str, transaction_timeout_ms: int) -> ProducerEpoch:
        """Raises the epoch of the id, which aborts an open transaction and fences its producer."""
        request = InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=transaction_timeout_ms
        )
        answer = await self._ask(transactional_id, request, lambda answer: answer.error_code)
        return ProducerEpoch(answer.producer_id, answer.producer_epoch)

    async def add_partitions(
        self, transactional_id: str, producer: ProducerEpoch, partitions: Iterable[TopicPartition]
    ) -> None:
        """Has the partitions take part in the transaction; no-op where they do.

        Raises KafkaError with one of ENDED when the transaction is not that producer's any longer.
        """
        topics: dict[str, list[int]] = {}
        for topic, number in partitions:
            topics.setdefault(topic, []).append(number)
        request = AddPartitionsToTxnRequest(
            transactional_id=transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            topics=[AddPartitionsToTxnTopic(name=name, partitions=numbers) for name, numbers in topics.items()],
        )
        await self._ask(transactional_id, request, _first_error)

    async def end(self, transactional_id: str, producer: ProducerEpoch, *, commit: bool) -> None:
        """Commits or aborts the transaction; when it returns, consumers see it so.

        The first answer means that the outcome is durable; the second one, to the same request, that all markers are
        written. Raises KafkaError with one of ENDED when the transaction was ended otherwise, or when its outcome is
        not known.
        """
        request = EndTxnRequest(
            transactional_id=transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            committed=commit,
        )
        for _ in ("decided", "complete"):
            await self._ask(transactional_id, request, lambda answer: answer.error_code)

    async def each(self, calls: Iterable[Awaitable[T]]) -> list[T]:
        """The results of calls that are made side by side, in their order. Raises what the first failure raised.

        The other calls have ended by then: one that continued would meet the transactions of later ones.
        """

        async def one(call: Awaitable[T]) -> T:
            async with self._gate:
                return await call

        tasks = [asyncio.ensure_future(one(call)) for call in calls]
        try:
            return list(await asyncio.gather(*tasks))
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    async def _ask(self, transactional_id: str, request: Any, code_of: Callable[[Any], int]) -> Any:
        deadline_ms = self._cluster.clock.monotonic_ms() + self._timeout_ms
        while True:
            try:
                answer = await self._cluster.send(await self._coordinator(transactional_id), request)
                code = error_code(code_of(answer))
                if code is ErrorCode.NONE:
                    return answer
                raise KafkaError(code, f"transactional id {transactional_id}: {code.meaning}")
            except KafkaError as error:
                if error.code in MOVED:
                    self._coordinators.pop(transactional_id, None)
                elif error.code not in BUSY:
                    raise
                if self._cluster.clock.monotonic_ms() >= deadline_ms:
                    raise
            await asyncio.sleep(self._pause_ms / 1000)

    async def _coordinator(self, transactional_id: str) -> int:
        known = self._coordinators.get(transactional_id)
        if known is not None:
            return known
        cluster = self._cluster
        if not cluster.view.fetched_ms:
            await cluster.refresh(at_once=True)
        found = await cluster.send_any(FindCoordinatorRequest(key=transactional_id, key_type=BY_TRANSACTIONAL_ID))
        code = error_code(found.error_code)
        if code is not ErrorCode.NONE:
            detail = found.error_message or code.meaning
            raise KafkaError(code, f"the coordinator of transactional id {transactional_id}: {detail}")
        if found.node_id not in cluster.view.nodes:
            await cluster.refresh(at_once=True)
        self._coordinators[transactional_id] = found.node_id
        return int(found.node_id)


def _first_error(answer: Any) -> int:
    """The error that says why: one bad partition fails the others, which then were not attempted."""
    codes = [each.error_code for topic in answer.results for each in topic.results]
    failed = [code for code in codes if code != ErrorCode.NONE]
    causes = [code for code in failed if code != ErrorCode.OPERATION_NOT_ATTEMPTED]
    return next(iter(causes or failed), int(ErrorCode.NONE))
