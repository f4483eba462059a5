"""Worked examples of kafka-topics.sh --zookeeper (WE1-4, WE4-1 to WE4-24) on an in-memory ZooKeeper.

Nodes node1, node2 and node3 of the examples are brokers 0, 1 and 2. No broker runs here: what the controller makes of
the znodes is in tests/scenarios/controller, what a broker does in tests/cluster.
"""

import asyncio
import json
import re

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.cli import topics
from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.topic_admin.topic_requests import request_of
from kafka_py.cli.topic_admin.topics_zookeeper import CONFIG_WARNING, KEYS_WARNING, carry_out
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.zk.store import ZkStore
from kafka_py.zk.znodes import BrokerEndpoint, BrokerIdZNode

TOPIC_CREATE = {"0": [2, 0], "1": [0, 1], "2": [1, 2], "3": [2, 1]}
"""What topic-create came to (WE4-1)."""
ASSIGNMENT = "2:0,0:1,1:2,2:1"


class Nodes:
    """Three registered brokers, and the command on their ZooKeeper: `nodes("--list")` gives what it prints."""

    def __init__(self, capsys, racks=(None, None, None)):
        self.zookeeper = FakeZookeeper()
        self.racks = racks
        self._capsys = capsys

    def __call__(self, *arguments):
        options = topics.parser().parse(["--zookeeper", "z:1", *arguments])
        topics.check(options)
        self.run(lambda store: carry_out(store, request_of(options)))
        return self._capsys.readouterr().out

    def run(self, step):
        """One step on a session of its own, while the brokers are up."""

        async def main():
            session = self.zookeeper.session()
            await session.connect()
            store = ZkStore(session)
            await store.brokers.ensure_top_level_paths()
            for broker_id, rack in enumerate(self.racks):
                endpoint = BrokerEndpoint("PLAINTEXT", "PLAINTEXT", f"node{broker_id + 1}", 9092)
                registration = BrokerIdZNode.of([endpoint], jmx_port=-1, timestamp_ms=0, rack=rack)
                await store.brokers.register(broker_id, registration)
            try:
                await step(store)
            finally:
                await session.close()

        asyncio.run(main())

    def json(self, path):
        return json.loads(self.zookeeper.tree()[path])

    def partitions(self, topic):
        return self.json(f"/brokers/topics/{topic}")["partitions"]

    def configs(self, topic):
        return self.json(f"/config/topics/{topic}")["config"]


@pytest.fixture
def nodes(capsys):
    return Nodes(capsys)


@pytest.fixture
def topic_create(nodes):
    """The nodes with topic-create."""
    nodes("--create", "--topic", "topic-create", "--replica-assignment", ASSIGNMENT)
    return nodes


@pytest.fixture
def topic_config(nodes):
    """The nodes with topic-config, one partition and two settings of its own."""
    nodes("--create", "--topic", "topic-config", "--partitions", "1", "--replication-factor", "1",
          "--config", "cleanup.policy=compact", "--config", "max.message.bytes=10000")  # fmt: skip
    return nodes


def head_of(described):
    """The values of the line about the topic, by name."""
    return dict(field.split(": ", 1) for field in described.splitlines()[0].split("\t"))


def test_we1_4_topic_demo_is_created_and_described(nodes):
    """WE1-4: four partitions with three replicas."""
    created = nodes("--create", "--topic", "topic-demo", "--replication-factor", "3", "--partitions", "4")
    assert created == "Created topic topic-demo.\n"
    head, *rows = nodes("--describe", "--topic", "topic-demo").splitlines()
    assert head == "Topic: topic-demo\tPartitionCount: 4\tReplicationFactor: 3\tConfigs: "
    replicas = [re.search("Replicas: ([0-2],[0-2],[0-2])\t", row)[1] for row in rows]
    assert [sorted(each) for each in replicas] == [sorted("0,1,2")] * 4


def test_we4_1_the_znode_holds_every_partitions_replicas(topic_create):
    """WE4-1: topic-create has 4 partitions, factor 2; partition 2 is on brokers 1 and 2."""
    assert topic_create.partitions("topic-create") == TOPIC_CREATE
    on_node1 = {number for number, replicas in TOPIC_CREATE.items() if 0 in replicas}
    assert on_node1 == {"0", "1"}
    assert "Partition: 2\tLeader: none\tReplicas: 1,2\t" in topic_create("--describe", "--topic", "topic-create")


