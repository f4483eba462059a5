"""kafka-topics.sh --bootstrap-server over a stand-in admin client."""

import uuid

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.topic_admin.topic_requests import TopicAction
from kafka_py.cli.topic_admin.topics_admin import carry_out
from kafka_py.clients.admin.brokers import ClusterDescription
from kafka_py.clients.admin.resources import ConfigEntry, ConfigSource
from kafka_py.clients.admin.results import Results
from kafka_py.clients.admin.topics import NewPartitions, TopicDescription, TopicListing, TopicPartitionInfo
from kafka_py.clients.metadata import Node

NODES = [Node(1, "h1", 1), Node(2, "h2", 1)]


class FakeAdmin:
    """A cluster of brokers 1 and 2, with topics given as name -> [(leader, isr) per partition]."""

    def __init__(self, topics=None, min_isr="1"):
        self.topics = topics or {}
        self.min_isr = min_isr
        self.created, self.partitions, self.deleted = [], {}, []

    def list_topics(self, *, list_internal):
        return {
            name: TopicListing(name, uuid.UUID(int=7), name.startswith("__"))
            for name in self.topics
            if list_internal or not name.startswith("__")
        }

    def create_topics(self, topics):
        self.created += topics
        exists = KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 't' already exists.")
        return Results({topic.name: exists if topic.name in self.topics else None for topic in topics})

    def create_partitions(self, wanted):
        self.partitions.update(wanted)
        return Results(dict.fromkeys(wanted))

    def delete_topics(self, names):
        self.deleted += names
        return Results(dict.fromkeys(names))

    def describe_cluster(self):
        return ClusterDescription("c", NODES[0], NODES)

    def describe_configs(self, resources):
        configs = {
            "min.insync.replicas": ConfigEntry("min.insync.replicas", self.min_isr, ConfigSource.DEFAULT_CONFIG),
            "segment.bytes": ConfigEntry("segment.bytes", "14", ConfigSource.STATIC_BROKER_CONFIG),
            "flush.ms": ConfigEntry("flush.ms", "1", ConfigSource.DYNAMIC_TOPIC_CONFIG),
        }
        return Results(dict.fromkeys(resources, configs))

    def describe_topics(self, names):
        return Results({name: self._described(name) for name in names})

    def _described(self, name):
        partitions = [
            TopicPartitionInfo(
                number,
                next((node for node in NODES if node.id == leader), None),
                NODES,
                [node for node in NODES if node.id in isr],
            )
            for number, (leader, isr) in enumerate(self.topics[name])
        ]
        return TopicDescription(name, uuid.UUID(int=7), False, partitions)


def test_create_says_so_and_leaves_defaults_to_the_broker(capsys):
    admin = FakeAdmin()
    carry_out(admin, TopicAction("create", "t", configs={"flush.ms": "1"}))
    (topic,) = admin.created
    assert (topic.num_partitions, topic.replication_factor, topic.configs) == (-1, -1, {"flush.ms": "1"})
    assert capsys.readouterr().out == "Created topic t.\n"


def test_create_hands_an_assignment_on():
    admin = FakeAdmin()
    carry_out(admin, TopicAction("create", "t", assignment={0: [1, 2]}))
    assert admin.created[0].replica_assignments == {0: [1, 2]}


def test_an_existing_topic_is_an_error_unless_it_may_exist(capsys):
    admin = FakeAdmin({"t": [(1, [1])]})
    with pytest.raises(KafkaError, match="already exists"):
        carry_out(admin, TopicAction("create", "t"))
    carry_out(admin, TopicAction("create", "t", if_not_exists=True))
    assert capsys.readouterr().out == ""


def test_list_prints_names_in_order(capsys):
    admin = FakeAdmin({"b": [], "a": [], "__consumer_offsets": []})
    carry_out(admin, TopicAction("list"))
    carry_out(admin, TopicAction("list", exclude_internal=True))
    assert capsys.readouterr().out.split() == ["__consumer_offsets", "a", "b", "a", "b"]


def test_delete_and_alter_print_nothing(capsys):
    admin = FakeAdmin({"a1": [(1, [1])], "a2": [(1, [1])], "b": [(1, [1])]})
    carry_out(admin, TopicAction("delete", "a.*"))
    carry_out(admin, TopicAction("alter", "b", partitions=4))
    assert admin.deleted == ["a1", "a2"] and admin.partitions == {"b": 4}
    assert capsys.readouterr().out == ""


def test_alter_gives_the_new_part_of_an_assignment():
    admin = FakeAdmin({"t": [(1, [1]), (2, [2])]})
    carry_out(admin, TopicAction("alter", "t", partitions=3, assignment={0: [1, 2], 1: [2, 1], 2: [1, 2]}))
    assert admin.partitions == {"t": NewPartitions(3, [[1, 2]])}


@pytest.mark.parametrize("action", ["delete", "alter", "describe"])
def test_nothing_that_matches_is_an_error(action):
    admin = FakeAdmin({"other": [(1, [1])]})
    with pytest.raises(CommandFailed, match="Topic 'nope' does not exist as expected"):
        carry_out(admin, TopicAction(action, "nope", partitions=3))
    carry_out(admin, TopicAction(action, "nope", partitions=3, if_exists=True))
    assert not admin.deleted and not admin.partitions


def test_describe_shows_id_and_settings_that_are_not_default(capsys):
    carry_out(FakeAdmin({"t": [(1, [1, 2]), (None, [2])]}), TopicAction("describe", "t"))
    assert capsys.readouterr().out.splitlines() == [
        "Topic: t\tTopicId: AAAAAAAAAAAAAAAAAAAABw\tPartitionCount: 2\tReplicationFactor: 2\t"
        "Configs: segment.bytes=14,flush.ms=1",
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2",
        "\tTopic: t\tPartition: 1\tLeader: none\tReplicas: 1,2\tIsr: 2",
    ]


@pytest.mark.parametrize(
    ("report", "shown"),
    [("under_replicated", ["1", "2"]), ("unavailable", ["2"]), ("under_min_isr", ["1", "2"]), ("at_min_isr", ["0"])],
)
def test_describe_filters_by_the_topics_own_min_isr(report, shown, capsys):
    admin = FakeAdmin({"t": [(1, [1, 2]), (1, [1]), (None, [2])]}, min_isr="2")
    carry_out(admin, TopicAction("describe", report=report))
    assert [line.split("\t")[2].removeprefix("Partition: ") for line in capsys.readouterr().out.splitlines()] == shown
