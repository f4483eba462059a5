"""Partition reassignment: adds the new replicas, waits until they are in sync, removes the old ones.

The topic's znode contains the target and the state, so that a new controller continues the reassignment (KIP-455). The
list in /admin/reassign_partitions leads to the same steps.
Source: docs/reference/controller.md, section 8 (with the letters of the steps).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import NO_LEADER, TopicPartition
from kafka_py.base.steps import slices
from kafka_py.base.texts import listed
from kafka_py.controller.decisions import deletion, leaderships
from kafka_py.controller.decisions.batch import RequestBatch
from kafka_py.controller.decisions.leaderships import bump_epochs
from kafka_py.controller.decisions.notes import LogLines
from kafka_py.controller.decisions.partition_moves import move_partitions
from kafka_py.controller.decisions.plan import Plan, Worked
from kafka_py.controller.decisions.reassignment_requests import requested_assignment
from kafka_py.controller.decisions.replica_moves import move_replicas
from kafka_py.controller.decisions.settings import Settings
from kafka_py.controller.decisions.steps import Put, ReplyToCaller, Send, update_metadata
from kafka_py.controller.decisions.znode_steps import (
    ForgetPartition,
    ReadReassignments,
    RemoveReassignments,
    WatchEmptyReassignments,
    WriteAssignments,
)
from kafka_py.controller.events import (
    ApiPartitionReassignment,
    ListPartitionReassignments,
    PartitionReassignmentIsrChange,
    ZkPartitionReassignment,
)
from kafka_py.controller.model import partition_states, replica_states
from kafka_py.controller.model.controller_context import (
    ControllerContext,
    PartitionAndReplica,
    PartitionAssignment,
    leader_of,
    without,
)
from kafka_py.controller.model.elections import Strategy
from kafka_py.zk.access import ControllerMoved

notes = LogLines(__name__)

LAST_IN_SYNC = (
    "All in-sync replicas are among those that would be deleted: wait until another one is in sync, or elect one "
    "unclean, if records may be lost."
)

_SLICE = 64
"""The number of targets examined between two yields to other work on the loop; one may take some 30 microseconds."""

Refusals = dict[TopicPartition, KafkaError | None]
"""Per partition None, or the error."""

# ---- start, resumption and completion


def load(cluster: ControllerContext) -> Plan[None]:
    """Continues the reassignments of a previous controller; those in the znode come first."""
    begun = yield from start_from_znode(cluster)
    yield from resume(cluster, lambda partition, _: partition not in begun)


def resume(cluster: ControllerContext, chosen: Callable[[TopicPartition, PartitionAssignment], bool]) -> Plan[None]:
    """Runs the next step of the reassignments for which `chosen` returns True."""
    for partition in sorted(cluster.reassigning):
        assignment = cluster.assignment(partition)
        if chosen(partition, assignment):
            yield from _advance(cluster, partition, assignment)


def start_from_znode(cluster: ControllerContext) -> Plan[set[TopicPartition]]:
    """Starts the reassignments in /admin/reassign_partitions and returns their partitions; refused ones are removed."""
    wanted = yield from ReadReassignments()
    if wanted is not None and not wanted:  # empty or unreadable: kept until an administrator changes or deletes it
        yield from WatchEmptyReassignments()
    if not wanted:
        return set()
    assignments = {p: cluster.assignment(p).reassign_to(target) for p, target in wanted.items()}
    refusals = yield from start(cluster, assignments)
    refused = {partition: refusal for partition, refusal in refusals.items() if refusal is not None}
    for partition, refusal in refused.items():
        yield from notes.error("Partition %s is not reassigned: %s", partition, refusal)
    yield from _leave_znode(dict.fromkeys(refused))
    return refusals.keys() - refused.keys()


def start_from_request(
    cluster: ControllerContext, targets: Mapping[TopicPartition, Sequence[int] | None]
) -> Plan[Refusals]:
    """Starts, replaces or (target None) cancels reassignments; they take precedence over the znode's."""
    refusals: Refusals = {}
    accepted: dict[TopicPartition, PartitionAssignment] = {}
    for some in slices(targets.items(), _SLICE):
        for partition, target in some:
            try:
                accepted[partition] = requested_assignment(cluster, partition, target)
            except KafkaError as error:
                refusals[partition] = error.with_traceback(None)  # the traceback would refer to this dict
        yield from Worked(len(some), _SLICE)
    yield from _leave_znode(dict.fromkeys(accepted))
    refusals.update((yield from start(cluster, accepted)))
    return refusals


