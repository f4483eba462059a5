"""Carries out what manager.py decides: sends requests to coordinators, backs off before retries, lets callers wait.

One task per producer sends one request at a time. A call of the application waits for max.block.ms at most; what it
began continues after that, or when the call is cancelled, and the same call waits for it again.

Source: Sender (transactional requests), TransactionManager (back-off of the first AddPartitionsToTxn).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.consumer.assignors.assignor import GroupMetadata
from kafka_py.clients.coordinator import GROUP, TRANSACTION, Coordinator
from kafka_py.clients.errors import ClientTimeout
from kafka_py.clients.offsets import OffsetAndMetadata
from kafka_py.clients.producer.batches import settle
from kafka_py.clients.producer.configs import ProducerOptions
from kafka_py.clients.producer.sender import Sender
from kafka_py.clients.producer.transactions.coordinator_requests import (
    CoordinatorRequest,
    TransactionalRequestResult,
    needs_members,
)
from kafka_py.clients.producer.transactions.manager import ProducerTransactions
from kafka_py.clients.producer.transactions.states import FATAL_ERROR, IN_TRANSACTION
from kafka_py.clients.producer.transactions.treatments import DONE, Reaction, RequestKind

_log = logging.getLogger(__name__)

ACTIVITY = "producer transactions"

SHORTEST_PAUSE_MS, LONGEST_SHORT_PAUSE_MS = 1.0, 20.0
"""How long the first AddPartitionsToTxn of a transaction waits while the markers of the one before are written: doubled
each time, for they are usually written within milliseconds."""

LATE_RESPONSES_S = 0.01
"""How often it is checked whether late responses have come, which are waited for no longer than request.timeout.ms."""

RENEWS_SINCE = 3
"""The version of InitProducerId that gives a producer its next epoch (KIP-360)."""
CHECKS_MEMBERS_SINCE = 3
"""The version of TxnOffsetCommit that names the group's member (KIP-447)."""


class PreparedTransaction(NamedTuple):
    """A transaction whose records are stored, and which somebody else ends."""

    transactional_id: str
    producer_id: int
    epoch: int


