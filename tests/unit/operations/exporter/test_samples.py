"""A look at a cluster as samples under the names of kafka_exporter."""

import re
import uuid
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.group_descriptions import MemberDescription
from kafka_py.clients.metadata import Node, PartitionInfo, TopicInfo
from kafka_py.clients.offsets import OffsetAndMetadata
from kafka_py.net.scraping.exposition import MetricFamilies
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, GroupSeen, LogBounds, UnseenPart, ViewPart
from kafka_py.operations.exporter.names import FAMILIES
from kafka_py.operations.exporter.samples import ALL, ExporterChoice, noting_ends, take_cluster
from kafka_py.operations.groups.lag import EndOffsets, note_ends

ODD = 'a"b\\c'


def partition(topic: str, number: int, leader: int, replicas: tuple[int, ...], isr: tuple[int, ...]) -> PartitionInfo:
    return PartitionInfo(topic, number, leader, 1, replicas, isr, ())


def topic(name: str, *partitions: PartitionInfo, error: ErrorCode = ErrorCode.NONE) -> TopicInfo:
    return TopicInfo(name, uuid.UUID(int=1), False, partitions, error)


def group(name: str, members: int | None, committed: Mapping[tuple[str, int], int] | None) -> GroupSeen:
    found = None if members is None else (MemberDescription("m", None, "c", "/1", ()),) * members
    seen = GroupSeen(name, "consumer", "Stable", 1, "range", found)
    if committed is None:
        return seen
    offsets = {TopicPartition(*each): OffsetAndMetadata(at) for each, at in committed.items()}
    return seen._replace(committed=offsets)


SNAPSHOT = ClusterSnapshot(
    taken_ms=20_000,
    took_ms=250.0,
    nodes={1: Node(1, "a", 9092), 2: Node(2, "b", 9093)},
    topics={
        "t": topic("t", partition("t", 0, 1, (1, 2), (1, 2)), partition("t", 1, 2, (1, 2), (2,)),
                   partition("t", 2, -1, (3,), (3,))),
        ODD: topic(ODD, partition(ODD, 0, 1, (1,), (1,))),
    },
    offsets={
        TopicPartition("t", 0): LogBounds(5, 300),
        TopicPartition("t", 1): LogBounds(0, 40),
        TopicPartition(ODD, 0): LogBounds(0, 7),
    },
    groups={
        "g": group("g", 2, {("t", 0): 200, ("t", 2): 3, ("deleted", 0): 5}),
        "empty": group("empty", 0, {(ODD, 0): 9}),
        "refused": group("refused", None, None),
        'odd"\ngroup': group('odd"\ngroup', 1, {}),
    },
)  # fmt: skip


def samples(
    snapshot: ClusterSnapshot | None = SNAPSHOT, known: Mapping[str, EndOffsets] | None = None,
    choice: ExporterChoice = ALL, cluster: str = "",
) -> dict[str, float]:  # fmt: skip
    families = MetricFamilies()
    for _ in take_cluster(families, snapshot, known or {}, choice, cluster):
        pass
    lines = [line for line in families.text.splitlines() if not line.startswith("#")]
    assert len({line.rpartition(" ")[0] for line in lines}) == len(lines), "no sample twice"
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def of(found: Mapping[str, float], name: str) -> dict[str, float]:
    """The samples of one family, by their labels."""
    return {key.removeprefix(name): value for key, value in found.items() if key.partition("{")[0] == name}


def test_brokers() -> None:
    found = samples()
    assert found["kafka_brokers"] == 2
    assert of(found, "kafka_broker_info") == {'{id="1",address="a:9092"}': 1, '{id="2",address="b:9093"}': 1}


def test_partitions_with_a_leader() -> None:
    found = samples()
    assert of(found, "kafka_topic_partitions") == {'{topic="t"}': 3, '{topic="a\\"b\\\\c"}': 1}
    labels = '{topic="t",partition="1"}'
    for name, value in {
        "current_offset": 40, "oldest_offset": 0, "leader": 2, "leader_is_preferred": 0, "replicas": 2,
        "in_sync_replica": 1, "under_replicated_partition": 1,
    }.items():  # fmt: skip
        assert found[f"kafka_topic_partition_{name}{labels}"] == value, name
    assert found['kafka_topic_partition_leader_is_preferred{topic="t",partition="0"}'] == 1
    assert found['kafka_topic_partition_under_replicated_partition{topic="t",partition="0"}'] == 0
    assert found['kafka_topic_partition_oldest_offset{topic="t",partition="0"}'] == 5


def test_a_partition_without_leader_has_neither_leader_nor_offsets_but_is_counted() -> None:
    found = samples()
    labels = '{topic="t",partition="2"}'
    for name in ("leader", "current_offset", "oldest_offset"):
        assert f"kafka_topic_partition_{name}{labels}" not in found
    assert found[f"kafka_topic_partition_replicas{labels}"] == 1
    assert found[f"kafka_topic_partition_leader_is_preferred{labels}"] == 0
    assert of(found, "kafka_topic_partitions_without_leader") == {'{topic="t"}': 1, '{topic="a\\"b\\\\c"}': 0}


def test_a_dead_broker_that_is_still_named_as_leader_is_no_preferred_leader() -> None:
    named = replace(SNAPSHOT, topics={"t": topic("t", partition("t", 0, 3, (3,), (3,)))})
    found = samples(named)
    assert found['kafka_topic_partition_leader_is_preferred{topic="t",partition="0"}'] == 0


