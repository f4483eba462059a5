"""KafkaCluster with security: other people's clients and ours come in as its users, and nobody else does."""

import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import confluent_kafka
import kafka
import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.cli.local_cluster.security import ACLS, PROTOCOLS
from kafka_py.clients import Consumer, Producer, TopicPartition
from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.errors import AuthenticationError
from kafka_py.security.acls.bindings import AclBinding, AclEntry, ResourcePattern
from kafka_py.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType
from kafka_py.testing.client_access import ClientAccess
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.testing.processes import wait_until
from kafka_py.testing.znodes import Znodes
from kafka_py.wire.messages.metadata import MetadataRequest
from kafka_py.zk.session import NoAuth

Factory = Callable[..., KafkaCluster]

TIMEOUT_S = 30


@pytest.fixture(scope="module", params=PROTOCOLS)
def secured(request: pytest.FixtureRequest, kafka_cluster_factory: Factory) -> Iterator[KafkaCluster]:
    with kafka_cluster_factory(security=request.param, users={"alice": 'al"ice', "bob": "bob-secret"}) as cluster:
        yield cluster


def test_our_clients(secured: KafkaCluster) -> None:
    topic, settings = secured.create_topic(), secured.access("bob").settings
    with Producer(settings) as producer:
        assert producer.send(topic, value=b"hello").result(TIMEOUT_S).offset == 0
    with Consumer(settings) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek_to_beginning([TopicPartition(topic, 0)])
        assert [record.value for record in consumer.poll(timeout=TIMEOUT_S)] == [b"hello"]


def test_librdkafka_and_kafka_python(secured: KafkaCluster) -> None:
    topic, access = secured.create_topic(), secured.access(mechanism="PLAIN")
    producer = confluent_kafka.Producer(access.librdkafka)
    producer.produce(topic, b"hello")
    assert producer.flush(TIMEOUT_S) == 0
    consumer = kafka.KafkaConsumer(**access.kafka_python, auto_offset_reset="earliest", consumer_timeout_ms=30_000)
    consumer.assign([kafka.TopicPartition(topic, 0)])
    assert next(consumer).value == b"hello"
    consumer.close()


def test_without_a_login_nobody_comes_in(secured: KafkaCluster) -> None:
    with pytest.raises(OSError), WireClient(secured.bootstrap_servers, timeout_s=5) as client:
        client.ask(MetadataRequest(topics=[]), 5)
    if secured.access().security.has_logins:  # type: ignore[union-attr]
        with pytest.raises(AuthenticationError), Producer(secured.access(password="wrong").settings) as producer:
            producer.send("t", value=b"v").result(TIMEOUT_S)
    with pytest.raises(ValueError, match="users are broker, admin, alice, bob"):
        secured.access("mallory")


def test_its_secrets_are_for_its_owner_alone(secured: KafkaCluster) -> None:
    [broker] = secured.brokers
    for path in (secured.access().properties_file, broker.folder / "server.properties"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
def test_three_brokers_with_acls(kafka_cluster_factory: Factory, protocol: str) -> None:
    """Brokers trust each other, the admin may do all, and alice what she was allowed to."""
    with kafka_cluster_factory(3, security=protocol, settings=ACLS) as cluster:
        topic = cluster.create_topic(partitions=3, replication_factor=3)
        alice = cluster.access("alice")
        assert not is_written(alice, topic)
        allow_writing(cluster.access("admin"), "User:alice", topic)
        wait_until(lambda: is_written(alice, topic), TIMEOUT_S, "the ACL on the leader")


def allow_writing(access: ClientAccess, principal: str, topic: str) -> None:
    entry = AclEntry(principal, "*", Operation.WRITE, Permission.ALLOW)
    with AdminClient(access.settings) as admin:
        admin.create_acls([AclBinding(ResourcePattern(ResourceType.TOPIC, topic, PatternType.LITERAL), entry)]).all()


def is_written(access: ClientAccess, topic: str) -> bool:
    """Whether the user may write; it takes a moment until every broker knows a new ACL."""
    try:
        with Producer({**access.settings, "acks": "all"}) as producer:
            producer.send(topic, value=b"v", partition=0).result(TIMEOUT_S)
    except KafkaError as error:
        assert error.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return False
    return True


def test_a_protocol_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="SSL, SASL_PLAINTEXT, SASL_SSL, not TLS"):
        KafkaCluster(security="TLS")


@pytest.mark.parametrize("security", [None, pytest.param("SASL_SSL", marks=(pytest.mark.slow, pytest.mark.core))])
def test_zookeeper_is_closed_to_all_but_the_brokers(
    kafka_cluster_factory: Callable[..., KafkaCluster], security: str | None
) -> None:
    with kafka_cluster_factory(security=security, secure_zookeeper=True) as cluster:
        topic = cluster.create_topic()
        assert re.search(r'password="(\w+)"', Path(cluster.zookeeper_login.partition("=")[2]).read_text())
        with Znodes(cluster.zookeeper_connect) as stranger:
            assert b"partitions" in stranger.get(f"/brokers/topics/{topic}")
            assert stranger.access("/controller") == ["sasl:broker:cdrwa", "world:anyone:r"]
            with pytest.raises(NoAuth):
                stranger.set(f"/brokers/topics/{topic}", b"{}")
            for path in ("/config/users", *(["/config/users/alice"] if security else [])):
                with pytest.raises(NoAuth):
                    stranger.get(path)
        with Producer(cluster.access().settings) as producer:
            assert producer.send(topic, b"v").result(30).offset == 0


def test_a_zookeeper_that_is_given_cannot_be_secured() -> None:
    with pytest.raises(ValueError, match="starts itself"):
        KafkaCluster(zookeeper="h:1", secure_zookeeper=True)
