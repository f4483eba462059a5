"""What a follower has fetched is appended as it is."""


import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.model.answers import UnexpectedAppendOffset
from kafka_py.records.batch import CONTROL_FLAG, CRC_START
from kafka_py.records.control import ControlType
from kafka_py.records.crc32c import crc32c
from kafka_py.testing.fakes.stored_logs import LogWorld, batch

from .log_calls import follow, leader_bytes, produced, read


def test_a_follower_writes_exactly_what_the_leader_has():
    data = leader_bytes()
    world = LogWorld()
    info = follow(world, data + b"\0\0\0\0\0\0\0\1\0\0")
    assert (info.first_offset, info.last_offset, info.record_count) == (0, 9, 10)
    assert world.data("00000000000000000000.log") == data
    assert world.log.epochs.entries() == [(0, 0), (1, 4), (2, 8)]


def test_a_fetched_chunk_larger_than_a_segment_is_appended_batch_by_batch():
    world = LogWorld({"segment.bytes": 500})
    follow(world, leader_bytes())
    assert world.log.log_end_offset == 10
    assert [segment.base_offset for segment in world.log.segments] == [0, 2, 4, 6, 8]


def test_fetched_records_must_continue_the_log():
    world = LogWorld()
    follow(world, leader_bytes())
    with pytest.raises(UnexpectedAppendOffset) as caught:
        follow(world, leader_bytes())
    assert (caught.value.first_offset, caught.value.last_offset) == (0, 9)
    with pytest.raises(UnexpectedAppendOffset):
        follow(world, bytes(batch(base_offset=20)) + bytes(batch(base_offset=15)))
    assert world.log.log_end_offset == 10


def test_an_empty_follower_inside_the_first_batch_starts_anew_at_its_first_offset():
    world = LogWorld()
    world.log.truncate_fully_and_start_at(3)
    follow(world, batch([b"v"] * 5, base_offset=0, leader_epoch=0))
    assert (world.log.log_start_offset, world.log.log_end_offset) == (0, 5)


def test_a_follower_whose_records_are_all_deleted_at_the_leader_starts_again_at_the_leaders_first_batch():
    """DeleteRecords has moved the leader's log start into a batch, and the follower had to cut its log there."""
    world = LogWorld()
    follow(world, leader_bytes())
    inside = batch([b"v"] * 5, base_offset=8, leader_epoch=7)  # offsets 8 to 12
    with pytest.raises(UnexpectedAppendOffset):
        world.log.append_as_follower(memoryview(inside), world.clock.wall_ms(), 9)
    assert world.log.log_end_offset == 10
    world.log.append_as_follower(memoryview(inside), world.clock.wall_ms(), 10)
    assert (world.log.log_start_offset, world.log.log_end_offset) == (8, 13)
    assert world.log.epochs.entries() == [(7, 8)]


def test_corrupt_fetched_records_are_refused_whole():
    data = bytearray(leader_bytes())
    data[-1] ^= 1
    world = LogWorld()
    with pytest.raises(KafkaError) as caught:
        follow(world, data)
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
    assert world.log.log_end_offset == 0


def test_a_follower_takes_over_transactions():
    leader = LogWorld()
    leader.append(produced(0, transactional=True))
    leader.append()
    leader.mark(9, 0, ControlType.ABORT)
    leader.append(produced(1, transactional=True))
    world = LogWorld()
    follow(world, leader.data("00000000000000000000.log"))
    world.log.update_high_watermark(4)
    assert world.log.last_stable_offset == 3
    assert world.log.lookups.aborted_transactions(0, read(world.log, 0)) == [(9, 0)]
    assert world.data("00000000000000000000.txnindex") == leader.data("00000000000000000000.txnindex")


def test_an_empty_follower_is_not_begun_anew_by_records_that_do_not_reach_its_end():
    world = LogWorld()
    world.log.truncate_fully_and_start_at(3)
    with pytest.raises(UnexpectedAppendOffset):
        follow(world, batch([b"v"] * 2, base_offset=0, leader_epoch=0))
    assert (world.log.log_start_offset, world.log.log_end_offset) == (3, 3)


def test_a_marker_that_cannot_be_read_is_not_appended():
    """Recovery would cut the log there again."""
    data = bytearray(produced(0, transactional=True))
    data[22] |= CONTROL_FLAG
    data[17:21] = crc32c(data[CRC_START:]).to_bytes(4, "big")
    world = LogWorld()
    with pytest.raises(KafkaError) as caught:
        follow(world, data)
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
    assert world.log.log_end_offset == 0
