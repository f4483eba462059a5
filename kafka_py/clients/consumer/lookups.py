"""Queries about any topic, assigned or not: partitions, offsets by timestamp, log start and end offsets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.consumer.fetching.records import OffsetAndTimestamp
from kafka_py.clients.consumer.offsets import ListOffsetsLookup
from kafka_py.clients.metadata import PartitionInfo


class WantedTopics:
    """Topics whose metadata is needed by queries in progress, in addition to those that are read."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._all = 0

    @property
    def all(self) -> bool:
        """Whether every topic is wanted."""
        return self._all > 0

    @property
    def names(self) -> Set[str]:
        return self._counts.keys()

    def add(self, topics: Collection[str] | None) -> None:
        """Requests metadata of these topics (None: of all) until `remove` with the same argument."""
        if topics is None:
            self._all += 1
        for topic in topics or ():
            self._counts[topic] = self._counts.get(topic, 0) + 1

    def remove(self, topics: Collection[str] | None) -> None:
        """Undoes `add`."""
        if topics is None:
            self._all -= 1
        for topic in topics or ():
            self._counts[topic] -= 1
            if not self._counts[topic]:
                del self._counts[topic]


class Lookups:
    """The queries of one consumer. Timestamps are in ms UTC."""

    def __init__(self, cluster: Cluster, lookup: ListOffsetsLookup, wanted: WantedTopics) -> None:
        self._cluster = cluster
        self._lookup = lookup
        self._wanted = wanted

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: float
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Per partition the first record with a timestamp at or after the given one; None without one."""
        for partition, timestamp in timestamps.items():
            if timestamp < 0:
                raise ValueError(
                    f"cannot look up offsets of {partition} by time {timestamp}: it is negative"
                )
        return await self._look_up(timestamps, timeout_ms)

    async def ends(
        self, partitions: Collection[TopicPartition], timestamp: int, timeout_ms: float
    ) -> dict[TopicPartition, int]:
        """The offsets at one end of the partitions. timestamp: EARLIEST_TIMESTAMP or LATEST_TIMESTAMP."""
        found = await self._look_up(dict.fromkeys(partitions, timestamp), timeout_ms)
        return {partition: answer.offset for partition, answer in found.items() if answer is not None}

    async def _look_up(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: float
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        topics = {partition.topic for partition in timestamps}
        self._wanted.add(topics)
        try:
            return await self._lookup.lookup(timestamps, timeout_ms)
        finally:
            self._wanted.remove(topics)

    async def partitions_for(self, topic: str, timeout_ms: float) -> list[PartitionInfo]:
        """The topic's partitions; empty when there is no such topic. Raises KafkaError, ClientTimeout."""
        clock = self._cluster.clock
        deadline_ms = clock.monotonic_ms() + timeout_ms
        self._wanted.add([topic])
        try:
            at_once = True
            while True:
                info = self._cluster.view.topics.get(topic)
                if info is not None and info.error is ErrorCode.NONE:
                    return list(info.partitions)
                view = await self._cluster.refresh(max(0.0, deadline_ms - clock.monotonic_ms()), at_once=at_once)
                at_once = False
                info = view.topics.get(topic)
                if info is None or info.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    return []
                if info.error is not ErrorCode.NONE and not info.error.retriable:
                    raise KafkaError(info.error, f"topic {topic}: {info.error.meaning}")
        finally:
            self._wanted.remove([topic])

    async def list_topics(self, timeout_ms: float) -> dict[str, list[PartitionInfo]]:
        """All topics and their partitions."""
        self._wanted.add(None)
        try:
            view = await self._cluster.refresh(timeout_ms, at_once=True)
        finally:
            self._wanted.remove(None)
        return {name: list(info.partitions) for name, info in view.topics.items() if info.error is ErrorCode.NONE}
