"""All logs of a broker: placement, checkpoints, clean and unclean stops, failing directories."""

import errno
import threading
import uuid
from itertools import pairwise

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.meters import MetricRegistry
from kafka_py.log.disk.background import InlineBackground
from kafka_py.log.loading.log_dir import LogDirError
from kafka_py.log.loading.meta_properties import InconsistentBrokerId, MetaProperties
from kafka_py.log.log_manager import LogDirs
from kafka_py.log.model.broker_options import LogOptions
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.log_files import LogFiles
from kafka_py.log.retention_looks import Look
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.fakes.files import FakeFiles, Loss
from kafka_py.testing.fakes.stored_logs import batch

SETTINGS = {"log.index.size.max.bytes": "1200", "log.index.interval.bytes": "200"}


class Broker:
    """The log side of a broker that can be stopped, killed and started again."""

    def __init__(self, *directories, files=None, **settings):
        self.clock = ManualClock()
        self.files = files or FakeFiles(now_ms=self.clock.wall_ms)
        self.settings = {**SETTINGS, "log.dirs": ",".join(directories or ("/logs",)), **settings}
        self.failures = []
        self.registry = MetricRegistry(self.clock)
        self.start()

    def make(self):
        self.dirs = LogDirs(
            LogOptions.parse(self.settings),
            self.files,
            self.clock,
            Chance(),
            background=InlineBackground(),
            later=self.clock.later,
            on_failure=lambda path, error, lost: self.failures.append((path, lost)),
            metrics=self.registry,
        )
        return self.dirs

    def start(self):
        self.make().open()
        self.dirs.load()

    def restart(self):
        self.dirs.shutdown()
        self.start()

    def crash(self, loss=Loss.NOTHING):
        self.files.crash(loss)
        self.start()

    def append(self, topic="t", partition=0, count=1):
        log = self.dirs.get_or_create(TopicPartition(topic, partition))
        for _ in range(count):
            log.append_as_leader(batch([b"x" * 100]), 0, self.clock.wall_ms())
        return log

    def text(self, path):
        return self.files.read_bytes(path).decode()


def test_w5_2_a_fresh_directory_gets_four_checkpoints_and_meta_properties():
    broker = Broker()
    broker.dirs.write_meta(MetaProperties(0, "c"))
    assert [entry.name for entry in broker.files.list("/logs") if not entry.name.startswith(".")] == [
        "cleaner-offset-checkpoint",
        "log-start-offset-checkpoint",
        "meta.properties",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
    ]


def test_w5_3_a_new_partition_goes_where_the_fewest_are():
    broker = Broker("/a", "/b")
    placed = [broker.append("t", partition).log_dir for partition in range(5)]
    assert sorted(placed) == ["/a", "/a", "/a", "/b", "/b"]
    fewer = Broker("/a", "/b")
    for name in ("one-0", "one-1"):
        fewer.files.make_directory(f"/a/{name}")
    fewer.crash()
    assert fewer.append("t").log_dir == "/b"
    assert fewer.files.exists("/b/t-0")


def test_an_existing_log_is_found_again_in_its_directory():
    broker = Broker("/a", "/b")
    log = broker.append()
    assert broker.append() is log
    assert broker.dirs.get(TopicPartition("t", 0)) is log
    assert broker.dirs.get(TopicPartition("t", 1)) is None
    assert broker.dirs.logs_of("t") == [log]


def test_a_preferred_directory_wins():
    broker = Broker("/a", "/b")
    broker.dirs.prefer(TopicPartition("t", 0), "/b")
    assert broker.append("t", 0).log_dir == "/b"
    with pytest.raises(KafkaError) as caught:
        broker.dirs.prefer(TopicPartition("t", 1), "/c")
    assert caught.value.code is ErrorCode.LOG_DIR_NOT_FOUND


