"""Stores transactional ids: in memory and in the logs of the partitions of `__transaction_state` led here.

The only writer of their records; replay.py loads a partition. machine.py decides, driver.py carries out.
Source: docs/reference/transactions.md, sections 1, 6 and 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TRANSACTION_STATE_TOPIC
from kafka_py.coordinator.configs import CoordinatorOptions
from kafka_py.coordinator.runtime import CoordinatorRuntime, RuntimeServices
from kafka_py.coordinator.transactions.records import transaction_key, transaction_value
from kafka_py.coordinator.transactions.replay import TransactionReplay
from kafka_py.coordinator.transactions.transaction import Transaction, TransactionMetadata
from kafka_py.records.builder import BatchBuilder, record_size_bound

TOPIC = TRANSACTION_STATE_TOPIC

_ACKS_ALL = -1
_FREED_A_STEP = 1024

OnAppended = Callable[[ErrorCode], None]


def tombstone_size(transactional_id: str) -> int:
    """What the tombstone of an id adds to a batch at most."""
    return record_size_bound(transaction_key(transactional_id), None)


class TransactionListener(Protocol):
    """Is notified when ids are loaded and unloaded with their partition."""

    def on_restored(self, partition: int, transaction: Transaction) -> None:
        """The id was read from the log, and its markers may be missing."""
        ...

    def on_unloaded(self, partition: int) -> None: ...


class TransactionStore:
    """All transactional ids that this broker coordinates.

    options: read for each request. partition_count: of the topic.
    """

    def __init__(
        self, options: Callable[[], CoordinatorOptions], partition_count: int, around: RuntimeServices
    ) -> None:
        self._clock: Clock = around.clock
        self._listener: TransactionListener | None = None
        self._transactions: dict[int, dict[str, Transaction]] = {}
        self.runtime = CoordinatorRuntime(
            TOPIC, partition_count, self, around, buffer_bytes=options().transaction_state_log_load_buffer_size
        )

    def attach(self, listener: TransactionListener) -> None:
        """Sets what is notified of ids; called before the first partition is loaded."""
        self._listener = listener

    # ---- ids

    def partition_of(self, transactional_id: str) -> int:
        """The id's partition. Raises KafkaError(COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR) unless it is loaded."""
        partition = self.runtime.partition_for(transactional_id)
        self.runtime.check(partition)
        return partition

    def get(self, partition: int, transactional_id: str) -> Transaction | None:
        transactions = self._transactions.get(partition)
        return None if transactions is None else transactions.get(transactional_id)

    def holds(self, partition: int, transaction: Transaction) -> bool:
        """Whether this object is still the current one of its id: it was neither unloaded nor removed."""
        return self.get(partition, transaction.id) is transaction

    def put(self, partition: int, transaction: Transaction) -> None:
        self._transactions.setdefault(partition, {})[transaction.id] = transaction

    def remove(self, partition: int, transaction: Transaction) -> None:
        if self.holds(partition, transaction):
            del self._transactions[partition][transaction.id]

    def partitions(self) -> list[int]:
        """The ids whose partition is loaded."""
        return sorted(self.runtime.owned)

    def transactions(self, partition: int) -> list[Transaction]:
        """The ids of a partition, as they are now."""
        return list(self._transactions.get(partition, {}).values())

    # ---- appends

    def append(
        self, partition: int, transactional_id: str, metadata: TransactionMetadata, on_done: OnAppended
    ) -> None:
        """Appends the new metadata of an id; `on_done` is called with the error of the append, or NONE, perhaps before
        this returns.
        """
        batch = BatchBuilder()
        batch.append(self._clock.wall_ms(), transaction_key(transactional_id), transaction_value(metadata))
        self._append(partition, batch, metadata.timeout_ms, on_done)

    def bury(
        self, partition: int, transactional_ids: Iterable[str], timeout_ms: int, on_done: OnAppended
    ) -> None:
        """Appends the tombstones of ids, at least one."""
        batch = BatchBuilder()
        now_ms = self._clock.wall_ms()
        for transactional_id in transactional_ids:
            batch.append(now_ms, transaction_key(transactional_id), None)
        self._append(partition, batch, timeout_ms, on_done)

    def _append(self, partition: int, batch: BatchBuilder, timeout_ms: int, on_done: OnAppended) -> None:
        self.runtime.append(partition, batch.build(), _ACKS_ALL, timeout_ms, lambda code, _base_offset: on_done(code))

    # ---- partitions are loaded and unloaded (KeptState)

    def replay(self, partition: int) -> TransactionReplay:
        listener = self._listener

        def restore(transaction: Transaction) -> None:
            if listener is not None:
                with self.runtime.supervisor.guard("loading of transactions", transaction.id):
                    listener.on_restored(partition, transaction)

        def take_over(transactions: dict[str, Transaction]) -> None:
            self._transactions[partition] = transactions

        return TransactionReplay(f"{TOPIC}-{partition}", take_over, restore)

    def unload(self, partition: int) -> Iterator[object]:
        """No request is parked on an id: requests are answered by the results of their appends."""
        forgotten = self._transactions.pop(partition, {})
        if self._listener is not None:
            self._listener.on_unloaded(partition)
        while len(forgotten) > _FREED_A_STEP:  # to free a million ids in one go takes a tenth of a second
            for _ in range(_FREED_A_STEP):
                forgotten.popitem()
            yield forgotten
