"""The metadata cache: live brokers, partitions, leaders, topic ids, the controller.

Only UpdateMetadata changes it. Knows no client requests; Metadata responses are built from it.
Source: docs/reference/controller.md, sections 13 and 16.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kafka_py.base.ids import LEADER_DURING_DELETE, ZERO_UUID, TopicId, TopicPartition
from kafka_py.base.turns import release, sliced


class BrokerAddress(NamedTuple):
    """The advertised address of a broker's listener."""

    host: str
    port: int


class LiveBroker(NamedTuple):
    """A registered broker: its advertised addresses by listener name, and its rack."""

    id: int
    addresses: Mapping[str, BrokerAddress]
    rack: str | None


class CachedPartition(NamedTuple):
    """State of a partition in the last UpdateMetadata. leader: NO_LEADER when there is none."""

    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    zk_version: int
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...]


class MetadataUpdate(NamedTuple):
    """One UpdateMetadata as values. A partition whose leader is LEADER_DURING_DELETE is removed from the cache."""

    controller_id: int
    live_brokers: list[LiveBroker]
    partitions: list[tuple[TopicPartition, CachedPartition]]
    topic_ids: dict[str, TopicId]


class MetadataCache:
    """The cluster as of the last UpdateMetadata.

    Updates are atomic: changed parts are copied first, and replaced at the end. So a mapping returned by
    `partitions_of` never changes. generation: counts the updates; data derived from the cache is valid while it does
    not change.
    """

    def __init__(self) -> None:
        self.generation = 0
        self.controller_id: int | None = None
        self.brokers: dict[int, LiveBroker] = {}
        self._topics: dict[str, dict[int, CachedPartition]] = {}
        self._topic_ids: dict[str, TopicId] = {}
        self._topic_names: dict[TopicId, str] = {}

    # ---- writing

    async def update(self, update: MetadataUpdate) -> tuple[list[TopicPartition], set[str]]:
        """Applies an update: brokers are replaced as a whole, partitions are merged.

        A large one is prepared in turns with other work. The caller must run one update at a time. Returns the removed
        partitions, and every topic in the update.
        """
        forgotten: list[TopicPartition] = []
        changed: dict[str, dict[int, CachedPartition]] = {}
        async for some in sliced(update.partitions):
            for (topic, number), info in some:
                partitions = changed.get(topic)
                if partitions is None:
                    partitions = changed[topic] = dict(self.partitions_of(topic))
                if info.leader == LEADER_DURING_DELETE:
                    partitions.pop(number, None)
                    forgotten.append(TopicPartition(topic, number))
                else:
                    partitions[number] = info
        self.generation += 1
        self.controller_id = update.controller_id if update.controller_id >= 0 else None
        self.brokers = {broker.id: broker for broker in update.live_brokers}
        for topic, topic_id in update.topic_ids.items():
            if topic_id != ZERO_UUID:
                self._topic_ids[topic] = topic_id
                self._topic_names[topic_id] = topic
        await release(self._put_in_place(changed))
        return forgotten, set(changed)

    def _put_in_place(self, changed: dict[str, dict[int, CachedPartition]]) -> list[CachedPartition]:
        """Replaces these topics' partitions; removes topics without partitions. Returns the previous partitions."""
        replaced: list[CachedPartition] = []
        for topic, partitions in changed.items():
            replaced += self.partitions_of(topic).values()
            if partitions:
                self._topics[topic] = partitions
            elif topic in self._topics:
                del self._topics[topic]
                topic_id = self._topic_ids.pop(topic, None)
                if topic_id is not None:
                    self._topic_names.pop(topic_id, None)
        return replaced

    def snapshot(self) -> MetadataCache:
        """An unchanging copy of the cache, for work that takes several turns."""
        copied = MetadataCache()
        copied.generation, copied.controller_id, copied.brokers = self.generation, self.controller_id, self.brokers
        copied._topics, copied._topic_ids = self._topics.copy(), self._topic_ids.copy()
        copied._topic_names = self._topic_names.copy()
        return copied

    # ---- topics

    def topics(self) -> Iterable[str]:
        return self._topics.keys()

    def has_topic(self, topic: str) -> bool:
        return topic in self._topics

    def missing(self, topics: Iterable[str]) -> list[str]:
        """Those of the topics that are not in the cache."""
        known = self._topics
        return [topic for topic in topics if topic not in known]

    def has_partition(self, topic_partition: TopicPartition) -> bool:
        partitions = self._topics.get(topic_partition[0])
        return partitions is not None and topic_partition[1] in partitions

    def partitions_of(self, topic: str) -> Mapping[int, CachedPartition]:
        """The partitions of a topic; empty for an unknown one."""
        return self._topics.get(topic) or {}

    def partition(self, topic_partition: TopicPartition) -> CachedPartition | None:
        return self.partitions_of(topic_partition.topic).get(topic_partition.partition)

    def all_partitions(self) -> Iterator[tuple[TopicPartition, CachedPartition]]:
        for topic, partitions in self._topics.items():
            for partition, info in partitions.items():
                yield TopicPartition(topic, partition), info

    def topic_id(self, topic: str) -> TopicId:
        """The topic's id; the zero uuid if it has none."""
        return self._topic_ids.get(topic, ZERO_UUID)

    def topic_name(self, topic_id: TopicId) -> str | None:
        return self._topic_names.get(topic_id)

    # ---- brokers

    def is_live(self, broker_id: int) -> bool:
        return broker_id in self.brokers

    def address(self, broker_id: int, listener_name: str) -> BrokerAddress | None:
        """The broker's address for that listener; None when it is not live or lacks the listener."""
        broker = self.brokers.get(broker_id)
        return broker.addresses.get(listener_name) if broker is not None else None

    def rack(self, broker_id: int) -> str | None:
        """The rack of a live broker; None when it has none, or is not live."""
        broker = self.brokers.get(broker_id)
        return broker.rack if broker is not None else None

    def racks(self) -> dict[int, str | None]:
        """The live brokers with their racks, as needed for replica placement."""
        return {broker.id: broker.rack for broker in self.brokers.values()}
