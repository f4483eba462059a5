"""Deleting old segments: which, when, and what becomes of their files."""

import pytest

from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.disk.handles import OpenHandles
from kafka_py.log.partition.retention import below, beyond_size, count_deletable, delete_old_segments
from kafka_py.log.segments.segment import Segment
from kafka_py.testing.clock import START_MS
from kafka_py.testing.fakes.files import FakeFiles
from kafka_py.testing.fakes.stored_logs import LogWorld, batch

DAY_MS = 86_400_000


def segments(*bases, size=100) -> list[Segment]:
    place = PartitionDirectory("/l", FakeFiles(), OpenHandles())
    return [Segment(place, base, size=size) for base in bases]


def test_w5_28_segments_that_end_at_or_below_the_log_start_may_go():
    assert count_deletable(segments(0, 11, 23), below(25), 100, 100) == 2
    assert count_deletable(segments(0, 11, 23), below(22), 100, 100) == 1
    assert count_deletable(segments(0, 11, 23), below(11), 100, 100) == 1
    assert count_deletable(segments(0, 11, 23), below(10), 100, 100) == 0


@pytest.mark.parametrize(
    ("retention_bytes", "count"), [(0, 3), (99, 2), (100, 2), (101, 1), (250, 0), (300, 0), (999, 0)]
)
def test_the_size_rule_keeps_at_least_the_bytes_asked_for(retention_bytes, count):
    assert count_deletable(segments(0, 11, 23), beyond_size(300, retention_bytes), 100, 100) == count


def test_nothing_above_the_high_watermark_and_no_empty_last_segment_goes():
    assert count_deletable(segments(0, 11, 23), lambda *_: True, 22, 30) == 1
    assert count_deletable(segments(0, 11, 23), lambda *_: True, 29, 30) == 2
    assert count_deletable(segments(0, 11, 23), lambda *_: True, 30, 30) == 3
    assert count_deletable([*segments(0), *segments(11, size=0)], lambda *_: True, 30, 30) == 1


def test_a_run_ends_at_the_first_segment_that_must_stay():
    listed = segments(0, 11, 23)
    assert count_deletable(listed, lambda segment, _: segment.base_offset != 11, 100, 100) == 1


@pytest.fixture
def world() -> LogWorld:
    """Four segments of three batches, one day apart, the last one now."""
    world = LogWorld({"segment.bytes": 510, "retention.ms": 2 * DAY_MS})
    for day in (3, 2, 1, 0):
        for _ in range(3):
            world.append(batch([b"x" * 100], timestamp=START_MS - day * DAY_MS))
    world.log.update_high_watermark(12)
    return world


def test_old_segments_go_and_the_log_start_follows(world):
    assert delete_old_segments(world.log, START_MS) == 1
    assert world.log.log_start_offset == 3
    assert delete_old_segments(world.log, START_MS + 1) == 1
    assert world.log.log_start_offset == 6
    assert [record.offset for record in world.read_all()] == list(range(6, 12))


def test_files_carry_deleted_until_the_delay_is_over(world):
    delete_old_segments(world.log, START_MS)
    gone = ["00000000000000000000.index", "00000000000000000000.log", "00000000000000000000.timeindex"]
    assert world.names(".deleted") == [f"{name}.deleted" for name in gone]
    world.clock.advance(59_999)
    assert world.names(".deleted")
    world.clock.advance(1)
    assert world.names(".deleted") == []
    assert "00000000000000000003.snapshot" in world.names()


def test_a_segments_snapshot_goes_with_it(world):
    delete_old_segments(world.log, START_MS + 1)
    assert world.names(".snapshot") == ["00000000000000000006.snapshot", "00000000000000000009.snapshot"]


def test_w5_29_a_touched_file_is_not_saved_by_its_time(world):
    world.files.open(f"{world.directory}/00000000000000000000.log").truncate(510)
    assert world.files.info(f"{world.directory}/00000000000000000000.log").modified_ms == START_MS
    assert delete_old_segments(world.log, START_MS) == 1


def test_without_timestamps_the_files_own_time_counts():
    world = LogWorld({"segment.bytes": 200, "retention.ms": 1000})
    for _ in range(3):
        world.append(batch([b"x" * 100], timestamp=-1))
    world.log.update_high_watermark(3)
    assert delete_old_segments(world.log, START_MS + 1000) == 0
    assert delete_old_segments(world.log, START_MS + 1001) == 3


def test_w5_30_when_all_is_expired_a_new_active_segment_takes_over(world):
    assert delete_old_segments(world.log, START_MS + 10 * DAY_MS) == 4
    assert [segment.base_offset for segment in world.log.segments] == [12]
    assert (world.log.log_start_offset, world.log.log_end_offset, world.log.size_bytes) == (12, 12, 0)
    assert len(world.names(".log.deleted")) == 4
    world.clock.advance(60_000)
    assert world.names(".deleted") == []
    assert world.append(batch(timestamp=START_MS)).first_offset == 12
    assert delete_old_segments(world.log, START_MS) == 0


def test_size_counts_the_whole_log():
    world = LogWorld({"segment.bytes": 510, "retention.ms": -1, "retention.bytes": 1100})
    world.append_many(12)
    world.log.update_high_watermark(12)
    assert delete_old_segments(world.log, START_MS) == 1
    assert world.log.size_bytes == 3 * 510
    world.config = world.log.config.for_topic(None, {"retention.bytes": 0, "retention.ms": -1})
    world.log.reconfigure(world.config)
    assert delete_old_segments(world.log, START_MS) == 3


def test_compacted_topics_lose_only_what_lies_below_the_log_start():
    world = LogWorld({"segment.bytes": 510, "cleanup.policy": "compact", "retention.ms": 1, "retention.bytes": 0})
    for _ in range(9):
        world.append(batch([b"x" * 99], key=b"k", timestamp=5))
    world.log.update_high_watermark(9)
    assert delete_old_segments(world.log, START_MS) == 0
    world.log.advance_log_start_offset(7)
    assert delete_old_segments(world.log, START_MS) == 2
    assert world.log.log_start_offset == 7


def test_no_retention_at_all(world):
    world.log.reconfigure(world.log.config.for_topic(None, {"retention.ms": -1}))
    assert delete_old_segments(world.log, START_MS + 100 * DAY_MS) == 0
