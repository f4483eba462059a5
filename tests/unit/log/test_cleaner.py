"""Whole compactions of real logs on a disk in memory: what is left, what crashes leave, what must wait."""

from __future__ import annotations

import errno
import random
from collections.abc import Callable
from typing import Any

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.ids import TopicPartition
from kafka_py.log.dirtiness import dirtiness_of
from kafka_py.log.disk.background import InlineBackground
from kafka_py.log.log_manager import LogManager
from kafka_py.log.model.answers import Origin
from kafka_py.log.model.broker_options import LogOptions
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.log.partition.retention import delete_old_segments
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.control import ControlType
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.fakes.files import FakeFiles, Loss
from kafka_py.testing.fakes.stored_logs import HeldBackground

from .compacted_logs import DAY_MS, World, job_of, three_segments


def test_the_last_record_of_each_key_stays_at_its_offset() -> None:
    world = World()
    world.put(("a", "1"), ("b", "1"))
    world.put(("a", "2"), ("c", "1"))
    world.put(("b", "2"), roll=False)
    world.clean()
    assert world.texts() == [(1, "b", "1"), (2, "a", "2"), (3, "c", "1"), (4, "b", "2")]
    assert world.saved == {world.topic_partition: 4}
    assert world.bases() == [0, 4]


def test_the_first_compaction_takes_every_segment_but_the_active_one() -> None:
    """W5.33: from checkpoint 0 on; the checkpoint moves to where the active segment begins."""
    world = World({"segment.bytes": 1000})
    for number in range(40):
        world.put((f"k{number % 3}", "x" * 50), roll=number % 5 == 4)
    world.put(("k0", "end"), roll=False)
    active = world.bases()[-1]
    before = world.log.size_bytes
    world.clean()
    assert world.log.size_bytes < before / 4
    assert world.saved == {world.topic_partition: active}
    assert [row[1] for row in world.texts()] == ["k1", "k2", "k0", "k0"]
    found = dirtiness_of(world.log, world.clock.wall_ms())
    assert found.cleanable_bytes == 0 and found.clean_bytes > 0


def test_what_is_left_is_read_and_recovered_like_any_log() -> None:
    world = World()
    for number in range(30):
        world.put(*((f"k{number % 7}-{i % 4}", "v" * 30) for i in range(8)), roll=number % 3 == 2)
    world.clean()
    left = world.texts()
    end = world.log.log_end_offset
    for offset in range(0, end, 7):
        data = world.log.read(offset, 1 << 20, up_to_offset=end)
        assert data.size
    for is_clean in (True, False):
        world.open(is_clean=is_clean)
        assert world.texts() == left
        assert world.log.log_end_offset == end


def test_tombstones_go_with_the_second_compaction_after_their_time() -> None:
    """delete.retention.ms: removal begins with the second compaction."""
    world = World({"delete.retention.ms": DAY_MS, "segment.bytes": 100})
    world.put(("a", "1"))
    world.put(("a", None))
    world.clean()
    assert world.texts() == [(1, "a", None)]
    world.clock.advance(DAY_MS - 1000)
    world.put(("b", "1"))
    world.clean()
    assert world.texts() == [(1, "a", None), (2, "b", "1")]
    world.clock.advance(2 * DAY_MS)
    world.put(("c", "1"))
    world.clean()
    world.clock.advance(2 * DAY_MS)
    world.put(("d", "1"))
    world.clean()
    assert [row[1] for row in world.texts()] == ["b", "c", "d"]


def test_the_time_of_tombstones_is_measured_from_the_last_segment_that_was_compacted_before() -> None:
    """Not from the dirty ones: consumers may have begun to read only just before these were written."""
    world = World({"delete.retention.ms": 5000, "segment.bytes": 100})
    world.put(("a", "1"))
    world.put(("a", None))
    world.clean()
    world.clock.advance(60_000)
    world.put(("b", "1"))
    world.clean()
    assert world.texts() == [(1, "a", None), (2, "b", "1")]


