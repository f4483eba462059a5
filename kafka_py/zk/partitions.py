"""The state of partitions: leader and in-sync replicas, written by the controller (fenced) and by leaders (CAS).

Knows nothing of elections. Source: docs/reference/zookeeper.md, section 9.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import sliced
from kafka_py.zk.access import ZkAccess, pipelined
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.session import BadVersion, CreateOp, DeleteOp, NodeExists, NoNode, SetOp, Stat, Watch, ZkError
from kafka_py.zk.znodes import PartitionStateZNode, TopicPartitionsZNode, TopicPartitionZNode

_log = logging.getLogger(__name__)


class LeaderAndIsr(NamedTuple):
    """Leader (NO_LEADER if none) and in-sync replicas of a partition.

    controller_epoch: of the controller that wrote it last, or that sent LeaderAndIsr to the leader that wrote it.
        zk_version: the znode's version, which the next write must expect; LeaderAndIsr carries it.
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    zk_version: int = 0

    def to_znode(self) -> PartitionStateZNode:
        return PartitionStateZNode(self.controller_epoch, self.leader, self.leader_epoch, list(self.isr))


class StateUpdates(NamedTuple):
    """Result of a batch of updates: written (with the new zk_version), to be re-read and retried, failed."""

    updated: dict[TopicPartition, LeaderAndIsr]
    conflicts: list[TopicPartition]
    failed: dict[TopicPartition, ZkError]


def _path(partition: TopicPartition) -> str:
    return PartitionStateZNode.path(partition.topic, partition.partition)


class PartitionStore:
    """The state znodes of partitions."""

    def __init__(self, znodes: ZkAccess) -> None:
        self._znodes = znodes

    async def state(self, partition: TopicPartition, watch: Watch | None = None) -> LeaderAndIsr | None:
        """The state of one partition, None if it is missing or cannot be read (logged)."""
        found = await self._znodes.read(_path(partition), watch)
        return None if found is None else _state(partition, *found)

    async def states(
        self, partitions: Iterable[TopicPartition], watch_of: Callable[[TopicPartition], Watch] | None = None
    ) -> dict[TopicPartition, LeaderAndIsr]:
        """The states of these partitions, pipelined, without missing and unreadable ones. Raises the first ZkError."""
        wanted = list(partitions)
        found = await pipelined(
            self.state(one, watch_of(one) if watch_of is not None else None) for one in wanted
        )
        states = {}
        for partition, result in zip(wanted, found, strict=True):
            if isinstance(result, BaseException):
                raise result
            if result is not None:
                states[partition] = result
        return states

    async def create_states(
        self, states: Mapping[TopicPartition, LeaderAndIsr], epoch_zk_version: int
    ) -> dict[TopicPartition, ZkError | None]:
        """Creates the states of new partitions, with both levels of parents.

        Returns the result by partition: None is success, with zk_version 0. Raises ControllerMoved.
        """
        parents = [CreateOp(TopicPartitionsZNode.path(topic)) for topic in dict.fromkeys(one.topic for one in states)]
        await self._znodes.fenced_many(parents, epoch_zk_version)
        ops = []
        async for some in sliced(states.items()):
            for one, state in some:  # in pairs, which no batch separates
                ops.append(CreateOp(TopicPartitionZNode.path(one.topic, one.partition)))
                ops.append(CreateOp(_path(one), state.to_znode().encode()))
        written = (await self._znodes.fenced_many(ops, epoch_zk_version))[1::2]
        outcomes = {
            one: outcome if isinstance(outcome, ZkError) else None for one, outcome in zip(states, written, strict=True)
        }
        exist = [one for one, outcome in outcomes.items() if isinstance(outcome, NodeExists)]
        for one, found in (await self.states(exist)).items():
            if found == states[one]:  # created by an attempt of ours whose response was lost
                outcomes[one] = None
        return outcomes

    async def update_states(
        self, states: Mapping[TopicPartition, LeaderAndIsr], epoch_zk_version: int
    ) -> StateUpdates:
        """Writes states of existing partitions, each expecting its own zk_version. Raises ControllerMoved."""
        ops: list[CreateOp | SetOp | DeleteOp] = []
        async for some in sliced(states.items()):
            ops += [SetOp(_path(one), state.to_znode().encode(), state.zk_version) for one, state in some]
        updates = StateUpdates({}, [], {})
        outcomes = iter(await self._znodes.fenced_many(ops, epoch_zk_version))
        async for some in sliced(states.items()):
            for (partition, state), outcome in zip(some, outcomes, strict=False):
                if isinstance(outcome, Stat):
                    updates.updated[partition] = state._replace(zk_version=outcome.version)
                elif isinstance(outcome, BadVersion):
                    updates.conflicts.append(partition)
                elif isinstance(outcome, ZkError):
                    updates.failed[partition] = outcome
        return updates

    async def write_isr(self, partition: TopicPartition, state: LeaderAndIsr) -> int | None:
        """Writes a leader's new ISR: not fenced, expecting the zk_version of its last LeaderAndIsr or own write.

        Returns the new zk_version; None if another broker wrote or deleted the state, so this broker may no longer be
            leader. After BadVersion the state is re-read: if it equals the one to be written, an earlier attempt
            succeeded and its response was lost.
        """
        value = state.to_znode()
        try:
            return (await self._znodes.session.set(_path(partition), value.encode(), state.zk_version)).version
        except NoNode:
            return None
        except BadVersion:
            found = await self._znodes.read(_path(partition))
        if found is None:
            return None
        stored = _state(partition, *found)
        if stored is not None and stored.to_znode() == value:
            return stored.zk_version
        _log.warning("%s: the state in ZooKeeper is %s, so ours was not written: %s", partition, stored, state)
        return None


def _state(partition: TopicPartition, data: bytes | None, stat: Stat) -> LeaderAndIsr | None:
    try:
        value = PartitionStateZNode.decode(data)
    except MalformedZNode as error:
        _log.error("%s: the state in ZooKeeper cannot be read: %s", partition, error)
        return None
    return LeaderAndIsr(value.leader, value.leader_epoch, tuple(value.isr), value.controller_epoch, stat.version)
