"""The samples of an observation."""

import uuid
from dataclasses import replace
from typing import Any

from kafka_py.clients.metadata import Node, PartitionInfo, TopicInfo
from kafka_py.manager.history.metrics import MISSING, group_topic, parts_of_group_topic
from kafka_py.manager.history.observation import GroupObservation, Observed
from kafka_py.manager.history.sampling import appended, samples_of
from kafka_py.operations.groups.lag import EndOffsets, note_ends

TOPIC = TopicInfo(
    "t",
    uuid.UUID(int=1),
    False,
    (
        PartitionInfo("t", 0, 1, 1, (1, 2), (1, 2), ()),
        PartitionInfo("t", 1, 2, 1, (2, 1), (2,), (1,)),
        PartitionInfo("t", 2, -1, 1, (3,), (), (3,)),
    ),
)
SEEN = Observed(
    time_ms=10_000,
    took_ms=12.0,
    nodes={1: Node(1, "a", 9092), 2: Node(2, "b", 9092)},
    topics={"t": TOPIC},
    ends={"t": (100, 50, MISSING)},
    starts={"t": (0, 10, MISSING)},
    sizes={1: {"t": (700, 60, MISSING)}, 2: {"t": (600, 65, MISSING)}},
    groups={"g": GroupObservation("Stable", ("m1", "m2"), {"t": (90, 50, MISSING), "gone": (1,)})},
)
BEFORE = replace(SEEN, time_ms=0, ends={"t": (80, 50, MISSING)})


def sampled(seen: Observed, before: Observed | None = None) -> dict[tuple[str, str], Any]:
    known: dict[str, EndOffsets] = {}
    for each in (before, seen):
        if each is not None:
            note_ends(known, each.time_ms, each.topics, each.ends)
    return {(metric.name, entity): value for metric, entity, value in samples_of(seen, before, known)}


def test_counts_of_the_cluster_and_its_brokers() -> None:
    found = sampled(SEEN)
    assert [found[name, ""] for name in ("brokers", "topics", "partitions", "under_replicated", "offline")] == [
        2, 1, 3, 2, 1,
    ]  # fmt: skip
    assert (found["broker_leaders", "1"], found["broker_leaders", "2"]) == (1, 1)
    assert (found["broker_replicas", "1"], found["broker_replicas", "2"]) == (2, 2)
    assert found["collected", ""] == 12.0


def test_sizes_of_partitions_are_those_of_their_leaders() -> None:
    found = sampled(SEEN)
    assert found["topic_size", "t"] == (700, 65, MISSING)
    assert (found["broker_size", "1"], found["size", ""]) == (760, 1425)
    assert ("topic_size", "t") not in sampled(replace(SEEN, sizes=None))


def test_rates_are_those_of_the_leaders_and_need_two_observations() -> None:
    assert ("records_per_second", "") not in sampled(SEEN)
    found = sampled(SEEN, BEFORE)
    assert found["records_per_second", ""] == 2.0
    assert (found["broker_records_per_second", "1"], found["broker_records_per_second", "2"]) == (2.0, 0.0)


def test_a_topic_that_was_created_again_or_is_new_appends_nothing() -> None:
    assert appended(SEEN, replace(SEEN, ends={"t": (500, 49, 3)})) == {"t": (0, 1, 0)}
    assert appended(SEEN, replace(SEEN, ends={})) == {}


def test_lag_of_groups_in_records_and_in_time() -> None:
    found = sampled(SEEN, BEFORE)
    entity = group_topic("g", "t")
    assert parts_of_group_topic(entity) == ("g", "t")
    assert found["committed_offset", entity] == (90, 50, MISSING)
    assert found["lag", entity] == (10, 0, MISSING)
    assert found["lag_ms", entity] == (5000, 0, MISSING)
    assert (found["group_lag", "g"], found["group_lag_ms", "g"], found["group_members", "g"]) == (10, 5000, 2)


def test_a_group_that_could_not_be_read_has_no_lag() -> None:
    found = sampled(replace(SEEN, groups={"g": GroupObservation("Stable", None, None)}))
    assert not [name for name, _ in found if "group" in name or "lag" in name]


def test_topics_that_were_deleted_are_forgotten() -> None:
    known = {"old": EndOffsets()}
    note_ends(known, SEEN.time_ms, SEEN.topics, SEEN.ends)
    assert list(known) == ["t"]
