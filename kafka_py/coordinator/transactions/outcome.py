"""What follows from an event of a transactional id, as values: a record to append, markers to send, an answer to give.

A decision changes the Transaction, which is a value in memory, and says here what has to happen outside of it;
driver.py does that. Pure. Source: docs/reference/transactions.md, sections 1 to 5.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_py.coordinator.transactions.markers import TransactionMarkers
from kafka_py.coordinator.transactions.requests import TransactionReply
from kafka_py.coordinator.transactions.transaction import TransactionMetadata


class TransactionOutcome(NamedTuple):
    """What has to be done.

    reply: to the request at hand, or to the one whose record was written. record: to be appended, after which the
    machine wants an Appended. tombstone: the same, of the id's removal. markers: to be sent, after which it wants a
    MarkersEnded. needs_producer_id: nothing was decided; the request is to come again with a fresh producer id.
    is_removed: the id is forgotten. may_wait: the reply says only that the previous transaction is about to be
    complete; the request may as well come again when it is. append_later: the record of the pending change is to be
    appended after a pause. note: for the log; a warning if is_warning.
    """

    reply: TransactionReply | None = None
    record: TransactionMetadata | None = None
    markers: TransactionMarkers | None = None
    tombstone: bool = False
    needs_producer_id: bool = False
    is_removed: bool = False
    may_wait: bool = False
    append_later: bool = False
    note: str = ""
    is_warning: bool = False


NOTHING = TransactionOutcome()
