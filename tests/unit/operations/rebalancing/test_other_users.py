"""A plan and what others have done to its partitions since it was made, over a cluster in memory."""

import asyncio

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.rebalancing.batches import BatchLimits
from kafka_py.operations.rebalancing.cancelling import cancel_plan
from kafka_py.operations.rebalancing.carriers import BROKERS, TOPICS
from kafka_py.operations.rebalancing.execution import RebalanceRun
from kafka_py.operations.rebalancing.model import PartitionChange, RebalanceRefused
from kafka_py.operations.rebalancing.other_users import belongs_to, cancelled_order, changed_by_others, is_between
from kafka_py.operations.rebalancing.plan_file import PlanState, PlanStep, StepState, parse_state
from kafka_py.operations.rebalancing.progress import RunOutcome
from kafka_py.testing.fakes.reassigning_cluster import ReassigningCluster, RunKilled

T = [TopicPartition("t", number) for number in range(3)]
CHANGE = PartitionChange(T[0], (0, 1), (1, 2), 100)


def made(after=(1, 2), before=(0, 1), throttle=1000, **more):
    steps = {tp: PlanStep(PartitionChange(tp, before, after, 100)) for tp in T}
    state = PlanState("c", steps, throttle, BatchLimits(1, 10_000), action="rebalance")
    return ReassigningCluster(dict.fromkeys(T, before), **more), state


def run(cluster, state):
    return asyncio.run(RebalanceRun(state, cluster.tools).carry_out())


def killed_in_a_batch(cluster, state, call):
    """The run ends at the first such call, for good."""
    on_step = cluster._step

    def step(name):
        on_step(name)
        if name == call:
            raise RunKilled

    cluster._step = step
    with pytest.raises(RunKilled):
        run(cluster, state)
    cluster._step = on_step
    return parse_state(cluster.text)


@pytest.mark.parametrize(
    ("replicas", "target", "fits"),
    [
        ((0, 1), None, True), ((1, 0), None, True), ((1, 2), None, True), ((2, 1), None, False),
        ((1, 2, 0), (1, 2), True), ((1, 2, 0), (2, 1), True), ((0, 1), (0, 1), True),
        ((0, 1, 3), None, False), ((1, 2, 0), None, False), ((0,), None, False), ((3, 0, 1), (3,), False),
        ((1, 2, 0), (1, 2, 0), False),
    ],
)  # fmt: skip
def test_a_plan_fits_the_replicas_before_and_after_and_its_own_reassignment(replicas, target, fits):
    running = {} if target is None else {T[0]: target}
    assert (changed_by_others(CHANGE, replicas, running) is None) is fits
    assert belongs_to(CHANGE, running) is (target is not None and fits)


def test_the_replicas_in_between():
    assert is_between(CHANGE, (1, 2, 0))
    assert not is_between(CHANGE, (0, 1))
    assert not is_between(PartitionChange(T[0], (0, 1), (0, 1, 2), 1), (0, 1, 2))
    assert not is_between(PartitionChange(T[0], (0, 1, 2), (0, 1), 1), (0, 1, 2))


@pytest.mark.parametrize("replicas", [[0, 1, 3], [0, 1, 2], [3, 1], [0]])
def test_replicas_that_another_user_has_changed_since_the_plan_was_made_are_left_alone(replicas):
    cluster, state = made()
    cluster.replicas[T[1]] = list(replicas)
    state.elections = list(T)
    assert run(cluster, state) is RunOutcome.INCOMPLETE
    assert cluster.replicas == {T[0]: [1, 2], T[1]: replicas, T[2]: [1, 2]}
    assert cluster.leaders == {T[0]: 1, T[1]: 0, T[2]: 1}
    assert state.steps[T[1]].state is StepState.FAILED
    assert ",".join(map(str, replicas)) in state.steps[T[1]].reason
    assert cluster.own_settings() == {TOPICS: {}, BROKERS: {}}


def test_a_reassignment_of_a_partition_of_the_plan_by_another_user_is_neither_replaced_nor_cancelled():
    cluster, state = made()
    cluster.stuck = True
    cluster.begin(T[1], [0, 3])
    with pytest.raises(RebalanceRefused, match="not part of the plan: t-1"):
        run(cluster, state)
    assert asyncio.run(cancel_plan(state, cluster.tools)) == []
    assert cluster.targets == {T[1]: [0, 3]}


def test_a_reassignment_that_another_user_begins_meanwhile_goes_on():
    cluster, state = made()

    def begin():
        if T[2] not in cluster.targets and cluster.replicas[T[2]] == [0, 1]:
            cluster.begin(T[2], [0, 3])

    cluster.on_pause = begin
    assert run(cluster, state) is RunOutcome.INCOMPLETE
    assert state.steps[T[2]].state is StepState.FAILED
    while cluster.targets:
        asyncio.run(cluster.running())
    assert cluster.replicas == {T[0]: [1, 2], T[1]: [1, 2], T[2]: [0, 3]}


def test_a_reassignment_that_replaces_that_of_a_running_batch_is_neither_waited_for_nor_cancelled():
    cluster, state = made()
    one = RebalanceRun(state, cluster.tools)
    pauses = 0

    def replace():
        nonlocal pauses
        pauses += 1
        assert pauses < 100
        if pauses == 1:
            cluster.stuck = True
            cluster.begin(T[0], [0, 3])
        one.cancel = pauses > 1

    cluster.on_pause = replace
    assert asyncio.run(one.carry_out()) is RunOutcome.CANCELLED
    assert cluster.targets == {T[0]: [0, 3]}
    assert "cancel" not in cluster.calls
    assert cluster.own_settings() == {TOPICS: {}, BROKERS: {}}


