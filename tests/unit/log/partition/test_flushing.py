"""Flushes of a log: what they make safe, and what waits for them."""


import errno

import pytest

from kafka_py.testing.fakes.files import Loss
from kafka_py.testing.fakes.stored_logs import LogWorld, batch


def counted_end(log):
    """Up to where this copy counts for the high watermark."""
    return log.log_end_offset if log.held_end is None else log.held_end


def test_a_roll_flushes_what_lies_before_it_and_only_then_raises_the_recovery_point():
    world = LogWorld({"segment.bytes": 500})
    world.append_many(5)
    assert world.log.recovery_point == 4
    world.files.crash(Loss.UNSYNCED)
    assert len(world.data("00000000000000000002.log")) == 2 * 170
    assert world.data("00000000000000000004.log") == b""


class LateBackground:
    """Runs jobs when the test says so."""

    def __init__(self):
        self.jobs = []

    def run(self, work, done=None, failed=None):
        self.jobs.append((work, done))

    def finish_all(self):
        while self.jobs:
            work, done = self.jobs.pop(0)
            result = work()
            if done is not None:
                done(result)


def test_only_a_finished_flush_raises_the_recovery_point():
    background = LateBackground()
    world = LogWorld({"segment.bytes": 500}, background=background)
    world.append_many(5)
    assert world.log.recovery_point == 0
    background.finish_all()
    assert world.log.recovery_point == 4


def test_flush_messages_syncs_before_the_append_returns():
    world = LogWorld({"flush.messages": 3})
    points = []
    for _ in range(7):
        world.append()
        points.append(world.log.recovery_point)
    assert points == [0, 0, 3, 3, 3, 6, 6]


def test_a_flush_can_be_left_to_the_caller():
    world = LogWorld({"flush.messages": 1})
    world.context.flush_in_append = False
    info = world.append()
    assert info.flush_due
    job = world.log.flushing.job()
    job.run()
    assert world.log.recovery_point == 0
    world.log.flushing.take(job)
    assert world.log.recovery_point == 1
    assert world.log.flushing.job() is None


def test_a_flush_that_a_truncation_overtook_proves_nothing():
    world = LogWorld()
    world.append_many(5)
    job = world.log.flushing.job()
    job.run()
    world.log.truncate_to(2)
    world.append_many(5)
    world.log.flushing.take(job)
    assert world.log.recovery_point == 0


@pytest.mark.parametrize("end", [0, 1, 2, 3, 4])
def test_a_truncation_cuts_off_what_waited_for_a_flush(end: int):
    world = LogWorld({"flush.messages": 2})
    for _ in range(2):
        world.append()
    world.context.flush_in_append = False
    assert [world.append().flush_due for _ in range(3)] == [False, True, True]
    world.log.truncate_to(end)
    assert counted_end(world.log) == min(end, 3)
    assert world.log.owes_flush is (end > 3)
    world.log.flush_in_background()
    assert not world.log.owes_flush


def test_a_repeated_batch_is_synced_before_its_answer_like_the_first():
    world = LogWorld({"flush.messages": 2})
    world.context.flush_in_append = False
    first, second = (
        batch([b"v"], producer_id=7, producer_epoch=0, base_sequence=sequence).tobytes() for sequence in (0, 1)
    )
    due = [world.append(memoryview(bytearray(data))).flush_due for data in (first, second, first, second)]
    assert due == [False, True, False, True]
    world.log.flushing.now()
    again = world.append(memoryview(bytearray(second)))
    assert (again.duplicate, again.flush_due) == (True, False)


def test_what_came_while_a_flush_ran_waits_for_the_next():
    world = LogWorld({"flush.messages": 1})
    world.context.flush_in_append = False
    world.append()
    job = world.log.flushing.job()
    job.run()
    world.append()
    world.log.flushing.take(job)
    assert (counted_end(world.log), world.log.owes_flush) == (1, True)
    world.log.flushing.now()
    assert (counted_end(world.log), world.log.owes_flush) == (2, False)


def test_a_flush_during_which_the_log_was_cut_is_done_again_before_it_is_reported():
    jobs = []

    class Held:
        def run(self, work, done=None, failed=None):
            jobs.append((work, done))

    world = LogWorld({"flush.messages": 2})
    world.append()
    world.append()
    world.context.flush_in_append = False
    world.context.background = Held()
    for _ in range(4):
        world.append()
    told = []
    world.log.flush_in_background(then=told.append)
    work, done = jobs.pop()
    work()
    world.log.truncate_to(5)
    done(None)
    assert told == [] and world.log.recovery_point == 2
    work, done = jobs.pop()
    work()
    done(None)
    assert told == [True] and world.log.recovery_point == 5


@pytest.mark.parametrize("start", [0, 2, 9])
def test_a_log_that_begins_elsewhere_waits_for_no_flush(start: int):
    world = LogWorld({"flush.messages": 1})
    world.append()
    world.context.flush_in_append = False
    world.append()
    world.log.truncate_fully_and_start_at(start)
    assert not world.log.owes_flush
    assert counted_end(world.log) == start


def test_a_flush_that_a_move_overtook_proves_nothing():
    """It looked for the files under their former names, and a file that is not there it takes for deleted."""
    background = LateBackground()
    world = LogWorld(background=background)
    world.append_many(2)
    world.log.flush_in_background()
    world.log.files.move("/logs/t-1")
    background.finish_all()
    assert world.log.recovery_point == 0


def test_the_flush_after_one_that_failed_syncs_the_names_of_files_again():
    world = LogWorld()
    world.append()
    world.files.fail("open", errno.EMFILE)
    outcome = []
    world.log.flush_in_background(then=outcome.append)
    world.files.heal()
    assert outcome == [False] and world.log.is_usable
    assert world.log.flushing.job().names_changed
