"""Three real brokers: one fails and returns, the controller fails or sleeps through its term, leaders leave."""

import json
import signal

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.admin.resources import AlterConfig, ConfigResource, ConfigResourceType
from kafka_py.clients.admin.topics import NewTopic
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.cluster_views import (
    controller,
    leaders,
    live,
    other_than,
    partitions,
    wait_brokers,
    wait_in_sync,
    wait_seen,
)
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.testing.processes import wait_until
from kafka_py.testing.topics import ask_metadata
from kafka_py.testing.znodes import Znodes
from kafka_py.wire.messages.controlled_shutdown import ControlledShutdownRequest
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrRequest

ALL = [0, 1, 2]
SETTINGS = {
    "auto.leader.rebalance.enable": False,
    "controlled.shutdown.retry.backoff.ms": 200,
    "replica.fetch.wait.max.ms": 100,
    "zookeeper.session.timeout.ms": 4000,
}


@pytest.fixture(scope="module")
def cluster(kafka_zookeeper):
    with KafkaCluster(3, settings=SETTINGS, zookeeper=kafka_zookeeper) as made:
        yield made


@pytest.fixture
def znodes(cluster):
    with Znodes(cluster.zookeeper_connect) as found:
        yield found


def make(cluster, topic, assignment, configs=None):
    """A topic of this assignment, in sync."""
    with AdminClient({"bootstrap.servers": cluster.bootstrap_servers}) as admin:
        admin.create_topics([NewTopic(topic, replica_assignments=assignment, configs=configs or {})]).all()
    wait_in_sync(cluster, topic)


def back_to_all(cluster):
    for broker in cluster.brokers:
        if not broker.running:
            broker.start()
    wait_brokers(cluster, ALL)


@pytest.mark.slow
def test_a_broker_is_killed_and_returns(cluster):
    make(cluster, "killed", {0: [0, 1], 1: [1, 2], 2: [2, 0]})
    victim = other_than(cluster, controller(cluster)).broker_id
    heir = (victim + 1) % 3
    cluster.brokers[victim].kill()
    wait_seen(cluster, "killed", lambda views: views[victim].leader == heir, "another leader")
    wait_seen(cluster, "killed", lambda views: all(victim not in view.isr for view in views.values()), "smaller ISRs")
    assert partitions(live(cluster)[0], "killed")[victim].replicas[0] == victim
    back_to_all(cluster)
    wait_in_sync(cluster, "killed")
    assert leaders(live(cluster)[0], "killed")[victim] == heir, "who comes back follows"


@pytest.mark.slow
def test_a_killed_controller_is_replaced(cluster, znodes):
    make(cluster, "orphans", {0: [0, 1, 2], 1: [1, 2, 0], 2: [2, 0, 1]})
    before, epoch = controller(cluster), int(znodes.get("/controller_epoch"))
    cluster.brokers[before].kill()
    wait_brokers(cluster, [id_ for id_ in ALL if id_ != before])
    assert controller(cluster) != before
    assert int(znodes.get("/controller_epoch")) > epoch
    wait_seen(cluster, "orphans", lambda views: before not in {view.leader for view in views.values()}, "new leaders")
    cluster.create_topic("after", 3, replication_factor=2)
    back_to_all(cluster)
    wait_in_sync(cluster, "orphans")


def test_a_controller_that_slept_through_its_session_leaves_the_office(cluster, znodes):
    """A zombie: it wakes as controller of an epoch that is over, and nothing it says or writes counts."""
    sleeper = controller(cluster)
    make(cluster, "slept", {0: [sleeper, (sleeper + 1) % 3], 1: [(sleeper + 1) % 3, sleeper]})
    epoch = int(znodes.get("/controller_epoch"))
    cluster.brokers[sleeper].signal(signal.SIGSTOP)
    try:
        awake = [broker for broker in cluster.brokers if broker.broker_id != sleeper]

        def replaced():
            known = {ask_metadata(broker.bootstrap).controller_id for broker in awake}
            return len(known) == 1 and known.pop() not in (sleeper, -1)

        wait_until(replaced, 60, "another controller")
        for broker in awake:
            wait_until(lambda one=broker: leaders(one, "slept")[0] == (sleeper + 1) % 3, 30, "another leader")
        with AdminClient({"bootstrap.servers": awake[0].bootstrap}) as admin:
            admin.create_partitions({"slept": 3})
    finally:
        cluster.brokers[sleeper].signal(signal.SIGCONT)
    wait_brokers(cluster, ALL)
    assert controller(cluster) != sleeper
    assert int(znodes.get("/controller_epoch")) == epoch + 1, "the sleeper has not been elected again"
    wait_in_sync(cluster, "slept")
    assert json.loads(znodes.get("/controller"))["brokerid"] == controller(cluster)
    assert len(partitions(cluster.brokers[sleeper], "slept")) == 3


