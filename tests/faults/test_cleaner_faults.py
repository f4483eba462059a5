"""Whatever fails for one log, compaction and upkeep of the others continue, and the next look comes."""

from __future__ import annotations

import errno
import itertools
from collections.abc import Callable, Iterable

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.supervision import Supervisor
from kafka_py.log.compaction.cleaning import CleanJob
from kafka_py.log.compaction.cleaning_process import CleaningFailed
from kafka_py.log.disk.background import InlineBackground
from kafka_py.log.log_manager import LogManager
from kafka_py.log.model.answers import Origin
from kafka_py.log.model.broker_options import LogOptions
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.records.batch import CorruptBatch
from kafka_py.records.builder import BatchBuilder
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.fakes.files import FakeFiles

BAD, GOOD = TopicPartition("bad", 0), TopicPartition("good", 0)
LOOK_MS = 15_000
OLD_ENOUGH_MS = 120_000
MAX_TIMESTAMP = range(35, 43)
"""The bytes of a batch that hold its largest timestamp."""


class Broker:
    """Two compacted logs in two directories; the cleaner and the upkeep run by themselves."""

    def __init__(self, **settings: object) -> None:
        self.clock = ManualClock()
        self.files = FakeFiles(now_ms=self.clock.wall_ms)
        self.supervisor = Supervisor(self.clock)
        config = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "min.compaction.lag.ms": 60_000,
                  "max.compaction.lag.ms": 600_000, "segment.index.bytes": 1200, **settings}  # fmt: skip
        self.config = LogConfig.for_topic(None, config)
        self.dirs = LogManager(
            LogOptions.parse({"log.dirs": "/a,/b"}), self.files, self.clock, Chance(), background=InlineBackground(),
            later=self.clock.later, supervisor=self.supervisor,
        )  # fmt: skip
        self.dirs.open()
        self.dirs.load(lambda _topic: self.config)
        self.bad, self.good = (self.make(where) for where in (BAD, GOOD))
        assert [self.bad.log_dir, self.good.log_dir] == ["/a", "/b"]
        self.dirs.start_tasks()

    def make(self, where: TopicPartition) -> PartitionLog:
        log = self.dirs.get_or_create(where, self.config)
        for number in range(3):
            self.put(log, str(number))
        return log

    def put(self, log: PartitionLog, value: str) -> None:
        builder = BatchBuilder()
        builder.append(self.clock.wall_ms(), b"k", value.encode())
        batch = memoryview(bytearray(builder.build()))
        log.append_as_leader(batch, 0, self.clock.wall_ms(), origin=Origin.COORDINATOR)
        log.update_high_watermark(log.log_end_offset)
        log.roll(self.clock.wall_ms())

    def reopen(self) -> None:
        """Another start: nothing of the segments is in memory."""
        self.dirs.shutdown()
        self.clock = ManualClock(self.clock.wall_ms())
        self.files.now_ms = self.clock.wall_ms
        self.supervisor = Supervisor(self.clock)
        self.dirs = LogManager(
            LogOptions.parse({"log.dirs": "/a,/b"}), self.files, self.clock, Chance(), background=InlineBackground(),
            later=self.clock.later, supervisor=self.supervisor,
        )  # fmt: skip
        self.dirs.open()
        self.dirs.load(lambda _topic: self.config)
        self.bad, self.good = (self.dirs.get_or_create(where) for where in (BAD, GOOD))
        self.dirs.start_tasks()


def operations_of_a_round() -> list[tuple[str, int]]:
    """(operation, which call of it) on the files of the bad log while it is looked at, compacted and looked after."""
    broker = Broker()
    broker.reopen()
    broker.files.calls.clear()
    broker.clock.advance(OLD_ENOUGH_MS)
    assert broker.bad.compaction.cleaned_to == broker.good.compaction.cleaned_to == 3
    of_bad = [operation for operation, path in broker.files.calls if "/bad-0" in path]
    return [(one, number) for one in sorted(set(of_bad)) for number in range(of_bad.count(one))]


ROUND = operations_of_a_round()


def test_a_round_reads_and_writes_in_many_ways() -> None:
    assert {"open", "read", "write", "info", "rename", "sync", "sync_directory"} <= {name for name, _ in ROUND}


@pytest.mark.parametrize(("operation", "number"), ROUND)
@pytest.mark.parametrize("error", [errno.EIO, errno.EMFILE, errno.ENOSPC, errno.ENOENT])
def test_an_error_at_any_call_leaves_the_other_log_alone(operation: str, number: int, error: int) -> None:
    broker = Broker()
    broker.reopen()
    broker.files.fail(operation, error, path="/bad-0", after=number, times=1000)
    broker.clock.advance(OLD_ENOUGH_MS)
    assert broker.good.compaction.cleaned_to == 3
    assert "/b" in broker.dirs.live_directories
    broker.files.heal()
    broker.put(broker.good, "later")
    broker.clock.advance(OLD_ENOUGH_MS)
    assert broker.good.compaction.cleaned_to == 4, "the cleaner is still there"


