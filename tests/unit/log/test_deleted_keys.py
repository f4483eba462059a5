"""A deleted key stays deleted: how far a log is compacted follows truncations, deletions and moves, on disk too.

A tombstone goes when delete.retention.ms has passed since a compaction. If the log were then believed to be compacted
further than it is, an older value of the key would stay and count again.
"""

from __future__ import annotations

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.log.answers import Origin
from kafka_py.log.background import InlineBackground
from kafka_py.log.configs import LogConfig, LogOptions
from kafka_py.log.log_dirs import LogDirs
from kafka_py.log.partition_log import PartitionLog
from kafka_py.records.builder import BatchBuilder
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.files import FakeFiles, Loss
from kafka_py.testing.stored_logs import records_of, slice_bytes

T = TopicPartition("t", 0)
SETTINGS = {
    "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "1000",
    "segment.bytes": "300", "segment.index.bytes": "1200",
}  # fmt: skip


class Broker:
    """The log side of a broker with a compacted topic; compaction runs when it is asked to."""

    def __init__(self, *directories: str) -> None:
        self.clock = ManualClock()
        self.files = FakeFiles(now_ms=self.clock.wall_ms, names_need_sync=True)
        self.options = LogOptions.parse({"log.dirs": ",".join(directories), "log.cleaner.enable": "false"})
        self.config = LogConfig.for_topic(None, SETTINGS)
        self.start()

    def start(self) -> None:
        self.dirs = LogDirs(
            self.options, self.files, self.clock, background=InlineBackground(), later=self.clock.later
        )
        self.dirs.open()
        self.dirs.load(lambda _topic: self.config)

    def crash(self, loss: Loss = Loss.NOTHING) -> None:
        self.files.crash(loss)
        self.clock = ManualClock(self.clock.wall_ms())  # what the dead process had in mind does not happen
        self.files.now_ms = self.clock.wall_ms
        self.start()

    def restart(self) -> None:
        self.dirs.shutdown()
        self.clock = ManualClock(self.clock.wall_ms())
        self.files.now_ms = self.clock.wall_ms
        self.start()

    @property
    def log(self) -> PartitionLog:
        return self.dirs.get_or_create(T, self.config)

    def put(self, key: str, value: str | None) -> None:
        """One record in a segment of its own."""
        builder = BatchBuilder()
        builder.append(self.clock.wall_ms(), key.encode(), None if value is None else value.encode())
        log = self.log
        log.append_as_leader(memoryview(bytearray(builder.build())), 0, self.clock.wall_ms(), origin=Origin.COORDINATOR)
        log.update_high_watermark(log.log_end_offset)
        log.roll(self.clock.wall_ms())

    def fill(self, count: int) -> None:
        for number in range(count):
            self.put(f"filler {number}", "x")

    def clean(self) -> None:
        self.clock.advance(5000)
        self.dirs.cleaner.look()
        self.clock.advance(0)

    def texts(self) -> dict[str, str | None]:
        """What the log says of each key that it still knows."""
        log, found, offset = self.log, {}, self.log.log_start_offset
        while offset < log.log_end_offset:
            data = log.read(offset, 1 << 20, up_to_offset=log.log_end_offset)
            records = records_of(slice_bytes(data.slice))
            if not records:
                break
            for record in records:
                assert record.key is not None
                found[record.key.decode()] = None if record.value is None else record.value.decode()
            offset = records[-1].offset + 1
        return found

    def row(self, directory: str = "/a") -> list[str]:
        return self.files.read_bytes(f"{directory}/cleaner-offset-checkpoint").decode().splitlines()[2:]

    def rounds(self) -> None:
        """Compactions after which no tombstone of before is left."""
        for _ in range(3):
            self.put("other", "x")
            self.clean()

    def move(self, directory: str, between: int = 0) -> None:
        """Moves the log, with this many compactions while it is copied."""
        future = self.dirs.create_future(T, directory)
        present = self.log
        while future.log_end_offset < present.log_end_offset:
            piece = present.read(future.log_end_offset, 1, up_to_offset=present.log_end_offset, min_one_batch=True)
            future.append_as_follower(memoryview(bytearray(slice_bytes(piece.slice))), self.clock.wall_ms())
            future.update_high_watermark(present.high_watermark)
            for _ in range(between):
                self.put("other", "x")
                self.clean()
                between -= 1
        self.dirs.promote_future(T)


def test_a_deleted_key_stays_deleted_after_the_log_was_cut_below_what_was_compacted() -> None:
    broker = Broker("/a")
    broker.fill(6)
    broker.clean()
    assert broker.log.cleaned_to == 6
    broker.log.truncate_to(2)
    assert broker.log.cleaned_to <= 2
    broker.put("k", "old value")
    broker.put("k", None)
    broker.fill(6)
    broker.clean()
    broker.rounds()
    assert "k" not in broker.texts()


def test_a_log_that_begins_again_at_another_offset_is_not_compacted() -> None:
    broker = Broker("/a")
    broker.fill(6)
    broker.clean()
    broker.log.truncate_fully_and_start_at(3)
    assert broker.log.cleaned_to == 3
    broker.clock.advance(200)
    assert broker.row() == ["t 0 3"]