def test_a_clean_stop_leaves_a_mark_that_the_next_start_takes():
    broker = Broker()
    broker.append(count=3).update_high_watermark(3)
    broker.dirs.shutdown()
    assert broker.files.exists("/logs/.kafka_cleanshutdown")
    assert broker.text("/logs/replication-offset-checkpoint") == "0\n1\nt 0 3\n"
    assert broker.text("/logs/recovery-point-offset-checkpoint") == "0\n1\nt 0 3\n"
    broker.start()
    assert not broker.files.exists("/logs/.kafka_cleanshutdown")
    log = broker.dirs.get(TopicPartition("t", 0))
    assert (log.log_end_offset, log.high_watermark, log.recovery_point) == (3, 3, 3)
    broker.crash()
    assert broker.dirs.get(TopicPartition("t", 0)).log_end_offset == 3


def test_an_unclean_stop_recovers_from_the_checkpointed_point():
    broker = Broker()
    log = broker.append(count=3)
    log.flushing.now()
    broker.dirs.checkpoint_recovery_points()
    broker.append(count=2)
    broker.crash(Loss.UNSYNCED)
    log = broker.dirs.get(TopicPartition("t", 0))
    assert (log.log_end_offset, log.recovery_point) == (3, 3)


def test_log_starts_are_checkpointed_only_above_the_first_segment():
    broker = Broker()
    log = broker.append(count=3)
    broker.append("u")
    broker.dirs.checkpoint_log_start_offsets()
    assert broker.text("/logs/log-start-offset-checkpoint") == "0\n0\n"
    log.update_high_watermark(3)
    log.advance_log_start_offset(2)
    broker.dirs.checkpoint_log_start_offsets()
    assert broker.text("/logs/log-start-offset-checkpoint") == "0\n1\nt 0 2\n"
    broker.crash()
    assert broker.dirs.get(TopicPartition("t", 0)).log_start_offset == 2


def test_deleting_renames_at_once_and_removes_later():
    broker = Broker()
    log = broker.append(count=3)
    broker.dirs.delete(TopicPartition("t", 0))
    names = [entry.name for entry in broker.files.list("/logs") if entry.is_directory]
    assert len(names) == 1
    assert names[0].startswith("t-0.")
    assert names[0].endswith("-delete")
    with pytest.raises(KafkaError):
        log.append_as_leader(batch(), 0, 0)
    assert broker.append().log_end_offset == 1  # a new log of that name
    broker.clock.advance(60_000)
    assert [entry.name for entry in broker.files.list("/logs") if entry.is_directory] == ["t-0"]
    broker.dirs.delete(TopicPartition("never", 0))


def test_directories_marked_for_deletion_are_removed_after_a_start():
    broker = Broker()
    broker.append()
    broker.dirs.delete(TopicPartition("t", 0))
    broker.crash()
    assert broker.dirs.get(TopicPartition("t", 0)) is None
    broker.dirs.start_tasks()
    broker.clock.advance(60_000)
    assert not [entry for entry in broker.files.list("/logs") if entry.is_directory]


def test_topic_ids_are_kept_and_compared():
    broker = Broker()
    first, second = uuid.UUID(int=1), uuid.UUID(int=2)
    tp = TopicPartition("t", 0)
    broker.dirs.get_or_create(tp, topic_id=first)
    assert broker.text("/logs/t-0/partition.metadata").startswith("version: 0\ntopic_id: ")
    broker.crash()
    assert broker.dirs.get_or_create(tp, topic_id=first).topic_id == first
    with pytest.raises(KafkaError) as caught:
        broker.dirs.get_or_create(tp, topic_id=second)
    assert caught.value.code is ErrorCode.INCONSISTENT_TOPIC_ID
    assert broker.dirs.get_or_create(tp, topic_id=uuid.UUID(int=0)).topic_id == first


