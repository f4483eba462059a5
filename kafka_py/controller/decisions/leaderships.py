"""Conditional writes of leaders and in-sync sets to ZooKeeper: decide, write, and after a conflict read and repeat.

Every write is conditional on the znode version on which the decision was based. The caller decides what is written. The
context is updated with what was written. Source: docs/reference/zookeeper.md, section 9.

A leader changes the in-sync set alone. One write can break that rule: if it is delayed until its topic has been deleted
and created again, it may find the version that it expects on the new znode (the versions of both begin at 0), and puts
the former leader back. The controller, which made the decision that was lost, writes it again; else brokers and
ZooKeeper would disagree on the leader from then on. Kin to KAFKA-2729; Apache's controller takes such a state over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from kafka_py.base.ids import NO_LEADER, TopicPartition
from kafka_py.base.steps import slices
from kafka_py.controller.decisions.plan import Plan, Worked
from kafka_py.controller.decisions.znode_steps import (
    CreateLeaderships,
    ReadLeadership,
    ReadLeaderships,
    UpdateLeaderships,
)
from kafka_py.controller.model.controller_context import ControllerContext, Leadership
from kafka_py.controller.model.elections import Elected

FIRST_LEADER_EPOCH = 0


class MoveFailed(Exception):
    """A partition or replica could not be moved, with the reason."""


Outcomes = dict[TopicPartition, Leadership | Exception]
"""Per partition the present leadership in ZooKeeper, or why it was not changed."""

Decided = Leadership | Exception | None
"""What to write, why nothing is written, or None to leave it unchanged without a failure."""

Decide = Callable[[Mapping[TopicPartition, Leadership]], Plan[Mapping[TopicPartition, Decided]]]


def successor(cluster: ControllerContext, before: Leadership, leader: int, isr: Sequence[int]) -> Leadership:
    """The next leadership of a partition: every change by the controller increments the leader epoch."""
    return Leadership(leader, before.leader_epoch + 1, tuple(isr), cluster.epoch, before.zk_version)


def create(cluster: ControllerContext, elected: Mapping[TopicPartition, Elected]) -> Plan[Outcomes]:
    """Creates the state znodes of partitions with their first leaders. Raises ControllerMoved."""
    wanted: dict[TopicPartition, Leadership] = {}
    for some in slices(elected.items()):
        for partition, winner in some:
            wanted[partition] = Leadership(winner.leader, FIRST_LEADER_EPOCH, winner.isr, cluster.epoch)
        yield from Worked(len(some))
    created = yield from CreateLeaderships(wanted)
    outcomes: Outcomes = {partition: created[partition] or wanted[partition] for partition in wanted}
    yield from _remember(cluster, outcomes)
    return outcomes


def revise(cluster: ControllerContext, partitions: Collection[TopicPartition], decide: Decide) -> Plan[Outcomes]:
    """Changes existing leaderships: `decide` gets those in ZooKeeper, again after every version conflict.

    The first decision is based on the context, because the write succeeds only if that equals ZooKeeper. The state is
    read only if that decision leads to no write, and after a conflict.
    Where a late write of a former leader is found, the decision is based on what this controller knows, and that is
    written even if the decision leads to no write. Partitions whose state is unreadable or was written by a newer
    controller fail. Raises ControllerMoved.
    """
    outcomes: Outcomes = {}
    attempted: dict[TopicPartition, Leadership] = {}
    remaining = yield from _revise_known(cluster, partitions, decide, outcomes, attempted)
    while remaining:
        found = yield from _readable(cluster, remaining, outcomes)
        restored = _restored(cluster, found, attempted)
        found.update(restored)
        decided = (yield from decide(found)) if found else {}
        to_write: dict[TopicPartition, Leadership] = {}
        for partition, decision in decided.items():
            if decision is None and partition in restored:
                before = found[partition]
                to_write[partition] = successor(cluster, before, before.leader, before.isr)
            elif decision is None:
                outcomes[partition] = found[partition]._replace(controller_epoch=cluster.epoch)
            elif isinstance(decision, Exception):
                outcomes[partition] = decision
            else:
                to_write[partition] = decision
        attempted.update(to_write)
        written = yield from UpdateLeaderships(to_write)
        outcomes.update(written.updated)
        outcomes.update(written.failed)
        remaining = written.conflicts
    ordered: Outcomes = {}
    for some in slices(partitions):
        ordered.update({partition: outcomes[partition] for partition in some if partition in outcomes})
        yield from Worked(len(some))
    yield from _remember(cluster, ordered)
    return ordered


def _revise_known(
    cluster: ControllerContext,
    partitions: Collection[TopicPartition],
    decide: Decide,
    outcomes: Outcomes,
    attempted: dict[TopicPartition, Leadership],
) -> Plan[list[TopicPartition]]:
    """Writes what follows from the context; returns the partitions whose state has to be read.

    attempted: gets what was to be written, with or without success.
    """
    leadership_of = cluster.leadership
    found: dict[TopicPartition, Leadership] = {}
    for some in slices(partitions):
        found.update({one: known for one in some if (known := leadership_of(one)) is not None})
        yield from Worked(len(some))
    decided = (yield from decide(found)) if found else {}
    to_write: dict[TopicPartition, Leadership] = {}
    for partition, decision in decided.items():
        if decision is not None and not isinstance(decision, Exception):
            to_write[partition] = decision
    attempted.update(to_write)
    written = yield from UpdateLeaderships(to_write)
    outcomes.update(written.updated)
    return [partition for partition in partitions if partition not in written.updated]


def bump_epochs(cluster: ControllerContext, partitions: Collection[TopicPartition]) -> Plan[Outcomes]:
    """Increments the leader epoch and changes nothing else, so that brokers accept a new LeaderAndIsr."""

    def decide(found: Mapping[TopicPartition, Leadership]) -> Plan[dict[TopicPartition, Decided]]:
        decided: dict[TopicPartition, Decided] = {}
        for some in slices(found.items()):
            decided.update({partition: successor(cluster, one, one.leader, one.isr) for partition, one in some})
            yield from Worked(len(some))
        return decided

    return (yield from revise(cluster, partitions, decide))


def refresh(cluster: ControllerContext, partitions: Collection[TopicPartition]) -> Plan[list[TopicPartition]]:
    """Reads leaderships into the context, because leaders change in-sync sets themselves.

    Returns the partitions whose state is the late write of a former leader: they are left as the context has them.
    """
    found = yield from ReadLeaderships(partitions)
    overwritten: list[TopicPartition] = []
    for some in slices(found.items()):
        for partition, stored in some:
            if _is_overwritten(cluster.leadership(partition), stored):
                overwritten.append(partition)
            else:
                cluster.set_leadership(partition, stored)
        yield from Worked(len(some))
    return overwritten


def read(cluster: ControllerContext, partition: TopicPartition, *, watches: bool = False) -> Plan[Leadership | None]:
    """The present leadership in ZooKeeper; what the context has in place of the late write of a former leader."""
    stored = yield from ReadLeadership(partition, watches)
    known = cluster.leadership(partition)
    return known if stored is not None and _is_overwritten(known, stored) else stored


def _is_overwritten(known: Leadership | None, stored: Leadership) -> bool:
    """Whether `stored` has not the leader, or not its epoch, that this controller has written last."""
    return known is not None and (known.leader, known.leader_epoch) != (stored.leader, stored.leader_epoch)


def _restored(
    cluster: ControllerContext,
    found: Mapping[TopicPartition, Leadership],
    attempted: Mapping[TopicPartition, Leadership],
) -> dict[TopicPartition, Leadership]:
    """What this controller knows of partitions that a former leader wrote late, to be written over what is stored.

    An attempted write whose response was lost is no such write. If a leader changed the in-sync set before, in a way
    that is not known here, the leader alone is known to be in it; it adds the others again.
    """
    restored: dict[TopicPartition, Leadership] = {}
    for partition, stored in found.items():
        known, ours = cluster.leadership(partition), attempted.get(partition)
        if known is None or not _is_overwritten(known, stored) or (ours is not None and ours[:3] == stored[:3]):
            continue
        is_all_known = stored.zk_version == known.zk_version + 1 or known.leader == NO_LEADER
        isr = known.isr if is_all_known else (known.leader,)
        epoch = max(known.leader_epoch, stored.leader_epoch)
        restored[partition] = Leadership(known.leader, epoch, isr, cluster.epoch, stored.zk_version)
    return restored


def _readable(
    cluster: ControllerContext, partitions: list[TopicPartition], outcomes: Outcomes
) -> Plan[dict[TopicPartition, Leadership]]:
    found = yield from ReadLeaderships(partitions)
    for partition in partitions:
        leadership = found.get(partition)
        if leadership is None:
            outcomes[partition] = MoveFailed("its state in ZooKeeper is missing or cannot be read")
        elif leadership.controller_epoch > cluster.epoch:
            newer = leadership.controller_epoch
            outcomes[partition] = MoveFailed(f"a newer controller, with epoch {newer}, has written its state")
            del found[partition]
    return found


def _remember(cluster: ControllerContext, outcomes: Outcomes) -> Plan[None]:
    for some in slices(outcomes.items()):
        for partition, outcome in some:
            if not isinstance(outcome, Exception):
                cluster.set_leadership(partition, outcome)
        yield from Worked(len(some))
