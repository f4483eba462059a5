"""Leaders and in-sync sets in ZooKeeper: decide, write if nobody wrote meanwhile, else read and decide again.

Every write is conditional on the znode version that the decision went by. What is decided is the caller's. The context
is kept equal to what was written. Source: docs/reference/zookeeper.md, section 9.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from kafka_py.base.ids import TopicPartition
from kafka_py.controller.decisions.plan import Plan, Worked, slices
from kafka_py.controller.decisions.znode_steps import CreateLeaderships, ReadLeaderships, UpdateLeaderships
from kafka_py.controller.model.controller_context import ControllerContext, Leadership
from kafka_py.controller.model.elections import Elected

FIRST_LEADER_EPOCH = 0


class MoveFailed(Exception):
    """A partition or replica could not be moved; says why."""


Outcomes = dict[TopicPartition, Leadership | Exception]
"""Per partition what ZooKeeper holds now, or why it was not changed."""

Decided = Leadership | Exception | None
"""What to write, why not to, or None: leave it as it is, which is no failure."""

Decide = Callable[[Mapping[TopicPartition, Leadership]], Plan[Mapping[TopicPartition, Decided]]]


def successor(cluster: ControllerContext, before: Leadership, leader: int, isr: Sequence[int]) -> Leadership:
    """The next leadership of a partition: every change of ours makes the leader epoch one larger."""
    return Leadership(leader, before.leader_epoch + 1, tuple(isr), cluster.epoch, before.zk_version)


def create(cluster: ControllerContext, elected: Mapping[TopicPartition, Elected]) -> Plan[Outcomes]:
    """First leaders of partitions that have no state znode yet. Raises ControllerMoved."""
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
    """Changes existing leaderships: `decide` gets what ZooKeeper holds, again after every lost race.

    What the context says comes first: a write goes through only if it is what ZooKeeper holds. Only where that would
    not lead to a write, and after a lost race, is the state read.
    A partition without a readable state, or with that of a newer controller, fails. Raises ControllerMoved.
    """
    outcomes: Outcomes = {}
    remaining = yield from _revise_known(cluster, partitions, decide, outcomes)
    while remaining:
        found = yield from _readable(cluster, remaining, outcomes)
        decided = (yield from decide(found)) if found else {}
        to_write: dict[TopicPartition, Leadership] = {}
        for partition, decision in decided.items():
            if decision is None:
                outcomes[partition] = found[partition]._replace(controller_epoch=cluster.epoch)
            elif isinstance(decision, Exception):
                outcomes[partition] = decision
            else:
                to_write[partition] = decision
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
    cluster: ControllerContext, partitions: Collection[TopicPartition], decide: Decide, outcomes: Outcomes
) -> Plan[list[TopicPartition]]:
    """Writes what follows from the context; returns the partitions whose state must be read for that."""
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
    written = yield from UpdateLeaderships(to_write)
    outcomes.update(written.updated)
    return [partition for partition in partitions if partition not in written.updated]


def bump_epochs(cluster: ControllerContext, partitions: Collection[TopicPartition]) -> Plan[Outcomes]:
    """Raises the leader epoch and changes nothing else, so that a new LeaderAndIsr is taken for newer."""

    def decide(found: Mapping[TopicPartition, Leadership]) -> Plan[dict[TopicPartition, Decided]]:
        decided: dict[TopicPartition, Decided] = {}
        for some in slices(found.items()):
            decided.update({partition: successor(cluster, one, one.leader, one.isr) for partition, one in some})
            yield from Worked(len(some))
        return decided

    return (yield from revise(cluster, partitions, decide))


def refresh(cluster: ControllerContext, partitions: Collection[TopicPartition]) -> Plan[None]:
    """Takes over what ZooKeeper holds: leaders change in-sync sets themselves."""
    found = yield from ReadLeaderships(partitions)
    for some in slices(found.items()):
        for partition, leadership in some:
            cluster.set_leadership(partition, leadership)
        yield from Worked(len(some))


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
            outcomes[partition] = MoveFailed(f"a controller of epoch {newer}, later than ours, has written it")
            del found[partition]
    return found


def _remember(cluster: ControllerContext, outcomes: Outcomes) -> Plan[None]:
    for some in slices(outcomes.items()):
        for partition, outcome in some:
            if not isinstance(outcome, Exception):
                cluster.set_leadership(partition, outcome)
        yield from Worked(len(some))