def test_a_truncation_below_the_recovery_point_is_checkpointed_soon():
    broker = Broker()
    log = broker.append(count=5)
    log.flushing.now()
    broker.dirs.checkpoint_recovery_points()
    log.truncate_to(2)
    broker.clock.advance(0)
    assert broker.text("/logs/recovery-point-offset-checkpoint") == "0\n1\nt 0 2\n"
    broker.dirs.delete(TopicPartition("t", 0))
    broker.clock.advance(200)
    assert broker.text("/logs/recovery-point-offset-checkpoint") == "0\n0\n"


# -- start that must fail


def test_a_locked_directory_is_refused_by_name():
    broker = Broker()
    with pytest.raises(LogDirError, match=r"/logs is locked"):
        broker.make().open()


@pytest.mark.parametrize("name", ["lost+found", "topic-x", "plain"])
def test_a_foreign_directory_is_refused_by_name(name):
    broker = Broker()
    broker.files.make_directory(f"/logs/{name}")
    broker.files.crash(Loss.NOTHING)
    broker.make().open()
    with pytest.raises(LogDirError, match=r"/logs.*form"):
        broker.dirs.load()


def test_a_partition_in_two_directories_is_refused():
    broker = Broker("/a", "/b")
    broker.files.make_directory("/a/t-0")
    broker.files.make_directory("/b/t-0")
    broker.files.crash(Loss.NOTHING)
    broker.make().open()
    with pytest.raises(LogDirError, match=r"/a/t-0.*/b/t-0"):
        broker.dirs.load()


def test_a_directory_configured_twice_is_refused():
    with pytest.raises(LogDirError, match="twice"):
        Broker("/a", "/a/")


def test_unusable_directories_are_offline_and_all_of_them_stop_the_start():
    files = FakeFiles()
    files.open("/a", create=True)
    broker = Broker("/a", "/b", files=files)
    assert broker.dirs.live_directories == ["/b"]
    assert broker.dirs.offline_directories == ["/a"]
    assert broker.append().log_dir == "/b"
    with pytest.raises(LogDirError, match="none of the log directories"):
        Broker("/a", files=files)


def test_other_ids_in_two_directories_are_refused():
    broker = Broker("/a", "/b")
    broker.dirs.write_meta(MetaProperties(3, "c"))
    assert broker.dirs.read_meta() == MetaProperties(3, "c")
    file = broker.files.open("/b/meta.properties")
    file.truncate(0)
    file.write(b"version=0\nbroker.id=4\ncluster.id=c\n", 0)
    with pytest.raises(InconsistentBrokerId):
        broker.dirs.read_meta()


# -- failure


def test_a_corrupt_checkpoint_takes_its_directory_offline_and_the_other_goes_on():
    broker = Broker("/a", "/b")
    logs = [broker.append("t", partition) for partition in range(2)]
    broker.dirs.shutdown()
    broker.files.open("/a/recovery-point-offset-checkpoint").write(b"9", 0)
    broker.start()
    assert broker.dirs.offline_directories == ["/a"]
    lost = next(log.topic_partition for log in logs if log.log_dir == "/a")
    assert broker.dirs.get(lost) is None
    with pytest.raises(KafkaError) as caught:
        broker.dirs.get_or_create(lost, is_new=False)
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert broker.dirs.get_or_create(TopicPartition("new", 0), is_new=True).log_dir == "/b"


def test_a_failing_write_takes_the_directory_offline_and_says_whom_it_concerns():
    broker = Broker("/a", "/b")
    logs = [broker.append("t", partition) for partition in range(4)]
    on_a = [log for log in logs if log.log_dir == "/a"]
    broker.files.fail("write", errno.EIO, path="/a/")
    with pytest.raises(KafkaError) as caught:
        on_a[0].append_as_leader(batch(), 0, 0)
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert broker.failures == []  # told on the loop's next round
    broker.clock.advance(0)
    assert broker.failures == [("/a", [log.topic_partition for log in on_a])]
    with pytest.raises(KafkaError):
        on_a[1].append_as_leader(batch(), 0, 0)
    assert [dir.error for dir in broker.dirs.describe()] == [ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NONE]
    broker.dirs.checkpoint_high_watermarks()
    assert broker.text("/a/replication-offset-checkpoint") == ""
    broker.dirs.shutdown()
    assert not broker.files.exists("/a/.kafka_cleanshutdown")
    assert broker.files.exists("/b/.kafka_cleanshutdown")


