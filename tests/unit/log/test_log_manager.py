"""All logs of a broker: placement, checkpoints, clean and unclean stops, failing directories."""

import errno
import threading
import uuid

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.log.loading.log_dir import LogDirError
from kafka_py.log.loading.meta_properties import InconsistentBrokerId, MetaProperties
from kafka_py.log.model.configs import LogConfig
from kafka_py.testing.fakes.files import FakeFiles, Loss
from kafka_py.testing.fakes.stored_logs import HeldBackground, batch

from .broker_logs import Broker


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


# ---- start that must fail


def test_a_locked_directory_is_refused_by_name():
    broker = Broker()
    with pytest.raises(LogDirError, match=r"/logs is locked"):
        broker.make().open()


@pytest.mark.parametrize("name", ["topic-x", "plain"])
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


# ---- failure


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


def test_a_new_topic_config_holds_at_once():
    broker = Broker()
    log = broker.append()
    for each in broker.dirs.logs_of("t"):
        each.reconfigure(LogConfig.for_topic(None, {"max.message.bytes": 100}))
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


# ---- what holds the loop
