"""What happens to a transactional id, as plain values: requests of producers with
their answers, and what comes of earlier decisions.

Source: docs/reference/transactions.md, sections 2 to 5.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.transactions.markers import MarkerOutcome
from kafka_py.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID


class TransactionReply(NamedTuple):
    """The answer to a request. producer_id, producer_epoch: of an InitProducerId that succeeded."""

    error: ErrorCode = ErrorCode.NONE
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


class ProducerIdAndEpoch(NamedTuple):
    """What a producer believes to have (KIP-360)."""

    producer_id: int
    producer_epoch: int


class InitProducer(NamedTuple):
    """InitProducerId. expected: None from a producer that has just started. fresh_producer_id: to be used if the epochs
    of the present one are used up; None while there is none at hand.
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
    """A look at the clock."""


class RemoveIfExpired(NamedTuple):
    """A rarer look at the clock."""


class Appended(NamedTuple):
    """The record of the pending change, or the tombstone, is acknowledged, or could not be written.

    error: as the append gave it.
    """

    error: ErrorCode


class MarkersEnded(NamedTuple):
    """How the sending of markers ended."""

    outcome: MarkerOutcome


class Restored(NamedTuple):
    """The id was read from the log by a new coordinator."""


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
