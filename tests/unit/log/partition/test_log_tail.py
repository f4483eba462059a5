"""Where a log grows: when a new segment begins, and what becomes of the one before."""



import errno

import pytest

from kafka_py.base.errors import KafkaError
from kafka_py.log.model.answers import NoDescriptorsLeft
from kafka_py.testing.fakes.stored_logs import LogWorld, batch

from .log_calls import follow, offsets, read


def test_w5_1_segments_are_named_by_their_first_offset_and_hold_what_lies_between():
    world = LogWorld({"segment.index.bytes": 100_000})
    world.append_many(133)
    world.log.roll(0)
    world.append_many(251 - 133)
    world.log.roll(0)
    world.append()
    assert world.names(".log") == [
        "00000000000000000000.log",
        "00000000000000000133.log",
        "00000000000000000251.log",
    ]
    assert offsets(read(world.log, 0)) == list(range(133))
    assert offsets(read(world.log, 133)) == list(range(133, 251))
    assert offsets(read(world.log, 251)) == [251]


def test_a_roll_by_size_begins_the_next_segment_at_the_appended_offset():
    one = len(batch([b"x" * 100]))
    world = LogWorld({"segment.bytes": one * 3})
    rolled = [world.append(batch([b"x" * 100])).rolled for _ in range(7)]
    assert rolled == [False, False, False, True, False, False, True]
    assert [segment.base_offset for segment in world.log.segments] == [0, 3, 6]
    assert world.names(".snapshot") == ["00000000000000000003.snapshot", "00000000000000000006.snapshot"]
    assert len(world.data("00000000000000000003.snapshot")) == 10


def test_a_roll_trims_the_indexes_and_writes_the_last_time_entry():
    world = LogWorld({"segment.bytes": 1000})
    world.append_many(6, timestamp=1000, step=5)
    first = world.log.segments[0]
    assert first.offset_index.all_entries() == [(2, 340), (4, 680)]
    assert first.time_index.all_entries() == [(1010, 2), (1020, 4)]
    assert len(world.data("00000000000000000000.index")) == 16
    assert len(world.data("00000000000000000000.timeindex")) == 24
    assert len(world.data("00000000000000000005.index")) == 1200


def test_a_roll_by_time_goes_by_the_timestamps_of_the_records():
    world = LogWorld({"segment.ms": 1000})
    assert not world.append(batch(timestamp=5000)).rolled
    assert not world.append(batch(timestamp=6000)).rolled
    assert world.append(batch(timestamp=6001)).rolled
    assert not world.append(batch(timestamp=100)).rolled


def test_without_timestamps_a_roll_goes_by_the_clock():
    world = LogWorld({"segment.ms": 1000})
    world.append(batch(timestamp=-1))
    world.clock.advance(1000)
    assert not world.append(batch(timestamp=-1)).rolled
    world.clock.advance(1)
    assert world.append(batch(timestamp=-1)).rolled


def test_a_clock_that_jumps_does_not_roll_segments_whose_records_are_close():
    world = LogWorld({"segment.ms": 1000})
    world.append(batch(timestamp=5000))
    for _ in range(10):
        world.clock.jump_wall(10**9)
        assert not world.append(batch(timestamp=5001)).rolled


def test_jitter_makes_segments_roll_earlier_by_less_than_its_bound():
    world = LogWorld({"segment.ms": 1000, "segment.jitter.ms": 500})
    world.log.roll(0)
    jitters = set()
    for number in range(20):
        world.append(batch(timestamp=number))
        world.log.roll(number)
        jitters.add(world.log.segments[-1].roll_jitter_ms)
    assert all(0 <= jitter < 500 for jitter in jitters)
    assert len(jitters) > 5


def test_a_compacted_topic_rolls_at_its_largest_compaction_lag():
    world = LogWorld({"segment.ms": 10_000, "max.compaction.lag.ms": 1000, "cleanup.policy": "compact"})
    world.append(batch(key=b"k", timestamp=0))
    assert world.append(batch(key=b"k", timestamp=1001)).rolled


def test_a_roll_by_a_full_offset_index():
    world = LogWorld({"segment.index.bytes": 24, "index.interval.bytes": 0})
    rolled = [world.append(batch(timestamp=-1)).rolled for _ in range(8)]
    assert rolled.index(True) == 4  # the first append has no entry, then three fill the file


def test_a_roll_by_a_full_time_index_keeps_room_for_the_last_entry():
    world = LogWorld({"segment.index.bytes": 36, "index.interval.bytes": 0})
    rolled = [world.append(batch(timestamp=number)).rolled for number in range(6)]
    assert rolled.index(True) == 3
    assert len(world.data("00000000000000000000.timeindex")) == 24


def test_a_relative_offset_that_would_not_fit_begins_a_segment():
    world = LogWorld()
    far = (1 << 31) - 1
    follow(world, batch(base_offset=0))
    follow(world, batch(base_offset=far))
    assert len(world.log.segments) == 1
    follow(world, batch(base_offset=far + 1))
    assert [segment.base_offset for segment in world.log.segments] == [0, far + 1]
    assert [record.offset for record in world.read_all()] == [0, far, far + 1]


def test_preallocated_segments_have_their_full_size_until_rolled_or_closed():
    world = LogWorld({"preallocate": True, "segment.bytes": 1000})
    world.append_many(6)
    assert len(world.data("00000000000000000000.log")) == 5 * 170
    assert len(world.data("00000000000000000005.log")) == 1000
    world.log.close()
    assert len(world.data("00000000000000000005.log")) == 170
    world.open(is_clean=True)
    assert len(world.data("00000000000000000005.log")) == 1000
    assert world.log.log_end_offset == 6
    assert len(world.read_all()) == 6


def test_a_roll_after_a_cut_waits_for_the_checkpoints_that_the_cut_made_wrong():
    """A start after a crash would believe them as soon as there is a newer segment."""
    world = LogWorld()
    world.append_many(4)
    world.log.flushing.now()
    world.log.truncate_to(2)
    settled = []
    world.context.settle_checkpoints = lambda: settled.append(world.names(".log"))
    world.append()
    world.log.roll(0)
    world.append()
    world.log.roll(0)
    assert settled == [["00000000000000000000.log"]]


def test_what_a_failed_write_left_behind_is_cut():
    world = LogWorld()
    world.append()
    whole = world.data("00000000000000000000.log")
    world.files.fail("write", errno.EMFILE, path=".log", partial=10)
    with pytest.raises(NoDescriptorsLeft):
        world.append()
    assert world.data("00000000000000000000.log") == whole
    world.append()
    assert offsets(read(world.log, 0)) == [0, 1]


def test_a_log_whose_directory_fails_while_its_checkpoints_are_settled_is_not_rolled():
    world = LogWorld()
    world.append_many(4)
    world.log.flushing.now()
    world.log.truncate_to(2)
    world.context.settle_checkpoints = lambda: world.log.failures.disable("offline")
    with pytest.raises(KafkaError):
        world.log.roll(0)
    assert world.names(".log") == ["00000000000000000000.log"]
