"""Opening a log: after a clean stop, after a crash, with leftovers of all kinds."""


from kafka_py.log.loading.recovery import Checkpointed
from kafka_py.records.control import ControlType
from kafka_py.testing.fakes.files import Loss
from kafka_py.testing.fakes.stored_logs import LogWorld

from ..stored import NOW, contents, filled, offsets, produced


def test_a_new_log_has_one_empty_segment_and_its_files():
    world = LogWorld()
    assert world.names() == [
        "00000000000000000000.index",
        "00000000000000000000.log",
        "00000000000000000000.timeindex",
        "leader-epoch-checkpoint",
    ]
    assert (world.log.log_start_offset, world.log.log_end_offset, world.log.high_watermark) == (0, 0, 0)


def test_a_new_log_may_begin_at_a_checkpointed_start():
    world = LogWorld()
    world.files.remove_tree(world.directory)
    world.files.make_directory(world.directory)
    log = world.open(checkpointed=Checkpointed(log_start_offset=50))
    assert (log.log_start_offset, log.log_end_offset) == (50, 50)


def test_after_a_clean_stop_everything_is_as_it_was_and_nothing_is_read_again():
    world = filled()
    world.log.update_high_watermark(27)
    epochs = world.log.epochs.entries()
    checkpointed = world.checkpointed()
    world.log.close()
    assert len(world.data("00000000000000000020.index")) % 8 == 0
    assert len(world.data("00000000000000000020.timeindex")) < 1200
    assert "00000000000000000030.snapshot" in world.names()
    world.files.calls.clear()
    log = world.open(is_clean=True, checkpointed=checkpointed)
    assert (log.log_end_offset, log.recovery_point, log.high_watermark) == (30, 30, 27)
    assert log.epochs.entries() == epochs
    assert not [path for operation, path in world.files.calls if operation == "read" and "00000000.log" in path]
    assert offsets(world) == list(range(30))
    world.append()
    assert offsets(world) == list(range(31))


def test_after_a_crash_of_the_process_nothing_is_lost_and_the_files_are_the_same():
    world = filled()
    before = contents(world)
    world.crash(Loss.NOTHING)
    assert offsets(world) == list(range(30))
    after = contents(world)
    for name in ("00000000000000000000", "00000000000000000010"):
        for suffix in (".log", ".index", ".timeindex"):
            assert after[name + suffix] == before[name + suffix]
    assert after["00000000000000000020.log"] == before["00000000000000000020.log"]
    assert after["00000000000000000020.index"] == before["00000000000000000020.index"]
    assert world.log.epochs.entries() == [(0, 0), (1, 12), (2, 24)]


def test_only_segments_from_the_recovery_point_on_are_read_again():
    world = filled()
    assert world.log.recovery_point == 20
    world.files.calls.clear()
    world.crash(Loss.NOTHING)
    read = {path.rpartition("/")[2] for operation, path in world.files.calls if operation == "read"}
    assert "00000000000000000000.log" not in read
    assert "00000000000000000010.log" not in read
    assert "00000000000000000020.log" in read
    assert world.log.recovery_point == 20


def test_without_a_checkpoint_everything_is_read_again():
    world = filled()
    world.files.crash(Loss.NOTHING)
    log = world.open()
    assert (log.log_end_offset, log.recovery_point) == (30, 0)


def test_recovered_indexes_are_what_appending_wrote():
    world = filled(settings={"segment.bytes": 100_000})
    before = contents(world)
    world.files.crash(Loss.NOTHING)
    world.open()
    after = contents(world)
    assert after["00000000000000000000.index"] == before["00000000000000000000.index"]
    entries = world.log.segments[0].time_index.all_entries()
    assert entries[-1] == (1029, 29)  # recovery closes the segment's time index
    assert after["00000000000000000000.timeindex"][: 12 * (len(entries) - 1)] == (
        before["00000000000000000000.timeindex"][: 12 * (len(entries) - 1)]
    )


def test_a_bad_batch_cuts_the_log_there_and_later_segments_go():
    world = filled()
    world.files.corrupt(f"{world.directory}/00000000000000000010.log", 170 * 4 + 100)
    world.files.crash(Loss.NOTHING)
    world.open()
    assert world.log.log_end_offset == 14
    assert offsets(world) == list(range(14))
    assert world.names(".log") == ["00000000000000000000.log", "00000000000000000010.log"]
    assert world.log.epochs.entries() == [(0, 0), (1, 12)]
    assert world.append().first_offset == 14