class ProducerTransactionDriver:
    """The transactions of one producer on its event loop."""

    def __init__(
        self, options: ProducerOptions, cluster: Cluster, sender: Sender, transactions: ProducerTransactions
    ) -> None:
        self._options = options
        self._cluster = cluster
        self._sender = sender
        self._transactions = transactions
        self._coordinator = Coordinator(cluster, transactions.transactional_id, TRANSACTION)
        self._group_coordinators: dict[str, Coordinator] = {}
        self._woken = asyncio.Event()
        self._waiting: list[tuple[TransactionalRequestResult, asyncio.Future[None]]] = []
        self._flush: asyncio.Task[None] | None = None
        self._flush_of: TransactionalRequestResult | None = None
        """The commit or abort for which batches are flushed: each has a flush of its own."""
        self._short_pauses = 0
        self._has_failed = False
        self._is_prepared = False
        self._closed = False
        self._task = cluster.supervisor.loop(
            self._step, ACTIVITY, until=lambda: self._closed, on_failure=self._on_failure
        )

    def wake(self) -> None:
        """A request may be due, or an operation done."""
        self._woken.set()

    # What the application calls

    async def init(self) -> None:
        """As ProducerCore.init_transactions."""
        await self._wait_for(self._transactions.initialize())

    async def commit(self) -> None:
        """As ProducerCore.commit_transaction."""
        await self._wait_for(self._transactions.commit())

    async def abort(self) -> None:
        """As ProducerCore.abort_transaction."""
        await self._wait_for(self._transactions.abort())

    async def send_offsets(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: GroupMetadata) -> None:
        """As ProducerCore.send_offsets_to_transaction."""
        await self._wait_for(self._transactions.send_offsets(offsets, group))

    async def prepare(self) -> None:
        """As ProducerCore.prepare_transaction."""
        transactions = self._transactions
        transactions.check_sending()
        transactions.is_prepared = True
        await self._sender.flush()
        if transactions.state is not IN_TRANSACTION:
            raise transactions.failure()
        self._is_prepared = True

    async def _wait_for(self, operation: TransactionalRequestResult) -> None:
        if not operation.done:
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append((operation, waiter))
            try:
                async with asyncio.timeout(self._options.max_block_ms / 1000):
                    await waiter
            except TimeoutError:
                raise ClientTimeout(
                    f"{operation.name} did not end within max.block.ms, {self._options.max_block_ms} ms; it continues, "
                    f"and calling it again waits for its end{self._coordinator.trouble}"
                ) from None
            finally:
                self._waiting = [each for each in self._waiting if each[1] is not waiter]
        self._transactions.claim(operation)
        if operation.error is not None:
            raise operation.error

    # What runs in the task

    async def _step(self) -> None:
        """Sends the request that is due, or waits until one is."""
        self._woken.clear()
        request = self._look()
        if request is None:
            await self._woken.wait()
            return
        reaction = await self._send(request)
        self._settle()
        if not reaction.pauses:
            self._short_pauses = 0
            if request.kind is RequestKind.ADD_PARTITIONS:
                self._sender.look_at_all()
            return
        await asyncio.sleep(self._pause_ms(soon=reaction.soon) / 1000)

    def _look(self) -> CoordinatorRequest | None:
        """The request that is due; batches that must not be sent have failed after this."""
        transactions = self._transactions
        if transactions.state is FATAL_ERROR:
            if not self._has_failed:
                self._has_failed = True
                _log.error("%s", transactions.failure().message)
                self._sender.fail_all(transactions.failure())
            request = None
        else:
            dropped = transactions.drops_batches
            if dropped is not None:
                self._sender.drop_unsent(dropped)
            if transactions.is_ending and self._flush_of is not transactions.operation:
                self._flush_of = transactions.operation
                self._flush = self._cluster.supervisor.spawn(
                    self._flushed(), ACTIVITY, on_failure=self._on_failure
                )
                self._flush.add_done_callback(lambda _: self.wake())
            request = transactions.advance(flushed=self._is_flushed)
        self._settle()
        return request

    async def _flushed(self) -> None:
        """Waits for all batches, and for the responses to requests whose batches have expired meanwhile.

        A leader that takes such a batch only after the end of the transaction would count it to the next one.
        """
        await self._sender.flush()
        while self._sender.requests_in_flight:  # noqa: ASYNC110 -- so rare that no request is burdened with an event
            await asyncio.sleep(LATE_RESPONSES_S)

    @property
    def _is_flushed(self) -> bool:
        flush = self._flush
        return flush is not None and flush.done() and not flush.cancelled() and flush.exception() is None

    def _settle(self) -> None:
        """Ends the waits for operations that are done."""
        for operation, waiter in self._waiting:
            if operation.done:
                settle(waiter)

    def _on_failure(self, error: BaseException) -> None:
        """After an unforeseen error the state of the transaction is unknown."""
        self._transactions.fail(KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"unforeseen: {error!r}"))

    def _pause_ms(self, *, soon: bool) -> float:
        if not soon:
            return float(self._options.retry_backoff_ms)
        pause_ms = min(SHORTEST_PAUSE_MS * 2.0**self._short_pauses, LONGEST_SHORT_PAUSE_MS)
        self._short_pauses += 1
        return min(pause_ms, float(self._options.retry_backoff_ms))

    async def _send(self, request: CoordinatorRequest) -> Reaction:
        """Sends one request to its coordinator, and handles the response or its failure."""
        coordinator = self._coordinator_for(request)
        try:
            await coordinator.find()
        except KafkaError as error:
            return self._transactions.take_failure(request, error, finding=True)
        try:
            await self._check_versions(coordinator, request)
            response: Any = await coordinator.send(request.message)
        except KafkaError as error:
            reaction = self._transactions.take_failure(request, error)
        else:
            if self._closed:
                return DONE
            reaction = self._transactions.take_response(request, response)
        if reaction.forgets:
            coordinator.forget(request.kind.value)
        return reaction

    def _coordinator_for(self, request: CoordinatorRequest) -> Coordinator:
        if not request.is_for_group or request.commit is None:
            return self._coordinator
        group_id = request.commit.group.group_id
        found = self._group_coordinators.get(group_id)
        if found is None:
            found = self._group_coordinators[group_id] = Coordinator(self._cluster, group_id, GROUP)
        return found

    async def _check_versions(self, coordinator: Coordinator, request: CoordinatorRequest) -> None:
        """Raises KafkaError(UNSUPPORTED_VERSION) when the coordinator is too old for the request."""
        if request.kind is RequestKind.INIT_PRODUCER_ID:
            version = await coordinator.version_for(type(request.message))
            self._transactions.can_renew = version >= RENEWS_SINCE
            if version < RENEWS_SINCE and request.message.producer_id >= 0:
                raise KafkaError(
                    ErrorCode.UNSUPPORTED_VERSION, "the coordinator gives no next epoch, as brokers before 2.5"
                )
        elif (
            request.is_for_group
            and needs_members(request.commit)
            and await coordinator.version_for(type(request.message)) < CHECKS_MEMBERS_SINCE
        ):
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                "the group's coordinator takes no group metadata (brokers before 2.5): give the group id alone",
            )

    # The end

    async def finish(self, timeout_s: float | None) -> None:
        """Before the producer closes: ends the open transaction, by an abort unless it is being committed."""
        longest_s = self._options.max_block_ms / 1000
        timeout_s = longest_s if timeout_s is None else min(timeout_s, longest_s)
        try:
            async with asyncio.timeout(timeout_s):
                await self._end_open()
        except (KafkaError, TimeoutError) as error:
            _log.warning(
                "The transaction of %s is left to its coordinator, which aborts it after transaction.timeout.ms: %s",
                self._transactions.transactional_id, error or f"not ended within {timeout_s} s",
            )  # fmt: skip

    async def _end_open(self) -> None:
        transactions = self._transactions
        if self._is_prepared:
            return
        if transactions.is_abortable:
            _log.info("The producer is closed: the open transaction of %s is aborted", transactions.transactional_id)
            await self._wait_for(transactions.abort())
        elif transactions.is_ending and (operation := transactions.operation) is not None:
            await self._wait_for(operation)

    def close(self) -> None:
        """Stops sending requests."""
        self._closed = True
        self._task.cancel()
        if self._flush is not None:
            self._flush.cancel()
        for each in (self._coordinator, *self._group_coordinators.values()):
            each.close()
