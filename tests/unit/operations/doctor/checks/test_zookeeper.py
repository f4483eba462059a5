"""ZooKeeper servers: down, slow, apart, alone."""

from kafka_py.operations.doctor.checks import zookeeper
from kafka_py.operations.doctor.examination import ZooKeeperSeen
from kafka_py.operations.doctor.findings import Severity

from .seen_clusters import ids, only, seen

LEADER = ZooKeeperSeen("a:1", mode="leader", round_trip_ms=2, average_latency_ms=0.5, most_latency_ms=10)
FOLLOWER = LEADER._replace(server="b:1", mode="follower")
DOWN = ZooKeeperSeen("c:1", "refused")


def test_servers_that_are_down_are_graver_without_a_majority() -> None:
    assert ids(zookeeper.servers_that_do_not_serve, seen(zookeepers=(LEADER, FOLLOWER, DOWN))) == [
        ("zookeeper-down", Severity.WARNING)
    ]
    assert ids(zookeeper.servers_that_do_not_serve, seen(zookeepers=(LEADER, DOWN, DOWN))) == [
        ("zookeeper-down", Severity.ERROR)
    ]


def test_slow_servers_are_found_by_each_of_three_measures() -> None:
    for slow in (
        LEADER._replace(average_latency_ms=150.0),
        LEADER._replace(round_trip_ms=600.0),
        LEADER._replace(outstanding=1000),
    ):
        assert only(zookeeper.slow_servers, seen(zookeepers=(slow, FOLLOWER))).id == "zookeeper-slow"


def test_servers_that_are_no_ensemble_are_found() -> None:
    for servers in ((LEADER, LEADER), (LEADER._replace(mode="standalone"), FOLLOWER)):
        assert only(zookeeper.modes, seen(zookeepers=servers)).id == "zookeepers-apart"


def test_one_server_for_many_brokers_is_a_note() -> None:
    alone = LEADER._replace(mode="standalone")
    assert ids(zookeeper.modes, seen(zookeepers=(alone,))) == [("zookeeper-alone", Severity.NOTE)]


def test_an_ensemble_in_order_and_none_at_all_are_no_finding() -> None:
    for check in (zookeeper.servers_that_do_not_serve, zookeeper.slow_servers, zookeeper.modes):
        assert ids(check, seen(zookeepers=(LEADER, FOLLOWER, FOLLOWER))) == []
        assert ids(check, seen()) == []
