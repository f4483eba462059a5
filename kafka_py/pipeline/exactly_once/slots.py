"""Slots: the transactional ids that tasks write under, and who may use which of them.

Only the driver raises the epoch of a slot that is used again; it leases the new one to a task's attempt, which claims
the slot in the decision log and initializes nothing. So an attempt of an earlier batch has an epoch that brokers
refuse, and can end nobody's transaction. Nor can an earlier driver: slots whose epochs it may still be raising are not
leased. An attempt without a lease has an id that nobody has used before.

Pure. Why ids stay few: a slot is used by the same task and attempt number of every batch, docs/exactly-once-sink.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NamedTuple

from kafka_py.clients.transaction_calls import ProducerEpoch

IDLE_BEGINS = 100
"""A slot that nobody has claimed in so many batches is forgotten."""


class Claim(NamedTuple):
    """An attempt of a task says that it uses a slot.

    claimant: Spark's id of the attempt. Two attempts of one batch may have the same task and attempt number, when Spark
    runs their stage again while tasks of its first run continue. driver: under which the batch has begun.
    """

    transactional_id: str
    task: int
    attempt: int
    claimant: int
    driver: ProducerEpoch


class Lease(NamedTuple):
    """A slot that is fenced and free; its next transaction is that of this producer id and epoch."""

    transactional_id: str
    producer_id: int
    epoch: int


Leases = dict[tuple[int, int], Lease]
"""By task and attempt number."""


class Right(Enum):
    """What a claim gives."""

    HELD = "the attempt may write"
    TAKEN = "another attempt of the same task was first"
    TOO_LATE = "the batch is closed, or another driver has begun"


def right_of(
    claim: Claim, before: Iterable[Claim], *, closed: ProducerEpoch | None, begun: ProducerEpoch | None
) -> Right:
    """before: claims since the batch has begun, up to this one and in their order; closed, begun: noted among them."""
    if begun is not None or closed == claim.driver:
        return Right.TOO_LATE
    same = (each for each in before if (each.transactional_id, each.driver) == (claim.transactional_id, claim.driver))
    first = next(same, claim)
    return Right.HELD if first.claimant == claim.claimant else Right.TAKEN


def new_slot_id(prefix: str, driver: ProducerEpoch, claimant: int) -> str:
    """An id that no attempt has had: every batch has a driver's epoch of its own."""
    return f"{prefix}-{driver.producer_id}-{driver.epoch}-{claimant}"


def leased(
    slots: Mapping[str, Claim], fenced: Iterable[Lease], driver: ProducerEpoch, *, former_fences: bool = False
) -> tuple[Leases, list[str]]:
    """What tasks may use again, and the ids that are to be forgotten: a second one of the same attempt, and idle ones.

    slots: the latest claims. fenced: all of these slots. former_fences: the driver before this one may be about to
    raise their epochs, which would abort what tasks write: then all are forgotten.
    """
    leases: Leases = {}
    forgotten = []
    for lease in fenced:
        claim = slots[lease.transactional_id]
        is_idle = claim.driver.producer_id != driver.producer_id or driver.epoch - claim.driver.epoch > IDLE_BEGINS
        if former_fences or is_idle or (claim.task, claim.attempt) in leases:
            forgotten.append(lease.transactional_id)
        else:
            leases[claim.task, claim.attempt] = lease
    return leases, forgotten
