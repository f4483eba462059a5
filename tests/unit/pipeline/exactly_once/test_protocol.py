"""The protocol of the transactional sink on a model: killed, paused and timed out between any two of its steps."""

import itertools
from contextlib import suppress
from functools import partial

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.pipeline.exactly_once import decisions, protocol, slots
from kafka_py.pipeline.exactly_once.decisions import Decision, decision_records

from .model_world import (
    PREFIX,
    SCOPE,
    Cluster,
    Killed,
    ModelWorld,
    commit,
    expected,
    fill,
    open_task,
    run_batch,
    run_task,
)

TASKS = 3


class At:
    """Calls something at the n-th step of a cluster, once, with the cluster's steps free meanwhile."""

    def __init__(self, cluster, number, action):
        self.cluster, self.left, self.action = cluster, number, action
        self.came = False
        cluster.step = self

    def __call__(self):
        self.left -= 1
        if self.left == 0:
            self.came = True
            self.cluster.step = lambda: None
            self.action()
            self.cluster.step = self


def kill():
    raise Killed


def steps_of_a_batch(batches=1, tasks=TASKS):
    cluster = Cluster()
    for batch in range(batches - 1):
        run_batch(cluster, batch, tasks)
    count = itertools.count()
    cluster.step = lambda: next(count)
    run_batch(cluster, batches - 1, tasks)
    return next(count)


def run_killed(cluster, number, batch, tasks=TASKS, attempt=0):
    """Runs a batch up to its n-th step; whether it came that far."""
    at = At(cluster, number, kill)
    with suppress(Killed):
        run_batch(cluster, batch, tasks, attempt)
    cluster.step = lambda: None
    return at.came


@pytest.mark.parametrize("batches", [1, 2])
def test_a_driver_killed_between_any_two_steps_leaves_the_batch_written_once(batches):
    for number in range(1, steps_of_a_batch(batches) + 1):
        cluster = Cluster()
        for batch in range(batches - 1):
            run_batch(cluster, batch, TASKS)
        assert run_killed(cluster, number, batches - 1)
        before = cluster.visible()
        run_batch(cluster, batches - 1, TASKS)
        run_batch(cluster, batches, TASKS)
        assert cluster.visible() == expected(batches + 1, TASKS), (number, before)
        assert not cluster.has_open()


def test_killed_twice_in_a_row_the_batch_is_still_written_once():
    count = steps_of_a_batch(2)
    for first, second in itertools.product(range(1, count + 1), range(1, count + 3, 2)):
        cluster = Cluster()
        run_batch(cluster, 0, TASKS)
        run_killed(cluster, first, 1)
        run_killed(cluster, second, 1)
        run_batch(cluster, 1, TASKS)
        assert cluster.visible() == expected(2, TASKS), (first, second)
        assert not cluster.has_open()


def test_transactions_of_slots_that_the_next_run_does_not_use_are_rolled_back():
    for number in range(1, steps_of_a_batch() + 1):
        cluster = Cluster()
        run_killed(cluster, number, 0, attempt=1)
        run_batch(cluster, 0, TASKS)
        assert cluster.visible() == expected(1, TASKS)
        assert not cluster.has_open()


def test_a_driver_that_was_paused_while_another_ran_the_batch_changes_nothing():
    for number in range(1, steps_of_a_batch(2) + 1):
        cluster = Cluster()
        run_batch(cluster, 0, TASKS)
        At(cluster, number, partial(run_batch, cluster, 1, TASKS))
        with suppress(KafkaError):
            run_batch(cluster, 1, TASKS)
        cluster.step = lambda: None
        run_batch(cluster, 1, TASKS)
        run_batch(cluster, 2, TASKS)
        assert cluster.visible() == expected(3, TASKS), number
        assert not cluster.has_open()


def test_a_paused_driver_beside_one_that_is_killed_tears_loses_and_repeats_nothing():
    """Its tasks as well: what they do late concerns transactions of their own batch only."""
    count = steps_of_a_batch(2, tasks=2)
    for first, second in itertools.product(range(1, count + 1), range(1, count + 1)):
        cluster = Cluster()
        run_batch(cluster, 0, 2)
        At(cluster, first, partial(run_killed, cluster, second, 1, 2))
        with suppress(protocol.TransactionsLost, KafkaError):
            run_batch(cluster, 1, 2)
        cluster.step = lambda: None
        run_batch(cluster, 1, 2)
        assert cluster.visible() == expected(2, 2), (first, second)


