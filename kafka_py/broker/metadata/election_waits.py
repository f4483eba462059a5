"""Waiting until newly elected leaders are in the metadata cache, before the response to ElectLeaders.

The controller returns the new leaders; the cache has them after this broker's own UpdateMetadata.
Source: docs/reference/controller.md, section 10; docs/reference/replication.md, section 15 (purgatory "ElectLeader").
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping

from kafka_py.base.ids import TopicPartition
from kafka_py.base.purgatory import DelayedOperation, Purgatory
from kafka_py.broker.metadata.metadata_cache import MetadataCache


class DelayedElection(DelayedOperation):
    """Waits for leaders to be in the cache. The future gets the partitions that are missing at the time-out."""

    __slots__ = ("_expected", "_metadata", "unfinished")

    def __init__(self, metadata: MetadataCache, expected: Mapping[TopicPartition, int]) -> None:
        super().__init__()
        self._metadata = metadata
        self._expected = dict(expected)
        self.unfinished: asyncio.Future[set[TopicPartition]] = asyncio.get_running_loop().create_future()

    def try_complete(self) -> bool:
        self._look()
        return not self._expected and self.complete()

    def on_complete(self) -> None:
        self._look()
        if not self.unfinished.done():
            self.unfinished.set_result(set(self._expected))

    def _look(self) -> None:
        for partition, leader in list(self._expected.items()):
            known = self._metadata.partition(partition)
            if known is not None and known.leader == leader:
                del self._expected[partition]


async def wait_for_leaders(
    purgatory: Purgatory[Hashable], metadata: MetadataCache, expected: Mapping[TopicPartition, int], timeout_ms: float
) -> set[TopicPartition]:
    """Waits until all these leaders are in the cache, or the time-out; returns the partitions that are missing."""
    if not expected:
        return set()
    operation = DelayedElection(metadata, expected)
    purgatory.try_complete_else_watch(operation, list(expected), max(0, timeout_ms))
    return await operation.unfinished
