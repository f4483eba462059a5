"""Which replicas the hard goals move or drop, where several could be."""

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.rebalancing.model import (
    Goal,
    PlanBroker,
    PlanCluster,
    PlanPartition,
    PlanRequest,
    RebalanceAction,
)
from kafka_py.operations.rebalancing.planner import propose


def row(topic: str, replicas: tuple[int, ...], size_bytes: int = 10) -> PlanPartition:
    return PlanPartition(TopicPartition(topic, 0), replicas, replicas[0], size_bytes)


def after(cluster: PlanCluster, request: PlanRequest) -> dict[str, tuple[int, ...]]:
    """The replicas of each topic's only partition once the plan is carried out."""
    changed = propose(cluster, request).targets
    return {each.partition.topic: changed.get(each.partition, each.replicas) for each in cluster.partitions}


def removing(broker: int, **more: str) -> PlanRequest:
    return PlanRequest(RebalanceAction.REMOVE_BROKERS, frozenset({broker}), **more)  # type: ignore[arg-type]


def factor(wanted: int) -> PlanRequest:
    return PlanRequest(RebalanceAction.REPLICATION_FACTOR, factor=wanted)


def test_the_largest_replica_of_a_removed_broker_finds_its_place_first() -> None:
    brokers = (PlanBroker(0, capacity_bytes=60), PlanBroker(1, capacity_bytes=40), PlanBroker(2))
    cluster = PlanCluster(brokers, (row("a", (2,), 40), row("b", (2,), 60)))
    assert after(cluster, removing(2)) == {"a": (1,), "b": (0,)}


def test_topics_that_are_left_out_stay_on_a_removed_broker() -> None:
    cluster = PlanCluster((PlanBroker(0), PlanBroker(1)), (row("a", (1,)), row("b", (1,))))
    assert after(cluster, removing(1, topics="a")) == {"a": (0,), "b": (1,)}


def racked(*racks: str, full: int) -> tuple[PlanBroker, ...]:
    return tuple(PlanBroker(id_, rack, 0 if id_ == full else None) for id_, rack in enumerate(racks))


def test_a_removed_broker_is_emptied_although_racks_are_shared_then() -> None:
    cluster = PlanCluster(racked("a", "a", "b", "b", full=3), (row("t", (0, 2)),))
    plan = propose(cluster, removing(2))
    assert list(plan.targets.values()) == [(0, 1)]
    assert Goal.RACKS in {each.goal for each in plan.remaining}


def test_a_replica_is_added_although_racks_are_shared_then() -> None:
    cluster = PlanCluster(racked("a", "a", "b", full=2), (row("t", (0,)),))
    assert after(cluster, factor(2)) == {"t": (0, 1)}


def test_the_replica_of_a_dead_broker_is_dropped_before_that_of_the_fullest() -> None:
    brokers = (PlanBroker(0), PlanBroker(1), PlanBroker(2, is_live=False))
    rows = (row("t", (0, 1, 2)), row("u", (1, 0)), row("v", (1, 0)))
    assert after(PlanCluster(brokers, rows), factor(2))["t"] == (0, 1)


def test_the_replica_that_shares_a_rack_is_dropped_before_that_of_the_fullest() -> None:
    brokers = (PlanBroker(0, "a"), PlanBroker(1, "a"), PlanBroker(2, "b"))
    rows = (row("t", (0, 1, 2)), row("u", (2, 0)), row("v", (2, 0)))
    assert after(PlanCluster(brokers, rows), factor(2))["t"] in ((0, 2), (2, 0))


def test_of_replicas_that_are_not_enough_alone_the_largest_leaves_a_full_disk_first() -> None:
    brokers = (PlanBroker(0, capacity_bytes=100), PlanBroker(1))
    rows = (row("a", (0,), 30), row("b", (0,), 50), row("c", (0,), 90))
    # 70 too many: c is enough, but broker 1 has one already, so b and then a leave
    cluster = PlanCluster(brokers, (rows[0], rows[1], PlanPartition(rows[2].partition, (0, 1), 0, 90)))
    assert after(cluster, PlanRequest(goals=())) == {"a": (1,), "b": (1,), "c": (0, 1)}
    small = (*rows[:1], row("b", (0,), 45), PlanPartition(rows[2].partition, (0, 1), 0, 60))
    assert after(PlanCluster(brokers, small), PlanRequest(goals=()))["a"] == (0,)


def test_a_disk_may_be_filled_to_its_capacity() -> None:
    brokers = (PlanBroker(0, capacity_bytes=60), PlanBroker(1))
    assert after(PlanCluster(brokers, (row("a", (1,), 60),)), removing(1)) == {"a": (0,)}


def test_of_brokers_with_as_many_replicas_one_without_the_topic_is_taken() -> None:
    brokers = tuple(PlanBroker(id_) for id_ in range(3))
    rows = (
        PlanPartition(TopicPartition("t", 0), (0,), 0, 10), PlanPartition(TopicPartition("t", 1), (2,), 2, 10),
        row("u", (1,), 500),
    )  # fmt: skip
    plan = propose(PlanCluster(brokers, rows), removing(2))
    assert plan.targets == {TopicPartition("t", 1): (1,)}


def test_in_the_place_of_a_demoted_broker_the_one_leads_that_leads_least() -> None:
    brokers = tuple(PlanBroker(id_) for id_ in range(3))
    rows = (row("t", (0, 1, 2)), row("u", (1, 2)), row("v", (1, 2)))
    request = PlanRequest(RebalanceAction.DEMOTE_BROKERS, frozenset({0}), goals=())
    assert after(PlanCluster(brokers, rows), request)["t"] == (2, 1, 0)
