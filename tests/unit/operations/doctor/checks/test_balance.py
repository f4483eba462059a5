"""How leaders and replicas are spread over brokers and racks."""

from kafka_py.clients.metadata import Node
from kafka_py.operations.doctor.checks import balance

from .seen_clusters import NODES, ids, only, partition, seen, snapshot, topic


def racked(*racks: str | None) -> dict[int, Node]:
    return {number: NODES[number]._replace(rack=rack) for number, rack in zip(NODES, racks, strict=True)}


def test_a_few_partitions_more_are_no_skew_but_many_are() -> None:
    assert not balance.is_skewed({1: 3, 2: 0, 3: 0})
    assert balance.is_skewed({1: 30, 2: 30, 3: 0})
    assert not balance.is_skewed({1: 100, 2: 110, 3: 90})
    assert not balance.is_skewed({1: 100})
    assert not balance.is_skewed({1: 17, 2: 8, 3: 5})  # thirty topics of one partition, by chance
    assert balance.is_skewed({1: 1000, 2: 1000, 3: 600})


def test_leaders_away_from_their_preferred_replica_are_found() -> None:
    away = topic("t", *(partition(number, 2, (1, 2, 3)) for number in range(20)))
    finding = only(balance.preferred_leaders, seen(away))
    assert (finding.id, "--election-type preferred" in finding.repair) == ("leaders-not-preferred", True)


def test_a_preferred_replica_that_is_not_in_sync_is_another_matter() -> None:
    away = topic("t", *(partition(number, 2, (1, 2, 3), (2, 3)) for number in range(20)))
    assert ids(balance.preferred_leaders, seen(away)) == []


def test_replicas_on_few_brokers_are_a_skew() -> None:
    crowded = topic("t", *(partition(number, 1 + number % 2, (1 + number % 2, 2 - number % 2)) for number in range(30)))
    assert only(balance.skew, seen(crowded)).id == "replica-skew"


def test_preferred_leaders_on_one_broker_are_a_skew() -> None:
    led = topic("t", *(partition(number, 1, (1, 2, 3)) for number in range(30)))
    finding = only(balance.skew, seen(led))
    assert (finding.id, finding.evidence[0]) == ("leader-skew", "broker 1: 30 preferred leaders")


def test_a_broker_without_rack_beside_others_with_one_is_found() -> None:
    finding = only(balance.racks, seen(snapshot=snapshot(nodes=racked("a", "b", None))))
    assert (finding.id, "Broker 3" in finding.what) == ("racks-missing", True)


def test_replicas_in_one_rack_are_found_if_there_are_several() -> None:
    together = topic("t", partition(0, 1, (1, 2)), partition(1, 1, (1, 3)))
    finding = only(balance.racks, seen(snapshot=snapshot(together, nodes=racked("a", "a", "b"))))
    assert finding.evidence == ("t-0: replicas [1, 2], all in a",)
    assert ids(balance.racks, seen(snapshot=snapshot(together, nodes=racked("a", "a", "a")))) == []


def test_a_cluster_in_balance_is_no_finding() -> None:
    for check in (balance.preferred_leaders, balance.skew, balance.racks):
        assert ids(check, seen()) == ids(check, seen(snapshot=None)) == []
