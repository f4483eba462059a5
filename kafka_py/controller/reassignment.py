"""Moves partitions to other brokers: adds the new replicas, waits until they have caught up, drops the old (I/O).

The target and what is left to do stand in the topic's znode, so a new controller goes on where this one stopped
(KIP-455). The old way, a list in /admin/reassign_partitions, ends in the same steps.
Source: docs/reference/controller.md, section 8 (with the letters of the steps).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.texts import listed
from kafka_py.base.turns import sliced
from kafka_py.controller.batch import RequestBatch
from kafka_py.controller.events import (
    ApiPartitionReassignment,
    ListPartitionReassignments,
    PartitionReassignmentIsrChange,
    ZkPartitionReassignment,
)
from kafka_py.controller.model import partition_states, replica_states
from kafka_py.controller.model.controller_context import Assignment, Replica, leader_of, without
from kafka_py.controller.model.elections import Strategy
from kafka_py.zk.access import ControllerMoved

if TYPE_CHECKING:
    from kafka_py.controller.model.controller_context import Cluster
    from kafka_py.controller.term import Term

log = logging.getLogger(__name__)

LAST_IN_SYNC = (
    "All in-sync replicas are among those that would be deleted: wait until another one is in sync, or elect one "
    "unclean, if records may be lost."
)

_SLICE = 64
"""So many targets are looked at before others have the loop: one may cost some 30 microseconds."""
_MOST_SHOWN = 100
"""Broker ids that an error message lists: it must fit into a string of the protocol."""

Refusals = dict[TopicPartition, KafkaError | None]
"""Per partition None, or why nothing was begun."""


class Reassignments:
    """The reassignments of one term. Which partitions are being reassigned, the cluster knows."""

    def __init__(self, term: Term) -> None:
        self._term = term

    # What starts, resumes and ends them

    async def load(self) -> None:
        """Goes on with what a former controller left, the znode's wishes first."""
        begun = await self.start_from_znode()
        await self.resume(lambda partition, _: partition not in begun)

    async def resume(self, chosen: Callable[[TopicPartition, Assignment], bool]) -> None:
        """Runs the next step of those reassignments that `chosen` picks."""
        cluster = self._term.cluster
        for partition in sorted(cluster.reassigning):
            assignment = cluster.assignment(partition)
            if chosen(partition, assignment):
                await self._advance(partition, assignment)

    async def start_from_znode(self) -> set[TopicPartition]:
        """Begins what /admin/reassign_partitions asks for and returns the partitions begun; others leave the list."""
        term = self._term
        wanted = await term.store.admin.reassignments(term.watches.reassignments)
        if wanted is not None and not wanted:  # empty or unreadable: it stays until somebody mends or deletes it
            await term.store.admin.reassignments(term.watches.empty_reassignments)
        if not wanted:
            return set()
        assignments = {p: term.cluster.assignment(p).reassign_to(target) for p, target in wanted.items()}
        refusals = await self.start(assignments)
        refused = {partition: refusal for partition, refusal in refusals.items() if refusal is not None}
        for partition, refusal in refused.items():
            log.error("Partition %s is not reassigned: %s", partition, refusal)
        await self._leave_znode(lambda partition, _: partition in refused)
        return refusals.keys() - refused.keys()

    async def start_from_request(self, targets: Mapping[TopicPartition, Sequence[int] | None]) -> Refusals:
        """Begins, replaces or (target None) cancels reassignments; they take precedence over the znode's."""
        cluster = self._term.cluster
        refusals: Refusals = {}
        accepted: dict[TopicPartition, Assignment] = {}
        async for some in sliced(targets.items(), _SLICE):
            for partition, target in some:
                try:
                    accepted[partition] = requested_assignment(cluster, partition, target)
                except KafkaError as error:
                    refusals[partition] = error.with_traceback(None)  # which would hold this very dict
        await self._leave_znode(lambda partition, _: partition in accepted)
        refusals.update(await self.start(accepted))
        return refusals

    async def start(self, assignments: Mapping[TopicPartition, Assignment]) -> Refusals:
        """Begins reassignments one after the other, in turns with other work; no other event is processed meanwhile."""
        refusals: Refusals = {}
        async for some in sliced(assignments.items(), _SLICE):
            for partition, assignment in some:
                refusals[partition] = await self._start_one(partition, assignment)
        return refusals

    async def _start_one(self, partition: TopicPartition, assignment: Assignment) -> KafkaError | None:
        cluster = self._term.cluster
        if partition.topic in cluster.queued:
            return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
        if not cluster.assignment(partition).replicas:
            return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
        try:
            if await self._would_drop_all_in_sync(partition, assignment):
                return KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, LAST_IN_SYNC)
            await self._advance(partition, assignment)
        except ControllerMoved:
            raise
        except Exception as error:
            log.exception("Reassigning %s to %s failed", partition, assignment)
            return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error))
        return None

    async def _would_drop_all_in_sync(self, partition: TopicPartition, assignment: Assignment) -> bool:
        """Whether every in-sync replica is one of the running move's that `assignment` does without.

        The classic deletes them all the same, and with them records that nobody else may have; newer controllers
        refuse as we do.
        """
        dropped = without(self._term.cluster.assignment(partition).replicas, assignment.replicas)
        if not dropped:
            return False
        state = await self._term.store.partitions.state(partition)
        return state is not None and bool(state.isr) and set(state.isr) <= set(dropped)

    async def maybe_complete(self, partition: TopicPartition) -> None:
        """The in-sync set has changed: if the new replicas are in it, the second half of the steps runs."""
        cluster = self._term.cluster
        if partition in cluster.reassigning:
            assignment = cluster.assignment(partition)
            if await self._is_complete(partition, assignment):
                await self._advance(partition, assignment)

    # The steps

    async def _advance(self, partition: TopicPartition, assignment: Assignment) -> None:
        """Takes a partition to `assignment` as far as it can go now: phase A, or phase B and then the end."""
        self._term.cluster.mark_ineligible((partition.topic,))
        await self._take_over(partition, assignment)
        if await self._is_complete(partition, assignment):
            await self._finish(partition, assignment)
        else:
            await self._announce(partition, assignment)  # A1
            added = _replicas(partition, assignment.adding)
            await self._term.transitions.replicas(added, replica_states.NEW)  # A2

    async def _take_over(self, partition: TopicPartition, assignment: Assignment) -> None:
        """U1 to U3: the new assignment in ZooKeeper, in memory; replicas of a replaced target are dropped."""
        cluster = self._term.cluster
        current = cluster.assignment(partition)
        if current != assignment:
            await self._write(partition, assignment)
            cluster.set_assignment(partition, assignment)
            await self._drop(partition, without(current.replicas, assignment.replicas))
        cluster.reassigning.add(partition)

    async def _is_complete(self, partition: TopicPartition, assignment: Assignment) -> bool:
        """Whether all target replicas are in sync, as ZooKeeper has it; watches the state otherwise."""
        if not assignment.is_being_reassigned:
            return True
        watch = self._term.watches.reassigned_partition(partition)
        state = await self._term.store.partitions.state(partition, watch)
        return state is not None and set(assignment.target) <= set(state.isr)

    async def _finish(self, partition: TopicPartition, assignment: Assignment) -> None:
        """Phase B: only the target replicas stay."""
        term, cluster = self._term, self._term.cluster
        await term.transitions.replicas(_replicas(partition, assignment.adding), replica_states.ONLINE)  # B1
        final = Assignment(assignment.target)
        cluster.set_assignment(partition, final)  # B2
        await self._move_leader(partition, final)  # B3
        await self._drop(partition, assignment.removing)  # B4, B5
        await self._write(partition, final)  # B6
        term.watches.forget_partition(partition)  # B7
        await self._leave_znode(lambda listed, target: listed == partition and tuple(target) == final.replicas)
        cluster.reassigning.discard(partition)
        await term.update_metadata(cluster.brokers, (partition,))  # B8
        log.info("Partition %s is reassigned to %s", partition, listed(final.replicas))
        await term.deletion.resume_for((partition.topic,))

    async def _announce(self, partition: TopicPartition, assignment: Assignment) -> None:
        """A new leader epoch, so that the leader takes the replicas that come and go for news."""
        term = self._term
        outcome = (await term.leaderships.bump_epochs((partition,)))[partition]
        if isinstance(outcome, Exception):
            log.error("The leader epoch of %s was not raised: %s", partition, outcome)
            return
        batch = RequestBatch(term.cluster)
        batch.add_leader_and_isr(assignment.origin, partition, outcome, assignment, is_new=False)
        batch.add_leader_and_isr(assignment.adding, partition, outcome, assignment, is_new=True)
        await term.send(batch)

    async def _move_leader(self, partition: TopicPartition, final: Assignment) -> None:
        cluster = self._term.cluster
        leader = leader_of(cluster.leadership(partition))
        if leader in final.replicas and cluster.is_online(leader, partition):
            await self._announce(partition, final)
            return
        online = partition_states.ONLINE
        await self._term.transitions.partitions((partition,), online, Strategy.REASSIGN)

    async def _drop(self, partition: TopicPartition, brokers: Sequence[int]) -> None:
        """Replicas are deleted without waiting for what their brokers say."""
        replicas = _replicas(partition, brokers)
        for state in (
            replica_states.OFFLINE,
            replica_states.DELETION_STARTED,
            replica_states.DELETION_SUCCESSFUL,
            replica_states.NON_EXISTENT,
        ):
            await self._term.transitions.replicas(replicas, state)

    async def _write(self, partition: TopicPartition, assignment: Assignment) -> None:
        rows = {**self._term.cluster.topic_assignment(partition.topic), partition.partition: assignment}
        await self._term.write_assignment(partition.topic, rows)

    async def _leave_znode(self, leaves: Callable[[TopicPartition, Sequence[int]], bool]) -> None:
        """Takes partitions out of /admin/reassign_partitions; once it is empty it is deleted and watched for again."""
        term = self._term
        staying = await term.store.admin.keep_reassignments(
            lambda partition, target: not leaves(partition, target), term.epoch_zk_version
        )
        if staying is not None and not staying:
            term.put(ZkPartitionReassignment())


