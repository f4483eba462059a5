"""What a log keeps when the process or the power goes at the worst moment."""

import random

import pytest

from kafka_py.base.errors import KafkaError
from kafka_py.records.control import ControlType
from kafka_py.testing.fakes.files import FakeFiles, Loss
from kafka_py.testing.fakes.stored_logs import LogWorld, batch, offset_for_timestamp

NOW = 1_600_000_000_000


def offsets(world):
    return [record.offset for record in world.read_all()]


def values(world):
    return [record.value for record in world.read_all()]


def test_a_torn_tail_at_every_byte_is_cut_at_the_last_whole_batch():
    world = LogWorld({"segment.bytes": 100_000})
    sizes = [0]
    for number in range(4):
        sizes.append(sizes[-1] + world.append(batch([b"x" * (number * 30)] * (number + 1))).size_bytes)
    whole = world.data("00000000000000000000.log")
    ends = [1, 3, 6, 10]
    for cut in range(len(whole) + 1):
        torn = LogWorld({"segment.bytes": 100_000})
        torn.files.open(f"{torn.directory}/00000000000000000000.log").write(whole[:cut], 0)
        torn.files.crash(Loss.NOTHING)
        torn.open()
        kept = sum(1 for size in sizes[1:] if size <= cut)
        assert torn.log.log_end_offset == ([0, *ends][kept]), cut
        assert torn.log.size_bytes == sizes[kept]
        assert torn.append().first_offset == torn.log.log_end_offset - 1
        assert offsets(torn) == list(range(torn.log.log_end_offset))


def test_garbage_behind_the_last_batch_is_cut_whatever_it_is():
    rng = random.Random(7)
    for _ in range(60):
        world = LogWorld({"segment.bytes": 100_000})
        world.append_many(3)
        garbage = rng.randbytes(rng.randrange(1, 200))
        world.files.open(f"{world.directory}/00000000000000000000.log").write(garbage, world.log.size_bytes)
        world.crash(Loss.NOTHING)
        assert offsets(world) == [0, 1, 2]


def test_every_flipped_byte_cuts_at_its_batch_and_nothing_before_it():
    reference = LogWorld({"segment.bytes": 100_000})
    for number in range(3):
        reference.append(batch([b"abc", b"def"], key=bytes([number])))
    whole = reference.data("00000000000000000000.log")
    size = len(whole) // 3
    unchecked = {*range(12, 16)}  # the leader epoch lies outside the checksum, as the classic has it
    for position in range(len(whole)):
        world = LogWorld({"segment.bytes": 100_000})
        flipped = bytearray(whole)
        flipped[position] ^= 0x20
        world.files.open(f"{world.directory}/00000000000000000000.log").write(flipped, 0)
        world.files.crash(Loss.NOTHING)
        world.open()
        number, within = divmod(position, size)
        if within in unchecked or within < 8:  # the base offset is outside too; one that lies ahead looks like a gap
            assert world.log.log_end_offset >= number * 2
        else:
            assert world.log.log_end_offset == number * 2, position
        assert [record.key for record in world.read_all()][: number * 2] == [
            bytes([batch_number]) for batch_number in range(number) for _ in range(2)
        ]


def test_power_loss_keeps_exactly_what_was_flushed():
    world = LogWorld({"segment.bytes": 1700})
    world.append_many(7)
    world.log.flushing.now()
    world.append_many(5)
    world.crash(Loss.UNSYNCED)
    assert world.log.log_end_offset >= 7
    assert offsets(world) == list(range(world.log.log_end_offset))


def test_flush_messages_1_loses_nothing_that_was_answered():
    world = LogWorld({"segment.bytes": 1000, "flush.messages": 1}, files=FakeFiles(names_need_sync=True))
    for number in range(30):
        info = world.append(batch([b"%d" % number] * 2))
        world.crash(Loss.UNSYNCED)
        assert world.log.log_end_offset == info.last_offset + 1
    assert values(world) == [b"%d" % number for number in range(30) for _ in range(2)]


@pytest.mark.parametrize("seed", range(40))
def test_two_rounds_of_torn_crashes_keep_a_clean_prefix_that_holds_all_that_was_flushed(seed):
    rng = random.Random(seed)
    world = LogWorld({"segment.bytes": 1500, "index.interval.bytes": 150})
    expected: list[bytes] = []
    flushed = 0
    for _round in range(3):
        for _ in range(rng.randrange(1, 25)):
            value = rng.randbytes(rng.randrange(0, 120))
            world.append(batch([value], timestamp=rng.randrange(1000, 2000)), epoch=_round)
            expected.append(value)
            if rng.random() < 0.15:
                world.log.flushing.now()
                flushed = len(expected)
        flushed = max(flushed, world.log.recovery_point)
        world.crash(Loss.TORN, rng)
        kept = values(world)
        assert kept == expected[: len(kept)]
        assert len(kept) >= flushed
        assert world.log.recovery_point <= len(kept)
        expected = kept
        flushed = min(flushed, len(kept))
        again = world.crash(Loss.NOTHING)
        assert values(world) == kept
        assert again.log_end_offset == len(kept)
        assert all(start <= len(kept) for _, start in again.epochs.entries())


