"""Throttles around a batch, and what other users do to them meanwhile."""

import asyncio

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.rebalancing.batches import BatchLimits
from kafka_py.operations.rebalancing.carriers import BROKERS, TOPICS
from kafka_py.operations.rebalancing.execution import RebalanceRun
from kafka_py.operations.rebalancing.model import PartitionChange
from kafka_py.operations.rebalancing.plan_file import PlanState, PlanStep, parse_state, state_text
from kafka_py.operations.rebalancing.progress import RunOutcome
from kafka_py.operations.rebalancing.throttles import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from kafka_py.operations.rebalancing.throttling import before_all, merged_replicas, still_ours
from kafka_py.testing.fakes.reassigning_cluster import ReassigningCluster

T = [TopicPartition("t", number) for number in range(3)]


def made(**more):
    steps = {tp: PlanStep(PartitionChange(tp, (0, 1), (1, 2), 100)) for tp in T}
    state = PlanState("c", steps, 1000, BatchLimits(1), action="rebalance")
    return ReassigningCluster(dict.fromkeys(T, (0, 1)), **more), state


def run(cluster, state):
    return asyncio.run(RebalanceRun(state, cluster.tools).carry_out())


def test_a_throttle_that_another_user_sets_during_a_batch_stays():
    cluster, state = made()
    seen = []

    def interfere():
        if not seen:
            seen.append(1)
            cluster.settings[BROKERS]["1"] = {**cluster.settings[BROKERS]["1"], LEADER_RATE: "77"}
            cluster.settings[BROKERS]["3"] = {LEADER_RATE: "78"}

    cluster.on_pause = interfere
    assert run(cluster, state) is RunOutcome.COMPLETE
    assert cluster.own_settings() == {TOPICS: {}, BROKERS: {"1": {LEADER_RATE: "77"}, "3": {LEADER_RATE: "78"}}}


def test_replicas_that_a_topic_throttles_already_stay_throttled_during_a_batch():
    cluster, state = made()
    cluster.settings[TOPICS]["t"] = {LEADER_REPLICAS: "9:9", FOLLOWER_REPLICAS: "*", "other": "x"}
    seen = []
    cluster.on_pause = lambda: seen.append(dict(cluster.settings[TOPICS]["t"]))
    assert run(cluster, state) is RunOutcome.COMPLETE
    assert {each[LEADER_REPLICAS] for each in seen} >= {"0:0,0:1,9:9", "1:0,1:1,9:9"}
    assert {each[FOLLOWER_REPLICAS] for each in seen} == {"*"}
    assert cluster.own_settings()[TOPICS] == {
        "t": {LEADER_REPLICAS: "9:9", FOLLOWER_REPLICAS: "*", "other": "x"}
    }  # fmt: skip


def test_the_throttles_of_a_batch_are_removed_before_the_next_one():
    afters = {T[0]: (1, 2), T[1]: (0, 3)}
    steps = {tp: PlanStep(PartitionChange(tp, (0, 1), after, 100)) for tp, after in afters.items()}
    cluster = ReassigningCluster(dict.fromkeys(afters, (0, 1)))
    seen = []
    cluster.on_pause = lambda: seen.append([name for name, own in cluster.settings[BROKERS].items() if own])
    assert run(cluster, PlanState("c", steps, 1000, BatchLimits(1), action="rebalance")) is RunOutcome.COMPLETE
    assert {tuple(sorted(each)) for each in seen if each} == {("0", "1", "2"), ("0", "1", "3")}


def test_a_broker_that_tells_changed_settings_late_has_no_throttle_in_the_end():
    """As Apache's do: until its notification arrives a broker describes the values of before."""
    cluster, state = made()
    cluster.settings[BROKERS]["1"] = {LEADER_RATE: "77"}
    now, told = cluster.overrides, {}

    async def overrides(kind, names, settings):
        found = await now(kind, names, settings)
        shown = told.get((kind, *names), found)
        return found if kind == TOPICS else shown

    async def alter(kind, changes):
        names = tuple(changes)
        told[kind, *names] = {name: dict(cluster.settings[kind].get(name, {})) for name in names}
        await set_now(kind, changes)

    set_now, cluster.alter, cluster.overrides = cluster.alter, alter, overrides
    pauses = []
    cluster.on_pause = lambda: (pauses.append(1), told.clear() if len(pauses) % 3 == 0 else None)
    assert run(cluster, state) is RunOutcome.COMPLETE
    assert cluster.own_settings() == {TOPICS: {}, BROKERS: {"1": {LEADER_RATE: "77"}}}


@pytest.mark.parametrize(
    ("present", "wanted", "merged"),
    [(None, "0:1", "0:1"), ("", "0:1", "0:1"), ("*", "0:1", "*"), ("1:1,0:1", "0:1,0:2", "0:1,0:2,1:1")],
)
def test_lists_of_replicas_are_merged(present, wanted, merged):
    assert merged_replicas(present, wanted) == merged


@pytest.mark.parametrize(
    ("kept", "ours", "seen", "before"),
    [
        (None, None, "5", "5"),  # set by another user before
        ("5", ["7"], "7", "5"),  # left by an interrupted run
        ("5", ["6", "7"], "6", "5"),  # left by one that was killed before it set the next
        ("5", ["7"], None, "5"),  # not set yet, or removed
        ("5", ["7"], "9", "9"),  # changed by another user since
        ("5", None, "9", "5"),  # a state file that has no values of the plan
    ],
)
def test_what_is_to_be_restored(kept, ours, seen, before):
    kept_all = {} if kept is None else {"1": {LEADER_RATE: kept}}
    ours_all = {} if ours is None else {"1": {LEADER_RATE: ours}}
    assert before_all(kept_all, ours_all, {"1": {LEADER_RATE: seen}}) == {"1": {LEADER_RATE: before}}


def test_only_what_has_the_value_of_the_plan_is_restored():
    before = {"1": {LEADER_RATE: None, FOLLOWER_RATE: "5"}, "2": {LEADER_RATE: None}, "3": {LEADER_RATE: "1"}}
    ours = {"1": {LEADER_RATE: ["7"], FOLLOWER_RATE: ["6", "7"]}, "2": {LEADER_RATE: ["7"]}}
    seen = {"1": {LEADER_RATE: "8", FOLLOWER_RATE: "6"}, "2": {LEADER_RATE: "8"}, "3": {LEADER_RATE: "9"}}
    assert still_ours(before, ours, seen) == {"1": {FOLLOWER_RATE: "5"}, "3": {LEADER_RATE: "1"}}


def test_values_of_the_plan_are_in_the_state_file_and_may_be_missing():
    _, state = made()
    state.set_topics = {"t": {LEADER_REPLICAS: ["0:1", "0:2"]}}
    state.set_brokers = {"1": {LEADER_RATE: ["7"]}}
    assert parse_state(state_text(state)) == state
    text = state_text(state).replace('"set_topics"', '"x"').replace('"set_brokers"', '"y"')
    assert (parse_state(text).set_topics, parse_state(text).set_brokers) == ({}, {})
