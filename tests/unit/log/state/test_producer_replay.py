"""What is known of producers after a start: from snapshots, and from the batches behind them."""

import pytest

from kafka_py.log.state import producer_replay
from kafka_py.records.control import ControlType
from kafka_py.testing.fakes.files import Loss
from kafka_py.testing.fakes.stored_logs import LogWorld

from ..stored import NOW, filled, produced


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
