"""How kafka-topics.sh --describe shows topics: the lines, and which partitions a filter lets through.

Pure: topics_admin.py and topics_zookeeper.py fill these values from what they find.
Source: docs/reference/tools.md, section 2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_py.base.ids import ZERO_UUID, TopicId, uuid_to_text

MIN_INSYNC_REPLICAS = "min.insync.replicas"


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """One partition. leader: None when there is none. replicas, while moving, hold old and new ones."""

    number: int
    leader: int | None
    replicas: Sequence[int]
    isr: Sequence[int]
    adding: Sequence[int] = ()
    removing: Sequence[int] = ()

    @property
    def is_moving(self) -> bool:
        """Whether a reassignment is under way."""
        return not {*self.adding, *self.removing}.isdisjoint(self.replicas)

    @property
    def replication_factor(self) -> int:
        """Replicas that count: those a reassignment is only adding are left out."""
        if not self.is_moving:
            return len(self.replicas)
        return len([broker for broker in self.replicas if broker not in self.adding])

    def document(self) -> dict[str, Any]:
        moving = {"adding": list(self.adding), "removing": list(self.removing)} if self.adding or self.removing else {}
        return {
            "partition": self.number, "leader": self.leader, "replicas": list(self.replicas), "isr": list(self.isr),
            **moving,
        }  # fmt: skip

    def line(self, topic: str, marked_for_deletion: bool) -> str:
        parts = [
            f"\tTopic: {topic}",
            f"Partition: {self.number}",
            f"Leader: {'none' if self.leader is None else self.leader}",
            f"Replicas: {_listed(self.replicas)}",
            f"Isr: {_listed(self.isr)}",
        ]
        if self.adding or self.removing:
            parts += [f"Adding Replicas: {_listed(self.adding)}", f"Removing Replicas: {_listed(self.removing)}"]
        if marked_for_deletion:
            parts.append("MarkedForDeletion: true")
        return "\t".join(parts)


@dataclass(frozen=True, slots=True)
class ShownTopic:
    """One topic. configs: those that are not at their default, in order, as text.

    min_insync_replicas: what the min-isr filters compare with; None where it is not known (ZooKeeper).
    full_factor: count all replicas of the first partition, also those being added (ZooKeeper).
    """

    name: str
    partitions: Sequence[PartitionDescription]
    configs: Mapping[str, str]
    topic_id: TopicId = ZERO_UUID
    marked_for_deletion: bool = False
    min_insync_replicas: int | None = None
    full_factor: bool = False

    def line(self) -> str:
        first = self.partitions[0] if self.partitions else None
        if first is None:
            factor = 0
        else:
            factor = len(first.replicas) if self.full_factor else first.replication_factor
        parts = [f"Topic: {self.name}"]
        if self.topic_id != ZERO_UUID:
            parts.append(f"TopicId: {uuid_to_text(self.topic_id)}")
        parts += [f"PartitionCount: {len(self.partitions)}", f"ReplicationFactor: {factor}",
                  f"Configs: {','.join(f'{key}={value}' for key, value in self.configs.items())}"]  # fmt: skip
        if self.marked_for_deletion:
            parts.append("MarkedForDeletion: true")
        return "\t".join(parts)


@dataclass(frozen=True, slots=True)
class Describing:
    """What to show. report: "" for everything, else the filter; only_overridden: only topics with own configs."""

    report: str = ""
    only_overridden: bool = False
    live_brokers: Collection[int] = field(default_factory=frozenset)

    def lines(self, topic: ShownTopic) -> Iterator[str]:
        """The lines of one topic, partitions by number."""
        if not self.report and (topic.configs or not self.only_overridden):
            yield topic.line()
        if not self.only_overridden:
            for partition in sorted(topic.partitions, key=lambda each: each.number):
                if self.shows(partition, topic):
                    yield partition.line(topic.name, topic.marked_for_deletion)

    def documents(self, topic: ShownTopic) -> Iterator[dict[str, Any]]:
        """The topic as a document, with the partitions that the filter lets through; nothing if there are none."""
        partitions = [
            partition.document()
            for partition in sorted(topic.partitions, key=lambda each: each.number)
            if self.shows(partition, topic)
        ]
        if (self.only_overridden and not topic.configs) or (self.report and not partitions):
            return
        yield {
            "topic": topic.name,
            "topic_id": None if topic.topic_id == ZERO_UUID else uuid_to_text(topic.topic_id),
            "configs": dict(topic.configs),
            "partitions": partitions,
        }

    def shows(self, partition: PartitionDescription, topic: ShownTopic) -> bool:
        """Whether the filter lets a partition through."""
        has_leader = partition.leader is not None
        least = topic.min_insync_replicas or 0
        match self.report:
            case "under_replicated":
                return partition.replication_factor > len(partition.isr)
            case "unavailable":
                return not has_leader or partition.leader not in self.live_brokers
            case "under_min_isr":
                return not has_leader or len(partition.isr) < least
            case "at_min_isr":
                return len(partition.isr) == least
        return True


def _listed(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))