@pytest.mark.parametrize("loss", list(Loss))
def test_a_crash_right_after_a_truncation_does_not_bring_a_deleted_key_back(loss: Loss) -> None:
    """No time passes between the truncation and the crash but for appends, which flush the segments they end."""
    broker = Broker("/a")
    broker.fill(6)
    broker.clean()
    broker.log.truncate_to(2)
    broker.put("k", "old value")
    broker.put("k", None)
    broker.fill(6)
    broker.crash(loss)
    assert broker.log.cleaned_to <= 2
    broker.log.update_high_watermark(broker.log.log_end_offset)
    broker.clean()
    broker.rounds()
    assert "k" not in broker.texts()


@pytest.mark.parametrize("loss", list(Loss))
def test_a_topic_that_is_created_again_is_not_compacted_as_far_as_the_deleted_one(loss: Loss) -> None:
    broker = Broker("/a")
    broker.fill(8)
    broker.clean()
    assert broker.row() == ["t 0 8"]
    broker.dirs.delete(T)
    broker.put("k", "old value")
    broker.put("k", None)
    broker.fill(8)
    broker.log.flush()
    broker.crash(loss)
    assert broker.log.cleaned_to == 0
    broker.log.update_high_watermark(broker.log.log_end_offset)
    broker.rounds()
    assert "k" not in broker.texts()


def test_rows_of_a_deleted_topic_are_gone_from_all_checkpoints_before_another_of_its_name_is_created() -> None:
    """Without the log start of the deleted one the new log would be emptied at the next start."""
    broker = Broker("/a")
    broker.fill(8)
    broker.clean()
    broker.log.advance_log_start_offset(7)
    broker.dirs.checkpoint_log_start_offsets()
    broker.dirs.checkpoint_recovery_points()
    broker.dirs.delete(T)
    broker.put("k", "value")
    broker.crash()
    assert (broker.log.log_start_offset, broker.log.log_end_offset) == (0, 1)
    assert broker.texts() == {"k": "value"}


def test_a_row_without_a_log_is_removed_at_the_start() -> None:
    broker = Broker("/a")
    broker.fill(8)
    broker.clean()
    broker.dirs.delete(T)
    broker.files.sync_directory("/a")
    broker.crash()
    assert broker.row() == []


def test_the_row_of_another_directory_says_nothing() -> None:
    broker = Broker("/a", "/b")
    broker.dirs.prefer(T, "/a")
    broker.fill(8)
    broker.dirs.shutdown()
    broker.files.open("/b/cleaner-offset-checkpoint").write(b"0\n1\nt 0 8\n", 0)
    broker.start()
    assert broker.log.cleaned_to == 0
    assert broker.row("/b") == []


def test_a_deleted_key_stays_deleted_when_its_log_moves_while_it_is_due_for_compaction() -> None:
    broker = Broker("/a", "/b")
    broker.dirs.prefer(T, "/a")
    broker.put("k", "old value")
    broker.fill(8)
    broker.put("k", None)
    broker.move("/b", between=1)
    assert broker.log.log_dir == "/b"
    assert broker.log.cleaned_to == 0
    broker.rounds()
    broker.rounds()
    assert "k" not in broker.texts()


def test_a_compaction_that_runs_when_a_move_begins_has_no_effect() -> None:
    broker = Broker("/a", "/b")
    broker.dirs.prefer(T, "/a")
    broker.put("k", "old value")
    broker.fill(12)
    broker.put("k", None)
    broker.clock.advance(5000)
    broker.dirs.cleaner.look()  # the first segments are in place, the rest has its turn later
    future = broker.dirs.create_future(T, "/b")
    broker.clock.advance(0)
    assert broker.log.cleaned_to == 0
    assert not broker.dirs.cleaner.is_compacting(broker.log)
    assert not [entry for entry in broker.files.list("/a/t-0") if entry.name.endswith(".cleaned")]
    broker.clean()
    assert broker.log.cleaned_to == 0, "paused as long as there is a future log"
    broker.dirs.drop_future(T)
    assert future.is_future is False
    broker.clean()
    assert broker.log.cleaned_to == 14


def test_a_moved_log_is_compacted_as_far_as_before_and_its_row_moves_with_it() -> None:
    broker = Broker("/a", "/b")
    broker.dirs.prefer(T, "/a")
    broker.fill(8)
    broker.clean()
    broker.move("/b")
    broker.clock.advance(200)
    assert broker.row("/a") == []
    assert broker.row("/b") == [f"t 0 {broker.log.cleaned_to}"] and broker.log.cleaned_to > 0
    broker.restart()
    assert broker.log.log_dir == "/b" and broker.log.cleaned_to > 0


@pytest.mark.parametrize("loss", list(Loss))
def test_a_log_counts_as_compacted_only_once_that_outlives_a_power_failure(loss: Loss) -> None:
    broker = Broker("/a")
    broker.put("k", "old value")
    broker.fill(8)
    broker.put("k", None)
    broker.log.flush()
    broker.clean()
    assert broker.row() == ["t 0 10"]
    broker.crash(loss)
    broker.log.update_high_watermark(broker.log.log_end_offset)
    broker.rounds()
    assert "k" not in broker.texts()
