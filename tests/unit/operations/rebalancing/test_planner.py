"""Plans: what must hold for any cluster and request, and what single requests come to."""

import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.rebalancing.model import (
    SOFT_GOALS,
    Goal,
    PlanBroker,
    PlanCluster,
    PlanPartition,
    PlanRequest,
    RebalanceAction,
    RebalanceRefused,
)
from kafka_py.operations.rebalancing.placement import Placement
from kafka_py.operations.rebalancing.planner import propose
from kafka_py.operations.rebalancing.soft_moves import SoftMoves, bands_of


@st.composite
def clusters(draw, capacity=False):
    count = draw(st.integers(2, 7))
    racks = draw(st.sampled_from([0, 2, 3]))
    brokers = tuple(
        PlanBroker(
            number, f"r{draw(st.integers(0, racks - 1))}" if racks else None,
            draw(st.sampled_from([None, 200, 2000])) if capacity else None, draw(st.integers(0, 9)) > 0,
        )
        for number in range(count)
    )  # fmt: skip
    rows = []
    for topic in range(draw(st.integers(1, 4))):
        factor = draw(st.integers(1, min(3, count)))
        for number in range(draw(st.integers(1, 8))):
            replicas = tuple(draw(st.permutations(range(count)))[:factor])
            size = draw(st.sampled_from([0, 1, 10, 10, 300]))
            live = [each for each in replicas if brokers[each].is_live]
            leader = draw(st.sampled_from(live)) if live else None
            rows.append(PlanPartition(TopicPartition(f"t{topic}", number), replicas, leader, size))
    return PlanCluster(brokers, tuple(rows))


def requests(cluster):
    live = [broker.id for broker in cluster.brokers if broker.is_live]
    some = st.sets(st.sampled_from(live), min_size=1).map(frozenset) if live else st.nothing()
    tolerance = st.sampled_from([0, 10, 40])
    named = [RebalanceAction.ADD_BROKERS, RebalanceAction.REMOVE_BROKERS, RebalanceAction.DEMOTE_BROKERS]
    return st.one_of(
        st.builds(PlanRequest, st.sampled_from([RebalanceAction.REBALANCE, RebalanceAction.FIX_RACKS]),
                  tolerance_percent=tolerance, topics=st.sampled_from([None, "t[01]"])),
        st.builds(PlanRequest, st.sampled_from(named), some, tolerance_percent=tolerance),
        st.builds(PlanRequest, st.just(RebalanceAction.REPLICATION_FACTOR), factor=st.integers(1, max(1, len(live)))),
    )  # fmt: skip


def hard_counts(violations):
    return Counter(one.goal for one in violations if one.goal.is_hard)


def soft_costs(cluster, request):
    """The cost of each soft goal, by priority."""
    movable = [number for number, row in enumerate(cluster.partitions) if request.selects(row.partition.topic)]
    place = Placement(cluster, movable)
    bands = bands_of(place, request)
    numbers = [(bands.replicas, place.replicas), (bands.leaders, place.leads), (bands.bytes, place.bytes)]
    costs = [band.total(each[broker] for broker in place.targets) for band, each in numbers]
    topics = zip(bands.topics, place.topic_counts, strict=True)
    return [*costs, sum(band.total(each[broker] for broker in place.targets) for band, each in topics)]


@settings(max_examples=300)
@given(st.data())
def test_any_plan_keeps_the_rules_and_a_second_one_is_empty(data):
    cluster = data.draw(clusters(capacity=data.draw(st.booleans())))
    request = data.draw(requests(cluster))
    try:
        plan = propose(cluster, request)
    except RebalanceRefused:
        live = {broker.id for broker in cluster.brokers if broker.is_live}
        assert not live - (request.brokers if request.action is RebalanceAction.REMOVE_BROKERS else set())
        return
    rows = {row.partition: row for row in cluster.partitions}
    live = {broker.id for broker in cluster.brokers if broker.is_live}
    for change in plan.changes:
        assert request.selects(change.partition.topic)
        assert len(set(change.after)) == len(change.after) > 0, "replicas of a partition are on distinct brokers"
        assert set(change.added) <= live
        if request.action is not RebalanceAction.REPLICATION_FACTOR:
            assert len(change.after) == len(rows[change.partition].replicas)
        if request.action is RebalanceAction.REMOVE_BROKERS:
            assert set(change.removed) <= request.brokers
            assert not set(change.added) & request.brokers
        if request.action is RebalanceAction.DEMOTE_BROKERS:
            assert not change.added
    after = cluster.after(plan.targets)
    before_counts, after_counts = hard_counts(plan.violations), hard_counts(plan.remaining)
    goals = [Goal.REMOVED, Goal.FACTOR, Goal.DEMOTED]
    if request.action in (RebalanceAction.REBALANCE, RebalanceAction.ADD_BROKERS, RebalanceAction.FIX_RACKS):
        goals += [Goal.RACKS, Goal.CAPACITY]
    assert all(after_counts[goal] <= before_counts[goal] for goal in goals)
    again = propose(after, request)
    assert again.changes == ()
    assert again.elections == ()
    assert propose(cluster, request) == plan, "the same cluster leads to the same plan"


