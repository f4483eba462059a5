"""One partition's log: append, roll, read, on a disk in memory."""

import errno

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.loading.recovery import Checkpointed
from kafka_py.log.model.answers import Origin
from kafka_py.records.batch import read_header, verify_crc
from kafka_py.records.control import ControlType
from kafka_py.testing.fakes.files import Loss
from kafka_py.testing.fakes.stored_logs import LogWorld, batch, slice_bytes

from .log_calls import follow, leader_bytes, offsets, produced, read

# ---- append


def test_an_append_stamps_offset_and_epoch_in_place_and_writes_the_batch_as_it_is():
    world = LogWorld()
    world.append_many(3)
    data = batch([b"a", b"b"], timestamp=5000, timestamp_step=10)
    info = world.append(data, epoch=7)
    assert info[:7] == (3, 4, 5010, -1, 0, 2, len(data))
    assert (info.duplicate, info.rolled) == (False, False)
    header = read_header(data)
    assert (header.base_offset, header.partition_leader_epoch) == (3, 7)
    verify_crc(data)
    assert world.data("00000000000000000000.log").endswith(bytes(data))
    assert world.log.log_end_offset == 5
    assert world.log.epochs.latest == 7
    assert [record.value for record in world.read_all(3)] == [b"a", b"b"]


def test_nothing_is_appended_without_a_whole_batch():
    world = LogWorld()
    for data in (b"", b"12345", bytes(batch())[:-1], bytes(batch())[:40]):
        info = world.append(memoryview(bytearray(data)))
        assert (info.first_offset, info.record_count) == (-1, 0)
    assert world.log.log_end_offset == 0


def test_a_partial_batch_behind_the_first_is_dropped():
    world = LogWorld()
    first = bytes(batch([b"one"]))
    info = world.append(memoryview(bytearray(first + bytes(batch([b"two"]))[:-3])))
    assert info.last_offset == 0
    assert world.data("00000000000000000000.log")[: len(first) + 1][len(first) :] == b""


def test_a_batch_larger_than_a_segment_is_refused():
    world = LogWorld({"segment.bytes": 500})
    with pytest.raises(KafkaError) as caught:
        world.append(batch([b"x" * 500]))
    assert caught.value.code is ErrorCode.RECORD_LIST_TOO_LARGE


def test_the_epoch_of_a_batch_is_known_from_its_offset_on():
    world = LogWorld()
    world.append(epoch=0)
    world.append(epoch=0)
    world.append(epoch=3)
    assert world.log.epochs.entries() == [(0, 0), (3, 2)]
    assert world.data("leader-epoch-checkpoint") == b"0\n2\n0 0\n3 2\n"
    assert world.log.epochs.end_offset_for(0, world.log.log_end_offset) == (0, 2)
    assert world.log.epochs.end_offset_for(2, world.log.log_end_offset) == (0, 2)
    assert world.log.epochs.end_offset_for(3, world.log.log_end_offset) == (3, 3)
    assert world.log.epochs.end_offset_for(4, world.log.log_end_offset) == (-1, -1)


# ---- idempotence


def test_a_repeated_batch_is_answered_with_its_old_offsets_and_not_written():
    world = LogWorld()
    world.append()
    world.append(produced(0, 3, timestamp=4000))
    world.append()
    before = world.data("00000000000000000000.log")
    info = world.append(produced(0, 3, timestamp=4000))
    assert (info.first_offset, info.last_offset, info.duplicate, info.log_append_time) == (1, 3, True, 4000)
    assert world.data("00000000000000000000.log") == before
    assert world.log.log_end_offset == 5
    assert world.append(produced(3)).first_offset == 5


def test_a_gap_in_the_sequence_is_refused_and_changes_nothing():
    world = LogWorld()
    world.append(produced(0))
    with pytest.raises(KafkaError) as caught:
        world.append(produced(2))
    assert caught.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert world.log.log_end_offset == 1
    world.append(produced(1))


