"""kafka-topics.sh --zookeeper on an in-memory ZooKeeper: what it prints and what it leaves in the znodes."""

import asyncio
import json
import uuid

import pytest

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.topic_admin.topic_requests import TopicAction
from kafka_py.cli.topic_admin.topics_zookeeper import CONFIG_WARNING, KEYS_WARNING, carry_out
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.zk.access import NOT_FENCED
from kafka_py.zk.partitions import LeaderAndIsr
from kafka_py.zk.store import ZkStore
from kafka_py.zk.topics import TopicAssignment
from kafka_py.zk.znodes import BrokerEndpoint, BrokerIdZNode


class World:
    """A ZooKeeper with brokers 1, 2 and 3 registered."""

    def __init__(self, racks=(None, None, None)):
        self.server = FakeZookeeper()
        self.racks = racks

    def run(self, *requests):
        """Carries out the requests one after another, on a fresh session."""

        async def all_of_them():
            session = self.server.session()
            await session.connect()
            try:
                await on(ZkStore(session))
            finally:
                await session.close()

        async def on(store):
            await store.brokers.ensure_top_level_paths()
            for broker_id, rack in enumerate(self.racks, 1):
                endpoint = BrokerEndpoint("PLAINTEXT", "PLAINTEXT", f"h{broker_id}", 9092)
                registration = BrokerIdZNode.of([endpoint], jmx_port=-1, timestamp_ms=0, rack=rack)
                await store.brokers.register(broker_id, registration)
            for request in requests:
                await request(store) if callable(request) else await carry_out(store, request)

        asyncio.run(all_of_them())

    def json(self, path):
        return json.loads(self.server.tree()[path])


@pytest.fixture
def world():
    return World()


def create(name, partitions=2, factor=2, **more):
    return TopicAction("create", name, partitions, factor, **more)


def test_create_writes_assignment_and_configs_without_topic_id(world, capsys):
    world.run(create("t", configs={"retention.ms": "5"}))
    assert capsys.readouterr().out == "Created topic t.\n"
    znode = world.json("/brokers/topics/t")
    assert sorted(znode["partitions"]) == ["0", "1"] and "topic_id" not in znode
    assert all(len(set(replicas)) == 2 for replicas in znode["partitions"].values())
    assert world.json("/config/topics/t") == {"version": 1, "config": {"retention.ms": "5"}}


def test_create_with_a_given_assignment(world):
    world.run(TopicAction("create", "t", assignment={0: [3, 9], 1: [9, 3]}))
    assert world.json("/brokers/topics/t")["partitions"] == {"0": [3, 9], "1": [9, 3]}


def test_an_existing_topic_is_an_error_unless_it_may_exist(world, capsys):
    world.run(create("t"))
    with pytest.raises(KafkaError, match="Topic 't' already exists"):
        world.run(create("t"))
    capsys.readouterr()
    world.run(create("t", if_not_exists=True))
    assert capsys.readouterr().out == ""


def test_names_that_collide_are_warned_of_and_refused(world, capsys):
    world.run(create("a.b"))
    assert capsys.readouterr().out.startswith("WARNING: Due to limitations in metric names")
    with pytest.raises(KafkaError, match=r"collides with existing topics: a\.b"):
        world.run(create("a_b"))


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (create("bad name"), "illegal"),
        (create("t", 1, 4), "larger than available brokers: 3"),
    ],
)
def test_create_refuses_what_the_controller_would(world, request_, message):
    with pytest.raises(KafkaError, match=message):
        world.run(request_)


def test_racks_are_used_unless_disabled():
    world = World(racks=("r1", "r2", None))
    with pytest.raises(KafkaError, match="rack"):
        world.run(create("t"))
    world.run(create("t", rack_aware=False))
    assert len(world.json("/brokers/topics/t")["partitions"]) == 2


def test_list_is_sorted_and_tells_what_is_to_be_deleted(world, capsys):
    world.run(create("b"), create("a"), create("c"), TopicAction("delete", "b"))
    capsys.readouterr()
    world.run(TopicAction("list"))
    assert capsys.readouterr().out == "a\nb - marked for deletion\nc\n"


def test_delete_marks_the_topic_once(world, capsys):
    world.run(create("t"))
    capsys.readouterr()
    world.run(TopicAction("delete", "t"), TopicAction("delete", "t"))
    assert "/admin/delete_topics/t" in world.server.tree()
    first, note, again = capsys.readouterr().out.splitlines()
    assert first == "Topic t is marked for deletion."
    assert "delete.topic.enable" in note
    assert again == "Topic t is already marked for deletion."


