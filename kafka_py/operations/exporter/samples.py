"""The samples of one look at a cluster. Pure.

`take_cluster` is a generator that yields at intervals, so that its caller can do something else among thousands of
partitions. The values are those of kafka_exporter unless names.py says otherwise. Source: docs/metrics.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kafka_py.base.errors import ErrorCode
from kafka_py.clients.metadata import TopicInfo
from kafka_py.net.scraping.exposition import MetricFamilies, MetricFamily, escaped
from kafka_py.operations.cluster_view import derived
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, GroupSeen
from kafka_py.operations.exporter import names
from kafka_py.operations.exporter.names import ExporterFamily
from kafka_py.operations.groups.lag import MISSING, EndOffsets, forget_others, lag_ms_of, lag_of

_EVERYTHING = re.compile("")
_PARTITIONS_PER_STEP = 50
_PARTITIONS_OF_GROUP_PER_STEP = 25
"""Fewer: a lag in seconds looks through all earlier log ends."""


@dataclass(frozen=True, slots=True)
class ExporterChoice:
    """Which topics and groups are exported: those in whose names the expression is found."""

    topics: re.Pattern[str] = _EVERYTHING
    groups: re.Pattern[str] = _EVERYTHING


ALL = ExporterChoice()


def take_cluster(
    families: MetricFamilies,
    snapshot: ClusterSnapshot | None,
    known: Mapping[str, EndOffsets],
    choice: ExporterChoice = ALL,
    cluster: str = "",
) -> Iterator[None]:
    """Takes the samples of a look. snapshot: None, or one without nodes, if no broker answered.

    known: the log ends of this look and of earlier ones by topic, for lags in seconds. cluster: the value of the label
    of that name; "" for none.
    """
    taking = _ClusterSamples(families, f'cluster="{escaped(cluster)}"' if cluster else "")
    is_up = snapshot is not None and snapshot.is_reached
    taking.add(names.UP, "", int(is_up))
    if snapshot is None or not is_up:
        return
    taking.add(names.LOOK_TIME, "", snapshot.taken_ms / 1000)
    taking.add(names.LOOK_DURATION, "", snapshot.took_ms / 1000)
    taking.add(names.UNSEEN, "", len(snapshot.unseen))
    taking.add(names.BROKERS, "", len(snapshot.nodes))
    for number, node in snapshot.nodes.items():
        taking.add(names.BROKER_INFO, f'id="{number}",address="{escaped(node.host)}:{node.port}"', 1)
    topics = {
        name: topic
        for name, topic in snapshot.topics.items()
        if topic.error is ErrorCode.NONE and choice.topics.search(name)
    }
    for topic in topics.values():
        yield from _take_topic(taking, snapshot, topic)
    for name, group in snapshot.groups.items():
        if choice.groups.search(name):
            yield from _take_group(taking, snapshot, group, topics, known)


class _ClusterSamples:
    """Where samples go. first: a label that all have, formatted; "" for none."""

    def __init__(self, families: MetricFamilies, first: str) -> None:
        self.first = first
        self._families = families

    def family(self, row: ExporterFamily) -> MetricFamily:
        return self._families.of(row.name, "gauge", row.about)

    def add(self, row: ExporterFamily, labels: str, value: float) -> None:
        together = ",".join([each for each in (self.first, labels) if each])
        self.family(row).lines.append(f"{row.name}{{{together}}} {value}" if together else f"{row.name} {value}")


def _take_topic(taking: _ClusterSamples, snapshot: ClusterSnapshot, topic: TopicInfo) -> Iterator[None]:
    label = f'topic="{escaped(topic.name)}"'
    taking.add(names.PARTITIONS, label, len(topic.partitions))
    without_leader = 0
    for number, partition in enumerate(topic.partitions, 1):
        labels = f'{label},partition="{partition.partition}"'
        has_leader = not derived.is_offline(snapshot, partition)
        without_leader += not has_leader
        if has_leader:
            taking.add(names.LEADER, labels, partition.leader)
        bounds = snapshot.offsets.get(partition.topic_partition)
        if bounds is not None:
            taking.add(names.CURRENT_OFFSET, labels, bounds.end_offset)
            taking.add(names.OLDEST_OFFSET, labels, bounds.start_offset)
        taking.add(names.REPLICAS, labels, len(partition.replicas))
        taking.add(names.IN_SYNC_REPLICAS, labels, len(partition.isr))
        taking.add(names.LEADER_IS_PREFERRED, labels, int(has_leader and derived.is_preferred_leader(partition)))
        taking.add(names.UNDER_REPLICATED, labels, int(derived.is_under_replicated(partition)))
        if number % _PARTITIONS_PER_STEP == 0:
            yield
    taking.add(names.WITHOUT_LEADER, label, without_leader)
    yield


def _take_group(
    taking: _ClusterSamples,
    snapshot: ClusterSnapshot,
    group: GroupSeen,
    topics: Mapping[str, TopicInfo],
    known: Mapping[str, EndOffsets],
) -> Iterator[None]:
    label = f'consumergroup="{escaped(group.group_id)}"'
    if group.members is not None:
        taking.add(names.GROUP_MEMBERS, label, len(group.members))
    committed = group.committed or {}
    for name in sorted({partition.topic for partition in committed} & topics.keys()):
        of_topic, offsets, lags = f'{label},topic="{escaped(name)}"', 0, 0
        earlier = known.get(name) or EndOffsets()
        for count, partition in enumerate(topics[name].partitions, 1):
            id_, labels = partition.topic_partition, f'{of_topic},partition="{partition.partition}"'
            offset = committed[id_].offset if id_ in committed else MISSING
            end = snapshot.offsets[id_].end_offset if id_ in snapshot.offsets else MISSING
            behind = lag_of(offset, end)
            behind_ms = lag_ms_of(partition.partition, offset, end, snapshot.taken_ms, earlier)
            taking.add(names.GROUP_OFFSET, labels, offset)
            if end != MISSING:
                taking.add(names.GROUP_LAG, labels, behind)
            if behind_ms != MISSING:
                taking.add(names.GROUP_LAG_SECONDS, labels, behind_ms / 1000)
            offsets += offset if offset != MISSING else 0
            lags += behind if behind != MISSING else 0
            if count % _PARTITIONS_OF_GROUP_PER_STEP == 0:
                yield
        taking.add(names.GROUP_OFFSET_SUM, of_topic, offsets)
        taking.add(names.GROUP_LAG_SUM, of_topic, lags)
        yield
    yield


def noting_ends(known: dict[str, EndOffsets], snapshot: ClusterSnapshot) -> Iterator[None]:
    """Notes the log ends of a look by topic, and forgets topics that were deleted; yields at intervals.

    Of each topic there is one for every number up to that of the last partition; MISSING where one is not known.
    """
    forget_others(known, snapshot.topics)
    offsets = snapshot.offsets
    for name, topic in snapshot.topics.items():
        ends = [MISSING] * (topic.partitions[-1].partition + 1 if topic.partitions else 0)
        for count, each in enumerate(topic.partitions, 1):
            bounds = offsets.get(each.topic_partition)
            if bounds is not None:
                ends[each.partition] = bounds.end_offset
            if count % _PARTITIONS_PER_STEP == 0:
                yield
        known.setdefault(name, EndOffsets()).add(snapshot.taken_ms, ends)
        yield
