"""Which cluster is started on which ports, and what is refused before anything is started."""

import pytest

from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.local_cluster.layout import LocalCluster
from kafka_py.cli.local_cluster.starting import Wanted, plan

STORED = LocalCluster((9092, 9093), zookeeper_port=2181)


def free(_: int) -> bool:
    return True


@pytest.mark.parametrize(
    ("stored", "wanted", "cluster"),
    [
        (None, Wanted(), LocalCluster((9092,), 2181)),
        (None, Wanted(brokers=3, port=19000), LocalCluster((19000, 19001, 19002), 2181)),
        (None, Wanted(zookeeper_port=3000), LocalCluster((9092,), 3000)),
        (None, Wanted(zookeeper="zoo:2181/x"), LocalCluster((9092,), None, "zoo:2181/x")),
        (STORED, Wanted(), STORED),
        (STORED, Wanted(brokers=2), STORED),
        (STORED, Wanted(port=7000), LocalCluster((7000, 7001), 2181)),
    ],
)
def test_what_was_asked_for_goes_over_what_is_stored(
    stored: LocalCluster | None, wanted: Wanted, cluster: LocalCluster
) -> None:
    assert plan(stored, wanted, free) == cluster


@pytest.mark.parametrize(
    ("stored", "wanted", "taken", "message"),
    [
        (STORED, Wanted(brokers=3), (), "has a cluster of 2 brokers, not of 3"),
        (STORED, Wanted(zookeeper="zoo:1"), (), "is registered in ZooKeeper at 127.0.0.1:2181"),
        (None, Wanted(brokers=3), (9093, 9094), "Port 9093, 9094 is in use by another process: .* --port"),
        (STORED, Wanted(), (9092,), "Port 9092 is in use"),
        (None, Wanted(zookeeper_port=2000), (2000,), "Port 2000 is in use: .* --zookeeper-port"),
        (None, Wanted(zookeeper_port=9092), (), "Port 9092 is in use: .* --zookeeper-port"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(
    stored: LocalCluster | None, wanted: Wanted, taken: tuple[int, ...], message: str
) -> None:
    with pytest.raises(CommandFailed, match=message):
        plan(stored, wanted, lambda port: port not in taken)


@pytest.mark.parametrize(("stored", "usual"), [(None, 2181), (STORED, 2181)])
def test_zookeeper_takes_another_port_where_the_usual_one_is_in_use(stored: LocalCluster | None, usual: int) -> None:
    cluster = plan(stored, Wanted(), lambda port: port != usual)
    assert cluster.zookeeper_port not in (None, usual, *cluster.ports)


def test_port_0_is_any_that_is_free() -> None:
    cluster = plan(None, Wanted(brokers=3, port=0, zookeeper_port=0))
    assert len({*cluster.ports, cluster.zookeeper_port}) == 4