def test_we4_2_a_given_assignment_makes_the_same_topic_and_another_a_different_one(topic_create):
    for name, assignment in (("topic-create-same", ASSIGNMENT), ("topic-create-diff", "0:1,1:2,2:0,0:2")):
        topic_create("--create", "--topic", name, "--replica-assignment", assignment)
    assert topic_create.partitions("topic-create-same") == topic_create.partitions("topic-create")
    assert topic_create.partitions("topic-create-diff") != topic_create.partitions("topic-create")


@pytest.mark.parametrize(
    ("assignment", "message"),
    [("0:0,1:1", "duplicate entries: 0"), ("0:1,0,1:0", "different replication factor: 0"),
     ("0:1,,0:1,1:0", "Partition 1 .* is not a list of broker ids")],
)  # fmt: skip
def test_we4_3_assignments_that_make_no_sense(nodes, assignment, message):
    """WE4-3: a broker twice, partitions of unequal factor, a partition left out."""
    with pytest.raises(CommandFailed, match=message):
        nodes("--create", "--topic", "topic-error", "--replica-assignment", assignment)
    assert "/brokers/topics/topic-error" not in nodes.zookeeper.tree()


def test_we4_4_settings_given_at_creation_are_stored_and_described(topic_config):
    wanted = {"cleanup.policy": "compact", "max.message.bytes": "10000"}
    assert topic_config.configs("topic-config") == wanted
    shown = head_of(topic_config("--describe", "--topic", "topic-config"))["Configs"]
    assert dict(each.split("=") for each in shown.split(",")) == wanted


def test_we4_5_a_topic_is_not_created_twice(topic_create):
    """WE4-5: TopicExistsException, no message with --if-not-exists, and the topic is as it was."""
    again = ("--create", "--topic", "topic-create", "--partitions", "4", "--replication-factor", "2")
    with pytest.raises(KafkaError, match="'topic-create' already exists") as caught:
        topic_create(*again)
    assert caught.value.code is ErrorCode.TOPIC_ALREADY_EXISTS
    assert topic_create(*again, "--if-not-exists") == ""
    head = head_of(topic_create("--describe", "--topic", "topic-create"))
    assert (head["PartitionCount"], head["ReplicationFactor"]) == ("4", "2")


def test_we4_6_dot_and_underscore_collide(nodes):
    """WE4-6: topic.1_2 is made with a warning, topic_1.2 is refused; both are topic_1_2 in metric names."""
    one = ("--partitions", "1", "--replication-factor", "1")
    assert nodes("--create", "--topic", "topic.1_2", *one).startswith("WARNING: ")
    with pytest.raises(KafkaError, match=r"collides with existing topics: topic\.1_2") as caught:
        nodes("--create", "--topic", "topic_1.2", *one)
    assert caught.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("name", ["", ".", "..", "a" * 250, "topic demo", "topic/demo"])
def test_we4_7_bad_names_are_refused(nodes, name):
    with pytest.raises(KafkaError) as caught:
        nodes("--create", "--topic", name, "--partitions", "1", "--replication-factor", "1")
    assert caught.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_we4_7_249_characters_are_accepted(nodes):
    nodes("--create", "--topic", "a" * 249, "--partitions", "1", "--replication-factor", "1")
    assert nodes("--list") == "a" * 249 + "\n"


def test_we4_8_racks_on_some_brokers_only(capsys):
    """WE4-8: with RACK1 on one broker creation fails; with --disable-rack-aware it works."""
    nodes = Nodes(capsys, racks=("RACK1", None, None))
    create = ("--create", "--topic", "topic-fail", "--partitions", "3", "--replication-factor", "2")
    with pytest.raises(KafkaError, match="rack information"):
        nodes(*create)
    nodes(*create, "--disable-rack-aware")
    assert sorted(nodes.partitions("topic-fail")) == ["0", "1", "2"]


def test_we4_14_a_topic_written_by_hand_is_described_alike(topic_create):
    """WE4-14: /brokers/topics/topic-create-zk with topic-create's map."""
    by_hand = {"version": 1, "partitions": TOPIC_CREATE}
    topic_create.run(
        lambda store: store.session.create("/brokers/topics/topic-create-zk", json.dumps(by_hand).encode())
    )
    first, second = (topic_create("--describe", "--topic", name) for name in ("topic-create", "topic-create-zk"))
    assert second.replace("topic-create-zk", "topic-create") == first