def test_a_full_table_ends_the_dirty_part_early_and_the_next_round_goes_on() -> None:
    world = World(log_cleaner_dedupe_buffer_size=24 * 10, log_cleaner_threads=1, log_cleaner_enable="false")
    world.put(*((f"k{number}", "1") for number in range(30)))
    world.put(*((f"k{number}", "2") for number in range(30)))
    for _ in range(40):
        if not world.clean():
            break
    assert [row[2] for row in world.texts()] == ["2"] * 30
    assert world.saved == {world.topic_partition: 60}


def test_aborted_data_shadows_nothing_and_goes() -> None:
    world = World({"delete.retention.ms": 0})
    world.put(("a", "committed"))
    world.put(("a", "aborted"), producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    world.end(7, ControlType.ABORT)
    world.put(("b", "committed"), producer_id=8, producer_epoch=0, base_sequence=0, transactional=True)
    world.end(8, ControlType.COMMIT)
    world.put(("c", "1"))
    world.clean()
    assert [row[1:] for row in world.texts()] == [("a", "committed"), ("b", "committed"), ("c", "1")]
    world.clock.advance(1000)
    world.put(("c", "2"))
    world.clean()
    assert [row[1:] for row in world.texts()] == [("a", "committed"), ("b", "committed"), ("c", "2")]


def test_an_undecided_transaction_ends_what_can_be_compacted() -> None:
    world = World()
    world.put(("a", "1"))
    world.put(("a", "2"))
    world.put(("a", "3"), producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    world.put(("a", "4"))
    world.clean()
    assert [row[2] for row in world.texts()] == ["2", "3", "4"]


def test_producers_are_still_known_after_their_records_are_gone() -> None:
    world = World()
    world.put(("a", "1"), producer_id=7, producer_epoch=0, base_sequence=0)
    world.put(("a", "2"), producer_id=7, producer_epoch=0, base_sequence=1)
    world.put(("a", "3"))
    world.put(("b", "1"), roll=False)
    world.clean()
    assert [row[2] for row in world.texts()] == ["3", "1"]
    for name in world.names(".snapshot"):
        world.files.remove(f"{world.directory}/{name}")
    world.open(is_clean=False)
    known = dict(world.log.producers.active())
    assert known[7].last_sequence == 1


def test_files_carry_the_time_of_the_last_segment_they_replace() -> None:
    world = World()
    world.put(("a", "1"))
    world.clock.advance(5000)
    world.put(("a", "2"))
    before = world.files.info(world.log.segments[1].path).modified_ms
    world.clock.advance(5000)
    world.clean()
    assert world.files.info(world.log.segments[0].path).modified_ms == before


def test_old_files_are_removed_after_the_delay_and_nothing_else_is_left() -> None:
    """W5.35: .cleaned, then .swap, the old ones .deleted, then the final name."""
    world = World()
    world.put(("a", "1"))
    world.put(("a", "2"))
    world.clean()
    assert not world.names(".cleaned") and not world.names(".swap")
    assert sorted(world.names(".log.deleted")) == [f"{base:020}.log.deleted" for base in (0, 1)]
    world.clock.advance(60_000)
    assert not world.names(".deleted")
    assert sorted(world.names(".log")) == [f"{base:020}.log" for base in (0, 2)]


# ---- failures and crashes


def test_a_log_that_cannot_be_read_is_left_alone_and_others_go_on() -> None:
    world = three_segments()
    world.files.corrupt(world.log.segments[1].path, 65)
    world.clean()
    assert list(world.cleaner.uncleanable) == [world.topic_partition]
    assert not world.names(".cleaned")
    assert world.clean() == 0


@pytest.mark.parametrize("segment", [0, 1])
def test_a_batch_size_beyond_the_end_loses_nothing_that_follows(segment: int) -> None:
    """As if the segment ended there, a compaction would leave out the rest of it, and remove the only copy."""
    world = World()
    for number in range(6):
        world.put((f"k{number}", "v"), roll=number in (2, 5))
    path = world.log.segments[segment].path
    second = world.log.segments[segment].size // 3
    size_field = 9  # its second byte: 65,536 bytes more
    world.files.corrupt(path, second + size_field)
    world.clean()
    assert list(world.cleaner.uncleanable) == [world.topic_partition]
    world.files.corrupt(path, second + size_field)
    assert [key for _, key, _ in world.texts()] == [f"k{number}" for number in range(6)]


def test_a_disk_that_fails_takes_the_directory_offline() -> None:
    world = three_segments()
    world.files.fail("write", errno.EIO, path=".cleaned")
    world.clean()
    assert world.offline == ["/logs"]


@pytest.mark.parametrize("operation", range(1, 16))
@pytest.mark.parametrize("loss", list(Loss))
def test_a_crash_at_any_rename_loses_nothing(operation: int, loss: Loss) -> None:
    """The last value of every key is there, whatever step of .cleaned, .swap, .deleted was reached."""
    world = World({"segment.bytes": 250})
    for number in range(12):
        world.put((f"k{number % 3}", str(number)))
    world.log.flushing.now()
    world.files.sync_directory(world.directory)
    expected = {"k0": "9", "k1": "10", "k2": "11"}
    world.files.fail("rename", errno.EIO, after=operation - 1, times=1000)
    try:
        world.clean()
    except Exception:
        assert world.failures or world.offline
    world.files.heal()
    world.crash(loss, random.Random(operation))
    assert {key: value for _, key, value in world.texts()} == expected
    assert world.log.log_end_offset == 12
    assert not world.names(".cleaned") and not world.names(".swap")
    world.cleaner = world.new_cleaner()
    world.log.update_high_watermark(world.log.log_end_offset)
    world.clean()
    assert {key: value for _, key, value in world.texts()} == expected


def test_everything_may_go_and_the_log_goes_on() -> None:
    world = World({"delete.retention.ms": 0})
    world.put(("a", "1"))
    world.put(("a", None))
    world.clean()
    world.clock.advance(10)
    world.put(("b", None))
    world.clean()
    world.clock.advance(10)
    world.put(("c", "1"), roll=False)
    assert [row[1] for row in world.texts()][-1] == "c"
    log: PartitionLog = world.open(is_clean=True)
    assert log.log_end_offset == 4


# ---- the cleaner among other work


class Many:
    """Many compacted logs of one directory; each look at the clock takes a tenth of a millisecond."""

    def __init__(self, count: int) -> None:
        self.clock = ManualClock()
        self.turns: list[Callable[[], None]] = []
        self.shared, self.own = HeldBackground(), HeldBackground()
        options = LogOptions.parse({"log.dirs": "/logs", "log.cleaner.threads": "2"})
        self.dirs = LogManager(
            options, FakeFiles(now_ms=self.clock.wall_ms), self, Chance(), background=self.shared,
            cleaner_background=self.own, later=lambda _delay_ms, turn: self.turns.append(turn),
        )  # fmt: skip
        self.dirs.open()
        self.dirs.load()
        config = LogConfig.for_topic(None, {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01",
                                            "segment.index.bytes": "1200"})  # fmt: skip
        self.logs = [self.dirs.get_or_create(TopicPartition("t", number), config) for number in range(count)]
        for number, log in enumerate(self.logs):
            for _ in range(1 + number % 3):
                builder = BatchBuilder()
                builder.append(self.clock.wall_ms(), b"k", b"v")
                batch = memoryview(bytearray(builder.build()))
                log.append_as_leader(batch, 0, self.clock.wall_ms(), origin=Origin.COORDINATOR)
                log.roll(self.clock.wall_ms())
            log.update_high_watermark(log.log_end_offset)

    def wall_ms(self) -> int:
        return self.clock.wall_ms()

    def monotonic_ms(self) -> float:
        self.clock.advance(0)
        self.clock._monotonic_ms += 0.1
        return self.clock.monotonic_ms()

    def monotonic_s(self) -> float:
        return self.monotonic_ms() / 1000


def test_a_look_at_many_logs_leaves_the_loop_now_and_then_and_begins_as_many_as_there_are_threads() -> None:
    world = Many(100)
    world.dirs.cleaner.start()
    turns = 0
    while not world.own.jobs:
        assert world.turns, "the look continues"
        world.turns.pop(0)()
        turns += 1
    assert 4 <= turns <= 7, "some twenty logs in two milliseconds"
    assert len(world.own.jobs) == 2


def test_a_thread_that_is_free_takes_the_next_log_at_once() -> None:
    """Not after log.cleaner.backoff.ms, or a broker with many dirty logs would never catch up."""
    world = Many(6)
    own_later = world.dirs.cleaner._later
    assert own_later is not None

    def later(delay_ms: float, turn: Callable[[], None]) -> None:
        if not delay_ms:
            own_later(delay_ms, turn)

    world.dirs.cleaner._later = later
    world.dirs.cleaner.scan()
    while world.own.jobs or world.turns:
        if world.turns:
            world.turns.pop(0)()
        else:
            InlineBackground().run(*world.own.jobs.pop(0))
    assert world.dirs.cleaner.started_count == 6


def test_compactions_use_their_own_threads_alone() -> None:
    """fsyncs, checkpoints and cold reads have the others."""
    world = Many(6)
    world.shared.run_all()
    world.dirs.cleaner.scan()
    assert len(world.own.jobs) == 2 and not world.shared.jobs
    while not all(log.compaction.cleaned_to == log.log_end_offset for log in world.logs):
        world.own.run_all()
        for turn in world.turns[:]:
            world.turns.remove(turn)
            turn()
        assert all("clean" not in work.__qualname__ for work, _, _ in world.shared.jobs)
        world.shared.run_all()
        world.dirs.cleaner.scan()


def test_retention_leaves_a_log_alone_while_it_is_compacted_and_is_applied_at_the_end() -> None:
    world = Many(1)
    log = world.logs[0]
    settings = {"cleanup.policy": "compact,delete", "retention.ms": 1000, "segment.index.bytes": 1200}
    log.reconfigure(LogConfig.for_topic(None, {**settings, "min.cleanable.dirty.ratio": "0.01"}))
    world.dirs.cleaner.scan()
    world.clock.advance(60_000)
    world.dirs.upkeep.delete_old_segments()
    assert len(log.segments) == 2 and log.log_start_offset == 0
    world.own.run_all()
    assert log.compaction.cleaned_to == 1
    assert len(log.segments) == 1 and log.log_start_offset == 1


def test_the_files_of_an_unused_result_are_gone_before_the_log_is_compacted_again() -> None:
    """They have the names that the next result will have."""
    world = Many(1)
    world.dirs.cleaner.scan()
    world.dirs.cleaner.abort(world.logs[0].topic_partition)
    InlineBackground().run(*world.own.jobs.pop(0))
    assert len(world.own.jobs) == 1, "their removal"
    world.dirs.cleaner.scan()
    assert len(world.own.jobs) == 1
    world.own.run_all()
    world.dirs.cleaner.scan()
    assert len(world.own.jobs) == 1


@pytest.mark.parametrize("refused", [2, 3], ids=["sync of the names", "removal of the result"])
def test_a_compaction_that_gets_no_thread_for_its_end_is_over(refused: int) -> None:
    """Or neither compaction nor retention would ever touch the log again."""
    world = Many(1)
    log, own = world.logs[0], world.own
    world.dirs.cleaner.scan()
    if refused == 3:
        world.dirs.cleaner.abort(log.topic_partition)

    def refuses(_work: Any, _done: Any = None, failed: Any = None) -> None:
        failed(RuntimeError("can't start new thread"))

    own.run = refuses  # type: ignore[method-assign,assignment]
    own.run_all()
    while world.turns and world.dirs.cleaner.is_compacting(log):
        world.turns.pop(0)()
    assert not world.dirs.cleaner.is_compacting(log)
    del own.run  # type: ignore[method-assign]
    world.clock.advance(20_000)
    world.dirs.cleaner.scan()
    own.run_all()
    for turn in world.turns[:]:
        turn()
    own.run_all()
    assert log.compaction.cleaned_to == 1


def test_many_small_segments_are_merged_a_few_at_a_time() -> None:
    """Each means half a dozen renames on the loop."""
    world = World()
    for number in range(70):
        world.put((f"k{number % 3}", "x"))
    job = job_of(world)
    assert [len(cleaned.sources) for cleaned in job.cleaned] == [8] * 8 + [6]
    left = []
    while job.cleaned:
        world.log.compaction.take_cleaned(job)
        left.append(len(job.cleaned))
    assert left == list(range(8, -1, -1))
    world.log.compaction.note_cleaned(job)
    assert world.log.compaction.cleaned_to == 70 and world.bases() == [*range(0, 65, 8), 70]
    kept = [f"{base:020}.snapshot" for base in [*range(8, 65, 8), 70]]
    assert sorted(world.names(".snapshot")) == kept, "producers are known from where each segment begins"
    assert [row[0] for row in world.texts()] == [67, 68, 69]


def test_nothing_of_a_former_result_gets_into_the_next_one() -> None:
    """It could not be removed; a transaction index of it would hide records that were committed."""
    world = three_segments()
    for suffix in (".txnindex.cleaned", ".log.cleaned"):
        world.files.open(f"{world.directory}/{0:020}{suffix}", create=True).write(b"\x00" * 34, 0)
    world.clean()
    assert not world.names(".txnindex") and not world.names(".cleaned")
    assert [row[0] for row in world.texts()] == [2]


@pytest.mark.parametrize("is_left_of_before", [True, False])
def test_a_crash_while_a_result_is_put_in_place_loses_nothing_though_another_was_not_used(
    is_left_of_before: bool,
) -> None:
    """A start after a crash takes a `.cleaned` file for a sign that the `.swap` files behind it are not whole."""
    world = World({"segment.bytes": 250})
    for number in range(12):
        world.put((f"k{number}", "x" * 20))
    world.log.flushing.now()
    before = world.texts()
    if is_left_of_before:
        world.files.open(f"{world.directory}/{0:020}.log.cleaned", create=True)
        world.log.advance_log_start_offset(1)
        delete_old_segments(world.log, world.clock.wall_ms())
    job = job_of(world)
    if not is_left_of_before:
        world.log.advance_log_start_offset(1)
        delete_old_segments(world.log, world.clock.wall_ms())
    renamed = 0

    def stop_before_the_last_names(source: str, target: str) -> None:
        nonlocal renamed
        if source.endswith(".log.swap"):
            renamed += 1
            if renamed == 2:
                raise KeyboardInterrupt
        real(source, target)

    real, world.files.rename = world.files.rename, stop_before_the_last_names  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        while job.cleaned:
            world.log.compaction.take_cleaned(job)
    del world.files.rename  # type: ignore[method-assign]
    world.crash(Loss.NOTHING, random.Random(1))
    assert world.texts() == before[1:]


def test_a_compaction_in_a_directory_that_was_lost_ends() -> None:
    world = Many(1)
    world.dirs.cleaner.scan()
    run = world.dirs.cleaner._running[world.logs[0].topic_partition]
    assert not run.job.is_stopped()
    world.dirs._io_failed("/logs", OSError(errno.EIO, "gone"))
    assert run.job.is_stopped()
