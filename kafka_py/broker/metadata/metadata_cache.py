"""What this broker knows of the cluster: live brokers, partitions, leaders, topic ids, the controller.

Fed by UpdateMetadata alone. Knows nothing of requests from clients; a Metadata answer is put together from it.
Source: docs/reference/controller.md, sections 13 and 16.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kafka_py.base.ids import LEADER_DURING_DELETE, ZERO_UUID, TopicId, TopicPartition
from kafka_py.base.turns import release, sliced


class BrokerAddress(NamedTuple):
    """Where a broker's listener is reached from outside."""

    host: str
    port: int


class LiveBroker(NamedTuple):
    """A registered broker: its advertised addresses by listener name, and its rack."""

    id: int
    addresses: Mapping[str, BrokerAddress]
    rack: str | None


class PartitionInfo(NamedTuple):
    """What the controller last said of a partition. leader: NO_LEADER when there is none."""

    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    zk_version: int
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...]


class MetadataUpdate(NamedTuple):
    """One UpdateMetadata as values. A partition whose leader is LEADER_DURING_DELETE is to be forgotten."""

    controller_id: int
    live_brokers: list[LiveBroker]
    partitions: list[tuple[TopicPartition, PartitionInfo]]
    topic_ids: dict[str, TopicId]


class MetadataCache:
    """The cluster as the controller last described it to this broker.

    Readers see each update whole or not at all: what it changes is copied first, and put in place at its end. So what
    `partitions_of` gives stays as it is for as long as somebody holds it.
    generation: counts the updates; what was made from the cache holds while it stays the same.
    """

    def __init__(self) -> None:
        self.generation = 0
        self.controller_id: int | None = None
        self.brokers: dict[int, LiveBroker] = {}
        self._topics: dict[str, dict[int, PartitionInfo]] = {}
        self._topic_ids: dict[str, TopicId] = {}
        self._topic_names: dict[TopicId, str] = {}

    # ---- writing

    async def update(self, update: MetadataUpdate) -> tuple[list[TopicPartition], set[str]]:
        """Takes an update in: brokers are replaced as a whole, partitions are merged.

        A large one is prepared in turns with other work. One update at a time, which the caller sees to.
        Returns the partitions forgotten, and every topic the update mentions.
        """
        forgotten: list[TopicPartition] = []
        changed: dict[str, dict[int, PartitionInfo]] = {}
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

    def _put_in_place(self, changed: dict[str, dict[int, PartitionInfo]]) -> list[PartitionInfo]:
        """These are the topics' partitions now; one without any is forgotten with its id. Returns what was before."""
        replaced: list[PartitionInfo] = []
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
        """A cache with what this one holds now; it stays so, for work that takes several turns."""
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
        """Those of the topics that the cluster does not have."""
        known = self._topics
        return [topic for topic in topics if topic not in known]

    def has_partition(self, topic_partition: TopicPartition) -> bool:
        partitions = self._topics.get(topic_partition[0])
        return partitions is not None and topic_partition[1] in partitions

    def partitions_of(self, topic: str) -> Mapping[int, PartitionInfo]:
        """Empty for an unknown topic."""
        return self._topics.get(topic) or {}

    def partition(self, topic_partition: TopicPartition) -> PartitionInfo | None:
        return self.partitions_of(topic_partition.topic).get(topic_partition.partition)

    def all_partitions(self) -> Iterator[tuple[TopicPartition, PartitionInfo]]:
        for topic, partitions in self._topics.items():
            for partition, info in partitions.items():
                yield TopicPartition(topic, partition), info

    def topic_id(self, topic: str) -> TopicId:
        """The zero uuid for a topic without one."""
        return self._topic_ids.get(topic, ZERO_UUID)

    def topic_name(self, topic_id: TopicId) -> str | None:
        return self._topic_names.get(topic_id)

    # ---- brokers

    def is_live(self, broker_id: int) -> bool:
        return broker_id in self.brokers

    def address(self, broker_id: int, listener_name: str) -> BrokerAddress | None:
        """Where clients of that listener reach the broker; None when it is not alive or lacks the listener."""
        broker = self.brokers.get(broker_id)
        return broker.addresses.get(listener_name) if broker is not None else None

    def rack(self, broker_id: int) -> str | None:
        """Of a live broker; None when it has none, or is not alive."""
        broker = self.brokers.get(broker_id)
        return broker.rack if broker is not None else None

    def racks(self) -> dict[int, str | None]:
        """The live brokers with their racks, as replica placement wants them."""
        return {broker.id: broker.rack for broker in self.brokers.values()}
