"""Leaders and in-sync sets in ZooKeeper: read, decide, write if nobody wrote meanwhile, else read again (I/O).

Every write is conditional on the znode version just read and fenced by the controller epoch. What is decided is the
caller's. The cluster value is kept equal to what was written. Source: docs/reference/zookeeper.md, section 9.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import sliced
from kafka_py.controller.model.controller_context import Cluster, Leadership
from kafka_py.controller.model.elections import Elected
from kafka_py.zk.store import ZkStore

FIRST_LEADER_EPOCH = 0


class MoveFailed(Exception):
    """A partition or replica could not be moved; says why."""


Outcomes = dict[TopicPartition, Leadership | Exception]
"""Per partition what ZooKeeper holds now, or why it was not changed."""

Decided = Leadership | Exception | None
"""What to write, why not to, or None: leave it as it is, which is no failure."""

Decide = Callable[[Mapping[TopicPartition, Leadership]], Awaitable[Mapping[TopicPartition, Decided]]]


class Leaderships:
    """The state znodes, as one controller in one term of office reads and writes them."""

    def __init__(self, store: ZkStore, cluster: Cluster, epoch: int, epoch_zk_version: int) -> None:
        self._store = store
        self._cluster = cluster
        self._epoch = epoch
        self._epoch_zk_version = epoch_zk_version

    def successor(self, before: Leadership, leader: int, isr: Sequence[int]) -> Leadership:
        """The next leadership of a partition: every change of ours makes the leader epoch one larger."""
        return Leadership(leader, before.leader_epoch + 1, tuple(isr), self._epoch, before.zk_version)

    async def create(self, elected: Mapping[TopicPartition, Elected]) -> Outcomes:
        """First leaders of partitions that have no state znode yet. Raises ControllerMoved."""
        wanted: dict[TopicPartition, Leadership] = {}
        async for some in sliced(elected.items()):
            for partition, winner in some:
                wanted[partition] = Leadership(winner.leader, FIRST_LEADER_EPOCH, winner.isr, self._epoch)
        created = await self._store.partitions.create_states(wanted, self._epoch_zk_version)
        outcomes: Outcomes = {partition: created[partition] or wanted[partition] for partition in wanted}
        await self._remember(outcomes)
        return outcomes

    async def revise(self, partitions: Collection[TopicPartition], decide: Decide) -> Outcomes:
        """Changes existing leaderships: `decide` gets what ZooKeeper holds, again after every lost race.

        What the cluster value says comes first: a write goes through only if it is what ZooKeeper holds. Only where
        that would not lead to a write, and after a lost race, is the state read.
        A partition without a readable state, or with that of a newer controller, fails. Raises ControllerMoved.
        """
        outcomes: Outcomes = {}
        remaining = await self._revise_known(partitions, decide, outcomes)
        while remaining:
            found = await self._readable(remaining, outcomes)
            decided = await decide(found) if found else {}
            to_write: dict[TopicPartition, Leadership] = {}
            for partition, decision in decided.items():
                if decision is None:
                    outcomes[partition] = found[partition]._replace(controller_epoch=self._epoch)
                elif isinstance(decision, Exception):
                    outcomes[partition] = decision
                else:
                    to_write[partition] = decision
            written = await self._store.partitions.update_states(to_write, self._epoch_zk_version)
            outcomes.update(written.updated)
            outcomes.update(written.failed)
            remaining = written.conflicts
        ordered: Outcomes = {}
        async for some in sliced(partitions):
            ordered.update({partition: outcomes[partition] for partition in some if partition in outcomes})
        await self._remember(ordered)
        return ordered

    async def _revise_known(
        self, partitions: Collection[TopicPartition], decide: Decide, outcomes: Outcomes
    ) -> list[TopicPartition]:
        """Writes what follows from the cluster value; returns the partitions whose state must be read for that."""
        leadership_of = self._cluster.leadership
        found: dict[TopicPartition, Leadership] = {}
        async for some in sliced(partitions):
            found.update({one: known for one in some if (known := leadership_of(one)) is not None})
        decided = await decide(found) if found else {}
        to_write: dict[TopicPartition, Leadership] = {}
        for partition, decision in decided.items():
            if decision is not None and not isinstance(decision, Exception):
                to_write[partition] = decision
        written = await self._store.partitions.update_states(to_write, self._epoch_zk_version)
        outcomes.update(written.updated)
        return [partition for partition in partitions if partition not in written.updated]

    async def bump_epochs(self, partitions: Collection[TopicPartition]) -> Outcomes:
        """Raises the leader epoch and changes nothing else, so that a new LeaderAndIsr is taken for newer."""

        async def decide(found: Mapping[TopicPartition, Leadership]) -> dict[TopicPartition, Decided]:
            decided: dict[TopicPartition, Decided] = {}
            async for some in sliced(found.items()):
                decided.update({partition: self.successor(one, one.leader, one.isr) for partition, one in some})
            return decided

        return await self.revise(partitions, decide)

    async def refresh(self, partitions: Collection[TopicPartition]) -> None:
        """Takes over what ZooKeeper holds: leaders change in-sync sets themselves."""
        found = await self._store.partitions.states(partitions)
        async for some in sliced(found.items()):
            for partition, leadership in some:
                self._cluster.set_leadership(partition, leadership)

    async def _readable(
        self, partitions: list[TopicPartition], outcomes: Outcomes
    ) -> dict[TopicPartition, Leadership]:
        found = await self._store.partitions.states(partitions)
        for partition in partitions:
            leadership = found.get(partition)
            if leadership is None:
                outcomes[partition] = MoveFailed("its state in ZooKeeper is missing or cannot be read")
            elif leadership.controller_epoch > self._epoch:
                newer = leadership.controller_epoch
                outcomes[partition] = MoveFailed(f"a controller of epoch {newer}, later than ours, has written it")
                del found[partition]
        return found

    async def _remember(self, outcomes: Outcomes) -> None:
        async for some in sliced(outcomes.items()):
            for partition, outcome in some:
                if not isinstance(outcome, Exception):
                    self._cluster.set_leadership(partition, outcome)
