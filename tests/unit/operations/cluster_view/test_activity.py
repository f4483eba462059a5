"""Rates and counts from two looks at a cluster."""

from __future__ import annotations

import uuid
from dataclasses import replace

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.log_dirs import LogDirDescription, ReplicaInfo
from kafka_py.clients.metadata import Node, PartitionInfo, TopicInfo
from kafka_py.clients.offsets import OffsetAndMetadata
from kafka_py.operations.cluster_view import activity
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, GroupSeen, LogBounds

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def group(committed: int) -> GroupSeen:
    return GroupSeen("g", "consumer", "Stable", 1, "range", (), {T0: OffsetAndMetadata(committed)})


def snapshot(taken_ms: int, ends: dict[TopicPartition, int], committed: int) -> ClusterSnapshot:
    partitions = (PartitionInfo("t", 0, 1, 1, (1, 2), (1, 2), ()), PartitionInfo("t", 1, 2, 1, (2, 1), (2,), ()))
    return ClusterSnapshot(
        taken_ms=taken_ms,
        controller_id=2,
        nodes={1: Node(1, "a", 9092), 2: Node(2, "b", 9093, "r")},
        topics={"t": TopicInfo("t", uuid.UUID(int=1), False, partitions)},
        log_dirs={1: {"/d": LogDirDescription(None, {T0: ReplicaInfo(70, 0, False)})}},
        offsets={each: LogBounds(5, end) for each, end in ends.items()},
        groups={"g": group(committed)},
    )


BEFORE = snapshot(1000, {T0: 100, T1: 50}, 90)
NOW = snapshot(3000, {T0: 300, T1: 50}, 110)


def test_brokers_have_the_rates_of_the_partitions_that_they_lead() -> None:
    assert activity.brokers_of(NOW, BEFORE) == [
        activity.BrokerActivity(1, "a:9092", "", False, 1, 2, 0, 70, 100.0),
        activity.BrokerActivity(2, "b:9093", "r", True, 1, 2, 1, None, 0.0),
    ]


def test_topics() -> None:
    assert activity.topics_of(NOW, BEFORE) == [activity.TopicActivity("t", 2, 2, 0, 1, 340, 70, 100.0)]


def test_groups_have_a_lag_its_change_and_what_they_read() -> None:
    assert activity.groups_of(NOW, BEFORE) == [activity.GroupActivity("g", "Stable", 0, 1, 190, 180, 10.0)]


def test_nothing_is_known_of_rates_after_one_look() -> None:
    assert [row.written_per_s for row in activity.topics_of(NOW, None)] == [None]
    assert [row.written_per_s for row in activity.brokers_of(NOW, None)] == [None, None]
    assert [(row.change, row.read_per_s) for row in activity.groups_of(NOW, None)] == [(None, None)]
    assert [row.written_per_s for row in activity.topics_of(NOW, replace(BEFORE, taken_ms=3000))] == [None]


def test_a_topic_that_was_made_again_has_no_rate_yet() -> None:
    later = snapshot(5000, {T0: 3}, 110)
    assert [row.written_per_s for row in activity.topics_of(later, NOW)] == [None]


def test_a_group_that_went_back_reads_backwards() -> None:
    later = snapshot(5000, {T0: 300}, 10)
    assert [row.read_per_s for row in activity.groups_of(later, NOW)] == [-50.0]


def test_a_partition_that_the_group_reads_only_since_then_counts_not() -> None:
    """Its first commit may be far from where reading began."""
    both = {T0: OffsetAndMetadata(110), T1: OffsetAndMetadata(49)}
    later = replace(NOW, groups={"g": group(0)._replace(committed=both)})
    assert [row.read_per_s for row in activity.groups_of(later, BEFORE)] == [10.0]


def test_what_was_not_seen_is_unknown() -> None:
    blind = replace(NOW, offsets={}, log_dirs={})
    assert activity.topics_of(blind, BEFORE) == [activity.TopicActivity("t", 2, 2, 0, 1, None, None, None)]
    assert [(row.lag, row.change) for row in activity.groups_of(blind, BEFORE)] == [(None, None)]