@settings(max_examples=200)
@given(clusters(), st.sampled_from([0, 10]))
def test_racks_are_distinct_where_possible_and_balance_never_gets_worse(cluster, tolerance):
    request = PlanRequest(tolerance_percent=tolerance)
    try:
        plan = propose(cluster, request)
    except RebalanceRefused:
        return
    after = cluster.after(plan.targets)
    if all(broker.is_live for broker in cluster.brokers):
        assert hard_counts(plan.remaining) == {}
    if not hard_counts(plan.violations):
        assert soft_costs(after, request) <= soft_costs(cluster, request)
    total = sum(row.size_bytes * len(row.replicas) for row in cluster.partitions)
    assert plan.moved_bytes <= total


@settings(max_examples=100)
@given(clusters(), st.integers(0, 500))
def test_soft_goals_copy_no_more_than_the_bound(cluster, bound):
    racks = propose_or_none(cluster, PlanRequest(RebalanceAction.FIX_RACKS))
    if racks is not None and not racks.changes:
        plan = propose(cluster, PlanRequest(max_bytes=bound))
        assert plan.moved_bytes <= bound


def propose_or_none(cluster, request):
    try:
        return propose(cluster, request)
    except RebalanceRefused:
        return None


def rows_of(*replicas, size=100, topic="t"):
    return tuple(PlanPartition(TopicPartition(topic, n), tuple(r), r[0], size) for n, r in enumerate(replicas))


def brokers_of(count, racks=None, capacity=None):
    return tuple(PlanBroker(n, racks[n] if racks else None, capacity) for n in range(count))


def test_an_added_broker_gets_its_share_and_nothing_else_moves():
    cluster = PlanCluster(brokers_of(4), rows_of(*[[n % 3, (n + 1) % 3] for n in range(60)]))
    plan = propose(cluster, PlanRequest(RebalanceAction.ADD_BROKERS, frozenset({3}), tolerance_percent=0))
    assert [load.replicas for load in plan.after] == [30, 30, 30, 30]
    assert plan.moved_replicas == 30
    assert {broker for change in plan.changes for broker in change.added} == {3}
    assert plan.remaining == ()


def test_a_removed_broker_holds_nothing_afterwards_and_only_its_replicas_move():
    cluster = PlanCluster(brokers_of(4), rows_of(*[[n % 4, (n + 1) % 4] for n in range(40)]))
    plan = propose(cluster, PlanRequest(RebalanceAction.REMOVE_BROKERS, frozenset({2})))
    assert plan.moved_replicas == plan.before[2].replicas == 20
    assert plan.after[2].replicas == 0
    assert max(load.replicas for load in plan.after) <= 27
    assert plan.moved_bytes == 2000


def test_a_dead_broker_can_be_removed_and_is_named_otherwise():
    brokers = (*brokers_of(3), PlanBroker(3, is_live=False))
    cluster = PlanCluster(brokers, rows_of([3, 0], [0, 3]))
    assert propose(cluster, PlanRequest(RebalanceAction.REMOVE_BROKERS, frozenset({3}))).moved_replicas == 2
    plan = propose(cluster, PlanRequest())
    assert not any(3 in change.removed for change in plan.changes)
    assert "Broker 3 is not live" in plan.notes[0]


def test_a_demoted_broker_leads_nothing_and_nothing_is_copied():
    cluster = PlanCluster(brokers_of(3), (*rows_of([0, 1, 2], [0, 2, 1], [1, 0, 2]), *rows_of([0], topic="single")))
    plan = propose(cluster, PlanRequest(RebalanceAction.DEMOTE_BROKERS, frozenset({0})))
    assert plan.moved_bytes == 0
    assert {change.after[-1] for change in plan.changes} == {0}
    assert [one.text for one in plan.remaining] == ["single-0 is led by broker 0, and no other broker has a replica"]
    assert len(plan.elections) == 2