def test_a_time_out_before_the_decision_has_the_batch_written_again():
    cluster = Cluster()
    world = ModelWorld(cluster)
    start = protocol.begin(world)
    prepared = [run_task(cluster, start, 0, task) for task in range(TASKS)]
    cluster.time_out()
    with pytest.raises(protocol.TransactionsLost, match=r"transaction\.timeout\.ms"):
        commit(world, start, 0, prepared)
    run_batch(cluster, 0, TASKS)
    assert cluster.visible() == expected(1, TASKS)


def test_a_time_out_at_any_step_is_said_or_the_batch_is_written_once():
    torn = 0
    for number in range(1, steps_of_a_batch() + 1):
        cluster = Cluster()
        At(cluster, number, cluster.time_out)
        try:
            with suppress(protocol.TransactionsLost):
                run_batch(cluster, 0, TASKS)
            cluster.step = lambda: None
            run_batch(cluster, 0, TASKS)
        except protocol.TornBatch:
            torn += 1
            continue
        except KafkaError:  # a task was fenced
            cluster.step = lambda: None
            run_batch(cluster, 0, TASKS)
        assert cluster.visible() == expected(1, TASKS), number
    assert torn == TASKS - 1  # between the ends of two transactions, nowhere else


def test_a_decision_whose_transactions_all_timed_out_is_taken_back():
    cluster = Cluster()
    world = ModelWorld(cluster)
    start = protocol.begin(world)
    prepared = [run_task(cluster, start, 0, task) for task in range(TASKS)]
    world.decide(start.driver, Decision(SCOPE, 0, True, tuple(prepared)))
    cluster.time_out()
    again = protocol.begin(world)
    assert not again.is_decided(SCOPE, 0)
    run_batch(cluster, 0, TASKS)
    assert cluster.visible() == expected(1, TASKS)


def torn_cluster():
    cluster = Cluster()
    world = ModelWorld(cluster)
    start = protocol.begin(world)
    prepared = [run_task(cluster, start, 0, task) for task in range(TASKS)]
    world.decide(start.driver, Decision(SCOPE, 0, True, tuple(prepared)))
    world.end(prepared[:1], commit=True)
    cluster.time_out()
    return cluster


def test_a_torn_batch_names_what_is_lost_at_every_restart_until_it_is_accepted():
    cluster = torn_cluster()
    for _ in range(2):
        with pytest.raises(protocol.TornBatch, match=r"2 of its 3 transactions.*t-1.*t-2.*tornBatch=accept"):
            protocol.begin(ModelWorld(cluster))
    start = protocol.begin(ModelWorld(cluster), accept_torn=True)
    assert start.is_decided(SCOPE, 0)
    assert protocol.begin(ModelWorld(cluster)).is_decided(SCOPE, 0)


def test_a_failed_task_rolls_its_batch_back_and_another_attempt_counts():
    cluster = Cluster()
    world = ModelWorld(cluster)
    start = protocol.begin(world)
    run_task(cluster, start, 0, 0)  # fails after its flush
    prepared = [run_task(cluster, start, 0, task, attempt) for task, attempt in ((0, 1), (1, 0), (2, 0))]
    commit(world, start, 0, prepared)
    assert cluster.visible() == expected(1, TASKS)
    assert not cluster.has_open()


def test_a_batch_that_counts_is_not_said_to_have_failed_because_its_end_cannot_be_written(monkeypatch):
    def close_batch(_world, _driver, _begun):
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "no broker")

    cluster = Cluster()
    with monkeypatch.context() as broken:
        broken.setattr(ModelWorld, "close_batch", close_batch)
        run_batch(cluster, 0, TASKS)
    assert cluster.visible() == expected(1, TASKS)
    run_batch(cluster, 1, TASKS)
    assert cluster.visible() == expected(2, TASKS)


def test_an_attempt_that_lost_a_race_is_rolled_back_at_the_end_of_its_batch():
    cluster = Cluster()
    world = ModelWorld(cluster)
    start = protocol.begin(world)
    prepared = [run_task(cluster, start, 0, task) for task in range(TASKS)]
    run_task(cluster, start, 0, 1, attempt=1)
    commit(world, start, 0, prepared)
    assert not cluster.has_open()
    assert cluster.visible() == expected(1, TASKS)


def test_an_attempt_that_comes_after_the_end_of_its_batch_opens_no_transaction():
    cluster = Cluster()
    run_batch(cluster, 0, TASKS)
    world = ModelWorld(cluster)
    start = protocol.begin(world)
    commit(world, start, 1, [run_task(cluster, start, 1, task) for task in range(TASKS)])
    for task in (0, TASKS):  # with a lease, and without
        with pytest.raises(KafkaError, match=r"came too late.*closed"):
            run_task(cluster, start, 1, task)
    assert not cluster.has_open()
    run_batch(cluster, 2, TASKS)
    assert cluster.visible() == expected(3, TASKS)


