"""Our consumer in groups of our own coordinator: the scenes that tests/compat plays on Apache's broker."""

import itertools
from collections.abc import Callable

import group_scenarios as scenes
import pytest

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
            lambda node: cluster.brokers[node].start() and None,
        )