def test_we4_15_partition_numbers_with_gaps_are_described(nodes):
    """WE4-15: topic-create-special with partitions 10, 21, 33 and 40."""
    by_hand = {"version": 1, "partitions": {"10": [1, 2], "21": [0, 1], "33": [2, 1], "40": [2, 0]}}
    nodes.run(lambda store: store.session.create("/brokers/topics/topic-create-special", json.dumps(by_hand).encode()))
    head, *rows = nodes("--describe", "--topic", "topic-create-special").splitlines()
    assert "PartitionCount: 4\tReplicationFactor: 2" in head
    assert [row.split("\t")[2] for row in rows] == [f"Partition: {number}" for number in (10, 21, 33, 40)]


def test_we4_18_partitions_grow_with_a_warning_and_never_shrink(topic_config):
    """WE4-18: topic-config from 1 to 3 partitions, and not back to 1."""
    assert topic_config("--alter", "--topic", "topic-config", "--partitions", "3") == (
        f"{KEYS_WARNING}\nAdding partitions succeeded!\n"
    )
    with pytest.raises(KafkaError, match="currently has 3 partitions") as caught:
        topic_config("--alter", "--topic", "topic-config", "--partitions", "1")
    assert caught.value.code is ErrorCode.INVALID_PARTITIONS
    assert len(topic_config.partitions("topic-config")) == 3


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("--alter", "--topic", "topic-unknown", "--partitions", "4"), id="WE4-19"),
        pytest.param(("--delete", "--topic", "topic-unknown"), id="WE4-23"),
    ],
)
def test_we4_19_and_we4_23_an_unknown_topic_is_an_error_unless_it_may_be_missing(nodes, arguments):
    with pytest.raises(CommandFailed, match="'topic-unknown' does not exist"):
        nodes(*arguments)
    assert nodes(*arguments, "--if-exists") == ""


def test_we4_20_settings_are_changed_added_and_removed(topic_config):
    """WE4-20: each alteration warns that the script should not be used for it any more."""
    updated = f"{CONFIG_WARNING}\nUpdated config for topic topic-config.\n"
    alter = ("--alter", "--topic", "topic-config")
    assert topic_config(*alter, "--config", "max.message.bytes=20000") == updated
    assert topic_config.configs("topic-config") == {"cleanup.policy": "compact", "max.message.bytes": "20000"}
    assert topic_config(*alter, "--config", "segment.bytes=1048577") == updated
    assert topic_config.configs("topic-config")["segment.bytes"] == "1048577"
    for name in ("segment.bytes", "max.message.bytes", "cleanup.policy"):
        assert topic_config(*alter, "--delete-config", name) == updated
    assert head_of(topic_config("--describe", "--topic", "topic-config"))["Configs"] == ""


def test_we4_22_an_alteration_is_announced_in_a_sequential_znode(topic_config):
    """WE4-22: /config/changes/config_change_ and ten digits."""
    topic_config("--alter", "--topic", "topic-config", "--config", "max.message.bytes=20000")
    [announced] = [path for path in topic_config.zookeeper.tree() if path.startswith("/config/changes/")]
    assert re.fullmatch(r"/config/changes/config_change_\d{10}", announced)
    assert topic_config.json(announced) == {"version": 2, "entity_path": "topics/topic-config"}


def test_we4_23_and_we4_24_deletion_only_asks_the_controller(nodes):
    """WE4-23, WE4-24: the command makes /admin/delete_topics/topic-delete, as one may do by hand."""
    nodes("--create", "--topic", "topic-delete", "--partitions", "1", "--replication-factor", "1")
    assert nodes("--delete", "--topic", "topic-delete").splitlines()[0] == "Topic topic-delete is marked for deletion."
    tree = nodes.zookeeper.tree()
    assert {"/admin/delete_topics/topic-delete", "/brokers/topics/topic-delete"} <= tree.keys()


def test_we4_23_internal_topics_are_not_deleted(nodes):
    nodes("--create", "--topic", "__consumer_offsets", "--partitions", "1", "--replication-factor", "1")
    with pytest.raises(CommandFailed, match="__consumer_offsets is a kafka internal topic"):
        nodes("--delete", "--topic", "__consumer_offsets")
    assert "/admin/delete_topics/__consumer_offsets" not in nodes.zookeeper.tree()
