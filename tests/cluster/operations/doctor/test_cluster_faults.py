"""Faults inside a real cluster of three, planted one after the other in a cluster that is in order before and after."""

from collections.abc import Callable, Iterator

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.clients import AdminClient, NewTopic, Producer
from kafka_py.clients.admin.offsets import LATEST
from kafka_py.operations.doctor.findings import Severity
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.topics import ask_metadata

from .diagnosing import IN_ORDER, diagnosed, ids, the


@pytest.fixture(scope="module")
def cluster(kafka_cluster_factory: Callable[..., KafkaCluster]) -> Iterator[KafkaCluster]:
    with kafka_cluster_factory(brokers=3, settings=IN_ORDER) as made:
        made.create_topic("in-order", 6, replication_factor=3)
        yield made


@pytest.fixture
def admin(cluster: KafkaCluster) -> Iterator[AdminClient]:
    with AdminClient({"bootstrap.servers": cluster.bootstrap_servers}) as made:
        yield made


@pytest.fixture
def planted(cluster: KafkaCluster, admin: AdminClient) -> Iterator[Callable[[NewTopic], None]]:
    """Creates a topic that every broker knows; it is deleted afterwards."""
    names: list[str] = []

    def is_known(bootstrap: str, name: str) -> bool:
        [known] = ask_metadata(bootstrap, [name]).topics
        return bool(known.partitions) and all(
            each.leader_id >= 0 and len(each.isr_nodes) == len(each.replica_nodes) for each in known.partitions
        )

    def plant(topic: NewTopic) -> None:
        admin.create_topics([topic]).all()
        names.append(topic.name)
        for broker in cluster.brokers:
            broker.wait_for(lambda broker=broker: is_known(broker.bootstrap, topic.name))

    yield plant
    admin.delete_topics(names).all()
    for broker in cluster.brokers:
        broker.wait_for(
            lambda broker=broker: not any(each.partitions for each in ask_metadata(broker.bootstrap, names).topics)
        )


def test_a_cluster_in_order_has_no_findings(cluster: KafkaCluster) -> None:
    report = diagnosed(cluster.bootstrap_servers)
    assert report.findings == ()
    assert any("clocks" in line for line in report.unchecked)


def test_fault_a_minimum_of_replicas_in_sync_that_leaves_no_room(
    cluster: KafkaCluster, planted: Callable[[NewTopic], None]
) -> None:
    planted(NewTopic("tight", 1, 3, configs={"min.insync.replicas": "3"}))
    finding = the(diagnosed(cluster.bootstrap_servers), "min-isr-equals-factor", Severity.WARNING)
    assert finding.evidence == ("tight: min.insync.replicas 3, 3 replicas",)


def test_fault_a_minimum_above_the_number_of_replicas(
    cluster: KafkaCluster, planted: Callable[[NewTopic], None]
) -> None:
    planted(NewTopic("impossible", 1, 1, configs={"min.insync.replicas": "2"}))
    report = diagnosed(cluster.bootstrap_servers)
    assert "min.insync.replicas=N" in the(report, "min-isr-above-factor").repair
    assert the(report, "factor-one", Severity.WARNING).evidence == ("impossible",)
    the(report, "partitions-below-min-isr")


def test_fault_a_topic_with_unclean_election(cluster: KafkaCluster, planted: Callable[[NewTopic], None]) -> None:
    planted(NewTopic("unclean", 1, 3, configs={"unclean.leader.election.enable": "true"}))
    finding = the(diagnosed(cluster.bootstrap_servers), "unclean-election", Severity.WARNING)
    assert finding.evidence == ("topic unclean",)


def test_fault_replicas_on_two_of_three_brokers(cluster: KafkaCluster, planted: Callable[[NewTopic], None]) -> None:
    assignment = {number: [number % 2, (number + 1) % 2] for number in range(40)}
    planted(NewTopic("crowded", replica_assignments=assignment, configs={"min.insync.replicas": "1"}))
    finding = the(diagnosed(cluster.bootstrap_servers), "replica-skew", Severity.WARNING)
    assert "kafka-py rebalance" in finding.repair


