"""The topics of a cluster, those with trouble first; and one topic with its partitions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.resources import ConfigResource, ConfigResourceType
from kafka_py.clients.metadata import PartitionInfo, TopicInfo
from kafka_py.manager.pages.looks import problems_of, seen
from kafka_py.manager.pages.settings_table import SettingRow, settings_of
from kafka_py.manager.web.answers import Page, PageList, ProblemRow
from kafka_py.manager.web.requests import NotFound, PageRequest
from kafka_py.manager.web.routes import CLUSTER, PAGING, RouteParameter, reads
from kafka_py.operations.cluster_view import derived
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, ViewPart

MOST_SIZED = 20_000
"""With more partitions than this the list asks for no sizes: brokers answer with all of their replicas."""


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A topic of the list. records: end offsets minus first offsets. size_bytes: of all replicas."""

    name: str
    is_internal: bool
    partitions: int
    replication_factor: int
    under_replicated: int
    offline: int
    records: int | None
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class TopicsPage:
    """A part of the topics."""

    topics: list[TopicRow]
    part: PageList
    search: str
    with_internal: bool
    problems: list[ProblemRow]


def in_order_of_trouble(snapshot: ClusterSnapshot, search: str, with_internal: bool) -> list[TopicInfo]:
    """The topics whose names have that part: offline partitions first, then under-replicated ones, then by name."""

    def trouble(topic: TopicInfo) -> tuple[int, int, str]:
        offline = sum(derived.is_offline(snapshot, each) for each in topic.partitions)
        return -offline, -sum(map(derived.is_under_replicated, topic.partitions)), topic.name

    found = [
        topic for topic in snapshot.topics.values()
        if search in topic.name and (with_internal or not topic.is_internal)
    ]  # fmt: skip
    return sorted(found, key=trouble)


def topic_row(
    snapshot: ClusterSnapshot, topic: TopicInfo, records: int | None, size_bytes: int | None
) -> TopicRow:
    """One row of the list."""
    return TopicRow(
        topic.name,
        topic.is_internal,
        len(topic.partitions),
        max((len(each.replicas) for each in topic.partitions), default=0),
        sum(map(derived.is_under_replicated, topic.partitions)),
        sum(derived.is_offline(snapshot, each) for each in topic.partitions),
        records,
        size_bytes,
    )


def records_of(snapshot: ClusterSnapshot, topic: TopicInfo) -> int | None:
    """How many offsets lie between the ends of all partitions; None if one of them is not known."""
    bounds = [snapshot.offsets.get(each.topic_partition) for each in topic.partitions]
    if any(each is None for each in bounds):
        return None
    return sum(each.end_offset - each.start_offset for each in bounds if each is not None)


def sizes_of(snapshot: ClusterSnapshot) -> dict[str, int]:
    """Bytes by topic."""
    sizes: dict[str, int] = {}
    for directories in snapshot.log_dirs.values():
        for directory in directories.values():
            for partition, info in directory.replicas.items():
                sizes[partition.topic] = sizes.get(partition.topic, 0) + info.size_bytes
    return sizes


async def topics(request: PageRequest) -> Page:
    """The list of topics."""
    cluster = request.cluster
    search, with_internal = request.text("search", ""), request.flag("internal")
    all_of_them = await seen(cluster, ViewPart.TOPICS)
    found = await asyncio.to_thread(in_order_of_trouble, all_of_them, search, with_internal)  # of very many partitions
    part = request.page_list(len(found))
    shown = found[part.start : part.end]
    count = sum(len(topic.partitions) for topic in all_of_them.topics.values())
    size_part = [ViewPart.LOG_DIRS] if count <= MOST_SIZED else []
    offsets, sized = await asyncio.gather(
        seen(cluster, ViewPart.OFFSETS, topics=[topic.name for topic in shown]), seen(cluster, *size_part)
    )
    sizes = sizes_of(sized)
    rows = [
        topic_row(all_of_them, topic, records_of(offsets, topic), sizes.get(topic.name, 0) if sized.log_dirs else None)
        for topic in shown
    ]
    problems = [*problems_of(offsets), *problems_of(sized)]
    return Page("topics/list.html", TopicsPage(rows, part, search, with_internal, problems), "Topics")


