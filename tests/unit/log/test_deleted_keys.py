"""A deleted key stays deleted: how far a log is compacted follows truncations, deletions and moves, on disk too.

A tombstone goes when delete.retention.ms has passed since a compaction. If the log were then believed to be compacted
further than it is, an older value of the key would stay and count again.
"""

from __future__ import annotations

import errno

import pytest

from kafka_py.testing.compacted_topics import CompactedTopic, T
from kafka_py.testing.fakes.files import Loss


def test_a_deleted_key_stays_deleted_after_the_log_was_cut_below_what_was_compacted() -> None:
    broker = CompactedTopic("/a")
    broker.fill(6)
    broker.clean()
    assert broker.log.compaction.cleaned_to == 6
    broker.log.truncate_to(2)
    assert broker.log.compaction.cleaned_to <= 2
    broker.put("k", "old value")
    broker.put("k", None)
    broker.fill(6)
    broker.clean()
    broker.rounds()
    assert "k" not in broker.texts()


def test_a_log_that_begins_again_at_another_offset_is_not_compacted() -> None:
    broker = CompactedTopic("/a")
    broker.fill(6)
    broker.clean()
    broker.log.truncate_fully_and_start_at(3)
    assert broker.log.compaction.cleaned_to == 3
    broker.clock.advance(200)
    assert broker.row() == ["t 0 3"]


@pytest.mark.parametrize("loss", list(Loss))
def test_a_crash_right_after_a_truncation_does_not_bring_a_deleted_key_back(loss: Loss) -> None:
    """No time passes between the truncation and the crash but for appends, which flush the segments they end."""
    broker = CompactedTopic("/a")
    broker.fill(6)
    broker.clean()
    broker.log.truncate_to(2)
    broker.put("k", "old value")
    broker.put("k", None)
    broker.fill(6)
    broker.restart(loss)
    assert broker.log.compaction.cleaned_to <= 2
    broker.clean()
    broker.rounds()
    assert "k" not in broker.texts()


@pytest.mark.parametrize("loss", list(Loss))
def test_a_topic_that_is_created_again_is_not_compacted_as_far_as_the_deleted_one(loss: Loss) -> None:
    broker = CompactedTopic("/a")
    broker.fill(8)
    broker.clean()
    assert broker.row() == ["t 0 8"]
    broker.dirs.delete(T)
    broker.put("k", "old value")
    broker.put("k", None)
    broker.fill(8)
    broker.log.flushing.now()
    broker.restart(loss)
    assert broker.log.compaction.cleaned_to == 0
    broker.rounds()
    assert "k" not in broker.texts()


def test_rows_of_a_deleted_topic_are_gone_from_all_checkpoints_before_another_of_its_name_is_created() -> None:
    """Without the log start of the deleted one the new log would be emptied at the next start."""
    broker = CompactedTopic("/a")
    broker.fill(8)
    broker.clean()
    broker.log.advance_log_start_offset(7)
    broker.dirs.checkpoint_log_start_offsets()
    broker.dirs.checkpoint_recovery_points()
    broker.dirs.delete(T)
    broker.put("k", "value")
    broker.restart(Loss.NOTHING)
    assert (broker.log.log_start_offset, broker.log.log_end_offset) == (0, 1)
    assert broker.texts() == {"k": "value"}


def test_the_high_watermark_of_a_deleted_topic_is_not_that_of_a_later_one_of_its_name() -> None:
    """Else all that the new log holds at the next start would count as committed."""
    broker = CompactedTopic("/a")
    broker.fill(8)
    broker.dirs.checkpoint_high_watermarks(now=True)
    assert broker.files.read_bytes("/a/replication-offset-checkpoint") == b"0\n1\nt 0 8\n"
    broker.dirs.delete(T)
    assert broker.log.log_end_offset == 0
    assert broker.files.read_bytes("/a/replication-offset-checkpoint") == b"0\n0\n"


def test_a_row_without_a_log_is_removed_at_the_start() -> None:
    broker = CompactedTopic("/a")
    broker.fill(8)
    broker.clean()
    broker.dirs.delete(T)
    broker.files.sync_directory("/a")
    broker.restart(Loss.NOTHING)
    assert broker.row() == []


