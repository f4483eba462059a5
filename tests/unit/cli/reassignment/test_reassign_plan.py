"""Plans of kafka-reassign-partitions.sh: files, moves, throttles, texts (docs/reference/tools.md, section 5)."""

import json

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.cli.common.command import CommandFailed, Refused
from kafka_py.cli.reassignment import reassign_plan
from kafka_py.cli.reassignment.reassign_plan import PartitionProgress, Plan
from kafka_py.clients.admin.log_dirs import TopicPartitionReplica
from kafka_py.clients.admin.replicas import PartitionReassignment
from kafka_py.operations.rebalancing.throttles import ReplicaMove, moving_brokers, topic_throttles

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def file(*rows, **fields):
    return json.dumps({"version": 1, "partitions": list(rows), **fields})


def row(replicas, partition=0, topic="t", **fields):
    return {"topic": topic, "partition": partition, "replicas": replicas, **fields}


def test_a_plan_is_read():
    plan = reassign_plan.parse_plan(file(row([1, 2], log_dirs=["any", "/d"]), row([3], 1)))
    assert plan.targets == {T0: [1, 2], T1: [3]}
    assert plan.log_dirs == {TopicPartitionReplica("t", 0, 2): "/d"}
    assert plan.topics == ["t"]
    assert plan.brokers == [1, 2, 3]
    assert reassign_plan.parse_plan('{"partitions":[]}').rows == []  # a missing version reads as 1


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
    with pytest.raises(CommandFailed) as refused:
        reassign_plan.parse_plan(text)
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
    with pytest.raises(CommandFailed) as refused:
        reassign_plan.parse_plan(file(*rows)).check()
    assert str(refused.value) == why


def test_topics_and_brokers_to_move_are_read():
    assert reassign_plan.parse_topics('{"version":1,"topics":[{"topic":"a"},{"topic":"b"}]}') == ["a", "b"]
    assert reassign_plan.parse_brokers("0,2,1") == [0, 2, 1]
    with pytest.raises(CommandFailed, match="List of topics to reassign contains duplicate entries: a"):
        reassign_plan.parse_topics('{"topics":[{"topic":"a"},{"topic":"a"}]}')
    with pytest.raises(CommandFailed, match="Broker list contains duplicate entries: 2"):
        reassign_plan.parse_brokers("2,1,2")
    with pytest.raises(CommandFailed, match='For input string: "x"'):
        reassign_plan.parse_brokers("1,x")


def test_what_is_written_can_be_read():
    text = reassign_plan.plan_text({T1: [3], T0: [1, 2]})
    assert text == (
        '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["any","any"]},'
        '{"topic":"t","partition":1,"replicas":[3],"log_dirs":["any"]}]}'
    )
    assert reassign_plan.parse_plan(text).targets == {T0: [1, 2], T1: [3]}


def test_a_move_reads_from_all_present_replicas_and_a_running_one_keeps_its_sources():
    running = {T1: PartitionReassignment([4, 1, 2], [4], [2])}
    moves = reassign_plan.planned_moves(running, {T0: [2, 3], T1: [5]}, {T0: [1, 2], T1: [4, 1, 2]})
    assert moves == {T1: ReplicaMove([1, 2], [5]), T0: ReplicaMove([1, 2], [3])}
    assert moving_brokers(moves) == [1, 2, 5, 3]
    with pytest.raises(CommandFailed, match="with 0 replicas"):
        reassign_plan.planned_moves({}, {T0: [1]}, {})


def test_throttles_name_the_sources_as_leaders_and_the_new_replicas_as_followers():
    settings = topic_throttles(
        {T0: ReplicaMove([1, 2], [2, 3]), TopicPartition("t", 10): ReplicaMove([1], [])}
    )
    assert settings == {
        "t": {
            "leader.replication.throttled.replicas": "0:1,0:2,10:1",
            "follower.replication.throttled.replicas": "0:3",
        }
    }


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
