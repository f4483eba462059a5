"""The markers that end a transaction, in the form in which the coordinator hands them to their sender.

Values and an interface only: the queues, connections and retries of WriteTxnMarkers are the sender's.
Source: KIP-98; TransactionMarkerChannelManager.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from kafka_py.base.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class TransactionMarkers:
    """The decided end of one transaction, to be written to each of its partitions.

    producer_epoch: the markers are written in it; at least that of the transaction's batches. coordinator_epoch: the
    leader epoch of the partition of `__transaction_state` in which the decision was made, or taken up after a load.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    is_commit: bool
    partitions: tuple[TopicPartition, ...]


class MarkerOutcome(Enum):
    """How the sending of a transaction's markers ended. There is no failure: what can be retried is retried."""

    COMPLETE = "complete"
    """Every partition has its marker, or no longer exists."""
    FENCED = "fenced"
    """A leader knows a newer producer epoch or coordinator epoch: the markers of this transaction are dropped."""


MarkersDone = Callable[[MarkerOutcome], None]
"""Called once, on the loop."""


class MarkerSender(Protocol):
    """Sends markers until all are written."""

    def send(self, partition: int, markers: TransactionMarkers, on_done: MarkersDone, /) -> None:
        """Queues the markers. partition: of `__transaction_state`, where the transaction is kept. `on_done` may be
        called before this returns, as when none of the partitions exists.
        """
        ...

    def forget(self, partition: int, /) -> None:
        """That partition is no longer coordinated here: its queued markers are dropped, and no `on_done` is called."""
        ...
