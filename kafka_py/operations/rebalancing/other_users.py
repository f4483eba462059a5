"""What others have done to the partitions of a plan since it was made: their reassignments and replicas are left alone.

Source: KIP-455 (a later reassignment replaces the one that runs, and may be cancelled by anybody).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.rebalancing.model import PartitionChange

Running = Mapping[TopicPartition, Sequence[int]]
"""Partitions that are being reassigned, with the replicas that they are to have."""


def belongs_to(change: PartitionChange, running: Running) -> bool:
    """Whether the partition is being reassigned by this plan: to its target, or back."""
    target = running.get(change.partition)
    return target is not None and set(target) in (set(change.after), set(change.before))


def is_between(change: PartitionChange, replicas: Collection[int]) -> bool:
    """Whether these are the replicas of the time in which the change is carried out, neither the old nor the new."""
    held = set(replicas)
    return held == {*change.before, *change.after} and held not in (set(change.before), set(change.after))


def cancelled_order(change: PartitionChange) -> tuple[int, ...]:
    """The replicas that a cancelled reassignment to the target leaves: those before, in the order of the target."""
    kept = tuple(broker for broker in change.after if broker in change.before)
    return (*kept, *(broker for broker in change.before if broker not in kept))


def changed_by_others(change: PartitionChange, replicas: Sequence[int], running: Running) -> str | None:
    """Why the plan no longer fits this partition, of which nothing is done; None where it does.

    replicas: those that it has now. To go on would undo what another user did, number and order included.
    """
    if belongs_to(change, running):
        return None
    target = running.get(change.partition)
    if target is not None:
        return f"another reassignment moves it to {_listed(target)}"
    if tuple(replicas) in (change.before, change.after, cancelled_order(change)):
        return None
    return f"it has the replicas {_listed(replicas)} now, and had {_listed(change.before)} when the plan was made"


def _listed(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))
