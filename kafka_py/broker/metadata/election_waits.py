"""Waiting until newly elected leaders are in the metadata cache, before the response to ElectLeaders.

The controller returns the new leaders; the cache has them after this broker's own UpdateMetadata.
Source: docs/reference/controller.md, section 10; docs/reference/replication.md, section 15 (purgatory "ElectLeader").
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from kafka_py.base.ids import TopicPartition
from kafka_py.base.purgatory import Purgatory
from kafka_py.base.turns import Turn
from kafka_py.broker.metadata.cache_waits import wait_until_done
from kafka_py.broker.metadata.metadata_cache import MetadataCache


async def wait_for_leaders(
    purgatory: Purgatory[Hashable], metadata: MetadataCache, expected: Mapping[TopicPartition, int], timeout_ms: float,
    turn: Turn,
) -> set[TopicPartition]:  # fmt: skip
    """Waits until all these leaders are in the cache, or the time-out; returns the partitions that are missing.

    timeout_ms: without one the cache is looked at as well. turn: of the request.
    """

    def is_elected(partition: TopicPartition) -> bool:
        known = metadata.partition(partition)
        return known is not None and known.leader == expected[partition]

    return await wait_until_done(purgatory, expected, is_elected, timeout_ms, turn)