def test_the_seat_can_be_emptied_by_hand(cluster, znodes):
    epoch = int(znodes.get("/controller_epoch"))
    znodes.delete("/controller")
    wait_until(lambda: int(znodes.get("/controller_epoch")) > epoch and controller(cluster) >= 0, 30, "an election")
    cluster.create_topic("elected-anew", 2, replication_factor=3)


def test_requests_of_a_former_life_are_refused(cluster):
    """KIP-380: a broker epoch below the present one is stale; a larger one, and none at all, are taken."""
    leader = controller(cluster)
    with WireClient(cluster.brokers[leader].bootstrap) as client:
        request = LeaderAndIsrRequest(controller_id=leader, controller_epoch=1 << 30, broker_epoch=1)
        assert client.ask(request, 4).error_code == ErrorCode.STALE_BROKER_EPOCH
        stale = ControlledShutdownRequest(broker_id=leader, broker_epoch=1)
        assert client.ask(stale, 3).error_code == ErrorCode.STALE_BROKER_EPOCH
        unknown = ControlledShutdownRequest(broker_id=9, broker_epoch=1)
        assert client.ask(unknown, 3).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert client.ask(ControlledShutdownRequest(broker_id=9), 1).error_code == ErrorCode.BROKER_NOT_AVAILABLE
    with WireClient(other_than(cluster, leader).bootstrap) as client:
        assert client.ask(ControlledShutdownRequest(broker_id=leader), 1).error_code == ErrorCode.STALE_CONTROLLER_EPOCH


@pytest.mark.slow
def test_leaders_leave_a_broker_that_goes_on_running(cluster):
    """W6.15: the admin client's controlledShutdown moves leaders, but the process stays alive."""
    leaving = other_than(cluster, controller(cluster)).broker_id
    heir = (leaving + 1) % 3
    make(cluster, "left", {0: [leaving, heir], 1: [heir, leaving]})
    make(cluster, "lone", {0: [leaving]})
    with AdminClient({"bootstrap.servers": cluster.bootstrap_servers}) as admin:
        remaining = admin.controlled_shutdown(leaving)
        assert {partition for partition in remaining if partition.topic in ("left", "lone")} == set()
        wait_seen(cluster, "left", lambda views: {view.leader for view in views.values()} == {heir}, "leaders away")
        assert leaders(live(cluster)[0], "lone") == {0: leaving}, "what has one replica stays"
        assert cluster.brokers[leaving].running
        with pytest.raises(KafkaError, match="BROKER_NOT_AVAILABLE"):
            admin.controlled_shutdown(9)
    cluster.brokers[leaving].stop()
    back_to_all(cluster)
    wait_in_sync(cluster, "left")


@pytest.mark.slow
def test_outside_of_the_isr_nobody_leads_unless_that_is_allowed(cluster):
    """docs/reference/pitfalls.md, section 5: a dead ISR of one is offline until an unclean election."""
    first = other_than(cluster, controller(cluster)).broker_id
    second = other_than(cluster, controller(cluster), first).broker_id
    for topic in ("unclean-by-api", "unclean-by-config"):
        make(cluster, topic, {0: [first, second]})
    cluster.brokers[second].stop()
    for topic in ("unclean-by-api", "unclean-by-config"):
        wait_seen(cluster, topic, lambda views: views[0].isr == [first], "an ISR of one")
    cluster.brokers[first].kill()
    for topic in ("unclean-by-api", "unclean-by-config"):
        wait_seen(cluster, topic, lambda views: views[0].leader == -1, "no leader")
    cluster.brokers[second].start()
    wait_brokers(cluster, sorted(id_ for id_ in ALL if id_ != first))
    assert leaders(live(cluster)[0], "unclean-by-api") == {0: -1}
    with AdminClient({"bootstrap.servers": live(cluster)[0].bootstrap}) as admin:
        partition = TopicPartition("unclean-by-api", 0)
        refused = admin.elect_leaders(ElectionType.PREFERRED, [partition])[partition]
        assert refused.code is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
        assert admin.elect_leaders(ElectionType.UNCLEAN, [partition]) == {partition: None}
        wait_seen(cluster, "unclean-by-api", lambda views: views[0].leader == second, "an unclean leader")
        resource = ConfigResource(ConfigResourceType.TOPIC, "unclean-by-config")
        admin.incremental_alter_configs({resource: [AlterConfig("unclean.leader.election.enable", "true")]}).all()
    wait_seen(cluster, "unclean-by-config", lambda views: views[0].leader == second, "an unclean leader")
    back_to_all(cluster)
    for topic in ("unclean-by-api", "unclean-by-config"):
        wait_in_sync(cluster, topic)