def requested_assignment(cluster: Cluster, partition: TopicPartition, target: Sequence[int] | None) -> Assignment:
    """The assignment that a request leads to.

    target: the wanted replicas; None goes back to where a running reassignment came from.
    Raises KafkaError(INVALID_REPLICA_ASSIGNMENT), or KafkaError(NO_REASSIGNMENT_IN_PROGRESS) with nothing to cancel.
    """
    current = cluster.assignment(partition)
    if target is None:
        if not current.is_being_reassigned:
            raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress.")
        return current.reassign_to(current.origin)
    live = cluster.live_brokers
    target = target[: len(current.origin) + len(live) + 1]  # one that is longer has its fault in this part of it
    wanted = current.reassign_to(target)
    fault = _fault_of(target, wanted.adding, live)
    if fault is not None:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, fault)
    return wanted


def _fault_of(target: Sequence[int], adding: Sequence[int], live: Collection[int]) -> str | None:
    """What is wrong with a target, in the words that the classic's tools show."""
    if not target:
        return "Empty replica list specified in partition reassignment."
    if len(set(target)) < len(target):
        return f"Duplicate replica ids in partition reassignment replica list: {_shown('ArrayBuffer', target)}"
    if min(target) < 0:
        return f"Invalid broker id in replica list: {_shown('ArrayBuffer', target)}"
    if not set(adding) <= set(live):
        return (f"Replica assignment has brokers that are not alive. Replica list: {_shown('ArrayBuffer', adding)}, "
                f"live broker list: {_shown('Set', sorted(live))}")  # fmt: skip
    return None


