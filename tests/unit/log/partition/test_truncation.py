"""Cutting a log: data, indexes, epochs, producer state and offsets follow."""

import errno

import pytest

from kafka_py.base.errors import KafkaError
from kafka_py.log.model.answers import Origin
from kafka_py.log.partition.retention import delete_old_segments
from kafka_py.log.partition.truncation import SEGMENTS_A_CUT
from kafka_py.records.control import ControlType
from kafka_py.testing.fakes.files import Loss
from kafka_py.testing.fakes.stored_logs import LogWorld, batch, offset_for_timestamp

NOW = 1_600_000_000_000


@pytest.fixture
def world() -> LogWorld:
    """30 records in segments of ten; epochs 0, 1, 2 begin at 0, 8, 25."""
    world = LogWorld({"segment.bytes": 1700})
    for number in range(30):
        epoch = 0 if number < 8 else 1 if number < 25 else 2
        world.append(batch([b"x" * 100], timestamp=1000 + number), epoch=epoch)
    world.log.update_high_watermark(28)
    return world


def read_offsets(world):
    return [record.offset for record in world.read_all()]


@pytest.mark.parametrize("target", [29, 25, 20, 17, 10, 9, 1, 0])
def test_records_from_the_target_on_are_gone(world, target):
    assert world.log.truncate_to(target)
    log = world.log
    assert (log.log_end_offset, log.high_watermark) == (target, min(target, 28))
    assert log.recovery_point <= target
    assert read_offsets(world) == list(range(target))
    assert world.append(batch([b"new"], timestamp=9999)).first_offset == target
    assert read_offsets(world) == list(range(target + 1))
    assert offset_for_timestamp(log, 5000) == (9999, target, log.epochs.latest)


@pytest.mark.parametrize(
    ("target", "epochs"),
    [(29, [(0, 0), (1, 8), (2, 25)]), (25, [(0, 0), (1, 8)]), (9, [(0, 0), (1, 8)]), (8, [(0, 0)]), (0, [])],
)
def test_epochs_that_begin_at_or_past_the_target_are_forgotten(world, target, epochs):
    world.log.truncate_to(target)
    assert world.log.epochs.entries() == epochs
    assert world.data("leader-epoch-checkpoint").splitlines()[1] == str(len(epochs)).encode()


def test_the_active_segment_gets_its_index_room_back(world):
    world.log.truncate_to(15)
    assert len(world.data("00000000000000000010.index")) == 1200
    assert [segment.base_offset for segment in world.log.segments] == [0, 10]
    assert world.names(".log") == ["00000000000000000000.log", "00000000000000000010.log"]
    assert [offset for offset, _ in world.log.segments[-1].offset_index.all_entries()] == [2, 4]  # relative
    for offset in range(15):
        assert world.read_all(offset)[0].offset == offset


def test_at_or_beyond_the_end_only_an_epoch_without_data_is_forgotten(world):
    world.log.assign_epoch(3, 30)
    assert not world.log.truncate_to(30)
    assert world.log.epochs.entries() == [(0, 0), (1, 8), (2, 25)]
    assert read_offsets(world) == list(range(30))


def test_below_the_first_segment_everything_goes(world):
    world.log.advance_log_start_offset(15)
    delete_old_segments(world.log, world.clock.wall_ms())
    assert world.log.truncate_to(5)
    assert (world.log.log_start_offset, world.log.log_end_offset, world.log.high_watermark) == (5, 5, 5)
    assert world.log.epochs.entries() == []
    assert world.append().first_offset == 5


def test_below_the_log_start_the_start_comes_down(world):
    world.log.advance_log_start_offset(15)
    world.log.truncate_to(12)
    assert (world.log.log_start_offset, world.log.log_end_offset) == (12, 12)


def test_starting_anew_deletes_everything(world):
    world.log.truncate_fully_and_start_at(1000)
    log = world.log
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (1000, 1000, 1000)
    assert log.epochs.entries() == []
    assert world.names(".log") == ["00000000000000001000.log"]
    assert world.names(".snapshot") == []
    assert world.append().first_offset == 1000


def test_a_negative_offset_is_a_mistake_of_the_caller(world):
    with pytest.raises(ValueError, match="-1"):
        world.log.truncate_to(-1)


def produced(sequence, **fields):
    return batch([b"x" * 100], producer_id=9, producer_epoch=0, base_sequence=sequence, timestamp=NOW, **fields)


@pytest.mark.parametrize("target", range(1, 24))
def test_producers_are_as_they_were_at_the_target(target):
    world = LogWorld({"segment.bytes": 1000})
    for sequence in range(24):
        world.append(produced(sequence))
    world.log.truncate_to(target)
    with pytest.raises(KafkaError):
        world.append(produced(target + 1))
    info = world.append(produced(target))
    assert (info.first_offset, info.duplicate) == (target, False)
    assert world.append(produced(target)).duplicate


