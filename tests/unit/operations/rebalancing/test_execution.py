"""Execution of plans over a cluster in memory: throttles, batches, interruptions anywhere, stops and cancellation."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.rebalancing.batches import BatchLimits
from kafka_py.operations.rebalancing.cancelling import cancel_plan
from kafka_py.operations.rebalancing.carriers import BROKERS, TOPICS
from kafka_py.operations.rebalancing.execution import PATIENCE_S, RebalanceRun
from kafka_py.operations.rebalancing.model import PartitionChange, RebalanceRefused
from kafka_py.operations.rebalancing.plan_file import PlanState, PlanStep, StepState, parse_state
from kafka_py.operations.rebalancing.progress import RunOutcome
from kafka_py.operations.rebalancing.throttles import FOLLOWER_RATE, LEADER_RATE, LEADER_REPLICAS
from kafka_py.testing.fakes.reassigning_cluster import ReassigningCluster, RunKilled

COUNT = 10


def partition(number):
    return TopicPartition("t", number)


def made(throttle=1000, **more):
    """A cluster, and the plan that moves a replica of each partition from broker 0 to another; one is reordered."""
    before = {partition(number): (0, 1) for number in range(COUNT)}
    after = {tp: (1, 2 + tp.partition % 2) for tp in before}
    after[partition(0)] = (1, 0)
    steps = {tp: PlanStep(PartitionChange(tp, before[tp], after[tp], 100)) for tp in before}
    state = PlanState("c", steps, throttle, BatchLimits(3, 10_000), action="rebalance")
    return ReassigningCluster(before, **more), state


def run(cluster, state):
    return asyncio.run(RebalanceRun(state, cluster.tools).carry_out())


def assert_in_place(cluster, state):
    assert {tp: tuple(ids) for tp, ids in cluster.replicas.items()} == {
        tp: step.change.after for tp, step in state.steps.items()
    }
    assert all(cluster.leaders[tp] == ids[0] for tp, ids in cluster.replicas.items())
    assert cluster.targets == {}


def test_a_plan_is_carried_out_in_batches_and_no_throttle_is_left():
    cluster, state = made()
    cluster.settings[BROKERS]["1"] = {LEADER_RATE: "77", "other": "x"}
    seen = []
    cluster.on_pause = lambda: seen.append((dict(cluster.settings[BROKERS].get("2", {})), cluster.settings[TOPICS]))
    assert run(cluster, state) is RunOutcome.COMPLETE
    assert_in_place(cluster, state)
    assert cluster.most_running == 3
    assert ({LEADER_RATE: "1000", FOLLOWER_RATE: "1000"}) in [each[0] for each in seen]
    assert cluster.own_settings() == {TOPICS: {}, BROKERS: {"1": {LEADER_RATE: "77", "other": "x"}}}
    assert parse_state(cluster.text).is_finished
    last = cluster.reports[-1]
    assert (last.done, last.total, last.copied_bytes, last.total_bytes) == (COUNT, COUNT, 900, 900)
    assert any(report.left_s is not None for report in cluster.reports)


def test_without_throttle_no_setting_is_touched():
    cluster, state = made(throttle=None)
    assert run(cluster, state) is RunOutcome.COMPLETE
    assert "alter" not in cluster.calls


@settings(max_examples=200)
@given(st.lists(st.integers(0, 60), max_size=6), st.booleans())
def test_a_run_that_is_killed_anywhere_is_resumed_to_the_same_end(kills, throttled):
    cluster, state = made(throttle=1000 if throttled else None)
    cluster.settings[TOPICS]["t"] = {LEADER_REPLICAS: "*"}
    asyncio.run(cluster.keep(state))
    for steps in kills:
        cluster.steps_left = steps
        try:
            run(cluster, parse_state(cluster.text))
        except RunKilled:
            continue
    cluster.steps_left = None
    assert run(cluster, parse_state(cluster.text)) is RunOutcome.COMPLETE
    assert_in_place(cluster, state)
    assert cluster.own_settings() == {TOPICS: {"t": {LEADER_REPLICAS: "*"}}, BROKERS: {}}
    assert cluster.most_running <= 3


@settings(max_examples=100)
@given(st.integers(0, 120))
def test_a_run_that_is_killed_anywhere_can_be_cancelled_by_another(steps):
    cluster, state = made()
    asyncio.run(cluster.keep(state))
    cluster.steps_left = steps
    try:
        run(cluster, parse_state(cluster.text))
    except RunKilled:
        cluster.steps_left = None
        asyncio.run(cancel_plan(parse_state(cluster.text), cluster.tools))
    assert cluster.targets == {}
    assert cluster.own_settings() == {TOPICS: {}, BROKERS: {}}
    for tp, ids in cluster.replicas.items():
        assert tuple(ids) in (state.steps[tp].change.before, state.steps[tp].change.after)


@settings(max_examples=60)
@given(st.integers(0, 12), st.booleans())
def test_a_stop_finishes_the_batch_and_a_cancellation_undoes_it(pauses, cancelled):
    cluster, state = made(polls=4)
    one = RebalanceRun(state, cluster.tools)
    counted = 0

    def stop():
        nonlocal counted
        counted += 1
        if counted > pauses:
            one.stop, one.cancel = True, cancelled

    cluster.on_pause = stop
    outcome = asyncio.run(one.carry_out())
    wanted = RunOutcome.CANCELLED if cancelled else RunOutcome.STOPPED
    assert outcome in (wanted, RunOutcome.COMPLETE)
    assert cluster.targets == {}
    assert cluster.own_settings() == {TOPICS: {}, BROKERS: {}}
    assert cancelled or "cancel" not in cluster.calls
    cluster.on_pause = lambda: None
    assert run(cluster, parse_state(cluster.text)) is RunOutcome.COMPLETE
    assert_in_place(cluster, state)


def test_a_refused_partition_is_named_and_the_others_go_on():
    cluster, state = made()
    cluster.refuses = {partition(4): "no"}
    assert run(cluster, state) is RunOutcome.INCOMPLETE
    assert (state.steps[partition(4)].state, state.steps[partition(4)].reason) == (StepState.FAILED, "no")
    assert state.count(StepState.DONE) == COUNT - 1


def test_partitions_that_need_a_dead_broker_are_left_after_a_while():
    cluster, state = made()
    cluster.live.discard(3)
    assert run(cluster, state) is RunOutcome.INCOMPLETE
    assert cluster.now_s > PATIENCE_S
    assert "broker 3, which is not live" in cluster.reports[-1].note
    assert {change.after[1] for change in state.pending} == {3}
    cluster.live.add(3)
    assert run(cluster, parse_state(cluster.text)) is RunOutcome.COMPLETE
    assert_in_place(cluster, state)


def test_a_broker_that_dies_and_comes_back_is_waited_for():
    cluster, state = made()
    pauses = 0

    def die():
        nonlocal pauses
        pauses += 1
        if pauses == 2:
            cluster.live.discard(2)
        if pauses == 12:
            cluster.live.add(2)

    cluster.on_pause = die
    assert run(cluster, state) is RunOutcome.COMPLETE
    assert_in_place(cluster, state)
    assert any("broker 2, which is not live" in report.note for report in cluster.reports)


def test_the_next_batch_waits_until_the_one_before_is_in_sync():
    """A broker dies when its replicas are in place; what comes next does not need it."""
    cluster, state = made()
    for number in (1, *range(3, COUNT)):
        change = state.steps[partition(number)].change
        state.steps[partition(number)].change = change._replace(after=(1, 3))
    state.limits = BatchLimits(1, 10_000)
    running, start, waited = cluster.running, cluster.start, 0

    async def running_until_it_dies():
        found = await running()
        if not waited and cluster.replicas[partition(2)] == [1, 2]:
            cluster.live.discard(2)
        return found

    async def start_in_sync(targets):
        assert 2 in cluster.live
        return await start(targets)

    def come_back():
        nonlocal waited
        waited += 2 not in cluster.live
        if waited > 5:
            cluster.live.add(2)

    cluster.running, cluster.start, cluster.on_pause = running_until_it_dies, start_in_sync, come_back
    assert run(cluster, state) is RunOutcome.COMPLETE
    assert waited == 6


def test_a_topic_that_was_deleted_is_no_failure():
    cluster, state = made()
    del cluster.replicas[partition(5)]
    assert run(cluster, state) is RunOutcome.COMPLETE
    assert state.steps[partition(5)].state is StepState.GONE


def test_a_run_beside_another_reassignment_or_for_another_cluster_is_refused():
    cluster, state = made()
    other = TopicPartition("other", 0)
    cluster.stuck = True
    cluster.begin(other, [1])
    with pytest.raises(RebalanceRefused, match="not part of the plan: other-0"):
        run(cluster, state)
    cluster, state = made()
    state.cluster_id = "d"
    with pytest.raises(RebalanceRefused, match="The plan is for cluster d, this is c"):
        run(cluster, state)


def test_what_cannot_be_cancelled_is_finished():
    cluster, state = made(polls=3)
    cluster.can_cancel = False
    one = RebalanceRun(state, cluster.tools)
    cluster.on_pause = lambda: setattr(one, "cancel", True)
    assert asyncio.run(one.carry_out()) is RunOutcome.CANCELLED
    assert "cancel" not in cluster.calls
    assert cluster.targets == {}


def test_preferred_leaders_are_elected_without_any_move():
    cluster, state = made()
    state.elections = list(state.steps)
    state.steps = {}
    cluster.leaders = dict.fromkeys(cluster.leaders, 1)
    assert run(cluster, state) is RunOutcome.COMPLETE
    assert set(cluster.leaders.values()) == {0}