def test_a_log_that_cannot_be_closed_leaves_no_clean_mark():
    broker = Broker()
    broker.append(count=3)
    broker.files.fail("sync", errno.EIO, path=".log")
    broker.dirs.shutdown()
    assert not broker.files.exists("/logs/.kafka_cleanshutdown")


def test_a_log_that_cannot_be_opened_takes_the_directory_offline():
    broker = Broker("/a", "/b")
    for partition in range(2):
        broker.append("t", partition)
    broker.dirs.shutdown()
    broker.files.fail("list", errno.EIO, path="/a/t-")
    broker.start()
    assert broker.dirs.offline_directories == ["/a"]


def test_creating_a_log_on_a_full_disk_is_a_storage_error():
    broker = Broker()
    broker.files.fail("make_directory", errno.ENOSPC)
    with pytest.raises(KafkaError) as caught:
        broker.append()
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert broker.dirs.live_directories == []


# -- upkeep


def test_periodic_tasks_begin_after_thirty_seconds():
    broker = Broker(**{"log.retention.ms": "1000", "log.segment.bytes": "500"})
    broker.append(count=10).update_high_watermark(10)
    broker.dirs.start_tasks()
    broker.clock.advance(29_999)
    assert len(broker.dirs.get(TopicPartition("t", 0)).segments) == 5
    broker.clock.advance(1)
    assert len(broker.dirs.get(TopicPartition("t", 0)).segments) == 1
    broker.clock.advance(60_000)
    assert broker.text("/logs/recovery-point-offset-checkpoint") == "0\n1\nt 0 10\n"
    broker.dirs.shutdown()
    broker.clock.advance(10_000_000)


def test_retention_goes_over_many_logs_in_turns_and_passes_over_those_deleted_meanwhile():
    broker = Broker(**{"log.retention.ms": "1000", "log.segment.bytes": "500"})
    logs = [broker.append("t", number, count=4) for number in range(20)]
    for log in logs:
        log.update_high_watermark(4)
    turns = []
    broker.dirs.upkeep._later = lambda _delay_ms, turn: turns.append(turn)
    broker.clock.advance(2000)
    broker.dirs.upkeep.delete_old_segments()
    assert [len(log.segments) for log in logs] == [1] * 8 + [2] * 12
    broker.dirs.delete(TopicPartition("t", 10))
    while turns:
        turns.pop(0)()
    assert [len(log.segments) for log in logs] == [1] * 10 + [2] + [1] * 9


def test_retention_of_a_log_with_many_old_segments_leaves_the_loop_now_and_then():
    """A shorter retention.ms may make hundreds of segments old at once."""
    broker = Broker(**{"log.retention.ms": "1000", "log.segment.bytes": "200"})
    logs = [broker.append("t", number, count=9) for number in range(2)]
    for log in logs:
        log.update_high_watermark(9)
    turns = []
    broker.dirs.upkeep._later = lambda _delay_ms, turn: turns.append(turn)
    broker.clock.advance(2000)
    broker.dirs.upkeep.delete_old_segments()
    counts = [[len(log.segments) for log in logs]]
    while turns:
        turns.pop(0)()
        counts.append([len(log.segments) for log in logs])
    assert counts[0] == [7, 7] and counts[-1] == [1, 1]
    assert all(sum(before) - sum(after) <= 2 for before, after in pairwise(counts))
    assert [log.log_start_offset for log in logs] == [9, 9]

