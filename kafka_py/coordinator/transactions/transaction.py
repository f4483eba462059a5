"""One transactional id as a value: its producer, its latest transaction, and its pending change.

Changes state by the table of states.py; decides nothing (machine.py does), and has no clock, log or callbacks.
Source: docs/reference/transactions.md, sections 1 and 2.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.transactions.requests import TransactionReply
from kafka_py.coordinator.transactions.states import EMPTY, MOVES, PREPARE_EPOCH_FENCE, TransactionState
from kafka_py.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

LAST_EPOCH = 32_767
EXHAUSTED_EPOCH = LAST_EPOCH - 1
"""The last epoch that a producer gets; the next one is reserved for the coordinator, which may have to fence it."""
NO_START = -1


class TransactionMetadata(NamedTuple):
    """The fields of a transactional id's record, and the last producer id and epoch, which are not in the record.

    partitions: of the transaction, in the order in which they were added, without duplicates. last_update_ms, start_ms:
    wall clock; NO_START in EMPTY. last_producer_id, last_producer_epoch: what the producer had before its latest
    InitProducerId, which distinguishes a retry of that from an older producer; -1 when the request named none.
    """

    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState
    partitions: tuple[TopicPartition, ...]
    last_update_ms: int
    start_ms: int
    last_producer_id: int = NO_PRODUCER_ID
    last_producer_epoch: int = NO_PRODUCER_EPOCH

    @property
    def is_epoch_exhausted(self) -> bool:
        return self.producer_epoch >= EXHAUSTED_EPOCH

    def initialized(
        self, producer_id: int, producer_epoch: int, last_producer_epoch: int, timeout_ms: int, now_ms: int
    ) -> TransactionMetadata:
        """A producer begins with this id and epoch."""
        return TransactionMetadata(
            producer_id,
            producer_epoch,
            timeout_ms,
            MOVES.after(self.state, EMPTY),
            (),
            now_ms,
            NO_START,
            self.producer_id,
            last_producer_epoch,
        )

    def moved(self, state: TransactionState, now_ms: int) -> TransactionMetadata:
        """The same metadata in another state. Raises IllegalMove."""
        return self._replace(state=MOVES.after(self.state, state), last_update_ms=now_ms)

    def fenced(self, producer_epoch: int) -> TransactionMetadata:
        """The open transaction in an epoch that no producer has. Raises IllegalMove unless it is ONGOING."""
        MOVES.after(self.state, PREPARE_EPOCH_FENCE)
        return self._replace(producer_epoch=producer_epoch, last_producer_epoch=NO_PRODUCER_EPOCH)


class Pending(NamedTuple):
    """A change whose record is being written. metadata: valid once it is acknowledged. reply: the response then.

    is_fence: the coordinator raised the epoch for this change, not the producer. failures, last_error: of the appends
    of a completion, which is retried until it is written.
    """

    metadata: TransactionMetadata
    reply: TransactionReply = TransactionReply()
    is_fence: bool = False
    failures: int = 0
    last_error: ErrorCode = ErrorCode.NONE


class Transaction:
    """A transactional id. Only the coordinator's own loop touches it.

    metadata: as acknowledged in the log; except for a new id, whose epoch is -1, and for an epoch whose fence failed to
        be written. pending: a change that is being written, or that waits for markers; one at a time.
    has_failed_fence: the epoch was raised to fence a producer, but was not written: no producer has it.
    """

    __slots__ = ("has_failed_fence", "id", "metadata", "pending")

    def __init__(self, transactional_id: str, metadata: TransactionMetadata) -> None:
        self.id = transactional_id
        self.metadata = metadata
        self.pending: Pending | None = None
        self.has_failed_fence = False

    @classmethod
    def new(cls, transactional_id: str, producer_id: int, timeout_ms: int, now_ms: int) -> Transaction:
        """A new id, without any record."""
        metadata = TransactionMetadata(producer_id, NO_PRODUCER_EPOCH, timeout_ms, EMPTY, (), now_ms, NO_START)
        return cls(transactional_id, metadata)

    @property
    def state(self) -> TransactionState:
        return self.metadata.state
