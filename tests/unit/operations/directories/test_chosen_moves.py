"""Moves between log directories that a user has chosen."""

import json

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.directories.chosen_moves import propose_chosen
from kafka_py.operations.directories.model import (
    DirectoryId,
    DirectoryMove,
    PlanDirectories,
    PlanDirectory,
    PlanReplica,
    ReplicaId,
)
from kafka_py.operations.reassignments.plans import parse_plan, plan_text
from kafka_py.operations.rebalancing.model import RebalanceRefused


def replica(number, broker=0):
    return ReplicaId(TopicPartition("t", number), broker)


CLUSTER = PlanDirectories(
    (
        PlanDirectory(DirectoryId(0, "/a"), True, 1000, 600, "/a"),
        PlanDirectory(DirectoryId(0, "/b"), True, 1000, 200, "/b"),
        PlanDirectory(DirectoryId(0, "/off"), False, disk="/off"), PlanDirectory(DirectoryId(1, "/a"), disk="/a"),
        PlanDirectory(DirectoryId(1, "/c"), disk="/c"),
    ),
    (
        PlanReplica(replica(0), "/a", 100), PlanReplica(replica(1), "/a", 60), PlanReplica(replica(2), "/b", 7),
        PlanReplica(replica(3), "/a", 5, is_moving=True), PlanReplica(replica(0, 1), "/a", 100),
    ),
)  # fmt: skip


def test_chosen_replicas_move_and_nothing_else_does():
    plan = propose_chosen(CLUSTER, {replica(0): "/b", replica(2): "/b", replica(0, 1): "/c"})
    assert plan.moves == (
        DirectoryMove(replica(0), "/a", "/b", 100), DirectoryMove(replica(0, 1), "/a", "/c", 100)
    )  # fmt: skip
    assert plan.moved_bytes == 200
    held = {str(one.id): (one.replicas, one.size_bytes) for one in plan.after}
    assert held == {"0=/a": (2, 65), "0=/b": (2, 107), "0=/off": (0, 0), "1=/a": (0, 0), "1=/c": (1, 100)}
    assert {str(one.id): one.size_bytes for one in plan.before}["0=/a"] == 165
    assert all(one.is_balanced and one.lowest is None for one in plan.after)


def test_a_plan_of_replicas_that_are_there_already_is_empty():
    assert propose_chosen(CLUSTER, {replica(2): "/b"}).moves == ()


@pytest.mark.parametrize(
    ("targets", "why"),
    [
        ({replica(9): "/b"}, "no replica of t-9 on broker 0"), ({replica(2, 1): "/c"}, "no replica of t-2 on broker 1"),
        ({replica(3): "/b"}, "t-3 on broker 0 is being moved already"),
        ({replica(0): "/c"}, "Broker 0 has no log directory /c; there are /a, /b, /off"),
        ({replica(0): "/off"}, "0=/off is offline"),
        ({replica(0): "/b", replica(1): "/b"}, "disk of 0=/b has no room for t-1 on broker 0"),
    ],
)  # fmt: skip
def test_a_move_that_cannot_be_made_is_named(targets, why):
    with pytest.raises(RebalanceRefused, match=why):
        propose_chosen(CLUSTER, targets)


def test_the_plan_file_names_directories_of_the_replicas_that_move():
    partition = TopicPartition("größer", 1)
    text = plan_text({TopicPartition("t", 0): [1], partition: [3, 0]}, {partition: {0: "/b"}})
    rows = {row["topic"]: row["log_dirs"] for row in json.loads(text)["partitions"]}
    assert rows == {"größer": ["any", "/b"], "t": ["any"]}
    assert {tuple(each): path for each, path in parse_plan(text).log_dirs.items()} == {("größer", 1, 0): "/b"}
