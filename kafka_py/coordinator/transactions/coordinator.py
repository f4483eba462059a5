"""The entry point to transactions: the requests of handlers, and the periodic checks.

Everything here runs on the broker's loop and is synchronous; a delayed response is passed to a callback. Turns calls
into events, which driver.py passes to the decisions of machine.py.
Source: docs/reference/transactions.md, sections 2 to 5.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.coordinator.transactions.driver import AnswerTransaction, TransactionDriver, TransactionServices
from kafka_py.coordinator.transactions.machine import is_expired, is_timed_out, refusal
from kafka_py.coordinator.transactions.requests import (
    AbortIfTimedOut,
    AddPartitions,
    EndTransaction,
    InitProducer,
    RemoveIfExpired,
    TransactionReply,
)
from kafka_py.coordinator.transactions.store import TransactionStore, tombstone_size
from kafka_py.coordinator.transactions.transaction import Transaction

_IDS_A_STEP = 256
_TOMBSTONES_A_BATCH = 256


class TransactionCoordinator:
    """The transactions of all transactional producers.

    next_producer_id: a producer id that is not in use. spawn: runs a coroutine until it ends or the broker stops.
    """

    def __init__(
        self,
        store: TransactionStore,
        services: TransactionServices,
        *,
        next_producer_id: Callable[[], Awaitable[int]],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self.store = store
        self.driver = TransactionDriver(store, services)
        self._services = services
        self._next_producer_id = next_producer_id
        self._spawn = spawn
        store.attach(self.driver)

    # ---- producers

    def init_producer_id(self, transactional_id: str, request: InitProducer, answer: AnswerTransaction) -> None:
        """InitProducerId with a transactional id."""
        refused = refusal(transactional_id, request.timeout_ms, self._services.limits())
        if refused is not None:
            answer(TransactionReply(refused))
            return
        partition = self._partition_of(transactional_id, answer)
        if partition is None:
            return
        transaction = self.store.get(partition, transactional_id)
        if transaction is None:
            fresh = request.fresh_producer_id
            if fresh is None:
                self._spawn(self._with_fresh_id(transactional_id, request, answer))
                return
            now_ms = self._services.clock.wall_ms()
            transaction = Transaction.new(transactional_id, fresh, request.timeout_ms, now_ms)
            self.store.put(partition, transaction)
        outcome = self.driver.handle(partition, transaction, request, answer)
        if outcome.needs_producer_id:
            self._spawn(self._with_fresh_id(transactional_id, request, answer))

    def _partition_of(self, transactional_id: str, answer: AnswerTransaction) -> int | None:
        """The partition that the id falls into; None when its state is not in place, which has then been answered."""
        try:
            return self.store.partition_of(transactional_id)
        except KafkaError as error:
            answer(TransactionReply(error.code))
            return None

    async def _with_fresh_id(self, transactional_id: str, request: InitProducer, answer: AnswerTransaction) -> None:
        """Repeats the request from the start: while the new id was fetched the partition or the id may have changed."""
        try:
            fresh = await self._next_producer_id()
        except Exception:
            answer(TransactionReply(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            raise
        self.init_producer_id(transactional_id, request._replace(fresh_producer_id=fresh), answer)

    def add_partitions(self, transactional_id: str, request: AddPartitions, answer: AnswerTransaction) -> None:
        """AddPartitionsToTxn; AddOffsetsToTxn."""
        self._ask(transactional_id, request, answer)

    def end(self, transactional_id: str, request: EndTransaction, answer: AnswerTransaction) -> None:
        """EndTxn."""
        self._ask(transactional_id, request, answer)

    def _ask(
        self, transactional_id: str, request: AddPartitions | EndTransaction, answer: AnswerTransaction
    ) -> None:
        if not transactional_id:
            answer(TransactionReply(ErrorCode.INVALID_REQUEST))
            return
        partition = self._partition_of(transactional_id, answer)
        if partition is None:
            return
        transaction = self.store.get(partition, transactional_id)
        if transaction is None:
            answer(TransactionReply(ErrorCode.INVALID_PRODUCER_ID_MAPPING))
            return
        self.driver.handle(partition, transaction, request, answer)

    # ---- periodic checks

    def abort_timed_out(self) -> Iterator[object]:
        """Aborts transactions that have exceeded their time-out. Yields now and then for others' turns."""
        for partition in self.store.partitions():
            now_ms = self._services.clock.wall_ms()
            for number, transaction in enumerate(self.store.transactions(partition)):
                is_due = is_timed_out(transaction, now_ms) and self.store.holds(partition, transaction)
                if is_due:
                    with self.driver.guard(transaction):
                        self.driver.handle(partition, transaction, AbortIfTimedOut())
                if is_due or number % _IDS_A_STEP == 0:  # an append takes as long as hundreds of looks
                    yield transaction

    def remove_expired(self, timeout_ms: int) -> Iterator[object]:
        """Removes ids unused for transactional.id.expiration.ms. timeout_ms: of the appends."""
        for partition in self.store.partitions():
            now_ms = self._services.clock.wall_ms()
            expiration_ms = self._services.limits().transactional_id_expiration_ms
            most_bytes = self.store.runtime.tombstone_bytes(partition)
            expired: list[Transaction] = []
            size = 0
            for number, transaction in enumerate(self.store.transactions(partition)):
                if is_expired(transaction, now_ms, expiration_ms) and self.store.holds(partition, transaction):
                    size += (added := tombstone_size(transaction.id))
                    if len(expired) >= _TOMBSTONES_A_BATCH or size > most_bytes:
                        self._remove(partition, expired, timeout_ms)
                        expired, size = [], added
                    expired.append(transaction)
                if number % _IDS_A_STEP == 0:
                    yield transaction
            self._remove(partition, expired, timeout_ms)

    def _remove(self, partition: int, expired: list[Transaction], timeout_ms: int) -> None:
        """Removes those that are still expired; some may have received a request since the check."""
        removed = []
        for transaction in expired:
            if self.store.holds(partition, transaction):
                with self.driver.guard(transaction):
                    if self.driver.handle(partition, transaction, RemoveIfExpired()).tombstone:
                        removed.append(transaction)
        if removed:
            self.driver.bury(partition, removed, timeout_ms)
