"""Waiting until the metadata cache has the leaders of new partitions, or no longer has a deleted topic.

CreateTopics, CreatePartitions and DeleteTopics write to ZooKeeper; the controller reacts and sends UpdateMetadata to
every broker; only then is the response sent, or REQUEST_TIMED_OUT.
Source: docs/reference/replication.md, section 15 (purgatory "topic").
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping

from kafka_py.base.ids import NO_LEADER
from kafka_py.base.purgatory import Purgatory
from kafka_py.base.turns import Turn, sliced
from kafka_py.broker.metadata.cache_waits import IsDone, wait_until_done
from kafka_py.broker.metadata.metadata_cache import MetadataCache

STEP_PARTITIONS = 256
"""Of one look: less than 0.1 ms."""

THE_CLUSTER = ""
"""Watch key of operations that wait for the first UpdateMetadata."""


async def wait_for_topics(
    purgatory: Purgatory[Hashable], topics: Collection[str], is_done: IsDone[str], timeout_ms: int, turn: Turn
) -> set[str]:
    """Waits until every topic is done, at most `timeout_ms`; returns the topics that are not.

    timeout_ms: without one all topics are late, and none is looked at. turn: of the request.
    """
    if timeout_ms <= 0:
        late: set[str] = set()
        async for some in sliced(topics):
            late.update(some)
        return late
    return await wait_until_done(purgatory, topics, is_done, timeout_ms, turn)


async def wait_for_leaders(
    purgatory: Purgatory[Hashable], metadata: MetadataCache, wanted: Mapping[str, Iterable[int]], timeout_ms: int,
    turn: Turn,
) -> set[str]:  # fmt: skip
    """Waits until these partitions of each topic have leaders in the cache; returns the topics that are late."""
    waits: dict[str, LeaderWait] = {}
    for topic, partitions in wanted.items():
        await turn.maybe_yield()
        waits[topic] = LeaderWait(metadata, topic, partitions)
    return await wait_for_topics(purgatory, wanted, lambda topic: waits[topic].is_done(), timeout_ms, turn)


class LeaderWait:
    """Whether each of these partitions has, or had, a leader in the cache. Each look continues where the previous one
    stopped.
    """

    def __init__(self, metadata: MetadataCache, topic: str, partitions: Iterable[int]) -> None:
        self._metadata = metadata
        self._topic = topic
        self._remaining = iter(partitions)
        self._missing = next(self._remaining, None)  # the first one that has had no leader so far

    def is_done(self) -> bool | None:
        """Looks at the next few partitions; None if all of them have leaders and there are more."""
        known = self._metadata.partitions_of(self._topic)
        for _ in range(STEP_PARTITIONS):
            if self._missing is None:
                return True
            info = known.get(self._missing)
            if info is None or info.leader == NO_LEADER:
                return False
            self._missing = next(self._remaining, None)
        return True if self._missing is None else None
