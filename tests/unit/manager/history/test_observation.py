"""The observation that a snapshot amounts to."""

import uuid
from dataclasses import replace

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.group_descriptions import MemberDescription
from kafka_py.clients.admin.log_dirs import LogDirDescription, ReplicaInfo
from kafka_py.clients.metadata import Node, PartitionInfo, TopicInfo
from kafka_py.clients.offsets import OffsetAndMetadata
from kafka_py.manager.history.metrics import MISSING
from kafka_py.manager.history.observation import OFFSETS_TOPIC, Observed, observation_of, vectors
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, GroupSeen, LogBounds, UnseenPart, ViewPart


def topic(name: str, *leaders: int) -> TopicInfo:
    parts = [PartitionInfo(name, number, leader, 1, (1, 2), (1,), ()) for number, leader in enumerate(leaders)]
    return TopicInfo(name, uuid.UUID(int=1), False, tuple(parts))


MEMBERS = tuple(MemberDescription(each, None, "client", "/h", ()) for each in ("m2", "m1"))
GROUP = GroupSeen(
    "g", "consumer", "Stable", 1, members=MEMBERS, committed={TopicPartition("t", 1): OffsetAndMetadata(7)}
)
SNAPSHOT = ClusterSnapshot(
    taken_ms=5,
    nodes={1: Node(1, "a", 9092), 2: Node(2, "b", 9092)},
    topics={"t": topic("t", 1, 2, 1), OFFSETS_TOPIC: topic(OFFSETS_TOPIC, 1)},
    offsets={TopicPartition("t", 0): LogBounds(1, 10), TopicPartition("t", 2): LogBounds(2, 30)},
    groups={"g": GROUP, "connect": GroupSeen("connect", "connect", "Stable", 1)},
    log_dirs={1: {"/d": LogDirDescription(None, {TopicPartition("t", 0): ReplicaInfo(70, 0, False)})}},
)


def seen(snapshot: ClusterSnapshot, before: Observed | None = None) -> Observed:
    return observation_of(snapshot, before, None, has_sizes=True)


def test_offsets_sizes_and_commits_become_vectors_by_topic() -> None:
    found = seen(SNAPSHOT)
    assert found.ends == {"t": (10, MISSING, 30)}
    assert found.starts == {"t": (1, MISSING, 2)}
    assert found.sizes == {1: {"t": (70, MISSING, MISSING)}}
    assert found.groups["g"].committed == {"t": (MISSING, 7, MISSING)}
    assert found.groups["g"].members == ("m1", "m2")


def test_groups_of_other_protocols_are_left_out() -> None:
    assert list(seen(SNAPSHOT).groups) == ["g"]


def test_a_partition_whose_leader_did_not_answer_keeps_its_offsets() -> None:
    before = seen(replace(SNAPSHOT, offsets={TopicPartition("t", 1): LogBounds(3, 20)}))
    assert seen(SNAPSHOT, before).ends == {"t": (10, 20, 30)}


def test_a_topic_of_which_no_leader_answered_keeps_its_offsets_as_long_as_it_exists() -> None:
    before = seen(SNAPSHOT)
    silent = seen(replace(SNAPSHOT, offsets={}), before)
    assert (silent.ends, silent.starts) == ({"t": (10, MISSING, 30)}, {"t": (1, MISSING, 2)})
    grown = replace(SNAPSHOT, offsets={}, topics={"t": topic("t", 1, 2, 1, 1)})
    assert seen(grown, before).ends == {"t": (10, MISSING, 30, MISSING)}
    assert seen(replace(SNAPSHOT, offsets={}, topics={}), before).ends == {}


def test_values_of_unknown_topics_and_partitions_are_left_out() -> None:
    values = [(TopicPartition("t", 5), 1), (TopicPartition("x", 0), 1), (TopicPartition("t", 0), 2)]
    assert vectors({"t": 2}, values) == {"t": (2, MISSING)}


def test_groups_are_not_all_listed_after_a_failure_or_without_a_leader_of_the_offsets_topic() -> None:
    assert seen(SNAPSHOT).all_groups_listed
    failed = UnseenPart(ViewPart.GROUPS, 2, "", ErrorCode.REQUEST_TIMED_OUT, "no response")
    assert not seen(replace(SNAPSHOT, unseen=(failed,))).all_groups_listed
    assert seen(replace(SNAPSHOT, unseen=(failed._replace(item="g"),))).all_groups_listed
    without = {**SNAPSHOT.topics, OFFSETS_TOPIC: topic(OFFSETS_TOPIC, -1)}
    assert not seen(replace(SNAPSHOT, topics=without)).all_groups_listed