def test_fault_all_preferred_leaders_on_one_broker(
    cluster: KafkaCluster, planted: Callable[[NewTopic], None]
) -> None:
    planted(NewTopic("led", replica_assignments={number: [2, 0, 1] for number in range(15)}))
    finding = the(diagnosed(cluster.bootstrap_servers), "leader-skew", Severity.WARNING)
    assert "broker 2: 17 preferred leaders" in finding.evidence


def test_fault_offsets_of_groups_with_one_replica(cluster: KafkaCluster, planted: Callable[[NewTopic], None]) -> None:
    planted(NewTopic("__consumer_offsets", 1, 1, configs={"min.insync.replicas": "1"}))
    finding = the(diagnosed(cluster.bootstrap_servers), "offsets-factor", Severity.WARNING)
    assert "offsets.topic.replication.factor=3" in finding.repair


def test_fault_client_settings_that_cause_trouble(cluster: KafkaCluster) -> None:
    files = {"app.properties": {"acks": "0", "session.timeout.ms": "1000", "heartbeat.interval.ms": "900"}}
    report = diagnosed(cluster.bootstrap_servers, client_files=files)
    assert ids(report) == ["client-session-below", "client-acks", "client-heartbeat"]


def test_clocks_that_agree_are_no_finding(cluster: KafkaCluster, planted: Callable[[NewTopic], None]) -> None:
    planted(NewTopic("clocks", 3, 3, configs={"message.timestamp.type": "LogAppendTime"}))
    report = diagnosed(cluster.bootstrap_servers, clock_topic="clocks")
    assert report.findings == ()
    assert not any("clock" in line for line in report.unchecked)


def test_a_topic_without_append_times_is_not_written_to(
    cluster: KafkaCluster, planted: Callable[[NewTopic], None], admin: AdminClient
) -> None:
    planted(NewTopic("plain", 3, 3))
    report = diagnosed(cluster.bootstrap_servers, clock_topic="plain")
    assert any("plain" in line and "LogAppendTime" in line for line in report.unchecked)
    ends = admin.list_offsets({TopicPartition("plain", number): LATEST for number in range(3)}).all()
    assert {end.offset for end in ends.values()} == {0}


def in_sync_of_strict(broker: BrokerProcess) -> int:
    """The number of in-sync replicas of strict-0, as this broker knows it."""
    [topic] = ask_metadata(broker.bootstrap, ["strict"]).topics
    return len(topic.partitions[0].isr_nodes)


def test_fault_a_broker_that_was_killed(kafka_cluster_factory: Callable[..., KafkaCluster]) -> None:
    settings = {**IN_ORDER, "zookeeper.session.timeout.ms": 2000, "controlled.shutdown.enable": False}
    with kafka_cluster_factory(brokers=3, settings=settings) as own:
        own.create_topic("replicated", 3, replication_factor=3)
        with AdminClient({"bootstrap.servers": own.bootstrap_servers}) as admin:
            admin.create_topics([NewTopic("alone", replica_assignments={0: [2]}),
                                 NewTopic("strict", replica_assignments={0: [0, 1, 2]},
                                          configs={"min.insync.replicas": "3"})]).all()  # fmt: skip
            with Producer({"bootstrap.servers": own.bootstrap_servers}) as producer:
                producer.send("alone", b"value", partition=0).result(30)
            own.brokers[2].kill()
            own.brokers[0].wait_for(lambda: len(admin.describe_cluster().nodes) == 2, 60, "the end of its session")
            own.brokers[0].wait_for(
                lambda: admin.describe_topics(["alone"]).value("alone").partitions[0].leader is None, 60
            )
        for broker in own.brokers[:2]:  # each hears of the offline partition first, and by a later request of this one
            broker.wait_for(lambda broker=broker: in_sync_of_strict(broker) == 2, 60, "the shrunk in-sync set")
        report = diagnosed(",".join(broker.bootstrap for broker in own.brokers[:2]))
    offline = the(report, "partitions-offline")
    assert offline.evidence == ("alone-0: leader none, replicas [2], in sync [2]",)
    assert "Start the brokers 2 again" in offline.repair
    assert "Start broker 2 again" in the(report, "partitions-under-replicated", Severity.WARNING).repair
    assert the(report, "partitions-below-min-isr").evidence[0].startswith("strict-0:")
    assert "Start 1 more broker" in the(report, "offsets-factor-above-brokers").repair