def test_retention_opens_no_file_on_the_loop_for_segments_that_nobody_has_read():
    broker = Broker(**{"log.segment.bytes": "500", "log.retention.ms": "9000000000000"})
    for number in range(30):
        broker.append("t", number, count=9).update_high_watermark(9)
    broker.restart()
    for log in broker.dirs.all_logs():
        log.update_high_watermark(9)
    segments = [len(log.segments) for log in broker.dirs.all_logs()]
    opened = {"loop": 0, "thread": 0}
    jobs = []

    class Threads:
        def run(self, work, done=None, failed=None):
            jobs.append((work, done))

    def count(where):
        opened[where] += sum(operation in ("open", "read") for operation, _ in broker.files.calls)
        broker.files.calls.clear()

    broker.dirs.upkeep._background = Threads()
    count("loop")
    opened["loop"] = 0
    broker.dirs.upkeep.delete_old_segments()
    while True:
        broker.clock.advance(1)
        if not jobs:
            break
        assert len(jobs) == 1  # no more at a time than retention can take up
        count("loop")
        work, done = jobs.pop()
        work()
        count("thread")
        done(None)
    count("loop")
    assert opened["thread"] >= 30
    assert opened["loop"] == 0
    assert [len(log.segments) for log in broker.dirs.all_logs()] == segments


def test_a_segment_whose_index_is_wrong_is_left_to_retention_itself():
    broker = Broker(**{"log.segment.bytes": "5000", "log.retention.ms": "1000", "log.index.interval.bytes": "100"})
    log = broker.append(count=60)
    log.update_high_watermark(60)
    broker.restart()
    (log,) = broker.dirs.all_logs()
    log.update_high_watermark(60)
    path = log.segments[0].offset_index.path
    look = Look(log.segments[0])
    broker.files.open(path).write(b"\x7f" * 8, log.segments[0].offset_index.size_bytes - 8)
    look.run()
    look.settle()
    assert broker.files.exists(path)
    broker.clock.advance(2000)
    broker.dirs.upkeep.delete_old_segments()
    assert len(log.segments) == 1


def test_flush_ms_is_looked_at_by_the_scheduler():
    broker = Broker(**{"log.flush.scheduler.interval.ms": "1000", "log.flush.interval.ms": "5000"})
    log = broker.append(count=2)
    broker.dirs.start_tasks()
    broker.clock.advance(30_000)
    assert log.recovery_point == 2


def test_a_new_topic_config_holds_at_once():
    broker = Broker()
    log = broker.append()
    for each in broker.dirs.logs_of("t"):
        each.config = LogConfig.for_topic(None, {"max.message.bytes": 100})
    with pytest.raises(KafkaError) as caught:
        log.append_as_leader(batch([b"x" * 100]), 0, 0)
    assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE


def test_describe_lists_sizes_and_lag():
    broker = Broker()
    log = broker.append(count=3)
    (only,) = broker.dirs.describe()
    assert (only.path, only.error) == ("/logs", ErrorCode.NONE)
    assert only.logs == [(TopicPartition("t", 0), log.size_bytes, 0, False)]
    assert broker.dirs.describe(lambda tp: tp.topic == "u")[0].logs == []


def test_logs_and_directories_are_measured_as_long_as_they_are_there():
    broker = Broker("/a", "/b")
    broker.append(count=3).flushing.now()

    def beans():
        return {reading.mbean: reading.attributes for reading in broker.registry.read()}

    name = "kafka.log:type=Log,name={},topic=t,partition=0"
    assert beans()[name.format("LogEndOffset")] == {"Value": 3}
    assert beans()[name.format("Size")] == {"Value": 3 * 170}
    assert beans()["kafka.log:type=LogFlushStats,name=LogFlushRateAndTimeMs"]["Count"] == 1
    assert beans()["kafka.log:type=LogManager,name=OfflineLogDirectoryCount"] == {"Value": 0}
    broker.dirs.delete(TopicPartition("t", 0))
    assert name.format("Size") not in beans()
    broker.append("u")
    broker.files.fail("write", errno.EIO)
    with pytest.raises(KafkaError):
        broker.append("u")
    assert beans()["kafka.log:type=LogManager,name=OfflineLogDirectoryCount"] == {"Value": 1}
    offline = [value for bean, value in beans().items() if "LogDirectoryOffline" in bean]
    assert offline in ([{"Value": 1}, {"Value": 0}], [{"Value": 0}, {"Value": 1}])
    assert not [bean for bean in beans() if "topic=u" in bean]


