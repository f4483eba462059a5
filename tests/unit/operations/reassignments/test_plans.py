"""Plans of reassignments and their files (docs/reference/tools.md, section 5)."""

import json

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.log_dirs import TopicPartitionReplica
from kafka_py.operations.reassignments import plans
from kafka_py.operations.reassignments.plans import PlanError

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def file(*rows, **fields):
    return json.dumps({"version": 1, "partitions": list(rows), **fields})


def row(replicas, partition=0, topic="t", **fields):
    return {"topic": topic, "partition": partition, "replicas": replicas, **fields}


def test_a_plan_is_read():
    plan = plans.parse_plan(file(row([1, 2], log_dirs=["any", "/d"]), row([3], 1)))
    assert plan.targets == {T0: [1, 2], T1: [3]}
    assert plan.log_dirs == {TopicPartitionReplica("t", 0, 2): "/d"}
    assert plan.topics == ["t"]
    assert plan.brokers == [1, 2, 3]
    assert plans.parse_plan('{"partitions":[]}').rows == []  # a missing version reads as 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "The input string shouldn't be empty"),
        ("{nope", "The input string is not a valid JSON"),
        ("[]", "an object is wanted"),
        ('{"version":2,"partitions":[]}', "Not supported version field value 2"),
        ('{"partitions":7}', "`partitions` must be a list of objects"),
        ('{"partitions":[7]}', "`partitions` must be a list of objects"),
        ('{"partitions":[{"topic":"t","partition":0}]}', "No such field exists: `replicas`"),
        (file(row(["x"])), '`replicas` holds "x"'),
        (file(row([True])), "`replicas` holds true"),
        (file(row([1], "0")), '`partition` holds "0"'),
        (file(row([1, 2], log_dirs=["any"])),
         "Size of replicas list List(1, 2) is different from size of log dirs list List(any) for partition t-0"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_meant_is_refused(text, why):
    with pytest.raises(PlanError) as refused:
        plans.parse_plan(text)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([], "Partition reassignment list cannot be empty"),
        ([row([])], "Partition replica list cannot be empty"),
        ([row([1]), row([2])], "Partition reassignment contains duplicate topic partitions: t-0"),
        ([row([1, 1])],
         "Partition replica lists may not contain duplicate entries: t-0 contains multiple entries for 1"),
    ],
)  # fmt: skip
def test_a_plan_that_cannot_be_carried_out_is_refused(rows, why):
    with pytest.raises(PlanError) as refused:
        plans.parse_plan(file(*rows)).check()
    assert str(refused.value) == why


def test_topics_and_brokers_to_move_are_read():
    assert plans.parse_topics('{"version":1,"topics":[{"topic":"a"},{"topic":"b"}]}') == ["a", "b"]
    assert plans.parse_brokers("0,2,1") == [0, 2, 1]
    with pytest.raises(PlanError, match="List of topics to reassign contains duplicate entries: a"):
        plans.parse_topics('{"topics":[{"topic":"a"},{"topic":"a"}]}')
    with pytest.raises(PlanError, match="Broker list contains duplicate entries: 2"):
        plans.parse_brokers("2,1,2")
    with pytest.raises(PlanError, match='For input string: "x"'):
        plans.parse_brokers("1,x")


def test_what_is_written_can_be_read():
    text = plans.plan_text({T1: [3], T0: [1, 2]})
    assert text == (
        '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["any","any"]},'
        '{"topic":"t","partition":1,"replicas":[3],"log_dirs":["any"]}]}'
    )
    assert plans.parse_plan(text).targets == {T0: [1, 2], T1: [3]}
