"""Moves between log directories over brokers in memory: throttles, batches, interruptions anywhere, other users."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.directories.execution import MOST_STARTS, DirectoriesRun, cancel_directories
from kafka_py.operations.directories.model import DirectoryMove, ReplicaId
from kafka_py.operations.directories.plan_file import DirectoriesState, parse_directories
from kafka_py.operations.rebalancing.batches import BatchLimits
from kafka_py.operations.rebalancing.execution import PATIENCE_S
from kafka_py.operations.rebalancing.model import RebalanceRefused
from kafka_py.operations.rebalancing.plan_file import PlanStep, StepState
from kafka_py.operations.rebalancing.progress import RunOutcome
from kafka_py.operations.rebalancing.throttles import LOG_DIR_RATE
from kafka_py.testing.fakes.reassigning_cluster import RunKilled

from .moving_directories import MovingDirectories

COUNT = 8


def replica(number):
    return ReplicaId(TopicPartition("t", number), number % 2)


def made(throttle=1000, **more):
    """Two brokers, and the plan that moves all their replicas from /a to /b."""
    moves = [DirectoryMove(replica(number), "/a", "/b", 100) for number in range(COUNT)]
    brokers = MovingDirectories({move.replica: "/a" for move in moves}, ["/a", "/b", "/c"], **more)
    steps = {move.replica: PlanStep(move) for move in moves}
    return brokers, DirectoriesState("c", steps, throttle, BatchLimits(3, 10_000))


def run(brokers, state):
    return asyncio.run(DirectoriesRun(state, brokers.tools).carry_out())


def assert_in_place(brokers):
    assert set(brokers.at.values()) == {"/b"}
    assert brokers.futures == {}


def test_a_plan_is_carried_out_in_batches_and_no_throttle_is_left():
    brokers, state = made()
    brokers.settings["1"] = {LOG_DIR_RATE: "77", "other": "x"}
    seen = []
    brokers.on_pause = lambda: seen.append(brokers.settings.get("0", {}).get(LOG_DIR_RATE))
    assert run(brokers, state) is RunOutcome.COMPLETE
    assert_in_place(brokers)
    assert brokers.most_moving == 3
    assert "1000" in seen
    assert brokers.own_settings() == {"1": {LOG_DIR_RATE: "77", "other": "x"}}
    assert parse_directories(brokers.text).is_finished
    last = brokers.reports[-1]
    assert (last.done, last.total, last.copied_bytes, last.total_bytes) == (COUNT, COUNT, 800, 800)
    assert any(0 < report.copied_bytes < 800 and report.left_s is not None for report in brokers.reports)


def test_without_throttle_no_setting_is_touched():
    brokers, state = made(throttle=None)
    assert run(brokers, state) is RunOutcome.COMPLETE
    assert "alter" not in brokers.calls


@settings(max_examples=100)
@given(st.lists(st.integers(0, 60), max_size=6))
def test_a_run_that_is_killed_anywhere_is_resumed_to_the_same_end(kills):
    brokers, state = made()
    brokers.settings["0"] = {LOG_DIR_RATE: "5"}
    asyncio.run(brokers.keep(state))
    for steps in kills:
        brokers.steps_left = steps
        try:
            run(brokers, parse_directories(brokers.text))
        except RunKilled:
            continue
    brokers.steps_left = None
    assert run(brokers, parse_directories(brokers.text)) is RunOutcome.COMPLETE
    assert_in_place(brokers)
    assert brokers.own_settings() == {"0": {LOG_DIR_RATE: "5"}}
    assert brokers.most_moving <= 3


@settings(max_examples=60)
@given(st.integers(0, 80))
def test_a_run_that_is_killed_anywhere_can_be_cancelled_by_another(steps):
    brokers, state = made()
    brokers.settings["0"] = {LOG_DIR_RATE: "5"}
    asyncio.run(brokers.keep(state))
    brokers.steps_left = steps
    try:
        run(brokers, parse_directories(brokers.text))
    except RunKilled:
        pass
    brokers.steps_left = None
    moving = sorted(brokers.futures)
    brokers.stuck = True
    assert asyncio.run(cancel_directories(parse_directories(brokers.text), brokers.tools)) == moving
    assert brokers.futures == {}
    assert brokers.own_settings() == {"0": {LOG_DIR_RATE: "5"}}
    assert parse_directories(brokers.text).brokers == {}


@pytest.mark.parametrize("cancels", [False, True])
@pytest.mark.parametrize("pauses", [1, 3, 6])
def test_a_stop_finishes_the_batch_and_a_cancellation_undoes_it(pauses, cancels):
    brokers, state = made(polls=3)
    execution = DirectoriesRun(state, brokers.tools)
    count, at = [0], []

    def interrupt():
        count[0] += 1
        if count[0] == pauses:
            at.append((set(brokers.futures), dict(brokers.at)))
            execution.cancel, execution.stop = cancels, not cancels

    brokers.on_pause = interrupt
    outcome = asyncio.run(execution.carry_out())
    [(moving, before)] = at
    assert outcome is (RunOutcome.CANCELLED if cancels else RunOutcome.STOPPED)
    assert brokers.futures == {}
    if cancels:
        assert brokers.at == before
    else:
        assert all(brokers.at[replica] == "/b" for replica in moving)
    assert brokers.own_settings() == {}
    assert parse_directories(brokers.text).brokers == {}
    brokers.on_pause = lambda: None
    assert run(brokers, parse_directories(brokers.text)) is RunOutcome.COMPLETE
    assert_in_place(brokers)


@pytest.mark.parametrize("cancels", [False, True])
def test_a_stop_of_a_run_that_has_just_resumed_leaves_nothing_that_runs_unthrottled(cancels):
    brokers, state = made(polls=6)
    asyncio.run(brokers.keep(state))
    for replica_ in (replica(0), replica(1)):
        brokers.begin(replica_, "/b")
    execution = DirectoriesRun(parse_directories(brokers.text), brokers.tools)
    execution.cancel, execution.stop = cancels, not cancels
    seen = []
    brokers.on_pause = lambda: seen.append(brokers.settings.get("0", {}).get(LOG_DIR_RATE))
    assert asyncio.run(execution.carry_out()) is (RunOutcome.CANCELLED if cancels else RunOutcome.STOPPED)
    assert set(seen) == {"1000"}
    assert brokers.futures == {}
    assert [brokers.at[replica(number)] for number in range(3)] == (["/a"] * 3 if cancels else ["/b", "/b", "/a"])


def test_what_other_users_do_meanwhile_is_left_alone_and_named():
    brokers, state = made()

    def interfere():
        if brokers.at[replica(0)] == "/a" and replica(0) in brokers.futures:
            brokers.begin(replica(0), "/c")
        brokers.at[replica(7)] = "/c"

    brokers.on_pause = interfere
    assert run(brokers, state) is RunOutcome.INCOMPLETE
    assert (brokers.at[replica(0)], brokers.at[replica(7)]) == ("/c", "/c")
    assert state.steps[replica(0)].reason == "another move takes it to /c"
    assert state.steps[replica(7)].reason == "it is in /c now, and was in /a when the plan was made"
    assert state.count(StepState.DONE) == COUNT - 2
    assert brokers.own_settings() == {}


def test_a_run_beside_other_moves_or_for_another_cluster_is_refused():
    brokers, state = made()
    brokers.begin(replica(0), "/c")
    with pytest.raises(RebalanceRefused, match="1 replicas are being moved that are not part of the plan"):
        run(brokers, state)
    assert brokers.futures == {replica(0): "/c"}
    brokers, state = made()
    state.cluster_id = "other"
    with pytest.raises(RebalanceRefused, match="The plan is for cluster other, this is c"):
        run(brokers, state)


def test_a_refused_move_is_named_and_the_others_continue():
    brokers, state = made()
    brokers.refuses[replica(2)] = "no"
    assert run(brokers, state) is RunOutcome.INCOMPLETE
    assert (state.steps[replica(2)].state, state.steps[replica(2)].reason) == (StepState.FAILED, "no")
    assert state.count(StepState.DONE) == COUNT - 1


def test_a_move_that_its_broker_drops_is_begun_again_a_few_times():
    brokers, state = made()
    brokers.loses = {replica(1): MOST_STARTS - 1, replica(3): MOST_STARTS}
    assert run(brokers, state) is RunOutcome.INCOMPLETE
    assert brokers.at[replica(1)] == "/b"
    assert state.steps[replica(3)].reason == "the broker has ended the move 3 times"
    assert state.count(StepState.DONE) == COUNT - 1


def test_a_directory_that_fails_ends_its_moves_and_no_others():
    brokers, state = made()
    brokers.on_pause = lambda: brokers.offline.add((0, "/b"))
    assert run(brokers, state) is RunOutcome.INCOMPLETE
    failed = [id_ for id_, step in state.steps.items() if step.reason == "the log directory /b is offline"]
    assert failed
    assert {id_.broker for id_ in failed} == {0}
    assert all(brokers.at[replica(number)] == "/b" for number in range(1, COUNT, 2))


def test_a_replica_that_left_its_broker_is_gone():
    brokers, state = made()
    del brokers.at[replica(4)]
    assert run(brokers, state) is RunOutcome.COMPLETE
    assert state.steps[replica(4)].state is StepState.GONE


def test_a_broker_that_is_down_is_waited_for_and_its_throttle_is_kept_in_the_state():
    brokers, state = made()
    brokers.settings["0"] = {LOG_DIR_RATE: "5"}
    brokers.on_pause = lambda: brokers.live.discard(0)
    assert run(brokers, state) is RunOutcome.INCOMPLETE
    assert brokers.now_s > PATIENCE_S
    assert all(brokers.at[replica(number)] == "/b" for number in range(1, COUNT, 2))
    kept = parse_directories(brokers.text)
    assert kept.brokers == {"0": {LOG_DIR_RATE: "5"}}
    assert len(kept.pending) == COUNT // 2
    brokers.on_pause = lambda: None
    brokers.live.add(0)
    assert run(brokers, kept) is RunOutcome.COMPLETE
    assert_in_place(brokers)
    assert brokers.own_settings() == {"0": {LOG_DIR_RATE: "5"}}


def test_a_replica_that_no_directory_names_while_its_copy_takes_over_is_not_gone():
    brokers, state = made()
    look, hidden = brokers.look, []

    async def look_in_between():
        snapshot = await look()
        id_ = replica(0)
        if brokers.at[id_] == "/b" and not hidden:
            hidden.append(id_)
            del snapshot.log_dirs[0]["/b"].replicas[id_.partition]
        return snapshot

    brokers.look = look_in_between
    assert run(brokers, state) is RunOutcome.COMPLETE
    assert hidden
    assert state.count(StepState.DONE) == COUNT


def test_a_move_that_its_broker_shows_late_is_begun_once():
    brokers, state = made()
    asked, late = [], []

    async def move_later(targets):
        asked.append(sorted(targets))
        late.append([4, targets])
        return {}

    def pause():
        for one in late:
            one[0] -= 1
            for replica_, path in one[1].items() if one[0] == 0 else ():
                brokers.begin(replica_, path)

    brokers.move, brokers.on_pause = move_later, pause
    assert run(brokers, state) is RunOutcome.COMPLETE
    assert_in_place(brokers)
    assert sum(map(len, asked)) == COUNT


@pytest.mark.parametrize("by_another", [False, True])
def test_a_cancellation_reaches_the_moves_of_a_broker_that_one_look_has_missed(by_another):
    brokers, state = made()
    brokers.stuck = True
    execution = DirectoriesRun(state, brokers.tools)
    pauses = []

    def miss():
        pauses.append(1)
        if len(pauses) == 3:
            brokers.live.clear()
            execution.cancel = True
        elif len(pauses) == 4:
            brokers.live.update(brokers.brokers)

    if by_another:
        asyncio.run(brokers.keep(state))
        brokers.begin(replica(0), "/b")
        pauses += [1, 1, 1]
        brokers.live.discard(0)
        brokers.on_pause = miss
        assert asyncio.run(cancel_directories(state, brokers.tools)) == [replica(0)]
    else:
        brokers.on_pause = miss
        assert asyncio.run(execution.carry_out()) is RunOutcome.CANCELLED
    assert brokers.futures == {}
    assert brokers.own_settings() == {}


def test_a_cancellation_does_not_wait_for_ever_for_a_broker_that_is_down():
    for cancels in (False, True):
        brokers, state = made()
        execution = DirectoriesRun(state, brokers.tools)
        brokers.begin(replica(0), "/b")
        brokers.live.discard(0)
        if cancels:
            assert asyncio.run(cancel_directories(state, brokers.tools)) == []
        else:
            brokers.on_pause = lambda run=execution: setattr(run, "cancel", True)
            assert asyncio.run(execution.carry_out()) is RunOutcome.CANCELLED
        assert brokers.now_s < 2 * PATIENCE_S


def test_a_broker_that_is_away_twice_during_a_batch_is_waited_for_each_time():
    brokers, state = made(polls=60)
    away = []

    def leave():
        for begins_s in (5, 75):
            if begins_s <= brokers.now_s < begins_s + 40:
                away.append(begins_s)
                brokers.live.clear()
                return
        brokers.live.update(brokers.brokers)

    brokers.on_pause = leave
    assert run(brokers, state) is RunOutcome.COMPLETE
    assert set(away) == {5, 75}
    assert_in_place(brokers)
