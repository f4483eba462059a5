"""What one look at a cluster has found, as frozen values; with what could not be seen, by name.

Nodes, topics and partitions are those of the clients' metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.brokers import VersionRange
from kafka_py.clients.admin.group_descriptions import MemberDescription
from kafka_py.clients.admin.log_dirs import LogDirDescription
from kafka_py.clients.metadata import NO_NODE, Node, TopicInfo
from kafka_py.clients.offsets import OffsetAndMetadata


class ViewPart(StrEnum):
    """The parts of a look. Nodes, controller and cluster id belong to every look."""

    VERSIONS = "versions"
    TOPICS = "topics"
    LOG_DIRS = "log_dirs"
    OFFSETS = "offsets"
    GROUPS = "groups"
    COMMITTED = "committed"


class UnseenPart(NamedTuple):
    """A part that could not be seen. broker: who was asked, None for any; item: a group or topic-partition, or ""."""

    part: ViewPart | None
    broker: int | None
    item: str
    code: ErrorCode
    detail: str

    def __str__(self) -> str:
        what = "metadata" if self.part is None else self.part.value
        whose = "" if self.broker is None else f" of broker {self.broker}"
        return f"{what}{whose}{f' ({self.item})' if self.item else ''}: {self.code.name}: {self.detail}"


class LogBounds(NamedTuple):
    """The first offset of a partition and the end offset (exclusive: the offset of the next record)."""

    start_offset: int
    end_offset: int


class GroupSeen(NamedTuple):
    """A group of consumers or of another protocol.

    coordinator: a broker id. state: "" from brokers before 2.6 unless it was described. members: None if not described.
    committed: None if not asked for, or refused.
    """

    group_id: str
    protocol_type: str
    state: str
    coordinator: int
    assignor: str = ""
    members: tuple[MemberDescription, ...] | None = None
    committed: Mapping[TopicPartition, OffsetAndMetadata] | None = None

    @property
    def is_consumer_group(self) -> bool:
        return self.protocol_type in ("consumer", "")


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """One look. A part that was not asked for is empty.

    taken_ms: wall clock at its beginning, ms UTC. took_ms: how long it took.
    versions: broker -> API key -> versions. log_dirs: broker -> path -> directory.
    """

    taken_ms: int
    took_ms: float = 0.0
    cluster_id: str | None = None
    controller_id: int = NO_NODE
    nodes: Mapping[int, Node] = field(default_factory=dict)
    versions: Mapping[int, Mapping[int, VersionRange]] = field(default_factory=dict)
    topics: Mapping[str, TopicInfo] = field(default_factory=dict)
    log_dirs: Mapping[int, Mapping[str, LogDirDescription]] = field(default_factory=dict)
    offsets: Mapping[TopicPartition, LogBounds] = field(default_factory=dict)
    groups: Mapping[str, GroupSeen] = field(default_factory=dict)
    unseen: tuple[UnseenPart, ...] = ()

    @property
    def is_reached(self) -> bool:
        """Whether any broker has answered."""
        return bool(self.nodes)

    @property
    def controller(self) -> Node | None:
        """The controller, None if there is none. With KRaft: the broker that passes requests to it."""
        return self.nodes.get(self.controller_id)

    def unseen_of(self, part: ViewPart | None) -> tuple[UnseenPart, ...]:
        """The failures of one part; None: of the metadata."""
        return tuple(each for each in self.unseen if each.part is part)
