"""A broker returns with a directory whose topic id is not the present one: the topic was deleted and made again without
it (KIP-516), or a tool took the id away from the topic that it belongs to (KAFKA-14190)."""

import json

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.admin.topics import NewTopic
from kafka_py.clients.producer.producer import Producer
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.cluster_views import live, partitions, wait_brokers, wait_in_sync, wait_seen
from kafka_py.testing.processes import wait_until
from kafka_py.testing.znodes import Znodes

BROKERS = 3
ABSENT = 2
"""The broker that is down meanwhile."""


@pytest.fixture(scope="module")
def cluster(kafka_zookeeper):
    settings = {
        "auto.leader.rebalance.enable": False,
        "controlled.shutdown.retry.backoff.ms": 100,
        "replica.fetch.wait.max.ms": 100,
        "zookeeper.session.timeout.ms": 4000,
    }
    with KafkaCluster(BROKERS, settings=settings, zookeeper=kafka_zookeeper) as made:
        yield made


@pytest.fixture
def admin(cluster):
    with AdminClient({"bootstrap.servers": cluster.bootstrap_servers}) as client:
        yield client


def write(cluster, topic, *values):
    with Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"}) as producer:
        for value in values:
            producer.send(topic, value=value, partition=0).result(30)


def directory(cluster, broker_id, topic):
    return cluster.brokers[broker_id].log_dirs[0] / f"{topic}-0"


def data(cluster, broker_id, topic):
    """The records as they are on disk; nothing before the broker has its role."""
    path = directory(cluster, broker_id, topic) / f"{0:020}.log"
    return path.read_bytes() if path.exists() else b""


def metadata(cluster, broker_id, topic):
    return (directory(cluster, broker_id, topic) / "partition.metadata").read_text()


def make(admin, topic, assignment):
    """Waits until the name is free: the controller forgets it after the last replica."""

    def made():
        try:
            admin.create_topics([NewTopic(topic, replica_assignments=assignment)]).all()
        except KafkaError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
            return False
        return True

    wait_until(made, 30, f"{topic} to be made")


def test_what_a_move_off_a_dead_broker_left_makes_room_for_a_topic_of_the_same_name(cluster, admin):
    topic = "topic-again"
    make(admin, topic, {0: [0, ABSENT]})
    wait_in_sync(cluster, topic)
    write(cluster, topic, b"of the first topic", b"and so is this")
    wait_until(lambda: data(cluster, ABSENT, topic) == data(cluster, 0, topic), 30, "both copies")
    first = metadata(cluster, ABSENT, topic)
    cluster.brokers[ABSENT].kill()
    wait_seen(cluster, topic, lambda views: views[0].isr == [0], "the smaller in-sync set")
    admin.alter_partition_reassignments({TopicPartition(topic, 0): [0, 1]}).all()
    wait_until(lambda: partitions(live(cluster)[0], topic)[0].replicas == [0, 1], 30, "the move")
    wait_until(lambda: not admin.list_partition_reassignments(), 30, "the end of the move")
    admin.delete_topics([topic]).all()
    make(admin, topic, {0: [0, ABSENT]})
    write(cluster, topic, b"of the second topic")
    assert metadata(cluster, ABSENT, topic) == first

    cluster.brokers[ABSENT].start()
    wait_brokers(cluster, range(BROKERS))
    wait_in_sync(cluster, topic)
    assert metadata(cluster, ABSENT, topic) == metadata(cluster, 0, topic) != first
    assert data(cluster, ABSENT, topic) == data(cluster, 0, topic)
    said = [line for line in cluster.brokers[ABSENT].log.read_text().splitlines() if "deleted topic" in line]
    assert len(said) == 1
    assert "WARN" in said[0] and str(directory(cluster, ABSENT, topic)) in said[0]


def test_the_records_of_a_topic_that_got_another_id_stay(cluster, admin):
    """A tool from before 2.8 rewrites the topic without its id; the next controller makes another one."""
    topic = "topic-other-id"
    make(admin, topic, {0: [0, ABSENT]})
    wait_in_sync(cluster, topic)
    write(cluster, topic, b"of the only topic")
    wait_until(lambda: data(cluster, ABSENT, topic) == data(cluster, 0, topic), 30, "both copies")
    written, first = data(cluster, ABSENT, topic), metadata(cluster, ABSENT, topic)
    cluster.brokers[ABSENT].stop()
    wait_seen(cluster, topic, lambda views: views[0].isr == [0], "the smaller in-sync set")
    path = f"/brokers/topics/{topic}"
    with Znodes(cluster.zookeeper_connect) as znodes:
        assignment = json.loads(znodes.get(path))
        del assignment["topic_id"]
        znodes.set(path, json.dumps(assignment))
        znodes.delete("/controller")
        wait_until(lambda: "topic_id" in json.loads(znodes.get(path)), 30, "another id")
    broker = cluster.brokers[ABSENT]
    broker.start()
    wait_until(lambda: f"{topic}-0 has topic id" in broker.log.read_text(), 30, "the refusal")
    assert (data(cluster, ABSENT, topic), metadata(cluster, ABSENT, topic)) == (written, first)