def test_zeroes_of_a_preallocated_file_are_cut():
    world = filled(5, {"preallocate": True})
    assert len(world.data("00000000000000000000.log")) == 1700
    world.crash(Loss.NOTHING)
    assert world.log.log_end_offset == 5
    assert offsets(world) == list(range(5))


def test_an_empty_tail_segment_is_fine():
    world = filled(10)
    world.log.roll(0)
    world.crash(Loss.NOTHING)
    assert [segment.base_offset for segment in world.log.segments] == [0, 10]
    assert world.log.log_end_offset == 10


def test_offsets_that_go_backwards_are_cut_and_those_before_kept():
    world = filled(10)
    first = world.data("00000000000000000000.log")
    world.files.open(f"{world.directory}/00000000000000000000.log").write(first[:680], 1020)
    world.files.crash(Loss.NOTHING)
    world.open()
    assert (world.log.log_start_offset, world.log.log_end_offset) == (0, 6)
    assert world.append().first_offset == 6


def test_a_missing_offset_index_is_rebuilt_even_after_a_clean_stop():
    world = filled()
    world.log.close()
    expected = world.data("00000000000000000010.index")
    world.files.remove(f"{world.directory}/00000000000000000010.index")
    world.files.remove(f"{world.directory}/00000000000000000010.timeindex")
    world.open(is_clean=True)
    assert world.data("00000000000000000010.index") == expected
    assert offsets(world) == list(range(30))


def test_a_log_that_ends_before_its_start_begins_anew():
    world = filled(5)
    world.files.crash(Loss.NOTHING)
    log = world.open(checkpointed=Checkpointed(log_start_offset=100))
    assert (log.log_start_offset, log.log_end_offset) == (100, 100)
    assert world.names(".log") == ["00000000000000000100.log"]


def test_the_log_start_comes_from_the_checkpoint_or_the_first_segment():
    world = filled()
    world.log.close()
    assert world.open(is_clean=True, checkpointed=Checkpointed(log_start_offset=15)).log_start_offset == 15
    world.log.close()
    for suffix in (".log", ".index", ".timeindex"):
        world.files.remove(f"{world.directory}/00000000000000000000{suffix}")
    assert world.open(is_clean=True, checkpointed=Checkpointed(log_start_offset=3)).log_start_offset == 10


def test_epochs_are_kept_within_the_log():
    world = filled()
    world.files.crash(Loss.NOTHING)
    file = world.files.open(f"{world.directory}/leader-epoch-checkpoint")
    text = b"0\n4\n0 0\n1 12\n2 24\n9 99\n"
    file.truncate(len(text))
    file.write(text, 0)
    world.open(checkpointed=Checkpointed(log_start_offset=14, recovery_point=30))
    assert world.log.epochs.entries() == [(1, 14), (2, 24)]
    assert world.data("leader-epoch-checkpoint") == b"0\n2\n1 14\n2 24\n"


def test_a_corrupt_transaction_index_is_rebuilt():
    world = LogWorld()
    world.append(produced(0, transactional=True))
    world.mark(9, 0, ControlType.ABORT, timestamp=NOW)
    world.log.close()
    before = world.data("00000000000000000000.txnindex")
    world.files.corrupt(f"{world.directory}/00000000000000000000.txnindex", 1)
    world.open(is_clean=True)
    assert world.data("00000000000000000000.txnindex") == before


def test_a_transaction_index_that_recovery_has_rebuilt_outlives_the_next_power_failure():
    """Below the recovery point no flush syncs it again, and without it aborted records would be taken for committed."""
    world = LogWorld()
    world.append(produced(0, transactional=True))
    world.mark(9, 0, ControlType.ABORT, timestamp=NOW)
    world.log.flush_in_background()
    before = world.data("00000000000000000000.txnindex")
    world.crash(Loss.UNSYNCED)
    world.log.roll(NOW)
    world.append(produced(1))
    world.log.flush_in_background()
    world.crash(Loss.UNSYNCED)
    assert [segment.base_offset for segment in world.log.segments] == [0, 2]
    assert world.data("00000000000000000000.txnindex") == before
    assert len(world.log.segments[0].txn_index.all_entries()) == 1
