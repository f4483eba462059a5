"""A run as whoever watches it sees it: how far it is, as a value, with an estimate of the time that is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.rebalancing.model import PartitionChange


class RunOutcome(StrEnum):
    """How a run ended. INCOMPLETE: what is left needs brokers that are not live, or was refused."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    STOPPED = "stopped"
    CANCELLED = "cancelled"


class InterruptibleRun(Protocol):
    """A run that can be asked to stop after the running batch, or to cancel it."""

    stop: bool
    cancel: bool

    async def carry_out(self) -> RunOutcome: ...


class RunProgress(NamedTuple):
    """done, total: partitions. moving: partitions of the present batch that are not in place yet.

    left_s: an estimate, None as long as nothing is known. note: what a person should know, or "".
    """

    done: int
    total: int
    copied_bytes: int
    total_bytes: int
    batch: int
    moving: int
    left_s: float | None = None
    note: str = ""


def copied_of(batch: Sequence[PartitionChange], sizes: Mapping[TopicPartition, Mapping[int, int]]) -> int:
    """How many bytes of a batch are at their destination. sizes: partition -> broker -> bytes there."""
    return sum(
        min(change.size_bytes, sizes.get(change.partition, {}).get(broker, 0))
        for change in batch
        for broker in change.added
    )


def seconds_left(elapsed_s: float, done_now: int, left: int) -> float | None:
    """How long it takes as fast as it went. done_now: what this run did, in the unit of `left`."""
    return elapsed_s * left / done_now if done_now > 0 else None