def start(cluster: ControllerContext, assignments: Mapping[TopicPartition, PartitionAssignment]) -> Plan[Refusals]:
    """Starts reassignments one after the other, in turns with other work; no other event is processed meanwhile."""
    refusals: Refusals = {}
    for some in slices(assignments.items(), _SLICE):
        for partition, assignment in some:
            refusals[partition] = yield from _start_one(cluster, partition, assignment)
        yield from Worked(len(some), _SLICE)
    return refusals


def _start_one(
    cluster: ControllerContext, partition: TopicPartition, assignment: PartitionAssignment
) -> Plan[KafkaError | None]:
    if partition.topic in cluster.queued:
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
    if not cluster.assignment(partition).replicas:
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
    try:
        if (yield from _would_drop_all_in_sync(cluster, partition, assignment)):
            return KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, LAST_IN_SYNC)
        yield from _advance(cluster, partition, assignment)
    except ControllerMoved:
        raise
    except Exception as error:
        yield from notes.error("Reassigning %s to %s failed", partition, assignment, error=error)
        return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error))
    return None


def _would_drop_all_in_sync(
    cluster: ControllerContext, partition: TopicPartition, assignment: PartitionAssignment
) -> Plan[bool]:
    """Whether all in-sync replicas were added by the running reassignment and are not part of `assignment`.

    Apache Kafka 2.8.2 deletes them anyway, and with them records that no other broker may have; newer versions refuse
    the request as well.
    """
    dropped = without(cluster.assignment(partition).replicas, assignment.replicas)
    if not dropped:
        return False
    state = yield from leaderships.read(cluster, partition)
    return state is not None and bool(state.isr) and set(state.isr) <= set(dropped)


def maybe_complete(cluster: ControllerContext, partition: TopicPartition) -> Plan[None]:
    """Completes a reassignment after a change of the in-sync set, if the new replicas are in it."""
    if partition in cluster.reassigning:
        assignment = cluster.assignment(partition)
        if (yield from _is_complete(cluster, partition, assignment)):
            yield from _advance(cluster, partition, assignment)


# ---- the steps


def _advance(cluster: ControllerContext, partition: TopicPartition, assignment: PartitionAssignment) -> Plan[None]:
    """Continues the reassignment to `assignment` as far as possible: phase A, or phase B and completion."""
    cluster.mark_ineligible((partition.topic,))
    yield from _take_over(cluster, partition, assignment)
    if (yield from _is_complete(cluster, partition, assignment)):
        yield from _finish(cluster, partition, assignment)
    else:
        yield from _announce(cluster, partition, assignment)  # A1
        yield from move_replicas(cluster, _replicas(partition, assignment.adding), replica_states.NEW)  # A2


def _take_over(cluster: ControllerContext, partition: TopicPartition, assignment: PartitionAssignment) -> Plan[None]:
    """U1 to U3: writes the assignment to ZooKeeper and to the context; removes replicas of a replaced target."""
    current = cluster.assignment(partition)
    if current != assignment:
        yield from _write(cluster, partition, assignment)
        cluster.set_assignment(partition, assignment)
        yield from _drop(cluster, partition, without(current.replicas, assignment.replicas))
        yield from _replace_dropped_leader(cluster, partition)
    cluster.reassigning.add(partition)


def _replace_dropped_leader(cluster: ControllerContext, partition: TopicPartition) -> Plan[None]:
    """Elects another leader if the leader was dropped; if none can lead, the partition is offline until one can.

    Apache Kafka 2.8.2 leaves it without a leader, so that the new replicas never get in sync.
    """
    leadership = cluster.leadership(partition)
    is_leaderless = leadership is not None and leadership.leader == NO_LEADER
    if is_leaderless and partition.topic not in cluster.queued:
        for state in (partition_states.OFFLINE, partition_states.ONLINE):
            yield from move_partitions(cluster, (partition,), state)


def _is_complete(
    cluster: ControllerContext, partition: TopicPartition, assignment: PartitionAssignment
) -> Plan[bool]:
    """Whether all target replicas are in sync according to ZooKeeper; watches the state if not."""
    if not assignment.is_being_reassigned:
        return True
    state = yield from leaderships.read(cluster, partition, watches=True)
    return state is not None and set(assignment.target) <= set(state.isr)


