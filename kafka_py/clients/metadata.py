"""A client's metadata of the cluster: brokers, topics, partitions and their leaders, as one frozen value.

Pure: a view is made from a MetadataResponse and the previous view; cluster.py sends the requests.
Source: Metadata; KIP-320 (a leader epoch never decreases).
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_py.base.chance import Random
from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import ZERO_UUID, TopicPartition
from kafka_py.clients.errors import error_code
from kafka_py.wire.messages.metadata import MetadataResponse, MetadataResponseTopic

NO_NODE = -1


class Node(NamedTuple):
    """The address of one broker. Bootstrap servers have negative ids until their broker ids are known."""

    id: int
    host: str
    port: int
    rack: str | None = None

    def __str__(self) -> str:
        return f"{self.host}:{self.port} (id: {self.id} rack: {self.rack})"


class PartitionInfo(NamedTuple):
    """One partition with its replicas; `leader` is a node id, -1 when there is none."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...]
    error: ErrorCode = ErrorCode.NONE

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class TopicInfo(NamedTuple):
    """One topic; `partitions` is sorted by number. With an `error` there are none."""

    name: str
    topic_id: uuid.UUID
    is_internal: bool
    partitions: tuple[PartitionInfo, ...]
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class ClusterView:
    """The cluster at one time. `fetched_ms` is on the monotonic clock; None for a bootstrap view."""

    nodes: Mapping[int, Node] = field(default_factory=dict)
    topics: Mapping[str, TopicInfo] = field(default_factory=dict)
    controller_id: int = NO_NODE
    cluster_id: str | None = None
    fetched_ms: float | None = None

    def partition(self, partition: TopicPartition) -> PartitionInfo | None:
        """The partition, None when it is not known."""
        topic = self.topics.get(partition.topic)
        if topic is None:
            return None
        number, known = partition.partition, topic.partitions
        if 0 <= number < len(known) and known[number].partition == number:
            return known[number]
        return next((info for info in known if info.partition == number), None)  # metadata may lack some

    def leader(self, partition: TopicPartition) -> Node | None:
        """The partition's leader, None if it has none or the leader is not alive."""
        info = self.partition(partition)
        return None if info is None else self.nodes.get(info.leader)

    def available_partitions(self, topic: str) -> list[int]:
        """Numbers of the partitions that have a leader."""
        info = self.topics.get(topic)
        return [each.partition for each in info.partitions if each.leader in self.nodes] if info else []


def bootstrap_view(servers: Iterable[tuple[str, int]]) -> ClusterView:
    """The view before the first response: the bootstrap servers with the ids -1, -2, ..."""
    nodes = {-number: Node(-number, host, port) for number, (host, port) in enumerate(servers, 1)}
    return ClusterView(nodes=nodes)


def view_of_response(
    response: MetadataResponse, before: ClusterView, now_ms: float, keep: Collection[str] = ()
) -> ClusterView:
    """The next view.

    keep: topics that were not requested, and are not changed.
    A partition whose leader epoch in the response is older than the known one is not changed: the broker that responded
    has outdated metadata.
    """
    nodes = {broker.node_id: Node(broker.node_id, broker.host, broker.port, broker.rack) for broker in response.brokers}
    topics = {name: before.topics[name] for name in keep if name in before.topics}
    for topic in response.topics:
        if topic.name is not None:
            topics[topic.name] = _topic_info(topic, before.topics.get(topic.name))
    return ClusterView(nodes, topics, response.controller_id, response.cluster_id, now_ms)


def _topic_info(topic: MetadataResponseTopic, before: TopicInfo | None) -> TopicInfo:
    name = topic.name
    same_topic = before is not None and topic.topic_id in (before.topic_id, ZERO_UUID)
    known = {info.partition: info for info in before.partitions} if before is not None and same_topic else {}
    partitions = []
    for partition in sorted(topic.partitions, key=lambda each: each.partition_index):
        number, epoch = partition.partition_index, partition.leader_epoch
        old = known.get(number)
        if old is not None and 0 <= epoch < old.leader_epoch:
            partitions.append(old)
            continue
        partitions.append(
            PartitionInfo(
                name,
                number,
                partition.leader_id,
                epoch,
                tuple(partition.replica_nodes),
                tuple(partition.isr_nodes),
                tuple(partition.offline_replicas),
                error_code(partition.error_code),
            )
        )
    return TopicInfo(name, topic.topic_id, topic.is_internal, tuple(partitions), error_code(topic.error_code))


def least_loaded(candidates: Mapping[int, int], draw: Random) -> int | None:
    """The node id with the fewest requests in flight, a random one among equals. None without candidates.

    candidates: node id to requests in flight.
    """
    if not candidates:
        return None
    fewest = min(candidates.values())
    return draw.choice([node for node, in_flight in candidates.items() if in_flight == fewest])