def test_racks_are_fixed_with_one_move_each():
    brokers = brokers_of(6, racks="aabbcc")
    cluster = PlanCluster(brokers, rows_of([0, 1, 2], [2, 3, 0], [0, 2, 4]))
    plan = propose(cluster, PlanRequest(RebalanceAction.FIX_RACKS))
    assert [len(change.added) for change in plan.changes] == [1, 1]
    assert [one.goal for one in plan.violations] == [Goal.RACKS, Goal.RACKS]
    assert plan.remaining == ()
    assert all(change.before[0] == change.after[0] for change in plan.changes), "leaders stay"


def test_with_fewer_racks_than_replicas_each_rack_gets_as_few_as_possible():
    cluster = PlanCluster(brokers_of(5, racks="aabbb"), rows_of([2, 3, 4], [0, 1, 2]))
    plan = propose(cluster, PlanRequest(RebalanceAction.FIX_RACKS))
    assert [change.partition.partition for change in plan.changes] == [0]
    assert plan.remaining == ()


@pytest.mark.parametrize(("factor", "moved"), [(3, 8), (1, 0)])
def test_the_replication_factor_changes(factor, moved):
    cluster = PlanCluster(brokers_of(4, racks="abcd"), rows_of(*[[n % 4, (n + 1) % 4] for n in range(8)]))
    plan = propose(cluster, PlanRequest(RebalanceAction.REPLICATION_FACTOR, factor=factor))
    assert plan.moved_replicas == moved
    assert {len(change.after) for change in plan.changes} == {factor}
    assert {load.replicas for load in plan.after} <= {2 * factor - 1, 2 * factor, 2 * factor + 1}
    assert {load.preferred for load in plan.after} == {2}


def test_the_leader_stays_when_replicas_are_dropped():
    cluster = PlanCluster(brokers_of(2), (PlanPartition(TopicPartition("t", 0), (0, 1), 1, 5),))
    plan = propose(cluster, PlanRequest(RebalanceAction.REPLICATION_FACTOR, factor=1))
    assert plan.changes[0].after == (1,)


def test_a_full_disk_is_relieved_and_one_that_cannot_be_is_named():
    brokers = (PlanBroker(0, capacity_bytes=250), PlanBroker(1, capacity_bytes=250))
    plan = propose(PlanCluster(brokers, rows_of([0], [0], [0])), PlanRequest())
    assert all(load.size_bytes <= 250 for load in plan.after)
    plan = propose(PlanCluster(brokers, rows_of([0], [0], [0], [1], [1])), PlanRequest())
    assert [one.text for one in plan.remaining if one.goal is Goal.CAPACITY] == [
        "broker 0 holds 300 bytes and has room for 250"
    ]


def test_the_smallest_replica_that_is_enough_leaves_a_full_disk():
    """Broker 0 holds 117 bytes and has room for 107."""
    sizes = [5, 12, 100]
    rows = tuple(PlanPartition(TopicPartition("t", number), (0,), 0, size) for number, size in enumerate(sizes))
    cluster = PlanCluster((PlanBroker(0, capacity_bytes=107), PlanBroker(1)), rows)
    plan = propose(cluster, PlanRequest(goals=()))
    assert [(one.size_bytes, one.after) for one in plan.changes] == [(12, (1,))]


def sized(*rows):
    """Partitions of one replica: (broker, size)."""
    return tuple(PlanPartition(TopicPartition("t", number), (broker,), broker, size)
                 for number, (broker, size) in enumerate(rows))  # fmt: skip


def test_replicas_that_are_nearly_of_one_size_do_not_change_places():
    """An exchange would even out 1,540 and 1,460 bytes, and copy 1,960 or 1,040 for these 40."""
    cluster = PlanCluster(brokers_of(2), sized((0, 1000), (0, 540), (1, 960), (1, 500)))
    assert propose(cluster, PlanRequest(tolerance_percent=0)).changes == ()


@pytest.mark.parametrize(("capacity", "allowed"), [(150, False), (200, True)])
def test_an_exchange_needs_room_on_both_disks(capacity, allowed):
    cluster = PlanCluster((PlanBroker(0, capacity_bytes=capacity), PlanBroker(1)), sized((0, 50), (0, 100), (1, 90)))
    place = Placement(cluster, range(3))
    request = PlanRequest()
    moves = SoftMoves(place, bands_of(place, request), place.targets, None)
    assert moves.may_swap(0, 0, 2, 1) is allowed


def test_a_broker_that_cannot_be_emptied_is_named():
    cluster = PlanCluster(brokers_of(2), rows_of([0, 1]))
    plan = propose(cluster, PlanRequest(RebalanceAction.REMOVE_BROKERS, frozenset({1})))
    assert plan.is_empty
    assert [one.text for one in plan.remaining] == ["broker 1 holds 1 replicas, such as one of t-0"]


