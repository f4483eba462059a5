"""A compaction in a process of its own does what one in a thread does; on real files."""

from __future__ import annotations

import errno
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.clock import SystemClock
from kafka_py.base.ids import TopicPartition
from kafka_py.log.compaction.cleaning import CleanJob, Stopped
from kafka_py.log.compaction.cleaning_process import CleaningFailed, run_cleaning
from kafka_py.log.dirtiness import dirtiness_of
from kafka_py.log.disk.files import RealFiles
from kafka_py.log.log_manager import LogManager
from kafka_py.log.model.answers import Origin
from kafka_py.log.model.broker_options import LogOptions
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.records.batch import CorruptBatch
from kafka_py.records.builder import BatchBuilder


@pytest.fixture
def log(tmp_path: Path) -> PartitionLog:
    """Three closed segments with ten keys each."""
    options = LogOptions.parse({"log.dirs": str(tmp_path)})
    dirs = LogManager(options, RealFiles(), SystemClock(), Chance(), later=lambda _ms, _callback: None)
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
    found = dirtiness_of(log, 0)
    return log.compaction.clean_job(found, buffer_bytes=1 << 20, load_factor=0.9, bytes_per_s=bytes_per_s)


def test_the_result_comes_back_and_can_be_taken(log: PartitionLog) -> None:
    job = run_cleaning(job_for(log), small_bytes=0)
    assert (job.end_offset, job.records_read, job.records_kept) == (30, 30, 10)
    log.compaction.take_cleaned(job)
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


def test_a_process_that_goes_on_is_killed_when_the_compaction_is_stopped(
    log: PartitionLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stop of the broker waits for the compaction."""
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(slow))
    started: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **named: Any) -> None:
            super().__init__(*args, **named)
            started.append(self)

    monkeypatch.setattr("subprocess.Popen", Noted)
    job = job_for(log)
    job.is_stopped = lambda: True
    with pytest.raises(Stopped):
        run_cleaning(job, small_bytes=0)
    assert [worker.returncode for worker in started] == [-signal.SIGKILL]


# ---- what is no fault of the log


class Refused:
    """Stands where the operating system refuses: subprocess.Popen with an error of it."""

    def __init__(self, error: OSError) -> None:
        self.error = error

    def __call__(self, *_: object, **__: object) -> object:
        raise self.error


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENOENT, errno.EACCES])
def test_a_process_that_cannot_be_started_is_no_failure_of_the_disk(
    log: PartitionLog, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr("subprocess.Popen", Refused(OSError(number, "refused")))
    with pytest.raises(CleaningFailed, match="no process could be started"):
        run_cleaning(job_for(log), small_bytes=0)


def test_a_missing_interpreter_is_named(log: PartitionLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/no/python")
    with pytest.raises(CleaningFailed, match="/no/python"):
        run_cleaning(job_for(log), small_bytes=0)


@pytest.mark.parametrize("interpreter", ["/bin/false", "/bin/true"])
def test_a_process_that_ends_before_it_has_read_its_task_has_failed(
    log: PartitionLog, monkeypatch: pytest.MonkeyPatch, interpreter: str
) -> None:
    """The pipe to it breaks, or takes everything; with a large task it is sure to break."""
    monkeypatch.setattr("sys.executable", interpreter)
    job = job_for(log)
    job.index_bases = list(range(1_000_000))
    with pytest.raises(CleaningFailed, match="ended with code"):
        run_cleaning(job, small_bytes=0)


def test_a_killed_process_has_failed(log: PartitionLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by the kernel for want of memory."""
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\nread -r line\nkill -9 $$\n")
    script.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(script))
    job = job_for(log)
    job.path += "\n"  # the line that it reads
    with pytest.raises(CleaningFailed, match="ended with code -9"):
        run_cleaning(job, small_bytes=0)


def test_errors_of_the_segments_files_come_back_as_they_are(log: PartitionLog) -> None:
    Path(log.segments[1].path).unlink()
    with pytest.raises(FileNotFoundError):
        run_cleaning(job_for(log), small_bytes=0)