def zombie_of(cluster, step):
    """A task of batch 1 in the hands of a driver that is gone, which has come to this step."""
    start = protocol.begin(ModelWorld(cluster))
    return start, (open_task(cluster, start, 0) if step else None)


@pytest.mark.parametrize("step", [0, 1])
def test_a_task_left_behind_by_a_killed_driver_cannot_end_what_its_successor_has_decided(step):
    cluster = Cluster()
    run_batch(cluster, 0, TASKS)
    left, lease = zombie_of(cluster, step)
    world = ModelWorld(cluster)
    start = protocol.begin(world)
    prepared = [run_task(cluster, start, 1, task) for task in range(TASKS)]
    driver = world.decide(start.driver, Decision(SCOPE, 1, True, tuple(prepared)))
    with pytest.raises(KafkaError):
        fill(cluster, lease or open_task(cluster, left, 0), 1, 0)
    assert all(world.are_open(prepared))
    protocol.begin(world)
    assert driver.epoch == start.driver.epoch
    assert cluster.visible() == expected(2, TASKS)


def test_two_attempts_of_the_same_number_do_not_share_a_transaction():
    """Spark runs a stage again while tasks of its first run continue."""
    cluster = Cluster()
    run_batch(cluster, 0, TASKS)
    world = ModelWorld(cluster)
    start = protocol.begin(world)
    one, two = run_task(cluster, start, 1, 0), run_task(cluster, start, 1, 0)
    assert one.transactional_id != two.transactional_id
    others = [run_task(cluster, start, 1, task) for task in range(1, TASKS)]
    commit(world, start, 1, [two, *others])
    assert cluster.visible() == expected(2, TASKS)
    assert not cluster.has_open()
    run_batch(cluster, 2, TASKS)
    assert cluster.visible() == expected(3, TASKS)


def test_ids_do_not_grow_with_batches_and_those_of_a_large_one_are_forgotten(monkeypatch):
    monkeypatch.setattr(slots, "IDLE_BEGINS", 3)
    cluster = Cluster()
    for batch in range(10):
        run_batch(cluster, batch, TASKS)
    assert len(cluster.slots) == TASKS
    run_batch(cluster, 10, TASKS * 2)
    for batch in range(11, 15):
        assert len(protocol.begin(ModelWorld(cluster)).leases) == (TASKS * 2 if batch < 13 else TASKS)
        run_batch(cluster, batch, TASKS)
    assert len(cluster.slots) == TASKS * 2


def test_a_decision_of_many_records_is_finished_after_a_kill_and_its_parts_are_deleted(monkeypatch):
    monkeypatch.setattr(decisions, "PART_BYTES", 30)
    cluster = Cluster()
    world = ModelWorld(cluster)
    start = protocol.begin(world)
    prepared = [run_task(cluster, start, 0, task) for task in range(TASKS)]
    world.decide(start.driver, Decision(SCOPE, 0, True, tuple(prepared)))  # and is killed
    parts = [key for key, _, _ in cluster.log if b"part" in key]
    assert len(parts) == TASKS - 1
    assert protocol.begin(world).is_decided(SCOPE, 0)
    assert cluster.visible() == expected(1, TASKS)
    latest = {key: value for key, value, _ in cluster.log}
    assert [latest[key] for key in parts] == [None] * len(parts)


def test_a_driver_that_is_killed_after_it_has_finished_the_batch_of_another_leaves_nothing_open():
    cluster = Cluster()
    world = ModelWorld(cluster)
    start = protocol.begin(world)
    prepared = [run_task(cluster, start, 0, task) for task in range(TASKS)]
    world.decide(start.driver, Decision(SCOPE, 0, True, tuple(prepared)))  # and is killed
    start = protocol.begin(world)
    for task in range(TASKS):
        run_task(cluster, start, 1, task)  # and is killed: batch 1 is not decided
    run_batch(cluster, 1, TASKS - 1)
    assert cluster.visible() == sorted({*expected(1, TASKS), *expected(2, TASKS - 1)})
    assert not cluster.has_open()


def test_a_batch_without_records_is_not_decided():
    cluster = Cluster()
    start = protocol.begin(ModelWorld(cluster))
    commit(ModelWorld(cluster), start, 0, [])
    assert [key for key, _, _ in cluster.log] == [
        b'["p","begun","driver"]', b'["p","fencing","driver"]', b'["p","closed","driver"]'
    ]  # fmt: skip


def test_another_prefix_in_the_same_log_changes_nothing():
    cluster = Cluster()
    cluster.log.append((*decision_records(PREFIX + "2", Decision(SCOPE, 9, True))[0], 0))
    assert not protocol.begin(ModelWorld(cluster)).is_decided(SCOPE, 9)
