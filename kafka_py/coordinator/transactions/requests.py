"""The events of a transactional id, as plain values: requests of producers with
their results, and results of earlier decisions.

Source: docs/reference/transactions.md, sections 2 to 5.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.transactions.markers import MarkerOutcome
from kafka_py.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID


class TransactionReply(NamedTuple):
    """The response to a request. producer_id, producer_epoch: of an InitProducerId that succeeded."""

    error: ErrorCode = ErrorCode.NONE
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


class ProducerIdAndEpoch(NamedTuple):
    """The producer id and epoch that a producer sends with InitProducerId (KIP-360)."""

    producer_id: int
    producer_epoch: int


class InitProducer(NamedTuple):
    """InitProducerId. expected: None from a producer that has just started. fresh_producer_id: used if the epochs of
    the current one are exhausted; None if none was fetched.
    """

    timeout_ms: int
    expected: ProducerIdAndEpoch | None = None
    fresh_producer_id: int | None = None


class AddPartitions(NamedTuple):
    """AddPartitionsToTxn, or AddOffsetsToTxn with the group's partition of the offsets topic."""

    producer_id: int
    producer_epoch: int
    partitions: tuple[TopicPartition, ...]


class EndTransaction(NamedTuple):
    """EndTxn."""

    producer_id: int
    producer_epoch: int
    is_commit: bool


class AbortIfTimedOut(NamedTuple):
    """The periodic check of the transaction's time-out."""


class RemoveIfExpired(NamedTuple):
    """The periodic check of the id's expiry."""


class Appended(NamedTuple):
    """The record of the pending change, or the tombstone, is acknowledged, or failed to be written.

    error: the result of the append.
    """

    error: ErrorCode


class MarkersEnded(NamedTuple):
    """How the sending of markers ended."""

    outcome: MarkerOutcome


class Restored(NamedTuple):
    """The id was loaded from the log by a new coordinator."""


TransactionEvent = (
    InitProducer
    | AddPartitions
    | EndTransaction
    | AbortIfTimedOut
    | RemoveIfExpired
    | Appended
    | MarkersEnded
    | Restored
)