def test_the_row_of_another_directory_says_nothing() -> None:
    broker = CompactedTopic("/a", "/b")
    broker.dirs.prefer(T, "/a")
    broker.fill(8)
    broker.dirs.shutdown()
    broker.files.open("/b/cleaner-offset-checkpoint").write(b"0\n1\nt 0 8\n", 0)
    broker.open()
    assert broker.log.compaction.cleaned_to == 0
    assert broker.row("/b") == []


def test_a_deleted_key_stays_deleted_when_its_log_moves_while_it_is_due_for_compaction() -> None:
    broker = CompactedTopic("/a", "/b")
    broker.dirs.prefer(T, "/a")
    broker.put("k", "old value")
    broker.fill(8)
    broker.put("k", None)
    broker.move("/b", between=1)
    assert broker.log.log_dir == "/b"
    assert broker.log.compaction.cleaned_to == 0
    broker.rounds()
    broker.rounds()
    assert "k" not in broker.texts()


def test_a_compaction_that_runs_when_a_move_begins_has_no_effect() -> None:
    broker = CompactedTopic("/a", "/b")
    broker.dirs.prefer(T, "/a")
    broker.put("k", "old value")
    broker.fill(12)
    broker.put("k", None)
    broker.clock.advance(5000)
    broker.dirs.cleaner.scan()  # the first segments are in place, the rest has its turn later
    future = broker.dirs.futures.create(T, "/b")
    broker.clock.advance(0)
    assert broker.log.compaction.cleaned_to == 0
    assert not broker.dirs.cleaner.is_compacting(broker.log)
    assert not [entry for entry in broker.files.list("/a/t-0") if entry.name.endswith(".cleaned")]
    broker.clean()
    assert broker.log.compaction.cleaned_to == 0, "paused as long as there is a future log"
    broker.dirs.futures.drop(T)
    assert future.files.is_future is False
    broker.clean()
    assert broker.log.compaction.cleaned_to == 14


def test_a_moved_log_is_compacted_as_far_as_before_and_its_row_moves_with_it() -> None:
    broker = CompactedTopic("/a", "/b")
    broker.dirs.prefer(T, "/a")
    broker.fill(8)
    broker.clean()
    broker.move("/b")
    broker.clock.advance(200)
    assert broker.row("/a") == []
    assert broker.row("/b") == [f"t 0 {broker.log.compaction.cleaned_to}"] and broker.log.compaction.cleaned_to > 0
    broker.restart()
    assert broker.log.log_dir == "/b" and broker.log.compaction.cleaned_to > 0


@pytest.mark.parametrize("loss", list(Loss))
def test_a_log_counts_as_compacted_only_once_that_outlives_a_power_failure(loss: Loss) -> None:
    broker = CompactedTopic("/a")
    broker.put("k", "old value")
    broker.fill(8)
    broker.put("k", None)
    broker.log.flushing.now()
    broker.clean()
    assert broker.row() == ["t 0 10"]
    broker.restart(loss)
    broker.rounds()
    assert "k" not in broker.texts()


# ---- rows, failures and reasons that outlive the log that they are about


def test_a_log_start_without_a_log_is_removed_at_the_start_too() -> None:
    """The log that is created next, and lives through a crash of its own, would lose its records to it."""
    broker = CompactedTopic("/a")
    broker.fill(8)
    broker.log.advance_log_start_offset(7)
    broker.dirs.checkpoint_log_start_offsets()
    broker.dirs.checkpoint_recovery_points()
    broker.dirs.delete(T)
    broker.files.sync_directory("/a")
    broker.restart(Loss.NOTHING)
    broker.put("k", "value")
    broker.log.flushing.now()
    broker.restart(Loss.NOTHING)
    assert broker.texts() == {"k": "value"}


