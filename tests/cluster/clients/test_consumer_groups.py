"""Our consumer in groups of our own coordinator: the scenes that tests/compat plays on Apache's broker."""

import itertools
import signal
import time
from collections.abc import Callable

import group_scenarios as scenes
import pytest

from kafka_py.clients import Consumer
from kafka_py.clients.consumer.core import CLOSE_TIMEOUT_S
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.cluster import KafkaCluster

_numbers = itertools.count(1)


@pytest.fixture
def topic(module_broker: BrokerProcess) -> str:
    """A topic of six partitions."""
    name = f"groups-{next(_numbers)}"
    module_broker.create_topic(name, 6)
    return name


@pytest.mark.parametrize(
    "strategy", ["RangeAssignor", "RoundRobinAssignor", "StickyAssignor", "CooperativeStickyAssignor"]
)
def test_members_come_and_go(bootstrap: str, topic: str, strategy: str) -> None:
    scenes.join_and_leave(bootstrap, topic, strategy, 6)


def test_a_member_that_dies_is_replaced(bootstrap: str, topic: str) -> None:
    scenes.crash(bootstrap, topic, 6)


def test_a_static_member_comes_back_unnoticed(bootstrap: str, topic: str) -> None:
    scenes.static_restart(bootstrap, topic, 6)


def test_a_member_that_polls_too_rarely_loses_its_partitions(bootstrap: str, topic: str) -> None:
    scenes.polls_too_rarely(bootstrap, topic, 6)


def test_two_members_with_one_instance_id_do_not_last(bootstrap: str, topic: str) -> None:
    scenes.fenced_instance(bootstrap, topic, 6)


def test_cooperative_members_keep_what_stays_theirs(bootstrap: str, topic: str) -> None:
    scenes.cooperative_keeps_reading(bootstrap, topic, 6)


def test_we3_23_a_listener_commits_what_is_revoked(bootstrap: str, topic: str) -> None:
    """WE3-23"""
    scenes.a_listener_commits(bootstrap, topic, 6)


def test_a_coordinator_that_is_killed_in_a_rebalance_is_replaced(
    kafka_cluster_factory: Callable[..., KafkaCluster],
) -> None:
    settings = {
        "offsets.topic.replication.factor": 3,
        "zookeeper.session.timeout.ms": 2000,
        "replica.lag.time.max.ms": 5000,
    }
    with kafka_cluster_factory(3, settings=settings) as cluster:
        topic = cluster.create_topic(partitions=6, replication_factor=3, configs={"min.insync.replicas": 1})
        scenes.coordinator_moves(
            cluster.bootstrap_servers,
            topic,
            6,
            lambda node: cluster.brokers[node].kill(),
            lambda node: cluster.brokers[node].start(),
        )


def test_closing_waits_for_a_silent_broker_no_longer_than_it_is_told(broker_process: BrokerProcess) -> None:
    """Paused, not dead: nothing is refused, nothing is answered."""
    broker_process.create_topic("silent", 2)
    scenes.send(broker_process.bootstrap, "silent", 2, 2)
    consumer = Consumer({"bootstrap.servers": broker_process.bootstrap, "group.id": scenes.new_group()})
    consumer.subscribe(["silent"])
    while not consumer.assignment():
        consumer.poll(0.1)
    broker_process.signal(signal.SIGSTOP)
    try:
        begun = time.monotonic()
        consumer.close(timeout=0.5)
        assert time.monotonic() - begun < CLOSE_TIMEOUT_S
    finally:
        broker_process.signal(signal.SIGCONT)


def test_a_group_goes_on_after_its_only_broker_was_killed(broker_process: BrokerProcess) -> None:
    """The group, its generation and its offsets are read back; the member never had to begin anew."""
    broker_process.create_topic("restarted", 4)
    bootstrap = broker_process.bootstrap
    with scenes.Reader(bootstrap, scenes.new_group(), "restarted", session_timeout_ms=60_000) as reader:
        scenes.wait_shared([reader], 4)
        scenes.wait_read([reader], scenes.send(bootstrap, "restarted", 4, 10))
        member = reader.consumer.group_metadata().member_id
        broker_process.kill()
        broker_process.start()
        scenes.wait_read([reader], scenes.send(bootstrap, "restarted", 4, 10))
        assert reader.consumer.group_metadata().member_id == member
        assert reader.events.of("lost") == []