def test_coordinators_may_write_control_batches_and_clients_may_not():
    world = LogWorld()
    world.mark(9, 0, ControlType.COMMIT)
    assert world.log.log_end_offset == 1
    with pytest.raises(KafkaError) as caught:
        world.append(memoryview(bytearray(world.data("00000000000000000000.log")[:78])), origin=Origin.CLIENT)
    assert caught.value.code is ErrorCode.INVALID_RECORD


# ---- transactions


def test_the_last_stable_offset_waits_for_the_marker_to_be_replicated():
    world = LogWorld()
    world.append()
    world.append(produced(0, transactional=True))
    world.append()
    world.log.update_high_watermark(3)
    assert world.log.last_stable_offset == 1
    world.mark(9, 0, ControlType.COMMIT)
    assert world.log.last_stable_offset == 1
    world.log.update_high_watermark(4)
    assert world.log.last_stable_offset == 4


def test_the_last_stable_offset_does_not_go_back_when_the_log_is_cut():
    world = LogWorld()
    world.append(produced(0, transactional=True))
    world.mark(9, 0, ControlType.COMMIT)
    for _ in range(3):
        world.append()
    world.log.update_high_watermark(3)
    assert world.log.last_stable_offset == 3
    world.log.truncate_to(3)
    assert (world.log.high_watermark, world.log.last_stable_offset) == (3, 3)






def test_a_read_begins_with_the_batch_that_holds_the_offset(world):
    for offset in range(200):
        data = read(world.log, offset)
        assert offsets(data)[0] == offset - offset % 2
        assert data.segment_base == offset - offset % 20


def test_a_read_stays_in_one_segment_and_reaches_its_end(world):
    assert offsets(read(world.log, 5)) == list(range(4, 20))
    assert offsets(read(world.log, 190)) == list(range(190, 200))


def test_a_read_stops_where_its_bound_says(world):
    assert offsets(read(world.log, 0, up_to=8)) == list(range(8))
    assert offsets(read(world.log, 0, up_to=7)) == list(range(6))  # the batch that holds the bound is left out
    assert offsets(read(world.log, 186, up_to=194)) == list(range(186, 194))
    for up_to in (190, 186, 150):
        assert read(world.log, 190, up_to=up_to).slice is None


def test_a_read_at_the_end_is_empty_and_beyond_it_an_error(world):
    data = read(world.log, 200)
    assert (data.slice, data.size) == (None, 0)
    for offset in (201, -1):
        with pytest.raises(KafkaError) as caught:
            read(world.log, offset)
        assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_limit_may_cut_a_batch_but_never_the_first_one(world):
    size = world.log.segments[0].size // 10
    assert read(world.log, 0, size * 2 + 5).size == size * 2 + 5
    assert offsets(read(world.log, 0, size * 2 + 5)) == [0, 1, 2, 3]
    assert read(world.log, 0, 1).size == size
    assert read(world.log, 0, 0).size == size


def test_without_the_first_batch_guarantee_a_small_limit_is_hard(world):
    size = world.log.segments[0].size // 10
    data = read(world.log, 0, size - 1, min_one_batch=False)
    assert (data.size, data.first_batch_incomplete) == (size - 1, True)
    assert read(world.log, 0, 0, min_one_batch=False).slice is None
    assert not read(world.log, 0, size, min_one_batch=False).first_batch_incomplete


def test_a_first_batch_larger_than_the_limit_still_ends_at_the_bound(world):
    size = world.log.segments[0].size // 10
    assert read(world.log, 0, 1, up_to=2).size == size


def test_a_slice_survives_the_deletion_of_its_segment(world):
    data = read(world.log, 0)
    expected = slice_bytes(data.slice)
    world.log.truncate_fully_and_start_at(500)
    world.clock.advance(100_000)
    assert world.names(".deleted") == []
    assert slice_bytes(data.slice) == expected