def test_abandoning_writes_nothing():
    broker = Broker()
    broker.append(count=3)
    broker.dirs.abandon()
    assert not broker.files.exists("/logs/.kafka_cleanshutdown")
    broker.make().open()


class HeldBackground:
    """Jobs wait until they are run."""

    def __init__(self):
        self.jobs = []

    def run(self, work, done=None, failed=None):
        self.jobs.append((work, done, failed))

    def run_all(self):
        while self.jobs:
            InlineBackground().run(*self.jobs.pop(0))


@pytest.mark.parametrize("when", ["before", "meanwhile"])
@pytest.mark.parametrize("which", ["epochs", "topic id"])
def test_what_a_deleted_log_still_had_to_write_stays_out_of_its_successor(monkeypatch, when, which):
    """A topic is deleted and made again while a thread writes a small file of the old log."""
    old_id, new_id = uuid.UUID(int=1), uuid.UUID(int=2)
    broker = Broker()
    background = broker.dirs._background = broker.dirs._dirs["/logs"].context.background = HeldBackground()
    partition = TopicPartition("t", 0)
    old = broker.dirs.get_or_create(partition)
    if which == "epochs":
        old.assign_epoch(7, 0)
    else:
        old.topic_id_file.assign(old_id)

    def make_again():
        broker.dirs.delete(partition)
        new = broker.dirs.get_or_create(partition, topic_id=new_id)
        new.assign_epoch(0, 0)
        background.run_all()

    thread = threading.Thread(target=make_again)
    if when == "before":
        thread.start()
    else:
        really_open = FakeFiles.open

        def open_late(files, path, *, create=False):
            if path.endswith(".tmp"):
                monkeypatch.undo()
                thread.start()
                thread.join(0.2)  # the path is made out by now; nobody may get between
            return really_open(files, path, create=create)

        monkeypatch.setattr(FakeFiles, "open", open_late)
        background.run_all()
    thread.join()
    background.run_all()
    assert broker.failures == []
    assert broker.dirs.live_directories == ["/logs"]
    assert broker.text("/logs/t-0/partition.metadata").endswith("AAAAAAAAAAAAAAAAAAAAAg")
    assert broker.text("/logs/t-0/leader-epoch-checkpoint") == "0\n1\n0 0\n"


def test_the_topic_id_is_on_disk_before_the_first_record():
    broker = Broker()
    background = broker.dirs._background = broker.dirs._dirs["/logs"].context.background = HeldBackground()
    log = broker.dirs.get_or_create(TopicPartition("t", 0), topic_id=uuid.UUID(int=1))
    assert not broker.files.exists("/logs/t-0/partition.metadata")
    broker.append()
    assert broker.text("/logs/t-0/partition.metadata").endswith("AAAAAAAAAAAAAAAAAAAAAQ")
    background.run_all()
    broker.crash()
    assert broker.dirs.get(TopicPartition("t", 0)).topic_id == uuid.UUID(int=1)
    assert log.log_end_offset == 1


def test_the_same_holds_for_a_follower_and_for_an_id_that_comes_later():
    broker = Broker()
    log = broker.append()
    broker.dirs._background = broker.dirs._dirs["/logs"].context.background = HeldBackground()
    assert broker.dirs.get_or_create(TopicPartition("t", 0), topic_id=uuid.UUID(int=1)) is log
    log.append_as_follower(batch([b"x"], base_offset=1, leader_epoch=0), 0)
    assert broker.text("/logs/t-0/partition.metadata").endswith("AAAAAAAAAAAAAAAAAAAAAQ")


