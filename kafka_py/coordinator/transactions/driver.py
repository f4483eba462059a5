"""Carries out the outcomes of decisions about transactional ids: records, markers, responses; results become events.

The rule of every coordinator: decide, append, and once the record is acknowledged apply its change and respond.
The decisions are machine.py's. Runs on the broker's loop.
Source: docs/reference/transactions.md, sections 1, 7 and 8.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode
from kafka_py.base.supervision import Backoff, Guard, Schedule
from kafka_py.coordinator.transactions.machine import TransactionLimits, TransactionMoment, handle
from kafka_py.coordinator.transactions.markers import MarkerOutcome, MarkerSender, TransactionMarkers
from kafka_py.coordinator.transactions.outcome import TransactionOutcome
from kafka_py.coordinator.transactions.requests import (
    Appended,
    MarkersEnded,
    Restored,
    TransactionEvent,
    TransactionReply,
)
from kafka_py.coordinator.transactions.store import OnAppended, TransactionStore
from kafka_py.coordinator.transactions.transaction import Transaction, TransactionMetadata

_log = logging.getLogger(__name__)

AnswerTransaction = Callable[[TransactionReply], None]
"""Called once, on the loop."""

COMPLETION_WAIT_MS = 100
"""How long a request waits for the completion of the previous transaction. A client that has to retry pauses for at
least 20 ms (KAFKA-5477), while the markers are usually written in a few.
"""
COMPLETE_AGAIN = Backoff(100.0, 3_000.0)
"""The pauses between attempts to write that a transaction is complete."""
DECIDE_AGAIN_MS = 1_000
"""The pause before a result, whose decision raised an unforeseen exception, is handled again."""

_ACTIVITY = "transactions"
_MOVED = TransactionReply(ErrorCode.NOT_COORDINATOR)


@dataclass(frozen=True, slots=True)
class TransactionServices:
    """What the driver needs of the broker. sender: see MarkerSender. limits: read for each event. schedule: calls
    back once, later.
    """

    sender: MarkerSender
    clock: Clock
    limits: Callable[[], TransactionLimits]
    schedule: Schedule


class TransactionDriver:
    """Passes every event of a transactional id to `handle`, one after the other.

    waiting_appends: records of completed transactions whose append failed and will be retried.
    """

    def __init__(self, store: TransactionStore, services: TransactionServices) -> None:
        self.waiting_appends = 0
        self._store = store
        self._waiting: dict[Transaction, _WaitingRequest] = {}
        self._services = services

    def handle(
        self, partition: int, transaction: Transaction, event: TransactionEvent, answer: AnswerTransaction | None = None
    ) -> TransactionOutcome:
        """Passes the event to the decisions and carries out the outcome.

        answer: of the request that caused the event; called now or when the request's record is acknowledged.
        """
        services = self._services
        moment = TransactionMoment(
            services.clock.wall_ms(), self._store.runtime.epoch_of(partition), services.limits()
        )
        outcome = handle(transaction, event, moment)
        if outcome.note:
            _log.log(logging.WARNING if outcome.is_warning else logging.INFO, "%s", outcome.note)
        if outcome.markers is not None:
            self._send(partition, transaction, outcome.markers)
        if outcome.record is not None:
            self._append(partition, transaction, outcome.record, answer)
        elif outcome.append_failures:
            self.waiting_appends += 1
            pause_ms = COMPLETE_AGAIN.after(outcome.append_failures)
            services.schedule(pause_ms, partial(self._append_again, partition, transaction))
        elif outcome.is_removed:
            self._store.remove(partition, transaction)
        if outcome.may_wait and outcome.reply is not None and answer is not None and transaction not in self._waiting:
            self._wait(transaction, _WaitingRequest(event, answer, outcome.reply))
        elif outcome.reply is not None and answer is not None:
            answer(outcome.reply)
        if isinstance(event, Appended) and transaction in self._waiting and transaction.pending is None:
            self._go_on(partition, transaction)
        return outcome

    # ---- requests that wait for the previous transaction

    def _wait(self, transaction: Transaction, waiting: _WaitingRequest) -> None:
        self._waiting[transaction] = waiting

        def waited_enough() -> None:
            if self._waiting.get(transaction) is waiting:
                del self._waiting[transaction]
                waiting.answer(waiting.reply)

        self._services.schedule(COMPLETION_WAIT_MS, waited_enough)

    def _go_on(self, partition: int, transaction: Transaction) -> None:
        waiting = self._waiting.pop(transaction)
        with self.guard(transaction):
            self.handle(partition, transaction, waiting.request, waiting.answer)

    # ---- results, without which the transaction would not go on

    def _take_result(
        self, partition: int, transaction: Transaction, event: Appended | MarkersEnded,
        answer: AnswerTransaction | None = None,
    ) -> None:  # fmt: skip
        """Handles the result, unless another broker coordinates the id by now.

        If the decision raises an unforeseen exception, and so changes nothing, the result is handled again later.
        """
        if not self._store.holds(partition, transaction):
            if answer is not None:
                answer(_MOVED)  # only the new coordinator knows, from the log, whether the record was appended
            return
        before = (transaction.state, transaction.pending)
        with self.guard(transaction) as attempt:
            self.handle(partition, transaction, event, answer)
        if attempt.error is not None and (transaction.state, transaction.pending) == before:
            self._services.schedule(DECIDE_AGAIN_MS, partial(self._take_result, partition, transaction, event, answer))

    # ---- records

    def _append(
        self, partition: int, transaction: Transaction, metadata: TransactionMetadata, answer: AnswerTransaction | None
    ) -> None:
        def appended(error: ErrorCode) -> None:
            self._take_result(partition, transaction, Appended(error), answer)

        with self.guard(transaction) as guard:
            once = _FirstCallOnly(appended)
            self._store.append(partition, transaction.id, metadata, once)
        if guard.error is not None:
            once(ErrorCode.UNKNOWN_SERVER_ERROR)

    def _append_again(self, partition: int, transaction: Transaction) -> None:
        self.waiting_appends -= 1
        if self._store.holds(partition, transaction) and transaction.pending is not None:
            self._append(partition, transaction, transaction.pending.metadata, None)

    def bury(self, partition: int, transactions: Sequence[Transaction], timeout_ms: int) -> None:
        """Appends the tombstones of ids that a decision has removed."""

        def appended(error: ErrorCode) -> None:
            for transaction in transactions:
                self._take_result(partition, transaction, Appended(error))

        once = _FirstCallOnly(appended)
        with self._store.runtime.supervisor.guard(_ACTIVITY, f"expiry in partition {partition}") as guard:
            self._store.bury(partition, [each.id for each in transactions], timeout_ms, once)
        if guard.error is not None:
            once(ErrorCode.UNKNOWN_SERVER_ERROR)

    # ---- markers

    def _send(self, partition: int, transaction: Transaction, markers: TransactionMarkers) -> None:
        def ended(outcome: MarkerOutcome) -> None:
            self._take_result(partition, transaction, MarkersEnded(outcome))

        with self.guard(transaction):
            self._services.sender.send(partition, markers, ended)

    # ---- ids loaded and unloaded with their partition (TransactionListener)

    def on_restored(self, partition: int, transaction: Transaction) -> None:
        self.handle(partition, transaction, Restored())

    def on_unloaded(self, partition: int) -> None:
        self._services.sender.forget(partition)

    def guard(self, transaction: Transaction) -> Guard:
        """Around work on one of many ids: an exception is reported, and the other ids are still handled."""
        return self._store.runtime.supervisor.guard(_ACTIVITY, transaction.id)


class _WaitingRequest(NamedTuple):
    """A request that is repeated when the previous transaction is complete. reply: sent if that takes too long."""

    request: TransactionEvent
    answer: AnswerTransaction
    reply: TransactionReply


class _FirstCallOnly:
    """Passes on only the first call, because an append that raised may have called back before."""

    __slots__ = ("_is_over", "_on_appended")

    def __init__(self, on_appended: OnAppended) -> None:
        self._on_appended = on_appended
        self._is_over = False

    def __call__(self, error: ErrorCode) -> None:
        if not self._is_over:
            self._is_over = True
            self._on_appended(error)