@pytest.mark.parametrize(("operation", "number"), [one for one in ROUND if one[0] == "open"])
def test_a_lack_of_descriptors_takes_no_directory_offline_and_ends(operation: str, number: int) -> None:
    broker = Broker()
    broker.reopen()
    broker.files.fail(operation, errno.EMFILE, path="/bad-0", after=number, times=3)
    broker.clock.advance(OLD_ENOUGH_MS)
    assert broker.dirs.offline_directories == []
    broker.files.heal()
    broker.clock.advance(2_000_000)
    assert broker.bad.compaction.cleaned_to == 3
    assert not broker.dirs.cleaner.uncleanable


@pytest.mark.parametrize("suffix", [".log", ".index", ".timeindex"])
@pytest.mark.parametrize("base", [0, 1, 2])
def test_a_file_with_any_flipped_byte_leaves_the_other_log_alone(suffix: str, base: int) -> None:
    size = Broker().files.info(f"/a/bad-0/{base:020}{suffix}").size
    for position in range(0, size, 1 if suffix != ".log" else 3):
        broker = Broker()
        broker.reopen()
        broker.files.corrupt(f"/a/bad-0/{base:020}{suffix}", position, flip=0x80)
        broker.clock.advance(OLD_ENOUGH_MS)
        assert broker.good.compaction.cleaned_to == 3, position
        assert broker.dirs.offline_directories == [], position
        is_young = suffix == ".log" and position in MAX_TIMESTAMP  # it then looks as if min.compaction.lag.ms held it
        is_done = broker.bad.compaction.cleaned_to == 3
        assert is_young or is_done is (BAD not in broker.dirs.cleaner.uncleanable), position


def test_a_corrupt_log_is_left_alone_until_the_next_start() -> None:
    broker = Broker()
    broker.files.corrupt(broker.bad.segments[1].path, 65)
    broker.clock.advance(OLD_ENOUGH_MS)
    assert list(broker.dirs.cleaner.uncleanable) == [BAD]
    assert broker.dirs.cleaner.uncleanable_in("/a") == [broker.bad]
    begun = broker.dirs.cleaner.started_count
    broker.clock.advance(10 * OLD_ENOUGH_MS)
    assert broker.dirs.cleaner.started_count == begun
    assert broker.good.compaction.cleaned_to == 3
    broker.dirs.delete(BAD)
    assert not broker.dirs.cleaner.uncleanable, "another log of that name is not concerned"


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception, times: int) -> list[str]:
    """Compactions of the bad log raise; returns the calls."""
    calls: list[str] = []
    run = CleanJob.run

    def attempt(job: CleanJob) -> CleanJob:
        if "/bad-0" in job.path:
            calls.append(job.path)
            if len(calls) <= times:
                raise error
        return run(job)

    monkeypatch.setattr(CleanJob, "run", attempt)
    return calls


