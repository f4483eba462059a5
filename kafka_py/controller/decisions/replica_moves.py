"""The replica state machine: what each move of replicas writes to ZooKeeper and sends.

replica_states.py has the table of legal moves. All requests of one call are sent as one batch at its end. A move that
fails is logged and leaves the state unchanged; only a write that was fenced by a newer controller (ControllerMoved) is
raised. Source: docs/reference/controller.md, section 5; ZkReplicaStateMachine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from kafka_py.base.ids import NO_LEADER, TopicPartition
from kafka_py.base.steps import slices
from kafka_py.controller.decisions.batch import RequestBatch
from kafka_py.controller.decisions.leaderships import Decided, Outcomes, revise, successor
from kafka_py.controller.decisions.legal_moves import legal
from kafka_py.controller.decisions.notes import LogLine, LogLines
from kafka_py.controller.decisions.plan import Plan, Worked
from kafka_py.controller.decisions.steps import ReplicasMoved, Send
from kafka_py.controller.model import replica_states
from kafka_py.controller.model.controller_context import (
    ControllerContext,
    Leadership,
    PartitionAndReplica,
    leader_of,
    without,
)
from kafka_py.controller.model.replica_states import ReplicaState
from kafka_py.zk.access import ControllerMoved

notes = LogLines(__name__)


def move_replicas(
    cluster: ControllerContext, replicas: Collection[PartitionAndReplica], target: ReplicaState
) -> Plan[None]:
    """Moves replicas to `target`, broker by broker."""
    batch = RequestBatch(cluster)
    by_broker: dict[int, list[PartitionAndReplica]] = {}
    for some in slices(replicas):
        for replica in some:
            by_broker.setdefault(replica.broker, []).append(replica)
        yield from Worked(len(some))
    try:
        for broker, of_broker in by_broker.items():
            yield from _move_of_broker(cluster, broker, of_broker, target, batch)
        if replicas:
            yield from Send(batch)
    except ControllerMoved:
        raise
    except Exception as error:
        yield from notes.error("Moving replicas to %s failed", target.name, error=error)


def _move_of_broker(
    cluster: ControllerContext, broker: int, replicas: list[PartitionAndReplica], target: ReplicaState,
    batch: RequestBatch,
) -> Plan[None]:  # fmt: skip
    before = yield from legal(replica_states.MOVES, "replica", replicas, cluster.replica_state, target, notes)
    if target is replica_states.OFFLINE:
        yield from _take_offline(cluster, broker, list(before), batch)
    else:
        act = _ACTS.get(target)
        for some in slices(before):
            for replica in some:
                is_moved, note = act(cluster, replica, batch) if act is not None else MOVED
                if note is not None:
                    yield from note
                if is_moved:
                    cluster.set_replica_state(replica, target)
            yield from Worked(len(some))
    yield from ReplicasMoved(before, target)


class Acted(NamedTuple):
    """Whether the replica takes its new state, and a line for the log."""

    is_moved: bool
    note: LogLine | None = None


MOVED = Acted(is_moved=True)


def _start_new(cluster: ControllerContext, replica: PartitionAndReplica, batch: RequestBatch) -> Acted:
    """Sends LeaderAndIsr to a new replica of a partition that has a leader."""
    partition = replica.topic_partition
    leadership = cluster.leadership(partition)
    if leader_of(leadership) == replica.broker:
        return Acted(False, notes.error("Replica %s cannot become NEW: it is the leader", replica))
    if leadership is not None:
        assignment = cluster.assignment(partition)
        batch.add_leader_and_isr((replica.broker,), partition, leadership, assignment, is_new=True)
    return MOVED


def _bring_online(cluster: ControllerContext, replica: PartitionAndReplica, batch: RequestBatch) -> Acted:
    partition = replica.topic_partition
    assignment = cluster.assignment(partition)
    if cluster.replica_state(replica) is replica_states.NEW:
        if replica.broker in assignment.replicas:
            return MOVED
        extended = assignment._replace(replicas=(*assignment.replicas, replica.broker))
        cluster.set_assignment(partition, extended)
        return Acted(True, notes.error("Replica %s is not in the assignment %s, adding it", replica, assignment))
    leadership = cluster.leadership(partition)
    if leadership is not None:
        batch.add_leader_and_isr((replica.broker,), partition, leadership, assignment, is_new=False)
    return MOVED


def _start_deletion(_cluster: ControllerContext, replica: PartitionAndReplica, batch: RequestBatch) -> Acted:
    batch.add_stop_replica((replica.broker,), replica.topic_partition, delete=True)
    return MOVED


def _forget(cluster: ControllerContext, replica: PartitionAndReplica, _batch: RequestBatch) -> Acted:
    partition = replica.topic_partition
    cluster.set_assignment(partition, cluster.assignment(partition).remove(replica.broker))
    return MOVED


def _take_offline(
    cluster: ControllerContext, broker: int, replicas: list[PartitionAndReplica], batch: RequestBatch
) -> Plan[None]:
    """Stops replicas, removes them from in-sync sets, and sends LeaderAndIsr to the remaining replicas."""
    led: dict[TopicPartition, PartitionAndReplica] = {}
    unled: list[PartitionAndReplica] = []
    for some in slices(replicas):
        for replica in some:
            partition = replica.topic_partition
            batch.add_stop_replica((broker,), partition, delete=False)
            if cluster.leadership(partition) is not None:
                led[partition] = replica
            else:
                unled.append(replica)
        yield from Worked(len(some))
    outcomes = (yield from _leave_isr(cluster, broker, list(led))) if led else {}
    for left in slices(outcomes.items()):
        for partition, outcome in left:
            if isinstance(outcome, Exception):
                yield from notes.error(
                    "Replica %d of %s was not removed from the in-sync set: %s", broker, partition, outcome
                )
                continue
            if partition.topic not in cluster.queued:
                assignment = cluster.assignment(partition)
                others = without(assignment.replicas, (broker,))
                batch.add_leader_and_isr(others, partition, outcome, assignment, is_new=False)
            cluster.set_replica_state(led[partition], replica_states.OFFLINE)
        yield from Worked(len(left))
    for some in slices(unled):
        for replica in some:
            cluster.set_replica_state(replica, replica_states.OFFLINE)
            batch.add_update_metadata(cluster.brokers, (replica.topic_partition,))
        yield from Worked(len(some))


def _leave_isr(cluster: ControllerContext, broker: int, partitions: list[TopicPartition]) -> Plan[Outcomes]:
    """Removes a broker from in-sync sets, and as leader."""

    def decide(found: Mapping[TopicPartition, Leadership]) -> Plan[dict[TopicPartition, Decided]]:
        decided: dict[TopicPartition, Decided] = {}
        for some in slices(found.items()):
            decided.update({one: leadership_without(cluster, broker, leadership) for one, leadership in some})
            yield from Worked(len(some))
        return decided

    return (yield from revise(cluster, partitions, decide))


def leadership_without(cluster: ControllerContext, broker: int, leadership: Leadership) -> Leadership | None:
    """The leadership without the broker as leader and in-sync replica; None if it is out of sync already.

    The last member of an in-sync set stays in it.
    """
    if broker not in leadership.isr:
        return None
    leader = NO_LEADER if leadership.leader == broker else leadership.leader
    isr = leadership.isr if len(leadership.isr) == 1 else without(leadership.isr, (broker,))
    return successor(cluster, leadership, leader, isr)


_ACTS: dict[ReplicaState, Callable[[ControllerContext, PartitionAndReplica, RequestBatch], Acted]] = {
    replica_states.NEW: _start_new,
    replica_states.ONLINE: _bring_online,
    replica_states.DELETION_STARTED: _start_deletion,
    replica_states.NON_EXISTENT: _forget,
}
"""The action of a move to each state; moves to other states have none."""
