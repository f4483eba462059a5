"""Loads transactional ids from one partition of `__transaction_state`.

The last record of each key counts. A malformed record is skipped and logged: the checksum of its batch shows that it
was written so, which no coordinator does for a decision. A batch that is damaged, or a record that a newer broker has
written, may hold decisions that producers were notified of; it keeps the whole partition from being served, so that
none of them is made a second time.
Knows records and values, no files. Source: docs/reference/transactions.md, section 7.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.coordinator.transactions.records import (
    DamagedRecord,
    TransactionValueReader,
    UnknownRecordVersion,
    read_transaction_key,
)
from kafka_py.coordinator.transactions.states import IS_DECIDED
from kafka_py.coordinator.transactions.transaction import Transaction
from kafka_py.records.batch import BatchHeader
from kafka_py.records.record import Record

_log = logging.getLogger(__name__)

_REMEDY = (
    "it may hold commits that were acknowledged. Stop this broker, move the partition's folder out of its log "
    "directory and start it again: the partition is then copied from another replica"
)
_MOST_WARNINGS = 20
_IDS_A_STEP = 1024


class TransactionReplay:
    """Takes records, and hands the ids over when all are read.

    name: of the partition, for the log. take_over: called once with all ids. restore: called afterwards for each id
    whose markers have to be sent.
    """

    def __init__(
        self,
        name: str,
        take_over: Callable[[dict[str, Transaction]], None],
        restore: Callable[[Transaction], None],
    ) -> None:
        self._name = name
        self._take_over = take_over
        self._restore = restore
        self._transactions: dict[str, Transaction] = {}
        self._values = TransactionValueReader()
        self._skipped = 0
        self._refusal: str | None = None

    def records(self, header: BatchHeader, records: list[Record]) -> None:
        transactions, read_value = self._transactions, self._values.read
        for offset, _timestamp, key, value, _headers in records:
            try:
                if key is None:
                    raise DamagedRecord("it has no key")
                transactional_id = read_transaction_key(key)
                if value is None:
                    transactions.pop(transactional_id, None)
                    continue
                metadata = read_value(value)
                known = transactions.get(transactional_id)
                if known is None:
                    transactions[transactional_id] = Transaction(transactional_id, metadata)
                else:
                    known.metadata = metadata
            except DamagedRecord as error:
                self._skipped += 1
                if self._skipped <= _MOST_WARNINGS:
                    _log.error("The record at offset %d of %s is left out: %s", offset, self._name, error)
            except UnknownRecordVersion as error:
                if self._refusal is None:
                    self._refusal = f"the record at offset {offset} was written by a newer broker: {error}"

    def marker(self, header: BatchHeader, *, committed: bool) -> None:
        """Nothing in this topic is written inside a transaction."""

    def damaged(self, offset: int, reason: Exception) -> None:
        if self._refusal is None:
            self._refusal = f"the batch at offset {offset} cannot be read ({reason}); {_REMEDY}"

    def finish(self) -> Iterator[object]:
        """Hands the ids over and resumes decided transactions. Raises KafkaError if none may be served."""
        if self._refusal is not None:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, self._refusal)
        if self._skipped:
            _log.error("%d records of %s were left out", self._skipped, self._name)
        transactions = self._transactions
        decided = []
        for number, transaction in enumerate(transactions.values()):
            if transaction.state in IS_DECIDED:
                decided.append(transaction)
            if number % _IDS_A_STEP == 0:
                yield transaction
        self._take_over(transactions)
        for transaction in decided:
            self._restore(transaction)
            yield transaction