def test_internal_topics_are_not_deleted(world):
    with pytest.raises(CommandFailed, match="internal"):
        world.run(create("__consumer_offsets"), TopicAction("delete", "__consumer_offsets"))


@pytest.mark.parametrize("action", ["delete", "alter", "describe"])
def test_nothing_that_matches_is_an_error(world, action):
    with pytest.raises(CommandFailed, match="Topic 'nope' does not exist as expected"):
        world.run(TopicAction(action, "nope", partitions=3))
    world.run(TopicAction(action, "nope", partitions=3, if_exists=True))


def test_alter_configs_warns_writes_and_announces(world, capsys):
    world.run(create("t", configs={"flush.ms": "1", "retention.ms": "5"}))
    capsys.readouterr()
    world.run(TopicAction("alter", "t", configs={"retention.ms": "6"}, delete_configs=("flush.ms",)))
    assert capsys.readouterr().out == f"{CONFIG_WARNING}\nUpdated config for topic t.\n"
    assert world.json("/config/topics/t")["config"] == {"retention.ms": "6"}
    assert world.json("/config/changes/config_change_0000000000") == {"version": 2, "entity_path": "topics/t"}


def test_more_partitions_keep_those_there_and_the_topic_id(world, capsys):
    topic_id = uuid.uuid4()

    async def with_id(store):
        await store.topics.create("t", TopicAssignment.of({0: [2, 3], 1: [3, 1]}, topic_id))

    world.run(with_id, TopicAction("alter", "t", partitions=4))
    assert capsys.readouterr().out == f"{KEYS_WARNING}\nAdding partitions succeeded!\n"
    znode = world.json("/brokers/topics/t")
    assert znode["partitions"]["0"] == [2, 3] and znode["partitions"]["1"] == [3, 1] and "topic_id" in znode
    # start and shift are the index of the first broker >= 2 in [1, 2, 3], which is 1; partition 3 shifts one more
    assert znode["partitions"]["2"] == [1, 3] and znode["partitions"]["3"] == [2, 3]


def test_more_partitions_where_a_given_assignment_says(world):
    world.run(create("t", 1, 2), TopicAction("alter", "t", partitions=2, assignment={0: [1, 2], 1: [3, 1]}))
    assert world.json("/brokers/topics/t")["partitions"]["1"] == [3, 1]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (TopicAction("alter", "t", partitions=2), "currently has 2 partitions"),
        (TopicAction("alter", "t", partitions=3, assignment={0: [1, 2]}), "0 assignments are given"),
        (TopicAction("alter", "t", partitions=3, assignment={0: [1], 1: [2], 2: [3]}), "Partition 0 has 2 replicas"),
        (TopicAction("alter", "t", partitions=3, assignment={0: [1, 2], 1: [2, 3], 2: [3, 9]}), r"Unknown.*\[9\]"),
    ],
)
def test_partitions_that_cannot_be_added(world, request_, message):
    world.run(create("t"))
    with pytest.raises(KafkaError, match=message):
        world.run(request_)


def test_describe_shows_states_stored_ids_and_marks(world, capsys):
    async def prepare(store):
        await store.topics.create("t", TopicAssignment.of({0: [1, 2], 1: [2, 1], 2: [2, 1]}), {"flush.ms": "1"})
        states = {
            TopicPartition("t", 0): LeaderAndIsr(1, 0, (1, 2), 1),
            TopicPartition("t", 1): LeaderAndIsr(-1, 3, (2,), 1),
        }
        await store.partitions.create_states(states, NOT_FENCED)

    world.run(prepare)
    capsys.readouterr()
    world.run(TopicAction("describe", "t"))
    assert capsys.readouterr().out.splitlines() == [
        "Topic: t\tPartitionCount: 3\tReplicationFactor: 2\tConfigs: flush.ms=1",
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2",
        "\tTopic: t\tPartition: 1\tLeader: none\tReplicas: 2,1\tIsr: 2",
        "\tTopic: t\tPartition: 2\tLeader: none\tReplicas: 2,1\tIsr: ",
    ]
    world.run(TopicAction("describe", "t", report="under_replicated"))
    assert [line.split("\t")[2] for line in capsys.readouterr().out.splitlines()] == ["Partition: 1", "Partition: 2"]


def test_describe_reads_only_topics_with_own_configs(world, capsys):
    world.run(create("plain"), create("own", configs={"flush.ms": "1"}))
    capsys.readouterr()
    world.run(TopicAction("describe", only_overridden=True))
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("Topic: own\t")
