"""The steps around a batch: the driver's begin, commit and abort, a task's claim. Their order makes a batch count once.

Knows values and a `World` that carries steps out; no sockets, no Spark. After a kill between any two steps, `begin` of
the next run finishes what is decided and rolls back the rest. How it works: docs/exactly-once-sink.md.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.pipeline.exactly_once.decisions import (
    BatchVerdict,
    Decision,
    DecisionState,
    Driver,
    Outcome,
    Prepared,
    is_decided,
    named,
    verdict,
)
from kafka_py.pipeline.exactly_once.slots import Claim, Lease, Leases, Right, leased, new_slot_id, right_of

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
            f"lost: {named(lost)}. {OUTLIVE}. With the option tornBatch=accept the query continues without them, "
            "a mirror with torn_batch: accept in its file.",
        )


class World(Protocol):
    """What the steps are carried out on. Every method raises KafkaError when it cannot be done now."""

    def init_driver(self) -> Driver:
        """Raises the driver's epoch; when it returns, no former driver can decide, and none is about to."""

    def read_ledger(self, driver: Driver, /) -> tuple[Driver, DecisionState]:
        """The decision log, of this prefix; from then on former drivers cannot write to it at all."""

    def fence(self, transactional_ids: Collection[str], /) -> list[Lease]:
        """Raises the epoch of slots, which aborts what they have open."""

    def are_open(self, transactions: Sequence[Prepared], /) -> list[bool]:
        """Whether each transaction can still be committed."""

    def end(self, transactions: Sequence[Prepared], /, *, commit: bool) -> list[Outcome]:
        """Ends each; says what became of it, also where it was ended before."""

    def decide(self, driver: Driver, decision: Decision, /) -> Driver:
        """Writes the decision, all or nothing; raises KafkaError(PRODUCER_FENCED) when there is a newer driver."""

    def note_finished(self, driver: Driver, decision: Decision, /) -> Driver:
        """Writes that a batch is finished; refused when a newer driver has written."""

    def forget(self, driver: Driver, transactional_ids: Collection[str], /) -> Driver:
        """Has the log forget slots; refused as note_finished."""

    def note_fencing(self, driver: Driver, /, *, fences: bool) -> Driver:
        """Writes whether this driver calls `fence` now; it does so from its beginning on. Refused as note_finished."""

    def close_batch(self, driver: Driver, begun: int, /) -> tuple[Driver, DecisionState]:
        """Writes that the batch is closed; returns what was written since it began. Refused as note_finished."""

    def claim(self, claim: Claim, begun: int, /) -> DecisionState:
        """Writes a claim; returns what was written since the batch began, up to it. Called by tasks."""


class Start(NamedTuple):
    """What the tasks of a batch, and then its commit, need of its beginning. Pickled to the executors.

    leases: the slots that tasks may use again. begun: the offset behind which the log concerns this batch.
    """

    driver: Driver
    latest: dict[str, Decision]
    leases: Leases
    begun: int

    def is_decided(self, scope: str, batch: int) -> bool:
        """Whether the batch is written already, so that tasks have nothing to write."""
        return is_decided(self.latest.get(scope), batch)


def begin(world: World, *, accept_torn: bool = False) -> Start:
    """Before the tasks of a batch: fences former drivers, finishes their decisions, rolls back what they left open.

    Raises TornBatch, unless it is accepted.
    """
    driver, ledger = world.read_ledger(world.init_driver())
    for decision in ledger.unfinished():
        driver, ledger.decisions[decision.scope] = _finish(world, driver, decision, accept_torn)
    fenced = world.fence(sorted(ledger.slots))
    leases, forgotten = leased(ledger.slots, fenced, driver.identity, former_fences=ledger.former_fences)
    driver = world.note_fencing(world.forget(driver, forgotten), fences=False)
    latest = {scope: each._replace(transactions=()) for scope, each in ledger.decisions.items()}
    return Start(driver, latest, leases, ledger.last_offset)


def claim(world: World, begun: int, wanted: Claim) -> bool:
    """In a task, before its transaction begins: whether it may use the slot. False where another attempt has it.

    Raises KafkaError(PRODUCER_FENCED) when the batch has ended: nobody would end the transaction.
    """
    ledger = world.claim(wanted, begun)
    right = right_of(wanted, ledger.claims, closed=ledger.closed, begun=ledger.begun)
    if right is Right.TOO_LATE:
        raise KafkaError(
            ErrorCode.PRODUCER_FENCED,
            f"attempt {wanted.attempt} of task {wanted.task} came too late to use {wanted.transactional_id}: "
            f"{right.value}",
        )
    return right is Right.HELD


