"""A cluster asked by blocking code: metadata and offsets for the planner, connections for the tasks.

Owns an event loop that runs only while a call waits, in the caller's thread: a task has nothing else to do then, and
the planner asks seldom. A worker process keeps its link for the next task (`shared_link`).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Collection, Coroutine, Mapping
from typing import Any, TypeVar

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.consumer.offsets import ListOffsetsLookup
from kafka_py.clients.environment import SYSTEM
from kafka_py.clients.loop import new_event_loop
from kafka_py.clients.metadata import ClusterView
from kafka_py.pipeline.offsets import Offsets

T = TypeVar("T")

Found = dict[TopicPartition, int | None]

SETTLE_S = 5.0
"""How long a topic that is not known, or has no leader, may still turn up: it may just have been made."""


class Link:
    """One cluster. Not for several threads at once."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """settings: Kafka's consumer settings."""
        self.options = ConsumerOptions.load({"receive.buffer.bytes": 1 << 20, **settings})
        self._loop = new_event_loop()
        self._topics: set[str] | None = set()
        self._cluster: Cluster | None = None
        self.process_id = os.getpid()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result."""
        return self._loop.run_until_complete(work)

    async def cluster(self) -> Cluster:
        """The cluster's picture, being kept fresh."""
        if self._cluster is None:
            self._cluster = Cluster(self.options, self.options.client_id, SYSTEM, wanted=self._wanted)
            self._cluster.start()
        return self._cluster

    def _wanted(self) -> Collection[str] | None:
        return None if self._topics is None else tuple(self._topics)

    async def know(self, topics: Collection[str] | None) -> ClusterView:
        """Metadata asked for from now on, for these topics (None: all) in addition to those requested before."""
        if topics is None:
            self._topics = None
        elif self._topics is not None:
            self._topics |= set(topics)
        return await (await self.cluster()).refresh(at_once=True)

    def partitions_of(self, topics: Collection[str]) -> list[TopicPartition]:
        """Every partition of the topics. Raises KafkaError(UNKNOWN_TOPIC_OR_PARTITION) naming those that are not."""
        return self.run(self._partitions_of(topics))

    async def _partitions_of(self, topics: Collection[str]) -> list[TopicPartition]:
        give_up = time.monotonic() + SETTLE_S
        while True:
            view = await self.know(topics)
            problem = next((error for name in topics if (error := _problem(view, name)) is not None), None)
            if problem is None:
                return [each.topic_partition for name in topics for each in view.topics[name].partitions]
            if not problem.retriable or time.monotonic() > give_up:
                raise problem
            await asyncio.sleep(0.1)

    def topics_like(self, matches: Any) -> list[str]:
        """Names of the topics for which `matches` says yes, internal ones left out."""
        view = self.run(self.know(None))
        return sorted(name for name, info in view.topics.items() if not info.is_internal and matches(name))

    def offsets_at(self, timestamps: Mapping[TopicPartition, int], timeout_ms: float = 30_000) -> Found:
        """The first offset at or after each time, None where there is none; -2 and -1 ask for the two ends."""
        if not timestamps:
            return {}
        return self.run(self._offsets_at(timestamps, timeout_ms))

    async def _offsets_at(self, timestamps: Mapping[TopicPartition, int], timeout_ms: float) -> Found:
        cluster = await self.cluster()
        if any(cluster.view.partition(each) is None for each in timestamps):
            await self.know({each.topic for each in timestamps})
        found = await ListOffsetsLookup(self.options, cluster).lookup(timestamps, timeout_ms)
        return {each: None if at is None else at.offset for each, at in found.items()}

    def ends(self, partitions: Collection[TopicPartition], which: int) -> Offsets:
        """The earliest (-2) or latest (-1) offset of each partition."""
        found = self.offsets_at(dict.fromkeys(partitions, which))
        return {each: at for each, at in found.items() if at is not None}

    def close(self) -> None:
        if self._cluster is not None and not self._loop.is_closed():
            self.run(self._cluster.close())
        self._loop.close()


def _problem(view: ClusterView, name: str) -> KafkaError | None:
    info = view.topics.get(name)
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if info is None else info.error
    if code is ErrorCode.NONE and info is not None and info.partitions:
        return None
    code = code or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return KafkaError(code, f"topic {name}: {code.meaning}")


_shared: dict[tuple[tuple[str, str], ...], Link] = {}


def shared_link(settings: Mapping[str, Any]) -> Link:
    """This process's link with these settings, kept for the next caller."""
    key = tuple(sorted((name, str(value)) for name, value in settings.items()))
    link = _shared.get(key)
    if link is None or link.process_id != os.getpid():
        link = _shared[key] = Link(settings)
    return link