def test_snapshots_past_the_target_are_removed(world):
    world.log.truncate_to(15)
    assert world.names(".snapshot") == ["00000000000000000010.snapshot"]
    world.log.truncate_to(0)
    assert world.names(".snapshot") == []


def test_transactions_are_as_they_were_at_the_target():
    world = LogWorld()
    world.append(produced(0, transactional=True))
    world.append(produced(1, transactional=True))
    world.mark(9, 0, ControlType.ABORT, timestamp=NOW)
    world.log.update_high_watermark(3)
    assert world.log.last_stable_offset == 3
    world.log.truncate_to(2)
    assert world.log.last_stable_offset == 0
    assert world.log.segments[0].txn_index.all_entries() == []
    world.append(produced(2, transactional=True), origin=Origin.CLIENT)
    world.mark(9, 0, ControlType.COMMIT, timestamp=NOW)
    world.log.update_high_watermark(4)
    assert world.log.last_stable_offset == 4


def test_what_was_cut_does_not_come_back_with_a_power_failure_where_the_next_append_began_a_segment():
    world = LogWorld()
    world.append_many(10)
    world.log.flush_in_background()
    world.log.truncate_to(5)
    world.log.roll(NOW)
    world.append_many(3, size=1)
    world.log.flush_in_background()
    assert (world.log.recovery_point, [one.base_offset for one in world.log.segments]) == (8, [0, 5])
    world.crash(Loss.UNSYNCED)
    assert [(record.offset, len(record.value)) for record in world.read_all()][3:] == [
        (3, 100), (4, 100), (5, 1), (6, 1), (7, 1),
    ]  # fmt: skip


class TestCorruptBatchBeforeTheCut:
    """A batch has lost its size, so where the next one begins is unknown. Every second batch has an index entry."""

    CUT = 27

    def damage(self, world, size, offset=26):
        active = world.log.segments[-1]
        place = active.find(offset)
        active.file().write(size.to_bytes(4, "big", signed=True), place.position + 8)

    @pytest.mark.parametrize("offset", [26, 27], ids=["which has an index entry", "between two entries"])
    @pytest.mark.parametrize("size", [0, -1, 13, 1 << 20])
    def test_the_partition_answers_corrupt_message_and_its_log_stays_as_it_was(self, world, size, offset):
        self.damage(world, size, offset)
        before = (world.log.log_end_offset, world.log.epochs.entries(), world.data("00000000000000000020.log"))
        with pytest.raises(KafkaError, match="CORRUPT_MESSAGE"):
            world.log.truncate_to(self.CUT)
        assert (world.log.log_end_offset, world.log.epochs.entries(), world.data("00000000000000000020.log")) == before
        assert not world.failures
        assert world.append(batch([b"new"], timestamp=9999)).first_offset == 30

    def test_no_later_segment_is_deleted_before_the_place_to_cut_is_known(self, world):
        first = world.log.segments[0]
        first.file().write(bytes(4), first.find(6).position + 8)
        with pytest.raises(KafkaError, match="CORRUPT_MESSAGE"):
            world.log.truncate_to(7)
        assert [segment.base_offset for segment in world.log.segments] == [0, 10, 20]
        assert world.log.log_end_offset == 30

    def test_below_the_corrupt_batch_the_log_is_cut_as_ever(self, world):
        self.damage(world, 0)
        assert world.log.truncate_to(22)
        assert read_offsets(world) == list(range(22))


def test_without_a_free_descriptor_a_cut_is_refused_and_may_be_tried_again(world):
    world.log.segments[0].release_files()
    world.files.fail("open", errno.EMFILE)
    with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
        world.log.truncate_to(7)
    assert not world.failures
    assert world.log.truncate_to(7)
    assert read_offsets(world) == list(range(7))


def many_segments() -> LogWorld:
    """100 segments of ten records."""
    world = LogWorld({"segment.bytes": 1700})
    for number in range(1000):
        world.append(batch([b"x" * 100], timestamp=1000 + number))
    return world


@pytest.mark.parametrize("target", [5, 0, 503])
def test_on_the_way_to_a_far_target_no_cut_has_many_segments_to_take_out(target):
    world = many_segments()
    log = world.log
    for cut in [*log.cuts_before(target), target]:
        before = len(log.segments)
        assert log.truncate_to(cut)
        assert 0 < before - len(log.segments) <= SEGMENTS_A_CUT
        assert log.log_end_offset == cut
    assert read_offsets(world) == list(range(target))


def test_a_near_target_takes_one_cut():
    world = many_segments()
    assert world.log.cuts_before(1000) == []
    assert world.log.cuts_before(999) == []
    assert world.log.cuts_before(10 * (100 - SEGMENTS_A_CUT)) == []


def test_a_crash_on_the_way_finds_a_whole_log():
    world = many_segments()
    cuts = world.log.cuts_before(5)
    for cut in cuts[:3]:
        world.log.truncate_to(cut)
    world.crash()
    assert world.log.log_end_offset <= cuts[2] + 10  # the cut within a segment is not synced
    assert read_offsets(world) == list(range(world.log.log_end_offset))
