"""What kafka-reassign-partitions.sh says of plans and moves (docs/reference/tools.md, section 5)."""

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.cli.common.command import Refused
from kafka_py.cli.reassignment import reassign_plan
from kafka_py.cli.reassignment.reassign_plan import PartitionProgress
from kafka_py.clients.admin.replicas import PartitionReassignment
from kafka_py.operations.reassignments.plans import Plan

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def test_progress_is_told():
    text = reassign_plan.status_text(
        {
            T1: PartitionProgress([1], [2], True),
            T0: PartitionProgress([2], [2], True),
            TopicPartition("u", 0): PartitionProgress([1, 2], [2], False),
        }
    )
    assert text.splitlines() == [
        "Status of partition reassignment:",
        "Reassignment of partition t-0 is complete.",
        "There is no active reassignment of partition t-1, but replica set is 1 rather than 2.",
        "Reassignment of partition u-0 is still in progress.",
    ]


def test_moves_under_way_are_listed():
    assert reassign_plan.moving_text({}) == "No partition reassignments found."
    text = reassign_plan.moving_text(
        {T1: PartitionReassignment([1, 2], [1], []), T0: PartitionReassignment([1, 2, 3], [3], [1])}
    )
    assert text.splitlines() == [
        "Current partition reassignments:",
        "t-0: replicas: 1,2,3. adding: 3. removing: 1.",
        "t-1: replicas: 1,2. adding: 1.",
    ]


def test_moves_under_way_as_documents():
    assert reassign_plan.moving_documents({T0: PartitionReassignment([1, 2, 3], [3], [1])}) == [
        {"topic": "t", "partition": 0, "replicas": [1, 2, 3], "adding": [3], "removing": [1]}
    ]


def test_another_number_of_replicas_can_be_forbidden():
    plan = Plan([(T1, [1]), (T0, [1, 2])])
    reassign_plan.require_same_factor(plan, {T0: 2, T1: 1})
    with pytest.raises(Refused, match="t-1: The replication factor is changed from 3 to 1"):
        reassign_plan.require_same_factor(plan, {T0: 2, T1: 3})


def test_plurals():
    assert reassign_plan.clearing_lines([1], ["t"])[0] == "Clearing broker-level throttles on broker 1"
    assert reassign_plan.clearing_lines([1, 2], ["t", "u"]) == [
        "Clearing broker-level throttles on brokers 1,2",
        "Clearing topic-level throttles on topics t,u",
    ]
    assert reassign_plan.started_text([T1, T0]) == "Successfully started partition reassignments for t-0,t-1"