def test_replicas_that_are_added_are_waited_for_by_the_run_that_resumes():
    cluster, state = made(after=(0, 1, 2), polls=5)
    state = killed_in_a_batch(cluster, state, "started")
    assert len(cluster.targets) == 1
    throttled = []
    cluster.on_pause = lambda: throttled.append(all(cluster.settings[BROKERS].get(id_) for id_ in "012"))
    assert run(cluster, state) is RunOutcome.COMPLETE
    assert cluster.most_running == 1
    assert all(throttled)
    assert cluster.targets == {}
    assert set(map(tuple, cluster.replicas.values())) == {(0, 1, 2)}


def test_what_runs_after_an_interruption_is_not_begun_once_more():
    cluster, state = made(polls=5)
    state = killed_in_a_batch(cluster, state, "started")
    begun = []
    start = cluster.start

    async def noted(targets):
        begun.extend(targets)
        return await start(targets)

    cluster.start = noted
    assert run(cluster, state) is RunOutcome.COMPLETE
    assert begun == T[1:]


@pytest.mark.parametrize("dead", [False, True])
@pytest.mark.parametrize("cancels", [False, True])
def test_a_stop_of_a_run_that_has_just_resumed_leaves_nothing_that_runs_unthrottled(dead, cancels):
    cluster, state = made(polls=5)
    state = killed_in_a_batch(cluster, state, "started")
    if dead:
        cluster.live.discard(2)
        cluster.on_pause = lambda: cluster.now_s > 100 and cluster.live.add(2)
    one = RebalanceRun(state, cluster.tools)
    one.stop, one.cancel = True, cancels
    assert asyncio.run(one.carry_out()) is (RunOutcome.CANCELLED if cancels else RunOutcome.STOPPED)
    assert cluster.targets == {}
    assert cluster.replicas[T[0]] == ([0, 1] if cancels else [1, 2])
    assert cluster.own_settings()[TOPICS] == {}
    assert cluster.own_settings()[BROKERS].keys() == state.brokers.keys() == ({"2"} if dead and cancels else set())


def test_a_refused_partition_whose_replica_is_on_a_dead_broker_does_not_hold_up_the_others():
    cluster, state = made()
    cluster.live.discard(0)
    cluster.leaders = dict.fromkeys(T, 1)
    cluster.refuses = {T[0]: "no"}
    pauses = 0

    def count():
        nonlocal pauses
        pauses += 1
        assert pauses < 100

    cluster.on_pause = count
    assert run(cluster, state) is RunOutcome.INCOMPLETE
    assert state.count(StepState.DONE) == 2


@pytest.mark.parametrize("late", [0, 1, 3])
def test_the_order_of_replicas_is_restored_although_brokers_are_notified_late_of_a_cancellation(late):
    cluster, state = made(polls=100)
    state = killed_in_a_batch(cluster, state, "started")
    cluster.late_looks = late
    assert asyncio.run(cancel_plan(state, cluster.tools)) == [T[0]]
    while cluster.targets:
        asyncio.run(cluster.running())
    assert set(map(tuple, cluster.replicas.values())) == {(0, 1)}


@pytest.mark.parametrize("ends", [False, True])
def test_a_reassignment_that_another_user_begins_while_throttles_are_set_is_not_replaced(ends):
    """A later reassignment replaces the one that runs: what runs is looked at once more before a batch begins."""
    cluster, state = made()
    on_step, targets = cluster._step, []

    def step(name):
        on_step(name)
        if name == "altered" and not targets:
            targets.append([0, 3])
            cluster.begin(T[0], [0, 3])
            if ends:
                cluster.replicas[T[0]] = cluster.targets.pop(T[0])

    cluster._step = step
    assert run(cluster, state) is RunOutcome.INCOMPLETE
    while cluster.targets:
        asyncio.run(cluster.running())
    assert cluster.replicas == {T[0]: [0, 3], T[1]: [1, 2], T[2]: [1, 2]}
    assert state.steps[T[0]].state is StepState.FAILED
    assert cluster.own_settings() == {TOPICS: {}, BROKERS: {}}


def test_an_order_that_another_user_has_given_replicas_survives_a_cancellation():
    cluster, state = made(before=(0, 1, 3), after=(2, 1, 3), polls=5)
    one = RebalanceRun(state, cluster.tools)

    def cancel():
        cluster.replicas[T[2]] = [3, 1, 0]
        one.cancel = True

    cluster.on_pause = cancel
    assert asyncio.run(one.carry_out()) is RunOutcome.CANCELLED
    assert cluster.replicas[T[0]] == [0, 1, 3]
    assert cluster.replicas[T[2]] == [3, 1, 0]
    cluster.on_pause = lambda: None
    assert run(cluster, state) is RunOutcome.INCOMPLETE
    assert cluster.replicas[T[2]] == [3, 1, 0]
    assert state.steps[T[2]].reason == "it has the replicas 3,1,0 now, and had 0,1,3 when the plan was made"


def test_what_a_cancelled_reassignment_leaves():
    assert cancelled_order(CHANGE) == (1, 0)
    assert cancelled_order(PartitionChange(T[0], (0, 1, 2), (2, 3, 1), 1)) == (2, 1, 0)
    assert cancelled_order(PartitionChange(T[0], (0, 1), (2, 3), 1)) == (0, 1)


def test_a_list_of_another_user_in_zookeeper_ends_a_run_without_throttles():
    cluster, state = made()

    async def start(targets):
        raise RebalanceRefused("Another reassignment is listed")

    cluster.start = start
    with pytest.raises(RebalanceRefused, match="Another reassignment is listed"):
        run(cluster, state)
    assert cluster.own_settings() == {TOPICS: {}, BROKERS: {}}
    assert parse_state(cluster.text).topics == {}
