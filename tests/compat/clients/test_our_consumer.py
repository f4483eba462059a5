"""Our consumer in groups of an Apache 2.8.2 coordinator, alone and side by side with other people's consumers."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import group_scenarios as scenes
import pytest
from java_member import JavaMember
from python_members import LIBRARIES

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers.apache import ApacheBroker, Jars
from kafka_py.testing.processes import ZookeeperServer


@pytest.fixture(scope="module")
def apache(
    apache_kafka: Jars, zookeeper: ZookeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApacheBroker]:
    connect = f"{zookeeper.connect}/our-consumer"
    with ApacheBroker(tmp_path_factory.mktemp("apache"), connect) as broker:
        yield broker


@pytest.fixture
def topic(apache: ApacheBroker, request: pytest.FixtureRequest) -> str:
    """A topic of six partitions."""
    name = f"t{abs(hash(request.node.name))}"
    apache.create_topic(name, 6)
    return name


@pytest.mark.parametrize(
    "strategy", ["RangeAssignor", "RoundRobinAssignor", "StickyAssignor", "CooperativeStickyAssignor"]
)
def test_members_come_and_go(apache: ApacheBroker, topic: str, strategy: str) -> None:
    scenes.join_and_leave(apache.bootstrap, topic, strategy, 6)


@pytest.mark.slow
def test_a_member_that_dies_is_replaced(apache: ApacheBroker, topic: str) -> None:
    scenes.crash(apache.bootstrap, topic, 6)


def test_a_static_member_comes_back_unnoticed(apache: ApacheBroker, topic: str) -> None:
    scenes.static_restart(apache.bootstrap, topic, 6)


@pytest.mark.slow
def test_a_member_that_polls_too_rarely_loses_its_partitions(apache: ApacheBroker, topic: str) -> None:
    scenes.polls_too_rarely(apache.bootstrap, topic, 6)


def test_two_members_with_one_instance_id_do_not_last(apache: ApacheBroker, topic: str) -> None:
    scenes.fenced_instance(apache.bootstrap, topic, 6)


def test_cooperative_members_keep_what_stays_theirs(apache: ApacheBroker, topic: str) -> None:
    scenes.cooperative_keeps_reading(apache.bootstrap, topic, 6)


def test_we3_23_a_listener_commits_what_is_revoked(apache: ApacheBroker, topic: str) -> None:
    """WE3-23"""
    scenes.a_listener_commits(apache.bootstrap, topic, 6)


def test_we_share_a_group_with_other_python_libraries(apache: ApacheBroker, topic: str) -> None:
    scenes.all_sorts(apache.bootstrap, topic, 6, LIBRARIES)


@pytest.mark.slow
def test_all_sorts_of_members_on_our_own_broker(
    module_broker: BrokerProcess, apache_kafka: Jars, newest_clients: Jars
) -> None:
    """Our consumer, three Python libraries and two Java clients in one group of our coordinator."""
    module_broker.create_topic("all-sorts", 12)
    java = [partial(JavaMember, apache_kafka), partial(JavaMember, newest_clients)]
    makes: list[Callable[[str, str, str], Any]] = [*LIBRARIES, *java]
    scenes.all_sorts(module_broker.bootstrap, "all-sorts", 12, makes)


def _daily(strategy: str, leader: str) -> bool:
    return (strategy, leader) in (("StickyAssignor", "java"), ("CooperativeStickyAssignor", "ours"))


SHARED = [
    pytest.param(strategy, leader, marks=[] if _daily(strategy, leader) else [pytest.mark.slow])
    for strategy in ("RangeAssignor", "StickyAssignor", "CooperativeStickyAssignor")
    for leader in ("ours", "java")
]


@pytest.mark.parametrize(("strategy", "leader"), SHARED)
def test_we_share_a_group_with_java(
    apache: ApacheBroker, topic: str, apache_kafka: Jars, strategy: str, leader: str
) -> None:
    """The assignment is computed by the leader, from what both kinds of member say of themselves."""
    _share(apache, topic, apache_kafka, strategy, leader)


@pytest.mark.slow
@pytest.mark.parametrize("leader", ["ours", "java"])
def test_we_share_a_group_with_the_newest_java(
    apache: ApacheBroker, topic: str, newest_clients: Jars, leader: str
) -> None:
    _share(apache, topic, newest_clients, "CooperativeStickyAssignor", leader)


def _share(apache: ApacheBroker, topic: str, jars: Jars, strategy: str, leader: str) -> None:
    settings: dict[str, Any] = {"partition_assignment_strategy": scenes.JAVA + strategy}

    def ours(group: str) -> scenes.Reader:
        return scenes.Reader(apache.bootstrap, group, topic, **settings)

    def java(group: str) -> JavaMember:
        return JavaMember(jars, apache.bootstrap, group, topic, **settings)

    members = (ours, java) if leader == "ours" else (java, ours)
    kept = scenes.mixed(apache.bootstrap, topic, 6, *members)
    if "Sticky" in strategy:
        assert kept == [2, 2]
