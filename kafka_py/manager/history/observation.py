"""One look at a cluster, as the history needs it: what was seen, and what was not.

Pure: made from a snapshot, and from settings where they were asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.resources import ConfigResource
from kafka_py.clients.metadata import NO_NODE, Node, TopicInfo
from kafka_py.manager.history.metrics import MISSING
from kafka_py.operations.cluster_view import derived
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, GroupSeen, ViewPart

OFFSETS_TOPIC = "__consumer_offsets"

Vectors = Mapping[str, tuple[int, ...]]
"""Topic -> one number per partition, MISSING where it is unknown."""

Settings = Mapping[ConfigResource, Mapping[str, str | None]]
"""Resource -> what differs from the default."""


class GroupObservation(NamedTuple):
    """A group. members: their ids, sorted; None if they could not be read. committed: offsets by topic, likewise."""

    state: str
    members: tuple[str, ...] | None
    committed: Vectors | None


@dataclass(frozen=True, slots=True)
class Observed:
    """A cluster at one time.

    time_ms: wall clock at its beginning. took_ms: how long all of it took.
    ends, starts: log end and log start offsets.
    sizes: bytes of replicas, by broker; None if they were not asked for; a broker that did not answer is missing.
    all_groups_listed: whether a group that is missing does not exist.
    settings: None if they were not asked for; a resource that could not be described is missing.
    snapshot: the look itself, without log directories.
    """

    time_ms: int
    took_ms: float = 0.0
    controller_id: int = NO_NODE
    nodes: Mapping[int, Node] = field(default_factory=dict)
    topics: Mapping[str, TopicInfo] = field(default_factory=dict)
    ends: Vectors = field(default_factory=dict)
    starts: Vectors = field(default_factory=dict)
    sizes: Mapping[int, Vectors] | None = None
    groups: Mapping[str, GroupObservation] = field(default_factory=dict)
    all_groups_listed: bool = True
    settings: Settings | None = None
    snapshot: ClusterSnapshot | None = None


def observation_of(
    snapshot: ClusterSnapshot, before: Observed | None, settings: Settings | None, *, has_sizes: bool
) -> Observed:
    """The observation that a snapshot amounts to.

    before: the one before it: a partition whose leader did not answer keeps its offsets. has_sizes: whether log
    directories were asked for.
    """
    counts = {name: len(topic.partitions) for name, topic in snapshot.topics.items()}
    offsets = snapshot.offsets
    ends = vectors(counts, ((partition, bounds.end_offset) for partition, bounds in offsets.items()))
    starts = vectors(counts, ((partition, bounds.start_offset) for partition, bounds in offsets.items()))
    return Observed(
        time_ms=snapshot.taken_ms,
        took_ms=snapshot.took_ms,
        controller_id=snapshot.controller_id,
        nodes=snapshot.nodes,
        topics=snapshot.topics,
        ends=carried(ends, before.ends if before is not None else {}, counts),
        starts=carried(starts, before.starts if before is not None else {}, counts),
        sizes=_sizes(snapshot, counts) if has_sizes else None,
        groups={
            group_id: _group(group, counts) for group_id, group in snapshot.groups.items() if group.is_consumer_group
        },
        all_groups_listed=_are_all_groups_listed(snapshot),
        settings=settings,
        snapshot=replace(snapshot, log_dirs={}),
    )


def vectors(counts: Mapping[str, int], values: Iterable[tuple[TopicPartition, int]]) -> dict[str, tuple[int, ...]]:
    """The values by topic. counts: partitions of each topic; a value of any other topic or partition is left out."""
    found: dict[str, list[int]] = {}
    for (topic, partition), value in values:
        vector = found.get(topic)
        if vector is None:
            vector = found[topic] = [MISSING] * counts.get(topic, 0)
        if partition < len(vector):
            vector[partition] = value
    return {topic: tuple(vector) for topic, vector in found.items() if vector}


def carried(now: Vectors, before: Vectors, counts: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """The vectors, in which a value that is missing is the one before it. counts: partitions of each topic."""
    unseen = {topic: (MISSING,) * counts[topic] for topic in before if topic in counts and topic not in now}
    return {topic: _carried(values, before.get(topic, ())) for topic, values in (*now.items(), *unseen.items())}


def _carried(values: tuple[int, ...], before: tuple[int, ...]) -> tuple[int, ...]:
    if MISSING not in values:
        return values
    return tuple(
        before[index] if value == MISSING and index < len(before) else value for index, value in enumerate(values)
    )


def _sizes(snapshot: ClusterSnapshot, counts: Mapping[str, int]) -> dict[int, Vectors]:
    by_broker: dict[int, list[tuple[TopicPartition, int]]] = {broker: [] for broker in snapshot.log_dirs}
    for partition, replicas in derived.replica_bytes(snapshot).items():
        for broker, size in replicas.items():
            by_broker[broker].append((partition, size))
    return {broker: vectors(counts, values) for broker, values in by_broker.items()}


def _group(group: GroupSeen, counts: Mapping[str, int]) -> GroupObservation:
    members = None if group.members is None else tuple(sorted(each.member_id for each in group.members))
    if group.committed is None:
        return GroupObservation(group.state, members, None)
    committed = vectors(counts, ((partition, offset.offset) for partition, offset in group.committed.items()))
    return GroupObservation(group.state, members, committed)


def _are_all_groups_listed(snapshot: ClusterSnapshot) -> bool:
    """Whether every broker listed its groups, and every partition that stores groups has a broker."""
    if any(not unseen.item for unseen in snapshot.unseen_of(ViewPart.GROUPS)):
        return False
    offsets_topic = snapshot.topics.get(OFFSETS_TOPIC)
    stores = offsets_topic.partitions if offsets_topic is not None else ()
    return not any(derived.is_offline(snapshot, partition) for partition in stores)