def test_without_its_topic_id_on_disk_nothing_is_appended():
    broker = Broker()
    broker.dirs._background = broker.dirs._dirs["/logs"].context.background = HeldBackground()
    log = broker.dirs.get_or_create(TopicPartition("t", 0), topic_id=uuid.UUID(int=1))
    broker.files.fail("open", errno.EMFILE, path="partition.metadata")
    with pytest.raises(KafkaError):
        broker.append()
    assert log.log_end_offset == 0 and broker.dirs.offline_directories == []
    broker.append()
    assert broker.files.exists("/logs/t-0/partition.metadata")


# -- directories that fail in between


def test_a_log_that_cannot_be_deleted_is_lost_with_its_directory():
    broker = Broker("/a", "/b")
    broker.dirs.prefer(TopicPartition("t", 0), "/a")
    log = broker.append()
    broker.files.fail("rename", errno.EIO, path="/a/t-0")
    with pytest.raises(KafkaError) as caught:
        broker.dirs.delete(TopicPartition("t", 0))
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    broker.clock.advance(0)
    assert broker.failures == [("/a", [TopicPartition("t", 0)])]
    assert broker.dirs.get(TopicPartition("t", 0)) is None
    with pytest.raises(KafkaError):
        log.append_as_leader(batch(), 0, 0)


def moving(broker):
    """A log in /a with one that is to replace it in /b."""
    partition = TopicPartition("t", 0)
    broker.dirs.prefer(partition, "/a")
    broker.append()
    return partition, broker.dirs.futures.create(partition, "/b")


def test_a_second_future_replica_is_not_made_while_a_directory_is_offline():
    """The offline directory may hold one already: with two of them the broker would not start."""
    broker = Broker("/a", "/b", "/c")
    partition, _ = moving(broker)
    broker.dirs._io_failed("/b", OSError(errno.EIO, "disk"))
    assert broker.dirs.futures.get(partition) is None
    with pytest.raises(KafkaError, match="/b") as caught:
        broker.dirs.futures.create(partition, "/c")
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    broker.restart()
    assert broker.dirs.futures.get(partition).log_dir == "/b"


def test_a_future_log_that_cannot_be_dropped_is_lost_with_its_directory():
    broker = Broker("/a", "/b")
    partition, _ = moving(broker)
    broker.files.fail("rename", errno.EIO, path="/b/t-0")
    with pytest.raises(KafkaError):
        broker.dirs.futures.drop(partition)
    broker.clock.advance(0)
    assert broker.failures == [("/b", [partition])]
    assert broker.dirs.futures.get(partition) is None and broker.dirs.get(partition) is not None


def test_a_move_that_cannot_be_ended_leaves_the_present_log_in_use():
    broker = Broker("/a", "/b")
    partition, _ = moving(broker)
    broker.files.fail("rename", errno.EIO, path="/b/t-0")
    with pytest.raises(KafkaError):
        broker.dirs.futures.promote(partition)
    broker.clock.advance(0)
    assert broker.failures == [("/b", [partition])]
    assert broker.append().log_end_offset == 2
    assert [bean.mbean for bean in broker.registry.read() if "is-future" in bean.mbean] == []


def test_a_move_counts_though_the_former_directory_fails_at_its_end():
    broker = Broker("/a", "/b")
    partition, future = moving(broker)
    present = broker.dirs.get(partition)
    broker.files.fail("rename", errno.EIO, path="/a/t-0")
    assert broker.dirs.futures.promote(partition) is future
    broker.clock.advance(0)
    assert broker.failures == [("/a", [])]
    assert broker.dirs.get(partition) is future
    with pytest.raises(KafkaError):
        present.append_as_leader(batch(), 0, 0)


