"""The protocol of the transactional sink on a model: killed, paused and timed out between any two of its steps."""

import itertools
from contextlib import suppress
from functools import partial

import pytest

from kafka_py.base.errors import KafkaError
from kafka_py.pipeline.exactly_once import protocol
from kafka_py.pipeline.exactly_once.decisions import Decision, decision_record

from .model_world import (
    PREFIX,
    SCOPE,
    Cluster,
    Killed,
    ModelWorld,
    expected,
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


def steps_of_a_batch(batches=1):
    cluster = Cluster()
    for batch in range(batches - 1):
        run_batch(cluster, batch, TASKS)
    count = itertools.count()
    cluster.step = lambda: next(count)
    run_batch(cluster, batches - 1, TASKS)
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


def test_a_paused_driver_beside_one_that_is_killed_loses_or_repeats_nothing_in_silence():
    count = steps_of_a_batch(2)
    torn = 0
    for first, second in itertools.product(range(1, count + 1), range(1, count + 1)):
        cluster = Cluster()
        run_batch(cluster, 0, TASKS)
        At(cluster, first, partial(run_killed, cluster, second, 1))
        try:
            with suppress(protocol.TransactionsLost):
                run_batch(cluster, 1, TASKS)
            cluster.step = lambda: None
            run_batch(cluster, 1, TASKS)
        except protocol.TornBatch:
            torn += 1
            continue
        except KafkaError:
            cluster.step = lambda: None
            try:
                run_batch(cluster, 1, TASKS)
            except protocol.TornBatch:
                torn += 1
                continue
        assert cluster.visible() == expected(2, TASKS), (first, second)
    assert torn < count  # said aloud, and only where two drivers rolled back and committed at once


def test_a_time_out_before_the_decision_has_the_batch_written_again():
    cluster = Cluster()
    world = ModelWorld(cluster)
    start = protocol.begin(world)
    prepared = [run_task(cluster, start, 0, task) for task in range(TASKS)]
    cluster.time_out()
    with pytest.raises(protocol.TransactionsLost, match=r"transaction\.timeout\.ms"):
        protocol.commit(world, start.driver, SCOPE, 0, prepared)
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
    failed = run_task(cluster, start, 0, 0)  # after its flush
    prepared = [run_task(cluster, start, 0, task, attempt) for task, attempt in ((0, 1), (1, 0), (2, 0))]
    protocol.commit(world, start.driver, SCOPE, 0, prepared, failed=[failed.transactional_id])
    assert cluster.visible() == expected(1, TASKS)
    assert not cluster.has_open()


def test_an_attempt_that_lost_a_race_is_rolled_back_by_the_next_batch():
    cluster = Cluster()
    world = ModelWorld(cluster)
    start = protocol.begin(world)
    prepared = [run_task(cluster, start, 0, task) for task in range(TASKS)]
    run_task(cluster, start, 0, 1, attempt=1)
    protocol.commit(world, start.driver, SCOPE, 0, prepared)
    assert cluster.has_open()
    run_batch(cluster, 1, TASKS)
    assert cluster.visible() == expected(2, TASKS)
    assert not cluster.has_open()


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
    protocol.commit(ModelWorld(cluster), start.driver, SCOPE, 0, [])
    assert [key for key, _, _ in cluster.log] == [b'["p","begun","driver"]']


def test_another_prefix_in_the_same_log_changes_nothing():
    cluster = Cluster()
    cluster.log.append((*decision_record(PREFIX + "2", Decision(SCOPE, 9, True)), 0))
    assert not protocol.begin(ModelWorld(cluster)).is_decided(SCOPE, 9)
