"""The driver's steps around a batch: begin, commit, abort. Their order is what makes a batch count once.

Knows values and a `World` that carries steps out; no sockets, no Spark. After a kill between any two steps, `begin` of
the next run finishes what is decided and rolls back the rest. How it works: docs/exactly-once-sink.md.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.pipeline.exactly_once.decisions import (
    NO_EPOCH,
    Decision,
    Driver,
    Finished,
    Ledger,
    Outcome,
    Prepared,
    Verdict,
    is_decided,
    named,
    verdict,
)

_log = logging.getLogger(__name__)

OUTLIVE = (
    "A transaction must outlive the slowest task of its batch and, after a failure, the time until the driver runs "
    "again: raise kafka.transaction.timeout.ms, at most to the brokers' transaction.max.timeout.ms"
)


class TransactionsLost(KafkaError):
    """Transactions of a batch ended before it was decided, or all of them before they were committed."""

    def __init__(self, scope: str, batch: int, lost: Sequence[Prepared]) -> None:
        super().__init__(
            ErrorCode.INVALID_TXN_STATE,
            f"Batch {batch} of {scope} is not committed and has to be written again: {len(lost)} of its transactions "
            f"are no longer open: {named(lost)}. Either they timed out, or another query uses the same "
            f"transactionalIdPrefix. {OUTLIVE}.",
        )


class TornBatch(KafkaError):
    """Some transactions of a decided batch are committed, others are lost."""

    def __init__(self, decision: Decision, lost: Sequence[Prepared]) -> None:
        super().__init__(
            ErrorCode.INVALID_TXN_STATE,
            f"Batch {decision.batch} of {decision.scope} is torn: it was decided, but {len(lost)} of its "
            f"{len(decision.transactions)} transactions ended before they were committed, and their records are "
            f"lost: {named(lost)}. {OUTLIVE}. With the option tornBatch=accept the query continues without them.",
        )


class World(Protocol):
    """What the steps are carried out on. Every method raises KafkaError when it cannot be done now."""

    def init_driver(self) -> Driver:
        """Raises the driver's epoch; when it returns, no former driver can decide, and none is about to."""

    def read_ledger(self, driver: Driver, /) -> tuple[Driver, Ledger]:
        """The decision log, of this prefix; from then on former drivers cannot write to it at all."""

    def fence(self, transactional_ids: Collection[str], /) -> None:
        """Raises the epoch of slots, which aborts what they have open."""

    def are_open(self, transactions: Sequence[Prepared], /) -> list[bool]:
        """Whether each transaction can still be committed."""

    def end(self, transactions: Sequence[Prepared], /, *, commit: bool) -> list[Outcome]:
        """Ends each; says what became of it, also where it was ended before."""

    def decide(self, driver: Driver, decision: Decision, /) -> Driver:
        """Writes the decision, all or nothing; raises KafkaError(PRODUCER_FENCED) when there is a newer driver."""

    def note_finished(self, driver: Driver, finished: Finished, /) -> Driver:
        """Writes that a batch is finished; refused when a newer driver has written."""


class Start(NamedTuple):
    """What the tasks of a batch, and then its commit, need of its beginning. Pickled to the executors."""

    driver: Driver
    latest: dict[str, Decision]
    slots: frozenset[str]

    def is_decided(self, scope: str, batch: int) -> bool:
        """Whether the batch is written already, so that tasks have nothing to write."""
        return is_decided(self.latest.get(scope), batch)


def begin(world: World, *, accept_torn: bool = False) -> Start:
    """Before the tasks of a batch: fences former drivers, finishes their decisions, rolls back what they left open.

    Raises TornBatch, unless it is accepted.
    """
    driver, ledger = world.read_ledger(world.init_driver())
    for decision in ledger.unfinished():
        driver, ledger.decisions[decision.scope] = _finish(world, driver, decision, accept_torn, is_own=False)
    world.fence(ledger.leftovers(driver))
    latest = {scope: each._replace(transactions=()) for scope, each in ledger.decisions.items()}
    return Start(driver, latest, frozenset(ledger.slots))


def commit(
    world: World, driver: Driver, scope: str, batch: int, prepared: Sequence[Prepared], *,
    failed: Collection[str] = (), accept_torn: bool = False,
) -> None:  # fmt: skip
    """When all tasks have reported: decides, then ends. A batch without transactions needs no decision.

    failed: slots of attempts that did not succeed; they are rolled back.
    Raises TransactionsLost when the batch has to be written again, TornBatch, KafkaError(PRODUCER_FENCED) when another
    driver has begun.
    """
    world.fence(failed)
    if not prepared:
        return
    are_open = world.are_open(prepared)
    lost = [each for each, is_open in zip(prepared, are_open, strict=True) if not is_open]
    if lost:
        world.end([each for each in prepared if each not in lost], commit=False)
        raise TransactionsLost(scope, batch, lost)
    decision = Decision(scope, batch, True, tuple(prepared))
    driver = world.decide(driver, decision)
    _, decision = _finish(world, driver, decision, accept_torn, is_own=True)
    if not decision.commits:
        raise TransactionsLost(scope, batch, prepared)


def abort(world: World, *, accept_torn: bool = False) -> None:
    """When a batch failed, perhaps in its commit: what is decided is finished all the same, the rest is rolled back."""
    begin(world, accept_torn=accept_torn)


def _finish(
    world: World, driver: Driver, decision: Decision, accept_torn: bool, *, is_own: bool
) -> tuple[Driver, Decision]:
    """Commits the transactions of a decision; returns the decision that holds then.

    is_own: whether this driver has decided it. One that finishes the decision of another has its own batch before it.
    """
    outcomes = world.end(decision.transactions, commit=True)
    lost = [each for each, outcome in zip(decision.transactions, outcomes, strict=True) if outcome is Outcome.LOST]
    match verdict(outcomes):
        case Verdict.LOST:
            _log.warning("Batch %d of %s is taken back: all its transactions timed out before they were committed",
                         decision.batch, decision.scope)  # fmt: skip
            taken_back = Decision(decision.scope, decision.batch, False)
            return world.decide(driver, taken_back), taken_back
        case Verdict.TORN if not accept_torn:
            raise TornBatch(decision, lost)
        case Verdict.TORN:
            _log.error("Batch %d of %s continues without the records of %d lost transactions, because tornBatch is "
                       "accept: %s", decision.batch, decision.scope, len(lost), named(lost))  # fmt: skip
    finished = Finished(decision.scope, decision.batch, driver.producer_id, driver.epoch if is_own else NO_EPOCH)
    return world.note_finished(driver, finished), decision