def test_new_logs_are_placed_by_counts_that_follow_every_change():
    broker = Broker("/a", "/b", "/c")
    for number in range(9):
        broker.append("t", number)
    for number in (0, 3):
        broker.dirs.delete(TopicPartition("t", number))
    elsewhere = {log.topic_partition: next(path for path in ("/a", "/b") if path != log.log_dir)
                 for log in broker.dirs.all_logs()}  # fmt: skip
    for partition, directory in list(elsewhere.items())[:4]:
        broker.dirs.futures.create(partition, directory)
    futures = [log.topic_partition for log in broker.dirs.all_logs() if log.files.is_future]
    broker.dirs.futures.drop(futures[0])
    for partition in futures[1:3]:
        broker.dirs.futures.promote(partition)
    for _ in range(2):
        logs = [log.log_dir for log in broker.dirs.all_logs()]
        assert {path: broker.dirs._logs.counts[path] for path in ("/a", "/b", "/c")} == {
            path: logs.count(path) for path in ("/a", "/b", "/c")
        }
        broker.restart()


# -- what holds the loop


def test_a_mass_deletion_writes_the_checkpoints_now_and_then_and_one_in_a_turn():
    broker = Broker()
    for number in range(50):
        broker.append("t", number)
    background = broker.dirs._dirs["/logs"].context.background
    assert isinstance(background, InlineBackground)
    broker.files.calls.clear()
    for number in range(50):
        broker.dirs.delete(TopicPartition("t", number))
        broker.clock.advance(10)

    def writes():
        return [path for operation, path in broker.files.calls if operation == "rename" and path.endswith(".tmp")]

    assert 3 * 3 <= len(writes()) <= 3 * 4, "500 ms at one round in 200 ms"
    broker.clock.advance(200)
    assert broker.text("/logs/recovery-point-offset-checkpoint") == "0\n0\n"
    written = len(writes())
    broker.clock.advance(1000)
    assert len(writes()) == written


def test_the_text_of_a_checkpoint_is_made_where_it_is_written(monkeypatch):
    broker = Broker()
    broker.append(count=2).update_high_watermark(2)
    log_dir = broker.dirs._dirs["/logs"]
    held = HeldBackground()
    for file in log_dir._checkpoints.values():
        monkeypatch.setattr(file, "_background", held)
    made = []
    format_offsets = "kafka_py.log.loading.log_dir.format_offsets"
    monkeypatch.setattr(format_offsets, lambda offsets: made.append(offsets) or b"0\n0\n")
    broker.dirs.checkpoint_high_watermarks()
    assert made == []
    held.run_all()
    assert made == [{TopicPartition("t", 0): 2}]


def test_work_for_every_log_leaves_the_loop_now_and_then(monkeypatch):
    broker = Broker()
    logs = [broker.append("t", number) for number in range(450)]
    turns = []
    broker.dirs.upkeep._later = lambda _delay_ms, turn: turns.append(turn)
    seen = []
    monkeypatch.setattr(LogFiles, "remove_expired_producers", lambda files, _now_ms: seen.append(files))
    broker.dirs.upkeep.remove_expired_producers()
    counts = [len(seen)]
    while turns:
        turns.pop(0)()
        counts.append(len(seen))
    assert counts == [200, 400, 450, 450] and seen == [log.files for log in logs]


def test_a_checkpoint_for_which_no_thread_can_be_started_is_no_failure_of_the_disk():
    class NoThread(InlineBackground):
        def run(self, work, done=None, failed=None):
            failed(RuntimeError("can't start new thread"))

    broker = Broker()
    broker.append()
    file = broker.dirs._dirs["/logs"]._checkpoints["recovery-point-offset-checkpoint"]
    file._background = NoThread()
    broker.dirs.checkpoint_recovery_points()
    assert broker.dirs.offline_directories == [] and not broker.failures
    file._background = InlineBackground()
    broker.dirs.get(TopicPartition("t", 0)).flushing.now()
    broker.dirs.checkpoint_recovery_points()
    assert "t 0 1" in broker.text("/logs/recovery-point-offset-checkpoint")
