"""Carries out the moves of partitions and replicas: what each reads, writes to ZooKeeper and sends (I/O).

The tables of legal moves are partition_states.py and replica_states.py, who wins is elections.py. All requests of one
call leave as one batch at its end. A move that fails is logged and leaves the state as it was; only a write fenced off
by a newer controller (ControllerMoved) is raised. Work on many partitions leaves the loop to others after every few of
them; the controller itself does nothing else meanwhile, for it handles one event at a time.
Source: docs/reference/controller.md, sections 4 and 5.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeVar

from kafka_py.base.ids import TopicPartition
from kafka_py.base.moves import Moves, label
from kafka_py.base.turns import sliced
from kafka_py.controller.batch import RequestBatch
from kafka_py.controller.leaderships import Decided, Leaderships, MoveFailed, Outcomes
from kafka_py.controller.metrics import ControllerStats
from kafka_py.controller.model import elections, partition_states, replica_states
from kafka_py.controller.model.controller_context import Cluster, Leadership, Replica, leader_of, without
from kafka_py.controller.model.elections import Elected, Strategy
from kafka_py.controller.model.partition_states import PartitionState
from kafka_py.controller.model.replica_states import ReplicaState
from kafka_py.controller.state_changes import PARTITION, REPLICA, StateChanges
from kafka_py.zk.access import ControllerMoved
from kafka_py.zk.partitions import NO_LEADER

S = TypeVar("S")
T = TypeVar("T")

SendBatch = Callable[[RequestBatch], Awaitable[None]]
PermitsUnclean = Callable[[Collection[str]], Awaitable[Mapping[str, bool | Exception]]]
"""Topics -> whether their settings, as they are now, permit unclean elections; or why that cannot be read."""

log = logging.getLogger(__name__)


class Transitions:
    """Moves partitions and replicas of one cluster."""

    def __init__(
        self,
        cluster: Cluster,
        leaderships: Leaderships,
        send: SendBatch,
        permits_unclean: PermitsUnclean,
        stats: ControllerStats,
        state_changes: StateChanges,
    ) -> None:
        self._cluster = cluster
        self._leaderships = leaderships
        self._send = send
        self._permits_unclean = permits_unclean
        self._stats = stats
        self._state_changes = state_changes

    # Partitions

    async def partitions(
        self,
        partitions: Collection[TopicPartition],
        target: PartitionState,
        strategy: Strategy = Strategy.OFFLINE,
    ) -> Outcomes:
        """Moves partitions to `target`; to ONLINE by an election under `strategy`, unless they are new.

        Returns for each partition that went through an election its leadership, or why there is none.
        """
        batch = RequestBatch(self._cluster)
        outcomes: Outcomes = {}
        if not partitions:
            return outcomes
        try:
            state_of = self._cluster.partition_state
            before = await _legal(partition_states.MOVES, "partition", partitions, state_of, target)
            if target is partition_states.ONLINE:
                outcomes = await self._bring_online(before, strategy, batch)
            else:
                async for some in sliced(before):
                    for partition in some:
                        self._cluster.set_partition_state(partition, target)
            self._state_changes.moved(PARTITION, before, target, state_of, outcomes)
            await self._send(batch)
        except ControllerMoved:
            raise
        except Exception as error:
            log.exception("Moving partitions to %s failed", target.name)
            return dict.fromkeys(partitions, error)
        return outcomes

    async def bring_online(self, topic: str | None = None) -> None:
        """Elects leaders for all partitions without one, or those of a topic; not for topics to be deleted."""
        waiting = self._cluster.partitions_in_state(partition_states.NEW, partition_states.OFFLINE)
        wanted = [p for p in waiting if p.topic not in self._cluster.queued and topic in (None, p.topic)]
        await self.partitions(wanted, partition_states.ONLINE)

    async def _bring_online(
        self, before: Mapping[TopicPartition, PartitionState], strategy: Strategy, batch: RequestBatch
    ) -> Outcomes:
        """before: the partitions, each with the state that it has now."""
        cluster = self._cluster
        fresh = [partition for partition, state in before.items() if state is partition_states.NEW]
        led_before = [partition for partition, state in before.items() if state is not partition_states.NEW]
        outcomes: Outcomes = {}
        if fresh:
            outcomes.update(await self._first_leaders(fresh, batch))
        if led_before:
            outcomes.update(await self._elect(led_before, strategy, batch))
        async for some in sliced(outcomes.items()):
            for partition, outcome in some:
                if isinstance(outcome, Exception):
                    log.error("Partition %s got no leader: %s", partition, outcome)
                else:
                    cluster.set_partition_state(partition, partition_states.ONLINE)
        return outcomes

    async def _first_leaders(self, partitions: list[TopicPartition], batch: RequestBatch) -> Outcomes:
        """Leaders for partitions that never had one: znodes are made, all living replicas are told they are new."""
        outcomes: Outcomes = {}
        elected: dict[TopicPartition, Elected] = {}
        async for some in sliced(partitions):
            for partition in some:
                replicas = self._cluster.assignment(partition).replicas
                winner = elections.first_leader(replicas, self._cluster.online(partition, replicas))
                if winner is None:
                    outcomes[partition] = MoveFailed(f"none of its replicas {list(replicas)} is alive")
                else:
                    elected[partition] = winner
        created = await self._leaderships.create(elected)
        async for made in sliced(created.items()):
            for partition, outcome in made:
                if not isinstance(outcome, Exception):
                    recipients, assignment = elected[partition].recipients, self._cluster.assignment(partition)
                    batch.add_leader_and_isr(recipients, partition, outcome, assignment, is_new=True)
        return {**outcomes, **created}

    async def _elect(self, partitions: list[TopicPartition], strategy: Strategy, batch: RequestBatch) -> Outcomes:
        """Another leader for partitions that have, or had, one."""
        recipients: dict[TopicPartition, tuple[int, ...]] = {}
        unclean: set[TopicPartition] = set()

        async def decide(found: Mapping[TopicPartition, Leadership]) -> dict[TopicPartition, Decided]:
            permitted = await self._unclean_permissions(found, strategy)
            decided: dict[TopicPartition, Decided] = {}
            async for some in sliced(found.items()):
                for partition, leadership in some:
                    decided[partition] = decide_one(partition, leadership, permitted.get(partition.topic, False))
            return decided

        def decide_one(partition: TopicPartition, leadership: Leadership, permission: bool | Exception) -> Decided:
            if isinstance(permission, Exception) and self._needs_unclean(partition, leadership):
                return permission
            winner = self._winner(partition, leadership, strategy, permission is True)
            if winner is None:
                return MoveFailed(f"no leader under strategy {strategy.value}; found {leadership}")
            recipients[partition] = winner.recipients
            (unclean.add if winner.unclean else unclean.discard)(partition)
            return self._leaderships.successor(leadership, winner.leader, winner.isr)

        outcomes = await self._leaderships.revise(partitions, decide)
        async for some in sliced(outcomes.items()):
            for partition, outcome in some:
                if not isinstance(outcome, Exception):
                    assignment = self._cluster.assignment(partition)
                    self._stats.unclean_elections += partition in unclean
                    batch.add_leader_and_isr(recipients[partition], partition, outcome, assignment, is_new=False)
        return outcomes

    def _winner(
        self, partition: TopicPartition, leadership: Leadership, strategy: Strategy, unclean_permitted: bool
    ) -> Elected | None:
        cluster, isr = self._cluster, leadership.isr
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

    def _needs_unclean(self, partition: TopicPartition, leadership: Leadership) -> bool:
        return elections.needs_unclean(leadership.isr, self._cluster.online(partition, leadership.isr))

    async def _unclean_permissions(
        self, found: Mapping[TopicPartition, Leadership], strategy: Strategy
    ) -> Mapping[str, bool | Exception]:
        """Per topic whether a replica out of sync may lead; asked only where nobody in sync is alive."""
        if strategy not in (Strategy.OFFLINE, Strategy.UNCLEAN):
            return {}
        topics: dict[str, None] = {}
        async for some in sliced(found.items()):
            topics.update((p.topic, None) for p, leadership in some if self._needs_unclean(p, leadership))
        if strategy is Strategy.UNCLEAN or not topics:
            return dict.fromkeys(topics, True)
        return await self._permits_unclean(topics)

    # Replicas

    async def replicas(self, replicas: Collection[Replica], target: ReplicaState) -> None:
        """Moves replicas to `target`, broker by broker."""
        batch = RequestBatch(self._cluster)
        by_broker: dict[int, list[Replica]] = {}
        async for some in sliced(replicas):
            for replica in some:
                by_broker.setdefault(replica.broker, []).append(replica)
        try:
            for broker, of_broker in by_broker.items():
                await self._move_replicas(broker, of_broker, target, batch)
            if replicas:
                await self._send(batch)
        except ControllerMoved:
            raise
        except Exception:
            log.exception("Moving replicas to %s failed", target.name)

    async def _move_replicas(
        self, broker: int, replicas: list[Replica], target: ReplicaState, batch: RequestBatch
    ) -> None:
        state_of = self._cluster.replica_state
        before = await _legal(replica_states.MOVES, "replica", replicas, state_of, target)
        if target is replica_states.OFFLINE:
            await self._take_offline(broker, list(before), batch)
        else:
            step = _REPLICA_STEPS.get(target)
            async for some in sliced(before):
                for replica in some:
                    if step is None or step(self, replica, batch):
                        self._cluster.set_replica_state(replica, target)
        self._state_changes.moved(REPLICA, before, target, state_of, {})

    def _start_new(self, replica: Replica, batch: RequestBatch) -> bool:
        """A new replica of a partition that has a leader already follows that leader."""
        partition = replica.topic_partition
        leadership = self._cluster.leadership(partition)
        if leader_of(leadership) == replica.broker:
            log.error("Replica %s cannot be new: it leads its partition", replica)
            return False
        if leadership is not None:
            assignment = self._cluster.assignment(partition)
            batch.add_leader_and_isr((replica.broker,), partition, leadership, assignment, is_new=True)
        return True

    def _bring_replica_online(self, replica: Replica, batch: RequestBatch) -> bool:
        partition = replica.topic_partition
        assignment = self._cluster.assignment(partition)
        if self._cluster.replica_state(replica) is replica_states.NEW:
            if replica.broker not in assignment.replicas:
                log.error("Replica %s is not in the assignment %s, adding it", replica, assignment)
                extended = assignment._replace(replicas=(*assignment.replicas, replica.broker))
                self._cluster.set_assignment(partition, extended)
            return True
        leadership = self._cluster.leadership(partition)
        if leadership is not None:
            batch.add_leader_and_isr((replica.broker,), partition, leadership, assignment, is_new=False)
        return True

    def _start_deletion(self, replica: Replica, batch: RequestBatch) -> bool:
        batch.add_stop_replica((replica.broker,), replica.topic_partition, delete=True)
        return True

    def _forget(self, replica: Replica, _batch: RequestBatch) -> bool:
        partition = replica.topic_partition
        self._cluster.set_assignment(partition, self._cluster.assignment(partition).remove(replica.broker))
        return True

    async def _take_offline(self, broker: int, replicas: list[Replica], batch: RequestBatch) -> None:
        """Stops replicas and takes them out of the in-sync sets; the remaining replicas are told."""
        cluster = self._cluster
        led: dict[TopicPartition, Replica] = {}
        unled: list[Replica] = []
        async for some in sliced(replicas):
            for replica in some:
                partition = replica.topic_partition
                batch.add_stop_replica((broker,), partition, delete=False)
                if cluster.leadership(partition) is not None:
                    led[partition] = replica
                else:
                    unled.append(replica)
        outcomes = await self._leave_isr(broker, list(led)) if led else {}
        async for left in sliced(outcomes.items()):
            for partition, outcome in left:
                if isinstance(outcome, Exception):
                    log.error("Replica %d of %s cannot leave the in-sync set: %s", broker, partition, outcome)
                    continue
                if partition.topic not in cluster.queued:
                    assignment = cluster.assignment(partition)
                    others = without(assignment.replicas, (broker,))
                    batch.add_leader_and_isr(others, partition, outcome, assignment, is_new=False)
                cluster.set_replica_state(led[partition], replica_states.OFFLINE)
        async for some in sliced(unled):
            for replica in some:
                cluster.set_replica_state(replica, replica_states.OFFLINE)
                batch.add_update_metadata(cluster.brokers, (replica.topic_partition,))

    async def _leave_isr(self, broker: int, partitions: list[TopicPartition]) -> Outcomes:
        """Takes a broker out of in-sync sets, and out of the lead; the last member of a set stays in it."""

        async def decide(found: Mapping[TopicPartition, Leadership]) -> dict[TopicPartition, Decided]:
            decided: dict[TopicPartition, Decided] = {}
            async for some in sliced(found.items()):
                for partition, leadership in some:
                    if broker not in leadership.isr:
                        decided[partition] = None
                        continue
                    leader = NO_LEADER if leadership.leader == broker else leadership.leader
                    isr = leadership.isr if len(leadership.isr) == 1 else without(leadership.isr, (broker,))
                    decided[partition] = self._leaderships.successor(leadership, leader, isr)
            return decided

        return await self._leaderships.revise(partitions, decide)


_REPLICA_STEPS: dict[ReplicaState, Callable[[Transitions, Replica, RequestBatch], bool]] = {
    replica_states.NEW: Transitions._start_new,
    replica_states.ONLINE: Transitions._bring_replica_online,
    replica_states.DELETION_STARTED: Transitions._start_deletion,
    replica_states.NON_EXISTENT: Transitions._forget,
}
"""What a move to that state does besides; False when it failed. The other states are states only."""


async def _legal(
    moves: Moves[S, S], kind: str, subjects: Collection[T], state_of: Callable[[T], S], target: S
) -> dict[T, S]:
    """Those that may move to `target`, each with the state that it is in; the others are logged."""
    found: dict[T, S] = {}
    async for some in sliced(subjects):
        for subject in some:
            state = state_of(subject)
            if moves.allows(state, target):
                found[subject] = state
            else:
                log.error("Illegal move of %s %s from %s to %s", kind, subject, label(state), label(target))
    return found
