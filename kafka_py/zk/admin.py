"""Other admin znodes: the old tools' request nodes under /admin, producer id blocks, /feature.

Source: docs/reference/zookeeper.md, sections 11 to 13.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kafka_py.base.ids import TopicPartition
from kafka_py.base.options import MAX_LONG
from kafka_py.zk.access import Found, ZkAccess
from kafka_py.zk.schema import MalformedZNode, NumberText
from kafka_py.zk.session import BadVersion, DeleteOp, NoNode, SetOp, Watch
from kafka_py.zk.znodes import (
    FeatureZNode,
    PreferredReplicaElectionZNode,
    ProducerIdBlockZNode,
    ReassignmentRow,
    ReassignPartitionsZNode,
    TopicPartitionRow,
)

_log = logging.getLogger(__name__)

PRODUCER_ID_BLOCK_SIZE = 1000
FEATURES_DISABLED = 0
FEATURES_ENABLED = 1


class ProducerIdBlock(NamedTuple):
    """A block of producer ids allocated to one broker; both ends inclusive."""

    first: int
    last: int


class AdminStore:
    """Request nodes of the old tools, producer id blocks, features."""

    def __init__(self, znodes: ZkAccess) -> None:
        self._znodes = znodes

    async def reassignments(self, watch: Watch | None = None) -> dict[TopicPartition, list[int]] | None:
        """The target replicas in /admin/reassign_partitions; None if it does not exist; {} if unreadable (logged).

        The watch fires when the node is created, changed or deleted, whether it exists now or not.
        """
        path = ReassignPartitionsZNode.path()
        if watch is not None:
            await self._znodes.session.exists(path, watch)
        found = await self._znodes.read(path)
        if found is None:
            return None
        return _requested(found[0])

    async def request_reassignments(self, wanted: Mapping[TopicPartition, Sequence[int]]) -> None:
        """Creates /admin/reassign_partitions, as the old tool does. Raises NodeExists while a reassignment runs."""
        await self._znodes.create_recursive(ReassignPartitionsZNode.path(), _reassignment(wanted))

    async def keep_reassignments(
        self, stays: Callable[[TopicPartition, list[int]], bool], epoch_zk_version: int
    ) -> dict[TopicPartition, list[int]] | None:
        """Removes completed rows from /admin/reassign_partitions; deletes it when no row is left.

        Rows that a tool writes meanwhile are checked as well. stays: (partition, target replicas) -> whether the row is
        kept. Returns the kept rows; None if no row was removed.
        """
        path = ReassignPartitionsZNode.path()
        while True:
            found = await self._znodes.read(path)
            listed = {} if found is None else _requested(found[0])
            staying = {partition: replicas for partition, replicas in listed.items() if stays(partition, replicas)}
            if found is None or len(staying) == len(listed):
                return None
            version = found[1].version
            op = SetOp(path, _reassignment(staying), version) if staying else DeleteOp(path, version)
            try:
                await self._znodes.fenced(op, epoch_zk_version)
            except (BadVersion, NoNode):
                continue
            return staying

    async def preferred_elections(self, watch: Watch | None = None) -> set[TopicPartition] | None:
        """The partitions in /admin/preferred_replica_election; None if it does not exist; empty if unreadable (logged).

        The watch fires when the node is created, changed or deleted, whether it exists now or not.
        """
        path = PreferredReplicaElectionZNode.path()
        if watch is not None:
            await self._znodes.session.exists(path, watch)
        found = await self._znodes.read(path)
        if found is None:
            return None
        try:
            rows = PreferredReplicaElectionZNode.decode(found[0]).partitions
        except MalformedZNode as error:
            _log.error("the preferred replica election is ignored: %s", error)
            return set()
        return {TopicPartition(*row) for row in rows}

    async def request_preferred_elections(self, partitions: Sequence[TopicPartition]) -> None:
        """Creates /admin/preferred_replica_election, as the old tool does. Raises NodeExists while one is pending."""
        rows = [TopicPartitionRow(*partition) for partition in partitions]
        path, data = PreferredReplicaElectionZNode.path(), PreferredReplicaElectionZNode(rows).encode()
        await self._znodes.create_recursive(path, data)

    async def delete_preferred_elections(self, epoch_zk_version: int) -> None:
        """Deletes /admin/preferred_replica_election after the election."""
        await self._znodes.delete_if_present(PreferredReplicaElectionZNode.path(), epoch_zk_version=epoch_zk_version)

    async def claim_producer_ids(self, broker_id: int) -> ProducerIdBlock:
        """Allocates the next block of producer ids to this broker.

        Raises MalformedZNode if the node holds anything but a block or null, OverflowError when all ids are used up.
        """
        path = ProducerIdBlockZNode.path()
        while True:
            found = await self._znodes.read(path)
            if found is None:
                await self._znodes.ensure_path(path)
                continue
            data, stat = found
            block = _next_block(None if data is None else ProducerIdBlockZNode.decode(data))
            value = ProducerIdBlockZNode(broker_id, NumberText(block.first), NumberText(block.last))
            try:
                await self._znodes.session.set(path, value.encode(), stat.version)
            except BadVersion:
                # Also the case when an attempt succeeded and its response was lost.
                if await self._holds(value):
                    return block
                continue
            except NoNode:
                continue
            return block

    async def _holds(self, value: ProducerIdBlockZNode) -> bool:
        found = await self._znodes.read(ProducerIdBlockZNode.path())
        return found is not None and found[0] is not None and ProducerIdBlockZNode.decode(found[0]) == value

    async def features(self, watch: Watch | None = None) -> FeatureZNode | None:
        """The finalised features, None if the node does not exist. Raises MalformedZNode."""
        found = await self._znodes.read(FeatureZNode.path(), watch)
        return None if found is None else FeatureZNode.decode(found[0])

    async def ensure_features(self, status: int) -> None:
        """Writes /feature with this status and no finalised features, if it differs; a new controller's first write.

        Raises MalformedZNode for unreadable data.
        """
        wanted = FeatureZNode(status, {})

        async def change(found: Found | None) -> bytes | None:
            return None if found is not None and FeatureZNode.decode(found[0]) == wanted else wanted.encode()

        await self._znodes.update(FeatureZNode.path(), change)


def _requested(data: bytes | None) -> dict[TopicPartition, list[int]]:
    """The target replicas by partition; empty if the data cannot be read (logged)."""
    try:
        rows = ReassignPartitionsZNode.decode(data).partitions
    except MalformedZNode as error:
        _log.error("the reassignment is ignored: %s", error)
        return {}
    return {TopicPartition(row.topic, row.partition): row.replicas for row in rows}


def _reassignment(wanted: Mapping[TopicPartition, Sequence[int]]) -> bytes:
    rows = [ReassignmentRow(one.topic, one.partition, list(replicas)) for one, replicas in wanted.items()]
    return ReassignPartitionsZNode(rows).encode()


def _next_block(previous: ProducerIdBlockZNode | None) -> ProducerIdBlock:
    if previous is None:
        return ProducerIdBlock(0, PRODUCER_ID_BLOCK_SIZE - 1)
    if previous.block_end > MAX_LONG - PRODUCER_ID_BLOCK_SIZE:
        raise OverflowError(f"all producer ids are used up: the last block ends at {previous.block_end}")
    return ProducerIdBlock(previous.block_end + 1, previous.block_end + PRODUCER_ID_BLOCK_SIZE)
