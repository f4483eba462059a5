"""Opening a log: after a clean stop, after a crash, with leftovers of all kinds."""

import pytest

from kafka_py.log.loading.recovery import Checkpointed
from kafka_py.log.state import producer_replay
from kafka_py.records.control import ControlType
from kafka_py.testing.fakes.files import Loss
from kafka_py.testing.fakes.stored_logs import LogWorld, batch

NOW = 1_600_000_000_000


def filled(count=30, settings=None) -> LogWorld:
    world = LogWorld({"segment.bytes": 1700, **(settings or {})})
    for number in range(count):
        world.append(batch([b"x" * 100], timestamp=1000 + number), epoch=number // 12)
    return world


def offsets(world) -> list[int]:
    return [record.offset for record in world.read_all()]


def contents(world) -> dict[str, bytes]:
    return {name: world.data(name) for name in world.names()}


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


def test_index_files_without_a_log_are_removed():
    world = filled(3)
    world.log.close()
    for suffix in (".index", ".timeindex", ".txnindex"):
        world.files.open(f"{world.directory}/00000000000000000077{suffix}", create=True)
    world.open(is_clean=True)
    assert not [name for name in world.names() if name.startswith("00000000000000000077")]


def test_deleted_and_half_cleaned_files_are_removed():
    world = filled(3)
    world.log.close()
    for name in ("0.log.deleted", "0.index.cleaned", "5.log.cleaned"):
        world.files.open(f"{world.directory}/{name.zfill(20 + len(name) - 1)}", create=True)
    assert world.names(".log.deleted") == ["00000000000000000000.log.deleted"]
    world.open(is_clean=True)
    assert [name for name in world.names() if name.endswith((".deleted", ".cleaned"))] == []
    assert world.log.log_end_offset == 3


def swap(world, name, data):
    world.files.open(f"{world.directory}/{name}.swap", create=True).write(data, 0)


def test_a_finished_swap_replaces_what_it_overlaps():
    world = filled()
    world.log.close()
    kept = world.data("00000000000000000000.log")[170 * 3 : 170 * 5] + world.data("00000000000000000010.log")[170 * 8 :]
    swap(world, "00000000000000000000.log", kept)
    swap(world, "00000000000000000000.index", b"")
    world.open(is_clean=True)
    assert [segment.base_offset for segment in world.log.segments] == [0, 20]
    assert offsets(world) == [3, 4, 18, 19, *range(20, 30)]
    assert world.names(".swap") == []
    assert world.log.log_end_offset == 30


def test_swaps_behind_an_unfinished_cleaned_file_are_dropped():
    world = filled()
    world.log.close()
    swap(world, "00000000000000000010.log", world.data("00000000000000000010.log")[:170])
    world.files.open(f"{world.directory}/00000000000000000000.log.cleaned", create=True)
    world.open(is_clean=True)
    assert offsets(world) == list(range(30))
    assert world.names(".swap") == []


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


def test_a_segment_that_spans_too_many_offsets_is_split():
    far = 1 << 31
    world = LogWorld()
    bases = (5, 6, far, far + 9, 2 * far + 9)
    data = b"".join(bytes(batch([b"v"], base_offset=base, leader_epoch=0)) for base in bases)
    world.log.failures.let_go("done")
    world.files.open(f"{world.directory}/00000000000000000000.log").write(data, 0)
    log = world.open()
    assert [segment.base_offset for segment in log.segments] == [0, far, 2 * far + 9]
    assert offsets(world) == [5, 6, far, far + 9, 2 * far + 9]
    assert not world.names(".swap") + world.names(".cleaned")


@pytest.mark.parametrize("moment", range(25))
def test_a_split_that_is_interrupted_loses_nothing(moment):
    far = 1 << 31
    world = LogWorld()
    data = b"".join(bytes(batch([b"v"], base_offset=base, leader_epoch=0)) for base in (5, far, far + 9))
    world.log.failures.let_go("done")
    world.files.open(f"{world.directory}/00000000000000000000.log").write(data, 0)
    for operation in ("rename", "remove", "write"):
        world.files.fail(operation, 5, path=".log", after=moment // 3 if operation == "write" else moment % 4, times=99)
    try:
        world.open()
    except OSError:
        world.crash(Loss.NOTHING)
    assert offsets(world) == [5, far, far + 9]


# -- producers


def produced(sequence, pid=9, **fields):
    return batch([b"x" * 100], producer_id=pid, producer_epoch=0, base_sequence=sequence, timestamp=NOW, **fields)


@pytest.mark.parametrize("clean", [True, False])
def test_producers_are_known_again(clean):
    world = LogWorld({"segment.bytes": 1000})
    for sequence in range(13):
        world.append(produced(sequence))
    if clean:
        world.log.close()
        world.open(is_clean=True)
    else:
        world.crash(Loss.NOTHING)
    assert world.append(produced(12)).duplicate
    assert world.append(produced(13)).first_offset == 13


@pytest.mark.parametrize("segment_bytes", [20_000, 1 << 20])
def test_what_a_producer_repeats_is_known_though_others_have_written_much_since(segment_bytes):
    world = LogWorld({"segment.bytes": segment_bytes})
    for sequence in range(7):
        world.append(produced(sequence))
    for sequence in range(300):
        world.append(produced(sequence, pid=10))
    world.log.close()
    world.open(is_clean=True)
    assert world.log.size_bytes > 32 * 1024
    assert world.append(produced(2)).duplicate
    assert world.append(produced(295, pid=10)).duplicate


@pytest.mark.parametrize("segment_bytes", [1000, 1 << 20])
@pytest.mark.parametrize("end", ["clean", "crash", "truncation"])
def test_all_batches_that_may_be_repeated_are_known_again(end, segment_bytes):
    """A snapshot keeps one batch per producer; who lost five answers repeats five batches, from the first one on."""
    world = LogWorld({"segment.bytes": segment_bytes})
    for sequence in range(13):
        world.append(produced(sequence))
        world.append(produced(sequence, pid=10))
    if end == "clean":
        world.log.close()
        world.open(is_clean=True)
    elif end == "crash":
        world.crash(Loss.NOTHING)
    else:
        world.append(produced(13))
        world.log.truncate_to(26)
    for sequence in range(8, 13):
        assert world.append(produced(sequence)).first_offset == 2 * sequence
        assert world.append(produced(sequence, pid=10)).duplicate
    assert world.append(produced(13)).first_offset == 26


@pytest.mark.parametrize("clean", [True, False])
def test_open_transactions_are_known_again(clean):
    world = LogWorld()
    world.append(produced(0, transactional=True))
    world.mark(9, 0, ControlType.ABORT, timestamp=NOW)
    world.append(produced(1, transactional=True))
    world.log.update_high_watermark(3)
    before = world.data("00000000000000000000.txnindex")
    checkpointed = world.checkpointed()
    if clean:
        world.log.close()
        world.open(is_clean=True, checkpointed=checkpointed)
    else:
        world.crash(Loss.NOTHING)
    assert world.log.last_stable_offset == 2
    assert world.data("00000000000000000000.txnindex") == before
    world.mark(9, 0, ControlType.COMMIT, timestamp=NOW)
    world.log.update_high_watermark(4)
    assert world.log.last_stable_offset == 4


def test_a_corrupt_snapshot_is_dropped_and_the_next_older_one_taken(monkeypatch):
    monkeypatch.setattr(producer_replay, "RECALLED_BYTES", ())
    world = LogWorld({"segment.bytes": 1000})
    for sequence in range(13):
        world.append(produced(sequence))
    world.log.close()
    world.files.corrupt(f"{world.directory}/00000000000000000013.snapshot", 20)
    world.files.calls.clear()
    world.open(is_clean=True)
    assert "00000000000000000013.snapshot" not in world.names()
    assert not [path for operation, path in world.files.calls if operation == "read" and path.endswith("00000000.log")]
    assert world.append(produced(12)).duplicate


def test_stray_snapshots_are_removed_but_the_newest():
    world = LogWorld({"segment.bytes": 1000})
    for sequence in range(13):
        world.append(produced(sequence))
    world.log.close()
    snapshot = world.data("00000000000000000013.snapshot")
    for offset in (7, 11, 99):
        world.files.open(f"{world.directory}/{offset:020d}.snapshot", create=True).write(snapshot, 0)
    world.open(is_clean=True)
    assert world.names(".snapshot") == [f"{offset:020d}.snapshot" for offset in (5, 10, 13)]


def test_without_any_snapshot_a_clean_log_gets_empty_ones():
    world = filled()
    world.log.close()
    for name in world.names(".snapshot"):
        world.files.remove(f"{world.directory}/{name}")
    world.open(is_clean=True)
    assert world.names(".snapshot") == [f"{offset:020d}.snapshot" for offset in (10, 20, 30)]


def test_expired_producers_are_not_taken_from_a_snapshot():
    world = LogWorld()
    world.append(produced(0))
    world.log.close()
    world.clock.jump_wall(604_800_000)
    world.open(is_clean=True)
    assert world.log.producers.producers == {}


def test_a_corrupt_transaction_index_is_rebuilt():
    world = LogWorld()
    world.append(produced(0, transactional=True))
    world.mark(9, 0, ControlType.ABORT, timestamp=NOW)
    world.log.close()
    before = world.data("00000000000000000000.txnindex")
    world.files.corrupt(f"{world.directory}/00000000000000000000.txnindex", 1)
    world.open(is_clean=True)
    assert world.data("00000000000000000000.txnindex") == before