@pytest.mark.parametrize(
    "error",
    [CleaningFailed("killed"), MemoryError(), OSError(errno.ENOMEM, "no memory"), BlockingIOError(errno.EAGAIN, "fork"),
     OSError(errno.EMFILE, "descriptors"), RuntimeError("can't start new thread"), TypeError("a mistake"),
     FileNotFoundError(errno.ENOENT, "no such file")],
    ids=lambda error: type(error).__name__ + (f" {error.errno}" if isinstance(error, OSError) else ""),
)  # fmt: skip
def test_a_failure_that_is_not_the_logs_is_tried_again_later_each_time(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = Broker()
    calls = failing(monkeypatch, error, times=3)
    at_ms: list[float] = []
    while broker.bad.compaction.cleaned_to < 3:
        before = len(calls)
        broker.clock.advance(1000)
        at_ms += [broker.clock.monotonic_ms()] * (len(calls) - before)
        assert broker.clock.monotonic_ms() < 1_000_000
    pauses = [later - earlier for earlier, later in itertools.pairwise(at_ms)]
    assert len(calls) == 4 and pauses == sorted(pauses) and pauses[-1] >= 2 * pauses[0] > 0
    assert broker.dirs.offline_directories == []
    assert broker.good.compaction.cleaned_to == 3
    assert not broker.dirs.cleaner.uncleanable
    assert broker.supervisor.failures["log cleaner"] == 3


def test_a_failed_disk_takes_its_directory_offline_and_the_other_log_is_compacted() -> None:
    broker = Broker()
    broker.files.fail("write", errno.EIO, path="/a/bad-0")
    broker.clock.advance(OLD_ENOUGH_MS)
    assert broker.dirs.offline_directories == ["/a"]
    assert broker.good.compaction.cleaned_to == 3


def test_what_fails_because_the_log_was_cut_meanwhile_says_nothing_about_it(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker()
    run = CleanJob.run

    def cut_first(job: CleanJob) -> CleanJob:
        if "/bad-0" in job.path and broker.bad.log_end_offset == 3:
            broker.bad.truncate_to(1)
            raise CorruptBatch("the file ends early")
        return run(job)

    monkeypatch.setattr(CleanJob, "run", cut_first)
    broker.clock.advance(OLD_ENOUGH_MS)
    assert not broker.dirs.cleaner.uncleanable
    for number in range(3):
        broker.put(broker.bad, str(number))
    broker.clock.advance(OLD_ENOUGH_MS)
    assert broker.bad.compaction.cleaned_to == 4


@pytest.mark.parametrize("error", [KafkaError, TypeError, OSError, CorruptBatch, RecursionError])
def test_a_look_that_fails_is_followed_by_another(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when it is not one log that fails."""
    broker = Broker()
    registry, failures = broker.dirs.cleaner._logs, [0]

    class FailingRegistry:
        def all(self) -> Iterable[PartitionLog]:
            failures[0] += 1
            if failures[0] < 5:
                raise error(*(["x"] if error is not KafkaError else [1, "x"]))
            return registry.all()

        def __getattr__(self, name: str) -> object:
            return getattr(registry, name)

    monkeypatch.setattr(broker.dirs.cleaner, "_logs", FailingRegistry())
    broker.clock.advance(OLD_ENOUGH_MS + 5 * LOOK_MS)
    assert broker.good.compaction.cleaned_to == broker.bad.compaction.cleaned_to == 3


# ---- upkeep


TASKS: dict[str, tuple[str, Callable[[LogManager], object]]] = {
    "retention": ("kafka_py.log.upkeep.delete_old_segments", lambda dirs: dirs.upkeep.delete_old_segments()),
    "flush": ("kafka_py.log.partition.flushing.Flushing.in_background", lambda dirs: dirs.upkeep.flush_dirty_logs()),
    "expiry": ("kafka_py.log.partition.log_files.LogFiles.remove_expired_producers",
               lambda dirs: dirs.upkeep.remove_expired_producers()),
}  # fmt: skip
"""What is called for each log, and what calls it."""


@pytest.mark.parametrize("name", TASKS)
def test_upkeep_that_fails_for_one_log_continues_with_the_next(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(**{"flush.ms": 0})
    done: list[object] = []
    what, work = TASKS[name]

    def act(part: object, *_: object) -> None:
        if part in (broker.bad, broker.bad.flushing, broker.bad.files):
            raise ValueError("a mistake")
        done.append(part)

    monkeypatch.setattr(what, act)
    work(broker.dirs)
    broker.clock.advance(0)
    assert len(done) == 1 and done[0] in (broker.good, broker.good.flushing, broker.good.files)
    assert sum(broker.supervisor.failures.values()) == 1


def retention_operations() -> list[tuple[str, int]]:
    broker = Broker(**{"cleanup.policy": "delete", "retention.ms": 1000})
    broker.reopen()
    broker.files.calls.clear()
    broker.clock.advance(OLD_ENOUGH_MS)
    assert len(broker.bad.segments) == 1
    of_bad = [operation for operation, path in broker.files.calls if "/bad-0" in path]
    return [(one, number) for one in sorted(set(of_bad)) for number in range(of_bad.count(one))]


@pytest.mark.parametrize(("operation", "number"), retention_operations())
@pytest.mark.parametrize("error", [errno.EIO, errno.EMFILE])
def test_retention_of_the_other_log_continues(operation: str, number: int, error: int) -> None:
    broker = Broker(**{"cleanup.policy": "delete", "retention.ms": 1000})
    broker.reopen()
    broker.files.fail(operation, error, path="/bad-0", after=number, times=1000)
    broker.clock.advance(OLD_ENOUGH_MS)
    assert len(broker.good.segments) == 1
    assert "/b" in broker.dirs.live_directories


def test_a_lack_of_descriptors_ends_retention_of_a_log_for_this_time_only() -> None:
    broker = Broker(**{"cleanup.policy": "delete", "retention.ms": 1000})
    broker.reopen()
    broker.files.fail("open", errno.EMFILE, path="/bad-0")
    broker.clock.advance(OLD_ENOUGH_MS)
    assert broker.dirs.offline_directories == []
    broker.clock.advance(300_000)
    assert len(broker.bad.segments) == 1
