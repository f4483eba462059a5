"""One partition's log: append, roll, read, on a disk in memory."""

import errno

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.loading.recovery import Checkpointed
from kafka_py.log.model.answers import LogRead, Origin, UnexpectedAppendOffset
from kafka_py.records.batch import read_header, verify_crc
from kafka_py.records.control import ControlType
from kafka_py.testing.fakes.files import Loss
from kafka_py.testing.fakes.stored_logs import LogWorld, batch, offset_for_timestamp, records_of, slice_bytes


def read(log, offset, max_bytes=1 << 20, up_to=None, min_one_batch=True) -> LogRead:
    bound = log.log_end_offset if up_to is None else up_to
    return log.read(offset, max_bytes, up_to_offset=bound, min_one_batch=min_one_batch)


def counted_end(log):
    """Up to where this copy counts for the high watermark."""
    return log.log_end_offset if log.held_end is None else log.held_end


def offsets(data: LogRead) -> list[int]:
    return [record.offset for record in records_of(slice_bytes(data.slice))]


# -- append


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


# -- idempotence


def produced(sequence, count=1, **fields):
    return batch([b"v"] * count, producer_id=9, producer_epoch=0, base_sequence=sequence, **fields)


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


# -- transactions


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


def test_a_transaction_index_that_cannot_be_read_is_an_error_of_the_partition():
    world = LogWorld()
    world.append(produced(0, transactional=True))
    world.mark(9, 0, ControlType.ABORT)
    world.log.update_high_watermark(2)
    world.log.segments[0].txn_index.close()
    world.files.open(f"{world.directory}/00000000000000000000.txnindex").write(b"\0\1", 0)
    world.log.segments[0].txn_index.opened(34)
    with pytest.raises(KafkaError) as caught:
        world.log.lookups.aborted_transactions(0, read(world.log, 0))
    assert caught.value.code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_aborted_transactions_are_found_for_the_range_read():
    world = LogWorld()
    world.append(produced(0, transactional=True))
    world.append()
    world.mark(9, 0, ControlType.ABORT)
    world.append(produced(1, transactional=True))
    world.mark(9, 0, ControlType.COMMIT)
    world.append()
    world.log.update_high_watermark(6)
    assert world.log.lookups.aborted_transactions(0, read(world.log, 0)) == [(9, 0)]
    assert world.log.lookups.aborted_transactions(2, read(world.log, 2)) == [(9, 0)]
    assert world.log.lookups.aborted_transactions(3, read(world.log, 3)) == []


# -- roll


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


# -- read


@pytest.fixture
def world() -> LogWorld:
    """100 batches of two records in segments of ten batches."""
    two = len(batch([b"x" * 50] * 2))
    world = LogWorld({"segment.bytes": two * 10})
    for number in range(100):
        world.append(batch([b"x" * 50] * 2, timestamp=1000 + number * 10))
    world.log.update_high_watermark(200)
    return world


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


def test_bytes_available_counts_across_segments(world):
    size = world.log.segments[0].size // 10
    log = world.log
    assert log.lookups.bytes_available(0, 200) == 100 * size
    assert log.lookups.bytes_available(5, 8) == 2 * size
    assert log.lookups.bytes_available(190, 200) == 5 * size
    assert log.lookups.bytes_available(18, 22) == 2 * size
    assert log.lookups.bytes_available(200, 200) == 0
    assert log.lookups.bytes_available(9, 5) == 0
    assert log.lookups.bytes_available(190, 10**9) == 5 * size


def test_tail_readers_and_laggards_see_the_same_as_a_scan(world):
    for step in range(30):
        world.append(batch([b"y" * (step % 7)]))
        tail = read(world.log, 200 + step)
        assert offsets(tail) == [200 + step]
        assert offsets(read(world.log, 30))[0] == 30
    assert [record.offset for record in world.read_all(0, max_bytes=700)] == list(range(230))


def test_timestamps_lead_to_the_first_record_that_is_not_older(world):
    log = world.log
    assert offset_for_timestamp(log, 0) == (1000, 0, 0)
    assert offset_for_timestamp(log, 1000) == (1000, 0, 0)
    assert offset_for_timestamp(log, 1001) == (1010, 2, 0)
    assert offset_for_timestamp(log, 1990) == (1990, 198, 0)
    assert offset_for_timestamp(log, 1991) is None


def test_a_timestamp_is_found_inside_a_batch_and_never_before_the_log_start():
    world = LogWorld()
    world.append(batch([b"v"] * 5, timestamp=100, timestamp_step=10))
    assert offset_for_timestamp(world.log, 121) == (130, 3, 0)
    world.log.update_high_watermark(5)
    world.log.advance_log_start_offset(4)
    assert offset_for_timestamp(world.log, 121) == (140, 4, 0)


def test_out_of_order_timestamps_are_found_by_scanning():
    world = LogWorld()
    for timestamp in (100, 300, 200, 250, 400):
        world.append(batch([b"x" * 150], timestamp=timestamp))
    assert offset_for_timestamp(world.log, 150) == (300, 1, 0)
    assert offset_for_timestamp(world.log, 301) == (400, 4, 0)


def test_we1_1_a_consumer_sees_what_lies_below_the_high_watermark():
    world = LogWorld()
    world.append_many(9)
    log = world.log
    log.update_high_watermark(6)
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (0, 6, 9)
    assert offsets(read(log, 0, up_to=log.high_watermark)) == [0, 1, 2, 3, 4, 5]
    assert read(log, 6, up_to=log.high_watermark).slice is None


# -- follow


def follow(world, data):
    return world.log.append_as_follower(memoryview(bytearray(data)), world.clock.wall_ms())


def leader_bytes(count=10) -> bytes:
    leader = LogWorld()
    for number in range(count):
        leader.append(batch([b"x" * 100], timestamp=1000 + number), epoch=number // 4)
    return leader.data("00000000000000000000.log")


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


# -- offsets


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


# -- flush


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


# -- files


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