def _shown(collection: str, ids: Sequence[int]) -> str:
    more = ", ..." if len(ids) > _MOST_SHOWN else ""
    return f"{collection}({', '.join(map(str, ids[:_MOST_SHOWN]))}{more})"


def _replicas(partition: TopicPartition, brokers: Collection[int]) -> list[Replica]:
    return [Replica(*partition, broker) for broker in brokers]


async def zk_partition_reassignment(term: Term, _event: ZkPartitionReassignment) -> None:
    """The old tool asks for reassignments."""
    await term.reassignments.start_from_znode()


async def api_partition_reassignment(term: Term, event: ApiPartitionReassignment) -> None:
    """AlterPartitionReassignments."""
    event.reply(await term.reassignments.start_from_request(event.targets))


async def partition_reassignment_isr_change(term: Term, event: PartitionReassignmentIsrChange) -> None:
    """The state of a partition on its way was rewritten."""
    await term.reassignments.maybe_complete(event.partition)


async def list_partition_reassignments(term: Term, event: ListPartitionReassignments) -> None:
    """ListPartitionReassignments."""
    cluster = term.cluster
    asked = sorted(cluster.reassigning) if event.partitions is None else event.partitions
    moving: dict[TopicPartition, Assignment] = {}
    async for some in sliced(asked):
        for partition in some:
            assignment = cluster.assignment(partition)
            if assignment.is_being_reassigned:
                moving[partition] = assignment
    event.reply(moving)
