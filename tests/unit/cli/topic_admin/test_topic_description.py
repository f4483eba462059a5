"""The lines of kafka-topics.sh --describe, tab by tab, and its filters."""

import uuid

import pytest

from kafka_py.cli.topic_admin.topic_description import Describing, PartitionDescription, ShownTopic

TOPIC_ID = uuid.UUID("012345678-9abc-def3-fede-dcba98765432"[1:])


def partition(number=0, leader=1, replicas=(1, 2, 3), isr=(1, 2, 3), adding=(), removing=()):
    return PartitionDescription(number, leader, replicas, isr, adding, removing)


def lines(topic, **how):
    return list(Describing(**how).lines(topic))


def test_the_example_of_the_reference():
    topic = ShownTopic(
        "t1",
        [
            partition(1, None, (2, 3, 1, 4), (3,), adding=(4,), removing=(1,)),
            partition(0),
        ],
        {"segment.bytes": "1048576", "cleanup.policy": "compact"},
        TOPIC_ID,
    )
    topic_line, *partitions = lines(topic)
    assert topic_line.startswith("Topic: t1\tTopicId: ")
    assert topic_line.endswith("\tReplicationFactor: 3\tConfigs: segment.bytes=1048576,cleanup.policy=compact")
    assert "\tPartitionCount: 2\t" in topic_line
    assert partitions == [
        "\tTopic: t1\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3",
        "\tTopic: t1\tPartition: 1\tLeader: none\tReplicas: 2,3,1,4\tIsr: 3\tAdding Replicas: 4\tRemoving Replicas: 1",
    ]


def test_a_topic_without_id_and_configs():
    assert lines(ShownTopic("t", [partition()], {}))[0] == (
        "Topic: t\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: "
    )


def test_marked_for_deletion_ends_every_line():
    found = lines(ShownTopic("t", [partition()], {}, marked_for_deletion=True))
    assert [line.endswith("\tMarkedForDeletion: true") for line in found] == [True, True]


def test_replicas_that_are_being_added_do_not_count_but_do_with_zookeeper():
    moving = [partition(replicas=(4, 1, 2, 3), adding=(4,), removing=(1,))]
    assert "ReplicationFactor: 3" in lines(ShownTopic("t", moving, {}))[0]
    assert "ReplicationFactor: 4" in lines(ShownTopic("t", moving, {}, full_factor=True))[0]


@pytest.mark.parametrize(
    ("report", "shown"),
    [
        ("under_replicated", [1, 2, 4]),
        ("unavailable", [2, 3]),
        ("under_min_isr", [2, 4]),
        ("at_min_isr", [1]),
    ],
)
def test_filters_print_partition_lines_only(report, shown):
    partitions = [
        partition(0, 1),
        partition(1, 1, isr=(1, 2)),
        partition(2, None, isr=(2,)),
        partition(3, 9, replicas=(9, 1, 2), isr=(9, 1, 2)),
        partition(4, 1, isr=(1,)),
        partition(5, 1, replicas=(4, 1, 2), isr=(1, 2), adding=(4,)),
    ]
    topic = ShownTopic("t", partitions, {"a": "b"}, min_insync_replicas=2)
    if report == "at_min_isr":
        shown = [1, 5]
    found = lines(topic, report=report, live_brokers={1, 2, 3, 4})
    assert [int(line.split("Partition: ")[1].split("\t")[0]) for line in found] == shown


def test_overridden_topics_are_one_line_and_others_none():
    assert lines(ShownTopic("t", [partition()], {}), only_overridden=True) == []
    assert len(lines(ShownTopic("t", [partition()], {"a": "b"}), only_overridden=True)) == 1


def test_a_topic_is_a_document_as_well_under_the_same_filters():
    partitions = [
        PartitionDescription(1, None, [1, 2], [2], adding=[2], removing=[1]),
        PartitionDescription(0, 1, [1, 2], [1, 2]),
    ]
    topic = ShownTopic("t", partitions, {"retention.ms": "5"})
    [whole] = Describing().documents(topic)
    assert (whole["topic"], whole["topic_id"], whole["configs"]) == ("t", None, {"retention.ms": "5"})
    assert whole["partitions"] == [
        {"partition": 0, "leader": 1, "replicas": [1, 2], "isr": [1, 2]},
        {"partition": 1, "leader": None, "replicas": [1, 2], "isr": [2], "adding": [2], "removing": [1]},
    ]
    unavailable = Describing("unavailable", live_brokers=frozenset([1]))
    [filtered] = unavailable.documents(topic)
    assert [each["partition"] for each in filtered["partitions"]] == [1]
    assert list(unavailable.documents(ShownTopic("t", partitions[1:], {}))) == []
    assert list(Describing(only_overridden=True).documents(ShownTopic("t", partitions, {}))) == []
