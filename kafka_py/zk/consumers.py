"""Offsets in ZooKeeper, written and read by OffsetCommit and OffsetFetch version 0 for old consumers.

Source: docs/reference/zookeeper.md, section 2; docs/reference/groups.md, section 7.
"""

from __future__ import annotations

import logging

from kafka_py.base.ids import TopicPartition
from kafka_py.zk.access import ZkAccess
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.znodes import OldConsumerOffsetZNode

_log = logging.getLogger(__name__)


class OldConsumerStore:
    """Reads and writes of /consumers/<group>/offsets."""

    def __init__(self, znodes: ZkAccess) -> None:
        self._znodes = znodes

    async def offset(self, group: str, topic_partition: TopicPartition) -> int | None:
        """The stored offset; None when there is none, or when it is not a number (logged)."""
        path = OldConsumerOffsetZNode.path(group, *topic_partition)
        found = await self._znodes.read(path)
        if found is None:
            return None
        try:
            return OldConsumerOffsetZNode.decode(found[0]).offset
        except MalformedZNode as error:
            _log.warning("%s is ignored: %s", path, error)
            return None

    async def set_offset(self, group: str, topic_partition: TopicPartition, offset: int) -> None:
        """Stores the offset; creates missing parents."""
        path = OldConsumerOffsetZNode.path(group, *topic_partition)
        await self._znodes.set_or_create(path, OldConsumerOffsetZNode(offset=offset).encode())