def test_tail_readers_and_laggards_see_the_same_as_a_scan(world):
    for step in range(30):
        world.append(batch([b"y" * (step % 7)]))
        tail = read(world.log, 200 + step)
        assert offsets(tail) == [200 + step]
        assert offsets(read(world.log, 30))[0] == 30
    assert [record.offset for record in world.read_all(0, max_bytes=700)] == list(range(230))


def test_we1_1_a_consumer_sees_what_lies_below_the_high_watermark():
    world = LogWorld()
    world.append_many(9)
    log = world.log
    log.update_high_watermark(6)
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (0, 6, 9)
    assert offsets(read(log, 0, up_to=log.high_watermark)) == [0, 1, 2, 3, 4, 5]
    assert read(log, 6, up_to=log.high_watermark).slice is None




# ---- offsets


def test_the_high_watermark_stays_between_log_start_and_log_end():
    world = LogWorld()
    world.append_many(5)
    assert world.log.update_high_watermark(99) == 5
    assert world.log.update_high_watermark(3) == 3
    world.log.advance_log_start_offset(2)
    assert world.log.update_high_watermark(0) == 2


def test_the_log_start_moves_up_to_the_high_watermark_only():
    world = LogWorld()
    world.append(epoch=0)
    world.append(epoch=1)
    world.append(epoch=2)
    world.log.update_high_watermark(2)
    with pytest.raises(KafkaError) as caught:
        world.log.advance_log_start_offset(3)
    assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert world.log.advance_log_start_offset(2)
    assert not world.log.advance_log_start_offset(1)
    assert world.log.epochs.entries() == [(2, 2)]
    with pytest.raises(KafkaError):
        read(world.log, 1)




# ---- files


def test_at_rest_a_log_holds_one_file(world):
    world.handles.close_idle()
    world.handles.close_idle()
    assert len(world.handles) == 0
    held = [segment for segment in world.log.segments if segment._file is not None]
    assert held == [world.log.segments[-1]]
    assert offsets(read(world.log, 0))[0] == 0
    assert len(world.handles) > 0


def test_a_closed_log_refuses_everything(world):
    world.log.close()
    for call in (lambda: world.append(), lambda: read(world.log, 0), lambda: follow(world, leader_bytes())):
        with pytest.raises(KafkaError) as caught:
            call()
        assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert world.log.failures.is_closed


class TestCorruptFirstBatch:
    """How old the active segment is stands in its first batch; after a restart it is read when the next append asks."""

    @pytest.fixture
    def damaged(self):
        world = LogWorld()
        world.append()
        world.append()
        world.log.close()
        world.files.crash(Loss.NOTHING)
        world.open(is_clean=True, checkpointed=Checkpointed(0, 2, 2))
        active = world.log.segments[-1]
        active.file().write(bytes(4), 8)
        return world

    def test_a_leader_refuses_the_append_with_corrupt_message(self, damaged):
        with pytest.raises(KafkaError, match="CORRUPT_MESSAGE"):
            damaged.append()
        assert damaged.log.log_end_offset == 2

    def test_so_does_a_follower(self, damaged):
        with pytest.raises(KafkaError, match="CORRUPT_MESSAGE"):
            damaged.log.append_as_follower(batch(base_offset=2), damaged.clock.wall_ms())
        assert damaged.log.log_end_offset == 2

    def test_a_disk_error_there_takes_the_directory_offline(self, damaged):
        damaged.files.fail("read", errno.EIO)
        with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
            damaged.append()
        assert damaged.failures


def test_the_last_stable_offset_does_not_lie_below_the_log_start():
    world = LogWorld()
    world.append(produced(0, transactional=True))
    world.append_many(2)
    world.log.update_high_watermark(3)
    assert world.log.last_stable_offset == 0
    world.log.advance_log_start_offset(2)
    assert world.log.last_stable_offset == 2