def test_groups_with_lag_and_without_a_commit() -> None:
    found = samples()
    labels = 'consumergroup="g",topic="t"'
    assert of(found, "kafka_consumergroup_current_offset") == {
        f'{{{labels},partition="0"}}': 200,
        f'{{{labels},partition="1"}}': -1,
        f'{{{labels},partition="2"}}': 3,
        '{consumergroup="empty",topic="a\\"b\\\\c",partition="0"}': 9,
    }
    assert of(found, "kafka_consumergroup_lag") == {
        f'{{{labels},partition="0"}}': 100,
        f'{{{labels},partition="1"}}': -1,
        '{consumergroup="empty",topic="a\\"b\\\\c",partition="0"}': 0,
    }, "none where the log end is not known, and never below 0 after a commit beyond the end"
    assert found[f"kafka_consumergroup_current_offset_sum{{{labels}}}"] == 203
    assert found[f"kafka_consumergroup_lag_sum{{{labels}}}"] == 100


def test_members_of_groups_that_could_be_described() -> None:
    assert of(samples(), "kafka_consumergroup_members") == {
        '{consumergroup="g"}': 2, '{consumergroup="empty"}': 0, '{consumergroup="odd\\"\\ngroup"}': 1
    }  # fmt: skip


def test_lag_in_seconds_where_earlier_log_ends_are_known() -> None:
    known: dict[str, EndOffsets] = {}
    for time_ms, end in ((0, 0), (10_000, 100), (20_000, 300)):
        note_ends(known, time_ms, ["t"], {"t": [end, 40]})
    found = of(samples(known=known), "kafka_consumergroup_lag_seconds")
    assert found['{consumergroup="g",topic="t",partition="0"}'] == 5.0
    assert not [labels for labels in found if 'partition="1"' in labels]
    assert found['{consumergroup="empty",topic="a\\"b\\\\c",partition="0"}'] == 0.0


def test_a_look_that_found_nothing_says_only_so() -> None:
    assert samples(None) == samples(ClusterSnapshot(taken_ms=1)) == {"kafka_exporter_up": 0}
    failed = replace(SNAPSHOT, unseen=(UnseenPart(ViewPart.GROUPS, 1, "", ErrorCode.NOT_COORDINATOR, "x"),))
    found = samples(failed)
    assert (found["kafka_exporter_up"], found["kafka_exporter_unseen_parts"]) == (1, 1)
    assert found["kafka_exporter_look_timestamp_seconds"] == 20.0
    assert found["kafka_exporter_look_duration_seconds"] == 0.25


def test_only_what_is_chosen() -> None:
    choice = ExporterChoice(re.compile("^t$"), re.compile("^(g|empty)$"))
    found = samples(choice=choice)
    assert not [key for key in found if "a\\" in key]
    assert of(found, "kafka_consumergroup_members") == {'{consumergroup="g"}': 2, '{consumergroup="empty"}': 0}


def test_every_sample_of_a_manager_has_the_label_of_its_cluster() -> None:
    found = samples(cluster='c"1')
    assert found and all('{cluster="c\\"1"' in key for key in found)
    assert found['kafka_brokers{cluster="c\\"1"}'] == 2


def test_a_topic_that_cannot_be_described_is_left_out_and_a_gap_in_the_numbers_is_none_in_the_offsets() -> None:
    odd = replace(
        SNAPSHOT,
        topics={
            "gone": topic("gone", error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            "t": topic("t", partition("t", 1, 2, (2,), (2,))),
        },
    )
    known = {"deleted": EndOffsets()}
    list(noting_ends(known, odd))
    assert known.keys() == {"gone", "t"}
    assert known["t"].of_partition(0) == ([], [])
    assert known["t"].of_partition(1) == ([odd.taken_ms], [40])
    assert known["gone"].of_partition(0) == ([], [])
    found = samples(odd)
    assert of(found, "kafka_topic_partitions") == {'{topic="t"}': 1}
    assert not [key for key in of(found, "kafka_consumergroup_lag") if 'partition="0"' in key]


def test_families_have_the_labels_that_the_table_says() -> None:
    labels = {name: re.findall(r'(\w+)="', labels) for name, _, labels in (key.partition("{") for key in samples())}
    assert {row.name: list(row.labels) for row in FAMILIES if row.name in labels} == labels


@pytest.mark.parametrize("count", [1_000])
def test_others_get_turns_in_the_middle_of_many_partitions(count: int) -> None:
    many = topic("m", *(partition("m", number, 1, (1,), (1,)) for number in range(count)))
    look = replace(SNAPSHOT, topics={"m": many})
    assert len(list(take_cluster(MetricFamilies(), look, {}))) >= count / 50
    assert len(list(noting_ends({}, look))) >= count / 50


def test_others_get_turns_after_each_of_many_topics() -> None:
    look = replace(SNAPSHOT, topics={f"m{number}": topic(f"m{number}") for number in range(500)})
    assert len(list(noting_ends({}, look))) == 500


def test_a_group_of_very_many_partitions_is_taken_some_at_a_time() -> None:
    count = 2000
    rows = [partition("t", number, 1, (1,), (1,)) for number in range(count)]
    ids = [each.topic_partition for each in rows]
    look = replace(
        SNAPSHOT, topics={"t": topic("t", *rows)}, offsets={each: LogBounds(0, 9) for each in ids},
        groups={"g": group("g", 1, {("t", each.partition): 2 for each in ids})},
    )  # fmt: skip
    families = MetricFamilies()
    lines = families.of("kafka_consumergroup_lag", "gauge", "").lines
    sizes = [len(lines) for _ in take_cluster(families, look, {})]
    assert sizes[-1] == count
    assert max(after - before for before, after in pairwise(sizes)) <= 100
    assert 'kafka_consumergroup_lag_sum{consumergroup="g",topic="t"} 14000' in families.text
