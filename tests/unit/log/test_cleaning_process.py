"""A compaction in a process of its own does what one in a thread does; on real files."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kafka_py.base.clock import SystemClock
from kafka_py.base.ids import TopicPartition
from kafka_py.log.answers import Origin
from kafka_py.log.cleaning import CleanJob, Stopped
from kafka_py.log.cleaning_process import run_cleaning
from kafka_py.log.configs import LogConfig, LogOptions
from kafka_py.log.dirtiness import dirtiness_of
from kafka_py.log.files import RealFiles
from kafka_py.log.log_dirs import LogDirs
from kafka_py.log.partition_log import PartitionLog
from kafka_py.records.batch import CorruptBatch
from kafka_py.records.builder import BatchBuilder


@pytest.fixture
def log(tmp_path: Path) -> PartitionLog:
    """Three closed segments with ten keys each."""
    options = LogOptions.parse({"log.dirs": str(tmp_path)})
    dirs = LogDirs(options, RealFiles(), SystemClock(), later=lambda _ms, _callback: None)
    dirs.open()
    made = dirs.get_or_create(TopicPartition("t", 0), LogConfig.for_topic(options, {"cleanup.policy": "compact"}))
    now_ms = int(time.time() * 1000)
    for number in range(3):
        builder = BatchBuilder()
        for key in range(10):
            builder.append(now_ms, b"%d" % key, b"%d" % number)
        made.append_as_leader(memoryview(bytearray(builder.build())), 0, now_ms, origin=Origin.COORDINATOR)
        made.roll(now_ms)
    made.update_high_watermark(made.log_end_offset)
    return made


def job_for(log: PartitionLog, bytes_per_s: float = 1e18) -> CleanJob:
    return log.clean_job(dirtiness_of(log, 0), buffer_bytes=1 << 20, load_factor=0.9, bytes_per_s=bytes_per_s)


def test_the_result_comes_back_and_can_be_taken(log: PartitionLog) -> None:
    job = run_cleaning(job_for(log), small_bytes=0)
    assert (job.end_offset, job.records_read, job.records_kept) == (30, 30, 10)
    log.take_cleaned(job)
    assert not job.cleaned and not job.unused
    assert [segment.base_offset for segment in log.segments] == [0, 30]
    assert log.size_bytes == job.bytes_written


def test_an_error_comes_back(log: PartitionLog) -> None:
    file = log.segments[1].file()
    file.write(b"\xff", 80)
    with pytest.raises(CorruptBatch):
        run_cleaning(job_for(log), small_bytes=0)


def test_it_can_be_stopped(log: PartitionLog) -> None:
    job = job_for(log, bytes_per_s=0.001)
    job.is_stopped = lambda: True
    with pytest.raises(Stopped):
        run_cleaning(job, small_bytes=0)