def test_a_crash_right_after_recovery_loses_nothing_more():
    world = LogWorld({"segment.bytes": 1700})
    world.append_many(25)
    world.log.flushing.now()
    world.append_many(3)
    world.crash(Loss.NOTHING)
    point = world.log.recovery_point
    assert point == 25  # not raised by recovery, or a second crash would skip it
    world.crash(Loss.UNSYNCED)
    assert world.log.log_end_offset >= 25
    assert offsets(world) == list(range(world.log.log_end_offset))


@pytest.mark.parametrize("seed", range(15))
def test_producers_survive_crashes_without_duplicates_or_gaps(seed):
    """Each crash makes the producer send its last batch again, as it has no answer."""
    rng = random.Random(seed)
    world = LogWorld({"segment.bytes": 1200})
    sequence = 0
    for _ in range(8):
        for _ in range(rng.randrange(1, 12)):
            world.append(idempotent(sequence))
            sequence += 1
        world.crash(Loss.NOTHING)
        assert world.append(idempotent(sequence - 1)).duplicate
        with pytest.raises(KafkaError):
            world.append(idempotent(sequence + 1))
    assert values(world) == [b"%d" % number for number in range(sequence)]


def idempotent(sequence):
    return batch(
        [b"%d" % sequence], producer_id=4, producer_epoch=0, base_sequence=sequence, timestamp=NOW, key=b"k" * 60
    )


def test_a_transaction_open_at_the_crash_is_open_after_it():
    world = LogWorld({"segment.bytes": 600})
    world.append(batch([b"a"], producer_id=4, producer_epoch=0, base_sequence=0, transactional=True, timestamp=NOW))
    for number in range(10):
        world.append(batch([b"x" * 100], timestamp=NOW + number))
    world.log.update_high_watermark(11)
    world.crash(Loss.NOTHING)
    assert world.log.last_stable_offset == 0
    world.mark(4, 0, ControlType.ABORT, timestamp=NOW)
    world.log.update_high_watermark(12)
    assert world.log.last_stable_offset == 12
    world.crash(Loss.NOTHING)
    data = world.log.read(0, 10_000, up_to_offset=12, min_one_batch=True)
    assert world.log.lookups.aborted_transactions(0, data) == [(4, 0)]


def test_a_truncation_before_a_crash_does_not_come_back():
    world = LogWorld({"segment.bytes": 1000})
    for number in range(20):
        world.append(batch([b"x" * 100], timestamp=1000), epoch=number // 5)
    world.log.truncate_to(8)
    for _ in range(4):
        world.append(batch([b"new"], timestamp=1000), epoch=9)
    world.crash(Loss.NOTHING)
    assert values(world) == [b"x" * 100] * 8 + [b"new"] * 4
    assert world.log.epochs.entries() == [(0, 0), (1, 5), (9, 8)]


def test_a_truncation_that_was_lost_with_the_power_is_not_taken_for_the_new_leaders_records():
    """The epochs are synced as they change, the truncation is not: batches of before it must not be given its epoch."""
    world = LogWorld({"segment.bytes": 100_000})
    for number in range(20):
        world.append(batch([b"old"], timestamp=1000), epoch=number // 5)
    world.log.flushing.now()
    world.log.truncate_to(8)
    for _ in range(4):
        world.append(batch([b"new"], timestamp=1000), epoch=9)
    world.crash(Loss.UNSYNCED)
    assert values(world) == [b"old"] * 20
    assert world.log.epochs.entries() == [(0, 0), (1, 5), (2, 10), (3, 15)]


def test_a_clean_stop_whose_last_trim_was_lost_with_the_power_still_opens():
    world = LogWorld({"segment.bytes": 100_000})
    world.append_many(20)
    world.log.flushing.now()
    checkpointed = world.checkpointed()
    world.log.close()
    world.files.crash(Loss.UNSYNCED)
    assert len(world.data("00000000000000000000.index")) == 1200
    world.open(is_clean=True, checkpointed=checkpointed)
    assert world.log.log_end_offset == 20
    assert world.read_all(17)[0].offset == 17
    assert offset_for_timestamp(world.log, 1015) == (1015, 15, 0)
    assert world.append().first_offset == 20


DISK_OPERATIONS = ("write", "truncate", "open", "rename", "sync", "remove", "sync_directory")


class DyingFiles(FakeFiles):
    """A disk that is gone from its n-th operation on, until the next crash."""

    operations_left = 10**9

    def fault(self, operation, path):
        if operation in DISK_OPERATIONS:
            self.operations_left -= 1
            if self.operations_left < 0:
                raise OSError(5, "the machine is gone", path)
        return super().fault(operation, path)

    def crash(self, loss=Loss.UNSYNCED, rng=None):
        self.operations_left = 10**9
        super().crash(loss, rng)


@pytest.mark.parametrize("moment", range(60))
def test_a_crash_at_any_disk_operation_leaves_an_openable_log(moment):
    """Whatever was there can be opened, holds everything that was answered, and takes appends."""
    files = DyingFiles()
    world = LogWorld({"segment.bytes": 500}, files=files)
    files.operations_left = moment
    answered = []
    try:
        for number in range(20):
            world.append(batch([b"%3d" % number * 40], timestamp=1000))
            answered.append(b"%3d" % number * 40)
    except (KafkaError, OSError):
        pass
    world.crash(Loss.NOTHING)
    kept = values(world)
    assert kept[: len(answered)] == answered
    assert len(kept) <= len(answered) + 1
    world.append()
    assert len(values(world)) == len(kept) + 1
