"""What follows from an event of a transactional id, as values: a record to append, markers to send, a response.

A decision changes the Transaction, which is a value in memory, and returns here what has to happen outside of it;
driver.py carries that out. Pure. Source: docs/reference/transactions.md, sections 1 to 5.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_py.coordinator.transactions.markers import TransactionMarkers
from kafka_py.coordinator.transactions.requests import TransactionReply
from kafka_py.coordinator.transactions.transaction import TransactionMetadata


class TransactionOutcome(NamedTuple):
    """The steps to carry out.

    reply: to the current request, or to the one whose record was written. record: to be appended; an Appended event
    follows. tombstone: the same, for the id's removal. markers: to be sent; a MarkersEnded event follows.
    needs_producer_id: nothing was decided; the request has to be repeated with a new producer id.
    is_removed: the id is removed. may_wait: the reply only says that the previous transaction is not complete yet; the
    request may be repeated when it is. append_failures: how often the append of the pending change has failed;
    it is to be repeated after a pause. 0 if it is not.
    note: for the log; a warning if is_warning.
    """

    reply: TransactionReply | None = None
    record: TransactionMetadata | None = None
    markers: TransactionMarkers | None = None
    tombstone: bool = False
    needs_producer_id: bool = False
    is_removed: bool = False
    may_wait: bool = False
    append_failures: int = 0
    note: str = ""
    is_warning: bool = False


NOTHING = TransactionOutcome()