def take_slot(world: World, start: Start, prefix: str, task: int, attempt: int, claimant: int) -> Lease:
    """The slot of an attempt: the one that is leased to it, or a new one. Raises as `claim`."""
    driver = start.driver.identity
    lease = start.leases.get((task, attempt))
    if lease is None or not claim(world, start.begun, Claim(lease.transactional_id, task, attempt, claimant, driver)):
        name = new_slot_id(prefix, driver, claimant)
        [lease] = world.fence([name])  # before others know the slot, and may use it again
        claim(world, start.begun, Claim(name, task, attempt, claimant, driver))
    return lease


def commit(
    world: World, driver: Driver, begun: int, scope: str, batch: int, prepared: Sequence[Prepared], *,
    accept_torn: bool = False,
) -> None:  # fmt: skip
    """When all tasks have reported: decides, ends, and rolls back the attempts that are not among `prepared`.

    begun: of the batch's Start. A batch without transactions needs no decision.
    Raises TransactionsLost when the batch has to be written again, TornBatch, KafkaError(PRODUCER_FENCED) when another
    driver has begun.
    """
    if prepared:
        driver = _decide(world, driver, Decision(scope, batch, True, tuple(prepared)), accept_torn)
    try:
        _close(world, driver, begun, {each.transactional_id for each in prepared})
    except KafkaError as error:
        if not prepared:
            raise
        # An error now would have the batch written again, though it counts. The next `begin` rolls back the rest.
        _log.warning("Batch %d of %s counts, but not all of its other attempts were rolled back: %s",
                     batch, scope, error)  # fmt: skip


def _close(world: World, driver: Driver, begun: int, counted: set[str]) -> None:
    """Ends the claims of the batch, and rolls back the attempts that are not among `counted`."""
    driver, ledger = world.close_batch(driver, begun)
    others = {each.transactional_id for each in ledger.claims if each.driver == driver.identity} - counted
    if others:
        driver = world.note_fencing(driver, fences=True)
        world.fence(sorted(others))
        world.note_fencing(driver, fences=False)


def _decide(world: World, driver: Driver, decision: Decision, accept_torn: bool) -> Driver:
    """Decides that the batch counts, if all its transactions are open, and ends them."""
    prepared = decision.transactions
    are_open = world.are_open(prepared)
    lost = [each for each, is_open in zip(prepared, are_open, strict=True) if not is_open]
    if lost:
        world.end([each for each in prepared if each not in lost], commit=False)
        raise TransactionsLost(decision.scope, decision.batch, lost)
    driver, decision = _finish(world, world.decide(driver, decision), decision, accept_torn)
    if not decision.commits:
        raise TransactionsLost(decision.scope, decision.batch, prepared)
    return driver


def abort(world: World, *, accept_torn: bool = False) -> None:
    """When a batch failed, perhaps in its commit: what is decided is finished all the same, the rest is rolled back."""
    begin(world, accept_torn=accept_torn)


def _finish(world: World, driver: Driver, decision: Decision, accept_torn: bool) -> tuple[Driver, Decision]:
    """Commits the transactions of a decision; returns the decision that holds then."""
    outcomes = world.end(decision.transactions, commit=True)
    lost = [each for each, outcome in zip(decision.transactions, outcomes, strict=True) if outcome is Outcome.LOST]
    match verdict(outcomes):
        case BatchVerdict.LOST:
            _log.warning("Batch %d of %s is taken back: all its transactions timed out before they were committed",
                         decision.batch, decision.scope)  # fmt: skip
            taken_back = Decision(decision.scope, decision.batch, False)
            return world.decide(driver, taken_back), taken_back
        case BatchVerdict.TORN if not accept_torn:
            raise TornBatch(decision, lost)
        case BatchVerdict.TORN:
            _log.error("Batch %d of %s continues without the records of %d lost transactions, because tornBatch is "
                       "accept: %s", decision.batch, decision.scope, len(lost), named(lost))  # fmt: skip
    return world.note_finished(driver, decision), decision