def _finish(cluster: ControllerContext, partition: TopicPartition, assignment: PartitionAssignment) -> Plan[None]:
    """Phase B: completes the reassignment with only the target replicas."""
    yield from move_replicas(cluster, _replicas(partition, assignment.adding), replica_states.ONLINE)  # B1
    final = PartitionAssignment(assignment.target)
    cluster.set_assignment(partition, final)  # B2
    yield from _move_leader(cluster, partition, final)  # B3
    yield from _drop(cluster, partition, assignment.removing)  # B4, B5
    yield from _replace_dropped_leader(cluster, partition)
    yield from _write(cluster, partition, final)  # B6
    yield from ForgetPartition(partition)  # B7
    yield from _leave_znode({partition: final.replicas})
    cluster.reassigning.discard(partition)
    yield from update_metadata(cluster, cluster.brokers, (partition,))  # B8
    yield from notes.info("Partition %s is reassigned to %s", partition, listed(final.replicas))
    yield from deletion.resume_for(cluster, (partition.topic,))


def _announce(cluster: ControllerContext, partition: TopicPartition, assignment: PartitionAssignment) -> Plan[None]:
    """Sends LeaderAndIsr with an incremented leader epoch, because leaders ignore one with the epoch they have."""
    outcome = (yield from bump_epochs(cluster, (partition,)))[partition]
    if isinstance(outcome, Exception):
        yield from notes.error("The leader epoch of %s was not incremented: %s", partition, outcome)
        return
    batch = RequestBatch(cluster)
    batch.add_leader_and_isr(assignment.origin, partition, outcome, assignment, is_new=False)
    batch.add_leader_and_isr(assignment.adding, partition, outcome, assignment, is_new=True)
    yield from Send(batch)


def _move_leader(cluster: ControllerContext, partition: TopicPartition, final: PartitionAssignment) -> Plan[None]:
    leader = leader_of(cluster.leadership(partition))
    if leader in final.replicas and cluster.is_online(leader, partition):
        yield from _announce(cluster, partition, final)
        return
    yield from move_partitions(cluster, (partition,), partition_states.ONLINE, Strategy.REASSIGN)


def _drop(cluster: ControllerContext, partition: TopicPartition, brokers: Sequence[int]) -> Plan[None]:
    """Deletes replicas without waiting for their brokers' responses."""
    replicas = _replicas(partition, brokers)
    for state in (
        replica_states.OFFLINE,
        replica_states.DELETION_STARTED,
        replica_states.DELETION_SUCCESSFUL,
        replica_states.NON_EXISTENT,
    ):
        yield from move_replicas(cluster, replicas, state)


def _write(cluster: ControllerContext, partition: TopicPartition, assignment: PartitionAssignment) -> WriteAssignments:
    topic = partition.topic
    rows = {**cluster.topic_assignment(topic), partition.partition: assignment}
    return WriteAssignments(topic, rows, cluster.topic_ids.get(topic))


def _leave_znode(targets: Mapping[TopicPartition, Sequence[int] | None]) -> Plan[None]:
    """Removes partitions from /admin/reassign_partitions, which is deleted and watched again once it is empty."""
    staying = yield from RemoveReassignments(targets)
    if staying is not None and not staying:
        yield from Put(ZkPartitionReassignment())


def _replicas(partition: TopicPartition, brokers: Collection[int]) -> list[PartitionAndReplica]:
    return [PartitionAndReplica(*partition, broker) for broker in brokers]


# ---- events


def zk_partition_reassignment(
    cluster: ControllerContext, _event: ZkPartitionReassignment, _settings: Settings
) -> Plan[None]:
    """Handles /admin/reassign_partitions."""
    yield from start_from_znode(cluster)


def api_partition_reassignment(
    cluster: ControllerContext, event: ApiPartitionReassignment, _settings: Settings
) -> Plan[None]:
    """Handles AlterPartitionReassignments."""
    yield from ReplyToCaller((yield from start_from_request(cluster, event.targets)))


def partition_reassignment_isr_change(
    cluster: ControllerContext, event: PartitionReassignmentIsrChange, _settings: Settings
) -> Plan[None]:
    """Handles a changed state of a partition that is being reassigned."""
    yield from maybe_complete(cluster, event.partition)


def list_partition_reassignments(
    cluster: ControllerContext, event: ListPartitionReassignments, _settings: Settings
) -> Plan[None]:
    """Handles ListPartitionReassignments."""
    asked = sorted(cluster.reassigning) if event.partitions is None else event.partitions
    moving: dict[TopicPartition, PartitionAssignment] = {}
    for some in slices(asked):
        for partition in some:
            assignment = cluster.assignment(partition)
            if assignment.is_being_reassigned:
                moving[partition] = assignment
        yield from Worked(len(some))
    yield from ReplyToCaller(moving)
