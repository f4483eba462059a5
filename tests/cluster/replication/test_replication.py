"""Three brokers, one ZooKeeper, real clients: what replicas hold, and what becomes of it when brokers die."""

import signal
from collections.abc import Callable, Iterator

import confluent_kafka
import pytest
from acknowledged import Load, Peek, check_replicas, epochs_of, log_bytes, until

from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.fakes.stored_logs import records_of
from kafka_py.testing.topics import ask_metadata

SETTINGS = {
    "zookeeper.session.timeout.ms": 3500,
    "replica.lag.time.max.ms": 1200,
    "replica.fetch.wait.max.ms": 200,
    "auto.leader.rebalance.enable": False,
    "auto.create.topics.enable": False,
    "controlled.shutdown.retry.backoff.ms": 500,
}
EVERYBODY = {0, 1, 2}


@pytest.fixture(scope="module")
def cluster(kafka_cluster_factory: Callable[..., KafkaCluster]) -> Iterator[KafkaCluster]:
    with kafka_cluster_factory(brokers=3, settings=SETTINGS) as made:
        yield made


@pytest.fixture(autouse=True)
def everybody_runs(cluster: KafkaCluster) -> Iterator[None]:
    """Whoever a test has stopped is back for the next one."""
    yield
    for broker in cluster.brokers:
        if not broker.running:
            broker.start()
    until(lambda: all(len(ask_metadata(broker.bootstrap).brokers) == 3 for broker in cluster.brokers))


@pytest.fixture
def peek(cluster: KafkaCluster) -> Iterator[Peek]:
    looking = Peek(cluster.zookeeper_connect)
    yield looking
    looking.close()


def send(cluster: KafkaCluster, topic: str, *values: bytes, acks: str = "all", partition: int = 0) -> list[str]:
    """The errors, empty for those that were acknowledged."""
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": cluster.bootstrap_servers, "acks": acks, "log_level": 0, "message.timeout.ms": 20_000,
         "retries": 0}
    )  # fmt: skip
    errors: list[str] = []
    for value in values:
        producer.produce(
            topic, value, partition=partition,
            on_delivery=lambda error, _message: errors.append(error.name() if error else ""),
        )  # fmt: skip
        producer.flush(30)
    return errors


def test_every_replica_holds_the_same_bytes_and_everybody_is_in_sync(cluster: KafkaCluster, peek: Peek) -> None:
    topic = cluster.create_topic(partitions=3, replication_factor=3, configs={"min.insync.replicas": 3})
    load = Load(cluster.bootstrap_servers, topic, 3)
    load.wait_more(3000)
    load.end()
    check_replicas(cluster.brokers, topic, load)
    assert [peek.isr(topic, partition) for partition in range(3)] == [EVERYBODY] * 3


def test_w8_11_a_leader_killed_under_load_loses_nothing_acknowledged(cluster: KafkaCluster, peek: Peek) -> None:
    """W8.11 (acks=-1 keeps what it acknowledged), W8.10: leader after leader is killed, restarted and catches up."""
    topic = cluster.create_topic(replication_factor=3, configs={"min.insync.replicas": 2})
    load = Load(cluster.bootstrap_servers, topic, 1)
    for _ in range(2):
        load.wait_more()
        leader = peek.state(topic, 0)["leader"]
        cluster.brokers[leader].kill()
        until(lambda dead=leader: peek.state(topic, 0)["leader"] not in (dead, -1))
        load.wait_more()
        assert leader not in peek.isr(topic)
        cluster.brokers[leader].start()
        until(lambda: peek.isr(topic) == EVERYBODY)
    load.end()
    check_replicas(cluster.brokers, topic, load)
    assert len(epochs_of(cluster.brokers[0], topic)) >= 2


def test_w8_1_a_dead_follower_leaves_the_isr_and_joins_again(cluster: KafkaCluster, peek: Peek) -> None:
    """W8.1, W8.4: the leader itself shrinks the set in ZooKeeper, without a new leader epoch; the controller hears."""
    topic = cluster.create_topic(replication_factor=3, configs={"min.insync.replicas": 1})
    state = peek.state(topic, 0)
    follower = cluster.brokers[next(iter(EVERYBODY - {state["leader"], peek.controller()}))]
    follower.signal(signal.SIGSTOP)
    try:
        assert send(cluster, topic, b"m1") == [""]
        until(lambda: follower.broker_id not in peek.isr(topic))
        shrunk = peek.state(topic, 0)
        assert set(shrunk) == {"controller_epoch", "leader", "version", "leader_epoch", "isr"}
        assert shrunk["leader_epoch"] == state["leader_epoch"]
    finally:
        follower.signal(signal.SIGCONT)
    until(lambda: peek.isr(topic) == EVERYBODY)
    until(lambda: len({log_bytes(broker, topic, 0) for broker in cluster.brokers}) == 1)
    until(lambda: peek.children("/isr_change_notification") == [])


def test_w8_12_too_few_in_sync_replicas_refuse_acks_all(cluster: KafkaCluster, peek: Peek) -> None:
    """W8.12: RF 3, min.insync.replicas 2; two brokers are gone."""
    topic = cluster.create_topic(replication_factor=3, configs={"min.insync.replicas": 2})
    leader = peek.state(topic, 0)["leader"]
    for broker in cluster.brokers:
        if broker.broker_id != leader:
            broker.kill()
    until(lambda: peek.isr(topic) == {leader})
    until(lambda: send(cluster, topic, b"m1") == ["NOT_ENOUGH_REPLICAS"])
    assert send(cluster, topic, b"m2", acks="1") == [""]


def test_w8_9_what_an_unclean_leader_never_had_is_cut_from_the_others(cluster: KafkaCluster, peek: Peek) -> None:
    """W8.9: a broker that was out of sync leads by permission, and the returning one cuts what nobody else has."""
    configs = {"unclean.leader.election.enable": True, "min.insync.replicas": 1}
    topic = cluster.create_topic(replication_factor=2, configs=configs)
    assert send(cluster, topic, b"both") == [""]
    first = peek.state(topic, 0)["leader"]
    (second,) = peek.isr(topic) - {first}
    cluster.brokers[second].kill()
    until(lambda: peek.isr(topic) == {first})
    assert send(cluster, topic, b"only here", b"and here") == ["", ""]
    cluster.brokers[first].kill()
    cluster.brokers[second].start()
    until(lambda: peek.state(topic, 0)["leader"] == second)
    assert send(cluster, topic, b"another") == [""]
    cluster.brokers[first].start()
    until(lambda: peek.isr(topic) == {first, second})
    until(lambda: log_bytes(cluster.brokers[first], topic, 0) == log_bytes(cluster.brokers[second], topic, 0))
    held = [record.value for record in records_of(log_bytes(cluster.brokers[first], topic, 0))]
    assert held == [b"both", b"another"]


@pytest.mark.slow
def test_a_clean_restart_of_every_broker_disturbs_nobody(cluster: KafkaCluster, peek: Peek) -> None:
    """A controlled shutdown moves the leaders first; nothing is lost, and nothing has to be recovered."""
    topic = cluster.create_topic(partitions=3, replication_factor=3, configs={"min.insync.replicas": 2})
    load = Load(cluster.bootstrap_servers, topic, 3)
    for broker in cluster.brokers:
        load.wait_more()
        broker.stop()
        load.wait_more()
        broker.start()
        until(lambda: all(peek.isr(topic, partition) == EVERYBODY for partition in range(3)))
    load.end()
    check_replicas(cluster.brokers, topic, load)