def test_rows_of_a_move_that_was_cancelled_say_nothing_of_the_next_move() -> None:
    broker = CompactedTopic("/a", "/b")
    broker.dirs.prefer(T, "/a")
    broker.fill(8)
    future = broker.dirs.futures.create(T, "/b")
    while not broker.copy_piece():
        pass
    future.flushing.now()
    broker.dirs.checkpoint_recovery_points()
    assert "t 0 8" in broker.files.read_bytes("/b/recovery-point-offset-checkpoint").decode()
    broker.dirs.futures.drop(T)
    broker.dirs.futures.create(T, "/b")
    assert "t 0 8" not in broker.files.read_bytes("/b/recovery-point-offset-checkpoint").decode()


def test_a_topic_that_is_created_again_is_compacted_though_the_one_before_failed_in_a_lost_directory() -> None:
    broker = CompactedTopic("/a", "/b")
    broker.dirs.prefer(T, "/a")
    broker.fill(8)
    file = broker.files.open(broker.log.segments[2].path)
    file.write(b"\xff", 30)
    broker.clean()
    assert broker.dirs.cleaner.uncleanable
    broker.dirs._io_failed("/a", OSError(5, "gone"))
    broker.dirs.delete(T)
    broker.fill(8)
    assert broker.log.log_dir == "/b"
    broker.clean()
    assert broker.log.compaction.cleaned_to == 8 and not broker.dirs.cleaner.uncleanable


def test_what_failed_in_one_directory_is_tried_again_after_a_move() -> None:
    """The records are the same, the indexes and the disk are others."""
    broker = CompactedTopic("/a", "/b")
    broker.dirs.prefer(T, "/a")
    broker.fill(8)
    index = broker.files.open(broker.log.segments[2].txn_index.path, create=True)
    index.write(b"\x00\x09" * 17, 0)
    broker.clean()
    assert broker.dirs.cleaner.uncleanable
    broker.move("/b")
    broker.clean()
    assert broker.log.compaction.cleaned_to > 0 and not broker.dirs.cleaner.uncleanable


@pytest.mark.parametrize("is_offline_meanwhile", [True, False])
def test_a_deleted_key_stays_deleted_when_a_move_continues_after_its_target_was_offline(
    is_offline_meanwhile: bool,
) -> None:
    """The present log is compacted while there is no future one, and the copy begun before that is older."""
    broker = CompactedTopic("/a", "/b")
    broker.dirs.prefer(T, "/a")
    broker.put("k", "old value")
    broker.fill(8)
    future = broker.dirs.futures.create(T, "/b")
    broker.copy_piece()
    future.flushing.now()
    broker.files.sync_directory("/b")
    broker.files.sync_directory(future.directory)
    if is_offline_meanwhile:
        broker.dirs._io_failed("/b", OSError(5, "for now"))
        broker.put("k", None)
        broker.rounds()
        broker.rounds()
        assert "k" not in broker.texts()
    broker.restart()
    broker.dirs.futures.resume(T)
    copy = broker.dirs.futures.get(T)
    assert copy is not None
    assert copy.log_end_offset == (0 if is_offline_meanwhile else 1), "what was copied already counts if it is as new"
    while not broker.copy_piece():
        pass
    broker.dirs.futures.promote(T)
    broker.rounds()
    broker.rounds()
    assert ("k" in broker.texts()) is not is_offline_meanwhile


def test_a_topic_that_is_created_again_does_not_wait_for_what_failed_before() -> None:
    broker = CompactedTopic("/a")
    broker.fill(8)
    broker.files.fail("list", errno.EMFILE)
    broker.clean()
    assert broker.dirs.cleaner.uncleanable and broker.dirs.live_directories
    broker.clean()
    assert broker.log.compaction.cleaned_to == 0, "its time has not come"
    broker.dirs.delete(T)
    broker.fill(8)
    broker.clean()
    assert broker.log.compaction.cleaned_to == 8 and not broker.dirs.cleaner.uncleanable


def test_a_recovery_point_beyond_the_end_is_lowered_on_disk_at_the_start() -> None:
    """The log grows again, and after another crash what was not synced would not be checked."""
    broker = CompactedTopic("/a")
    broker.fill(8)
    broker.log.flushing.now()
    path = "/a/recovery-point-offset-checkpoint"
    broker.files.open(path).write(b"0\n1\nt 0 100\n", 0)
    broker.restart(Loss.NOTHING)
    assert broker.files.read_bytes(path).decode() == "0\n1\nt 0 8\n"