class ShownPartition(NamedTuple):
    """One partition. leader: null without one. sizes: of the replicas, by broker."""

    partition: int
    leader: int | None
    replicas: list[int]
    isr: list[int]
    missing: list[int]
    is_under_replicated: bool
    is_preferred: bool
    first_offset: int | None
    end_offset: int | None
    sizes: Mapping[int, int]

    @property
    def size_bytes(self) -> int | None:
        return max(self.sizes.values(), default=None)


@dataclass(frozen=True, slots=True)
class TopicPage:
    """One topic."""

    topic: TopicRow
    partitions: list[ShownPartition]
    part: PageList
    settings: list[SettingRow]
    brokers: list[int]
    not_preferred: int
    problems: list[ProblemRow]


def trouble_of(snapshot: ClusterSnapshot, info: PartitionInfo) -> tuple[bool, bool]:
    """Sorts offline partitions before under-replicated ones, and these before others."""
    return not derived.is_offline(snapshot, info), not derived.is_under_replicated(info)


def partition_row(
    snapshot: ClusterSnapshot, info: PartitionInfo, sizes: Mapping[TopicPartition, Mapping[int, int]]
) -> ShownPartition:
    """One partition as a row."""
    bounds = snapshot.offsets.get(info.topic_partition)
    return ShownPartition(
        info.partition,
        None if derived.is_offline(snapshot, info) else info.leader,
        list(info.replicas),
        list(info.isr),
        derived.missing_replicas(snapshot, info),
        derived.is_under_replicated(info),
        derived.is_preferred_leader(info),
        None if bounds is None else bounds.start_offset,
        None if bounds is None else bounds.end_offset,
        sizes.get(info.topic_partition, {}),
    )


async def topic(request: PageRequest) -> Page:
    """One topic: its partitions, under-replicated ones first, and its settings."""
    name = request.path["topic"]
    parts = (ViewPart.TOPICS, ViewPart.OFFSETS, ViewPart.LOG_DIRS)
    resource = ConfigResource(ConfigResourceType.TOPIC, name)
    snapshot, described = await asyncio.gather(
        seen(request.cluster, *parts, topics=[name]), settings_of(request.cluster, resource), return_exceptions=True
    )
    if isinstance(snapshot, BaseException):
        raise snapshot
    info = existing(snapshot, name)
    problems = problems_of(snapshot)
    settings: Sequence[SettingRow] = ()
    if isinstance(described, BaseException):
        problems.append(ProblemRow("settings", str(described)))
    else:
        settings = described
    sizes = {each: found for each, found in derived.replica_bytes(snapshot).items() if each.topic == name}
    infos = sorted(info.partitions, key=lambda each: (*trouble_of(snapshot, each), each.partition))
    part = request.page_list(len(infos), size=100)
    size_bytes = sum(sum(found.values()) for found in sizes.values())
    model = TopicPage(
        topic_row(snapshot, info, records_of(snapshot, info), size_bytes if snapshot.log_dirs else None),
        [partition_row(snapshot, each, sizes) for each in infos[part.start : part.end]],
        part,
        list(settings),
        sorted(snapshot.nodes),
        sum(not derived.is_preferred_leader(each) for each in infos),
        problems,
    )
    return Page("topics/topic.html", model, name)


def existing(snapshot: ClusterSnapshot, name: str) -> TopicInfo:
    """The topic. Raises NotFound; KafkaError where it may not be seen."""
    info = snapshot.topics.get(name)
    if info is None or info.error in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION):
        raise NotFound(f"There is no topic {name}")
    if info.error is not ErrorCode.NONE:
        raise KafkaError(info.error, f"The topic {name} cannot be described: {info.error.meaning}")
    return info


ROUTES = (
    reads(
        f"{CLUSTER}/topics", topics, "The topics of a cluster, those with trouble first.", TopicsPage,
        RouteParameter("search", "A part of the names."),
        RouteParameter("internal", "Whether internal topics are listed as well.", "boolean"),
        *PAGING, menu="Topics",
    ),
    reads(f"{CLUSTER}/topics/{{topic}}", topic, "One topic with its partitions and settings.", TopicPage,
          *PAGING, under="Topics"),
)  # fmt: skip
