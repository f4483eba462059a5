"""The life of a broker's log directories, the same on the real disk and on the one in memory."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.ids import TopicPartition
from kafka_py.log.disk.files import RealFiles
from kafka_py.log.log_manager import LogManager
from kafka_py.log.model.broker_options import LogOptions
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.retention import delete_old_segments
from kafka_py.records.compression import Codec
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.fakes.files import FakeFiles
from kafka_py.testing.fakes.stored_logs import batch, records_of, slice_bytes

PARTITIONS = [TopicPartition(topic, partition) for topic in ("a", "b-c") for partition in range(4)]


@pytest.fixture(params=["real", "fake"])
def make(request, tmp_path):
    """Makes LogManager on two directories, opened and loaded."""
    clock = ManualClock()
    files = RealFiles() if request.param == "real" else FakeFiles(now_ms=clock.wall_ms)
    settings = {
        "log.dirs": f"{tmp_path}/one,{tmp_path}/two",
        "log.segment.bytes": "2000",
        "log.index.interval.bytes": "300",
        "num.recovery.threads.per.data.dir": "3",
    }

    def make() -> LogManager:
        made = LogManager(LogOptions.parse(settings), files, clock, Chance(), later=clock.later, max_open_handles=4)
        made.open()
        made.load()
        return made

    make.clock = clock
    return make


def fill(dirs, rounds=5):
    for number in range(rounds):
        for tp in PARTITIONS:
            log = dirs.get_or_create(tp)
            codec = list(Codec)[number % 5]
            log.append_as_leader(batch([b"%d" % number * 50] * 3, timestamp=1000 + number, codec=codec), 0, 0)
            log.update_high_watermark(log.log_end_offset)


def values(log):
    found, offset = [], log.log_start_offset
    while offset < log.log_end_offset:
        data = log.read(offset, 10_000, up_to_offset=log.log_end_offset, min_one_batch=True)
        records = records_of(slice_bytes(data.slice))
        found += [record.value for record in records]
        offset = records[-1].offset + 1
    return found


def expected(rounds):
    return [b"%d" % number * 50 for number in range(rounds) for _ in range(3)]


def test_what_was_appended_is_there_after_clean_and_unclean_stops(make):
    dirs = make()
    fill(dirs)
    dirs.shutdown()
    dirs = make()
    assert all(values(dirs.get(tp)) == expected(5) for tp in PARTITIONS)
    dirs.abandon()
    dirs = make()
    assert all(values(dirs.get(tp)) == expected(5) for tp in PARTITIONS)
    assert {log.log_dir for log in dirs.all_logs()} == set(dirs.live_directories)
    fill(dirs, 1)
    assert values(dirs.get(PARTITIONS[0])) == expected(5) + expected(1)
    dirs.shutdown()


def test_deleted_partitions_are_gone_after_the_delay(make):
    dirs = make()
    fill(dirs)
    for tp in PARTITIONS[:4]:
        dirs.delete(tp)
    make.clock.advance(60_000)
    assert sorted(log.topic_partition for log in dirs.all_logs()) == PARTITIONS[4:]
    dirs.shutdown()
    dirs = make()
    assert sorted(log.topic_partition for log in dirs.all_logs()) == PARTITIONS[4:]
    dirs.shutdown()


def test_truncation_and_retention_survive_a_restart(make):
    dirs = make()
    fill(dirs, 12)
    dirs.get(PARTITIONS[0]).truncate_to(6)
    dirs.get(PARTITIONS[1]).truncate_fully_and_start_at(100)
    log = dirs.get(PARTITIONS[2])
    log.reconfigure(LogConfig.for_topic(dirs.options, {"retention.bytes": "0"}))
    assert delete_old_segments(log, 0) > 0
    start = log.log_start_offset
    make.clock.advance(60_000)
    dirs.shutdown()
    dirs = make()
    assert [dirs.get(tp).log_end_offset for tp in PARTITIONS[:3]] == [6, 100, 36]
    assert [dirs.get(tp).log_start_offset for tp in PARTITIONS[:3]] == [0, 100, start]
    dirs.shutdown()


def test_we4_41_descriptors_at_rest_are_one_per_log(tmp_path):
    def descriptors():
        """Open files below the directory."""
        links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
        return sum(os.readlink(link).startswith(str(tmp_path)) for link in links if os.path.islink(link))

    dirs = LogManager(
        LogOptions.parse({"log.dirs": str(tmp_path), "log.index.interval.bytes": "0"}), RealFiles(), ManualClock(),
        Chance(),
    )
    dirs.open()
    dirs.load()
    assert descriptors() == 1  # the lock
    for partition in range(50):
        log = dirs.get_or_create(TopicPartition("t", partition))
        for _ in range(3):
            log.append_as_leader(batch(), 0, 0)
    dirs._handles.close_idle()
    dirs._handles.close_idle()
    assert descriptors() == 50 + 1
    dirs.shutdown()
    assert descriptors() == 0


def test_logs_of_several_threads_share_the_handles(tmp_path):
    """Loading and closing run in parallel threads over one bounded set of handles."""
    options = LogOptions.parse(
        {"log.dirs": str(tmp_path), "num.recovery.threads.per.data.dir": "8", "log.segment.bytes": "500"}
    )
    for _ in range(3):
        dirs = LogManager(options, RealFiles(), ManualClock(), Chance(), max_open_handles=3)
        dirs.open()
        dirs.load()
        with ThreadPoolExecutor(4) as pool:
            logs = [dirs.get_or_create(TopicPartition("t", partition)) for partition in range(12)]
            list(pool.map(lambda log: [log.append_as_leader(batch([b"x" * 100]), 0, 0) for _ in range(10)], logs))
        ends = [log.log_end_offset for log in logs]
        assert len(set(ends)) == 1
        dirs.abandon()
