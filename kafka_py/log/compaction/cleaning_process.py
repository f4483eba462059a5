"""Large compactions run in a separate process, so that they take no CPU time from the event loop.

`run_cleaning` is called in a thread and blocks. The other process gets the job over its standard input, which stays
open: when it is closed because the broker died, the process ends too and leaves a `.cleaned` file, which recovery
removes. Small jobs run in the calling thread. Source: docs/architecture.md, "Concurrency".
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from kafka_py.log.compaction.cleaning import CleanJob, Stopped, never
from kafka_py.log.disk.files import RealFiles

SMALL_BYTES = 8 * 1024 * 1024
"""Compactions that read less than this run in the calling thread."""
_POLL_MS = 50
_READ_BYTES = 1 << 20
_NICENESS = 5
_SIZE_BYTES = 8


class CleaningFailed(Exception):
    """The process could not be started, or ended without a result; neither the log nor its disk is at fault."""


def run_cleaning(job: CleanJob, small_bytes: int = SMALL_BYTES) -> CleanJob:
    """Runs the job and returns it with its result. Raises CleaningFailed, and what CleanJob.run raises."""
    is_real = isinstance(job.files, RealFiles)
    if not is_real or sum(part.size for part in job.parts) < small_bytes:
        return job.run()
    done = _in_process(job)
    job.take_result(done)
    return job


def _in_process(job: CleanJob) -> CleanJob:
    task = pickle.dumps(replace(job, is_stopped=never))
    command = [sys.executable, "-c", "from kafka_py.log.compaction.cleaning_process import work; work()"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    try:
        worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    except OSError as error:
        raise CleaningFailed(f"no process could be started to compact {job.path}: {error}") from error
    try:
        answer = _ask(worker, task, job.is_stopped)
    finally:
        worker.kill()
        worker.wait()
        for pipe in (worker.stdin, worker.stdout):
            with contextlib.suppress(OSError):  # the process has ended: unwritten input is lost
                assert pipe is not None
                pipe.close()
    if not answer:
        raise CleaningFailed(f"the process that compacted {job.path} ended with code {worker.returncode}")
    outcome = pickle.loads(answer)
    if isinstance(outcome, Exception):
        raise outcome
    assert isinstance(outcome, CleanJob)
    return outcome


def _ask(worker: subprocess.Popen[bytes], task: bytes, is_stopped: Callable[[], bool]) -> bytes:
    """Sends the task and returns the response of the process; empty if the process ended early. Raises Stopped."""
    assert worker.stdin is not None and worker.stdout is not None
    with contextlib.suppress(BrokenPipeError):  # the process has ended: its response is empty too
        worker.stdin.write(len(task).to_bytes(_SIZE_BYTES, "big") + task)
        worker.stdin.flush()
    output = worker.stdout.fileno()
    poll = select.poll()
    poll.register(output, select.POLLIN)
    parts: list[bytes] = []
    while True:
        if is_stopped():
            raise Stopped
        if poll.poll(_POLL_MS):
            part = os.read(output, _READ_BYTES)
            if not part:
                return b"".join(parts)
            parts.append(part)


def work() -> None:
    """Main function of the process: reads one job from stdin, writes the finished job or the error to stdout."""
    os.nice(_NICENESS)
    source, target = sys.stdin.buffer, sys.stdout.buffer
    size = int.from_bytes(source.read(_SIZE_BYTES), "big")
    job: CleanJob = replace(pickle.loads(source.read(size)), sleep=_sleep_when_bounded)
    threading.Thread(target=_end_with_the_broker, daemon=True).start()
    try:
        outcome: object = job.run()
    except Exception as error:
        outcome = error
    target.write(pickle.dumps(outcome))
    target.flush()
    os._exit(0)


def _end_with_the_broker() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


def _sleep_when_bounded(seconds: float) -> None:
    """Sleeps for log.cleaner.io.max.bytes.per.second only: this process need not leave CPU time to the loop."""
    if seconds > 0.001:
        time.sleep(seconds)
