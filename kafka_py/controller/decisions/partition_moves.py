"""The partition state machine: what each move of partitions writes to ZooKeeper and sends.

partition_states.py has the table of legal moves, elections.py chooses leaders. All requests of one call are sent as one
batch at its end. A move that fails is logged and leaves the state unchanged; only a write that was fenced by a newer
controller (ControllerMoved) is raised. Source: docs/reference/controller.md, section 4; ZkPartitionStateMachine.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kafka_py.base.ids import TopicPartition
from kafka_py.base.steps import slices
from kafka_py.controller.decisions.batch import RequestBatch
from kafka_py.controller.decisions.leaderships import Decided, MoveFailed, Outcomes, create, revise, successor
from kafka_py.controller.decisions.legal_moves import legal
from kafka_py.controller.decisions.notes import LogLines
from kafka_py.controller.decisions.plan import Plan, Worked
from kafka_py.controller.decisions.steps import CountUnclean, PartitionsMoved, Send
from kafka_py.controller.decisions.znode_steps import ReadUncleanPermissions
from kafka_py.controller.model import elections, partition_states
from kafka_py.controller.model.controller_context import ControllerContext, Leadership
from kafka_py.controller.model.elections import Elected, Strategy
from kafka_py.controller.model.partition_states import PartitionState
from kafka_py.zk.access import ControllerMoved

notes = LogLines(__name__)


def move_partitions(
    cluster: ControllerContext,
    partitions: Collection[TopicPartition],
    target: PartitionState,
    strategy: Strategy = Strategy.OFFLINE,
) -> Plan[Outcomes]:
    """Moves partitions to `target`; to ONLINE by an election under `strategy`, unless they are new.

    Returns for each partition that had an election its leadership, or why no leader was elected.
    """
    batch = RequestBatch(cluster)
    outcomes: Outcomes = {}
    if not partitions:
        return outcomes
    try:
        before = yield from legal(
            partition_states.MOVES, "partition", partitions, cluster.partition_state, target, notes
        )
        if target is partition_states.ONLINE:
            outcomes = yield from _bring_online(cluster, before, strategy, batch)
        else:
            for some in slices(before):
                for partition in some:
                    cluster.set_partition_state(partition, target)
                yield from Worked(len(some))
        yield from PartitionsMoved(before, target, outcomes)
        yield from Send(batch)
    except ControllerMoved:
        raise
    except Exception as error:
        yield from notes.error("Moving partitions to %s failed", target.name, error=error)
        return dict.fromkeys(partitions, error)
    return outcomes


def bring_online(cluster: ControllerContext, topic: str | None = None) -> Plan[None]:
    """Elects leaders for all partitions without one, or for those of a topic; not for topics in deletion."""
    waiting = cluster.partitions_in_state(partition_states.NEW, partition_states.OFFLINE)
    wanted = [p for p in waiting if p.topic not in cluster.queued and topic in (None, p.topic)]
    yield from move_partitions(cluster, wanted, partition_states.ONLINE)


def _bring_online(
    cluster: ControllerContext, before: Mapping[TopicPartition, PartitionState], strategy: Strategy, batch: RequestBatch
) -> Plan[Outcomes]:
    """before: the partitions with their present states."""
    fresh = [partition for partition, state in before.items() if state is partition_states.NEW]
    led_before = [partition for partition, state in before.items() if state is not partition_states.NEW]
    outcomes: Outcomes = {}
    if fresh:
        outcomes.update((yield from _first_leaders(cluster, fresh, batch)))
    if led_before:
        outcomes.update((yield from _elect(cluster, led_before, strategy, batch)))
    for some in slices(outcomes.items()):
        for partition, outcome in some:
            if isinstance(outcome, Exception):
                yield from notes.error("No leader was elected for partition %s: %s", partition, outcome)
            else:
                cluster.set_partition_state(partition, partition_states.ONLINE)
        yield from Worked(len(some))
    return outcomes


def _first_leaders(cluster: ControllerContext, partitions: list[TopicPartition], batch: RequestBatch) -> Plan[Outcomes]:
    """Creates the first leaders of partitions, and sends LeaderAndIsr to all live replicas as new ones."""
    outcomes: Outcomes = {}
    elected: dict[TopicPartition, Elected] = {}
    for some in slices(partitions):
        for partition in some:
            replicas = cluster.assignment(partition).replicas
            winner = elections.first_leader(replicas, cluster.online(partition, replicas))
            if winner is None:
                outcomes[partition] = MoveFailed(f"none of its replicas {list(replicas)} is alive")
            else:
                elected[partition] = winner
        yield from Worked(len(some))
    created = yield from create(cluster, elected)
    for made in slices(created.items()):
        for partition, outcome in made:
            if not isinstance(outcome, Exception):
                recipients, assignment = elected[partition].recipients, cluster.assignment(partition)
                batch.add_leader_and_isr(recipients, partition, outcome, assignment, is_new=True)
        yield from Worked(len(made))
    return {**outcomes, **created}


def _elect(
    cluster: ControllerContext, partitions: list[TopicPartition], strategy: Strategy, batch: RequestBatch
) -> Plan[Outcomes]:
    """Elects another leader for partitions that have, or had, one."""
    elected: dict[TopicPartition, Elected] = {}

    def decide(found: Mapping[TopicPartition, Leadership]) -> Plan[dict[TopicPartition, Decided]]:
        permitted = yield from _unclean_permissions(cluster, found, strategy)
        decided: dict[TopicPartition, Decided] = {}
        for some in slices(found.items()):
            for partition, leadership in some:
                permission = permitted.get(partition.topic, False)
                winner = election_of(cluster, partition, leadership, strategy, permission)
                if isinstance(winner, Exception):
                    decided[partition] = winner
                else:
                    elected[partition] = winner
                    decided[partition] = successor(cluster, leadership, winner.leader, winner.isr)
            yield from Worked(len(some))
        return decided

    outcomes = yield from revise(cluster, partitions, decide)
    unclean = 0
    for some in slices(outcomes.items()):
        for partition, outcome in some:
            if not isinstance(outcome, Exception):
                winner = elected[partition]
                unclean += winner.unclean
                assignment = cluster.assignment(partition)
                batch.add_leader_and_isr(winner.recipients, partition, outcome, assignment, is_new=False)
        yield from Worked(len(some))
    if unclean:
        yield from CountUnclean(unclean)
    return outcomes


def election_of(
    cluster: ControllerContext, partition: TopicPartition, leadership: Leadership, strategy: Strategy,
    permission: bool | Exception,
) -> Elected | Exception:  # fmt: skip
    """The elected leader of a partition that has this leadership, or why there is none.

    permission: whether an out-of-sync replica may lead, or why that is not known.
    """
    if isinstance(permission, Exception) and _needs_unclean(cluster, partition, leadership):
        return permission
    winner = _winner(cluster, partition, leadership, strategy, permission is True)
    return winner or MoveFailed(f"no replica can lead under strategy {strategy.value}; its state is {leadership}")


def _winner(
    cluster: ControllerContext,
    partition: TopicPartition,
    leadership: Leadership,
    strategy: Strategy,
    unclean_permitted: bool,
) -> Elected | None:
    isr = leadership.isr
    assignment = cluster.assignment(partition)
    replicas = assignment.replicas
    if strategy is Strategy.CONTROLLED_SHUTDOWN:
        alive = cluster.online(partition, {*replicas, *isr}, include_shutting_down=True)
        return elections.controlled_shutdown(replicas, isr, alive, cluster.shutting_down)
    alive = cluster.online(partition, {*replicas, *isr})
    if strategy is Strategy.REASSIGN:
        return elections.reassign(assignment.target, isr, alive)
    if strategy is Strategy.PREFERRED:
        return elections.preferred(replicas, isr, alive)
    return elections.offline(replicas, isr, alive, unclean_permitted)


def _needs_unclean(cluster: ControllerContext, partition: TopicPartition, leadership: Leadership) -> bool:
    return elections.needs_unclean(leadership.isr, cluster.online(partition, leadership.isr))


def _unclean_permissions(
    cluster: ControllerContext, found: Mapping[TopicPartition, Leadership], strategy: Strategy
) -> Plan[Mapping[str, bool | Exception]]:
    """Per topic whether an out-of-sync replica may lead; read only where no in-sync replica is alive."""
    if strategy not in (Strategy.OFFLINE, Strategy.UNCLEAN):
        return {}
    topics: dict[str, None] = {}
    for some in slices(found.items()):
        topics.update((p.topic, None) for p, leadership in some if _needs_unclean(cluster, p, leadership))
        yield from Worked(len(some))
    if strategy is Strategy.UNCLEAN or not topics:
        return dict.fromkeys(topics, True)
    return (yield from ReadUncleanPermissions(list(topics)))
