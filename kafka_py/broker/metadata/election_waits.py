"""Waiting for the metadata cache to show the leaders that were just elected, before ElectLeaders is answered.

The controller's answer names the leaders; this broker's cache shows them once its own UpdateMetadata has come.
Source: docs/reference/controller.md, section 10; docs/reference/replication.md, section 15 (purgatory "ElectLeader").
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping

from kafka_py.base.ids import TopicPartition
from kafka_py.base.purgatory import DelayedOperation, Purgatory
from kafka_py.broker.metadata.metadata_cache import MetadataCache


class DelayedElection(DelayedOperation):
    """Leaders that the cache does not show yet. The future gets those still not shown when the time is over."""

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
    """Waits until the cache shows every one of these leaders, for at most so long; returns those it does not show."""
    if not expected:
        return set()
    operation = DelayedElection(metadata, expected)
    purgatory.try_complete_else_watch(operation, list(expected), max(0, timeout_ms))
    return await operation.unfinished