def test_leadership_is_handed_on_over_brokers_in_between():
    rows = rows_of([0, 1], [0, 1], [0, 1], [1, 2], [1, 2], [1, 2], [2, 1])
    cluster = PlanCluster(brokers_of(3), rows)
    plan = propose(cluster, PlanRequest(goals=(Goal.LEADERS,), tolerance_percent=0))
    assert sorted(load.preferred for load in plan.after) == [2, 2, 3]
    assert plan.moved_bytes == 0


def test_large_replicas_change_places_with_small_ones():
    large, small = rows_of([0], [0], [0], [0], size=1000, topic="a"), rows_of([1], [1], [1], [1], size=10, topic="b")
    plan = propose(PlanCluster(brokers_of(2), (*large, *small)), PlanRequest())
    assert [load.replicas for load in plan.after] == [4, 4]
    assert [load.size_bytes for load in plan.after] == [2020, 2020]
    assert plan.moved_bytes == 2020


def test_topics_are_spread():
    rows = (*rows_of([0], [0], [0], topic="a"), *rows_of([1], [1], [1], topic="b"))
    plan = propose(PlanCluster(brokers_of(2), rows), PlanRequest())
    assert plan.moved_replicas == 2
    assert plan.remaining == ()


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (PlanRequest(RebalanceAction.REMOVE_BROKERS), "needs the ids of brokers"),
        (PlanRequest(RebalanceAction.DEMOTE_BROKERS, frozenset({9})), "Unknown brokers: 9; there are 0, 1"),
        (PlanRequest(RebalanceAction.REMOVE_BROKERS, frozenset({0, 1})), "No live broker is left"),
        (PlanRequest(RebalanceAction.REPLICATION_FACTOR, factor=3), "3 replicas need as many live brokers"),
        (PlanRequest(RebalanceAction.REPLICATION_FACTOR), "A replication factor is at least 1"),
        (PlanRequest(topics="("), "The pattern of topics is no regular expression"),
        (PlanRequest(tolerance_percent=101), "a percentage from 0 to 100"),
    ],
)
def test_requests_that_make_no_sense_are_refused(request_, why):
    with pytest.raises(RebalanceRefused, match=why.replace("(", r"\(")):
        propose(PlanCluster(brokers_of(2), rows_of([0, 1])), request_)


def skewed(partitions, brokers):
    """Most replicas are on the first brokers; the sizes differ a lot."""
    rows = []
    for number in range(partitions):
        first = (number * number) % (brokers * 3 // 4)
        replicas = tuple((first + step) % brokers for step in range(3))
        topic = TopicPartition(f"t{number // 20}", number % 20)
        rows.append(PlanPartition(topic, replicas, first, (number * 7919) % 1000 * 1000))
    return PlanCluster(brokers_of(brokers), tuple(rows))


def test_ten_thousand_partitions_are_planned():
    begun = time.process_time()
    plan = propose(skewed(10_000, 10), PlanRequest())
    print(f"10,000 partitions: {time.process_time() - begun:.2f} s, {plan.moved_replicas:,} replicas move")
    assert plan.violations
    assert plan.remaining == ()
    assert set(SOFT_GOALS) == set(plan.request.goals)


def test_racks_of_unequal_sizes_share_no_more_than_they_must():
    """Of four replicas three have to be in the larger rack."""
    brokers = tuple(PlanBroker(id_, "a" if id_ == 0 else "b") for id_ in range(5))
    cluster = PlanCluster(brokers, (PlanPartition(TopicPartition("t", 0), (0, 1, 2, 3), 0, 1),))
    place = Placement(cluster, [0])
    assert [place.rack_limit(factor) for factor in (1, 2, 3, 4, 5)] == [1, 1, 2, 3, 4]
    proposal = propose(cluster, PlanRequest(RebalanceAction.FIX_RACKS))
    assert (proposal.violations, proposal.is_empty) == ((), True)


def test_a_live_replica_leads_in_the_place_of_a_demoted_broker():
    brokers = (PlanBroker(1), PlanBroker(2), PlanBroker(7, is_live=False))
    rows = [PlanPartition(TopicPartition("t", 0), (1, 7, 2), 1), PlanPartition(TopicPartition("t", 1), (2,), 2)]
    proposal = propose(PlanCluster(brokers, tuple(rows)), PlanRequest(RebalanceAction.DEMOTE_BROKERS, frozenset({1})))
    assert proposal.targets == {TopicPartition("t", 0): (2, 7, 1)}
