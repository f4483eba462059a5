"""File data that is not in memory is found out, and read in by a thread."""

import errno
import os
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.slices import FileSlice
from kafka_py.net.cold_reads import WINDOW_BYTES, ColdReads


class InlineLoop:
    """Runs at once what would run in a thread."""

    def run_in_executor(self, _executor: object, function: Callable[[], Any], /) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function())
        return future


class Probe:
    """Stands for os.preadv."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: OSError | None = None) -> None:
        self.answer = answer
        self.positions: list[int] = []
        monkeypatch.setattr(os, "preadv", self)

    def __call__(self, _fd: int, buffers: list[memoryview], position: int, flags: int = 0) -> int:
        self.positions.append(position)
        if flags and self.answer is not None:
            raise self.answer
        return len(buffers[0])


@pytest.fixture
def part(tmp_path: Path) -> FileSlice:
    path = tmp_path / "segment"
    path.write_bytes(bytes(1000))
    return FileSlice(path.open("rb"), 100, 200)


def test_what_was_just_written_is_warm(part: FileSlice) -> None:
    assert ColdReads(InlineLoop()).is_warm(part, 0)


def test_the_far_end_is_probed(part: FileSlice, monkeypatch: pytest.MonkeyPatch) -> None:
    probe = Probe(monkeypatch)
    assert ColdReads(InlineLoop()).is_warm(part, 50)
    assert probe.positions == [299]
    part.size = 3 * WINDOW_BYTES
    assert ColdReads(InlineLoop()).is_warm(part, WINDOW_BYTES)
    assert probe.positions[1] == 100 + 2 * WINDOW_BYTES - 1


def test_a_probe_that_would_wait_means_cold(part: FileSlice, monkeypatch: pytest.MonkeyPatch) -> None:
    Probe(monkeypatch, BlockingIOError(errno.EAGAIN, "would wait"))
    cold = ColdReads(InlineLoop())
    assert not cold.is_warm(part, 0)
    assert cold.cold_count == 1


def test_a_file_system_that_cannot_tell_is_asked_once(part: FileSlice, monkeypatch: pytest.MonkeyPatch) -> None:
    probe = Probe(monkeypatch, OSError(errno.EOPNOTSUPP, "not supported"))
    cold = ColdReads(InlineLoop())
    assert cold.is_warm(part, 0)
    assert cold.is_warm(part, 0)
    assert len(probe.positions) == 1


def test_any_other_failure_is_left_to_sendfile(part: FileSlice, monkeypatch: pytest.MonkeyPatch) -> None:
    probe = Probe(monkeypatch, OSError(errno.EIO, "broken"))
    cold = ColdReads(InlineLoop())
    assert cold.is_warm(part, 0)
    assert cold.is_warm(part, 0)
    assert len(probe.positions) == 2


def test_what_the_file_calls_recent_is_not_probed(part: FileSlice, monkeypatch: pytest.MonkeyPatch) -> None:
    class Recent:
        warm_from = 100

        def fileno(self) -> int:
            raise AssertionError

    Probe(monkeypatch, BlockingIOError(errno.EAGAIN, "would wait"))
    assert ColdReads(InlineLoop()).is_warm(FileSlice(Recent(), 100, 10), 0)


def test_bring_in_reads_the_window_and_calls_back(part: FileSlice, monkeypatch: pytest.MonkeyPatch) -> None:
    probe, events = Probe(monkeypatch), []
    ColdReads(InlineLoop()).bring_in(part, 50, lambda: events.append("then"))
    assert probe.positions == [150]
    assert events == ["then"]


def test_a_file_that_ends_early_ends_the_reading(part: FileSlice) -> None:
    events: list[str] = []
    part.size = 5000
    ColdReads(InlineLoop()).bring_in(part, 0, lambda: events.append("then"))
    assert events == ["then"]


def test_a_small_slice_is_read_at_once_when_it_is_in_memory(part: FileSlice, monkeypatch: pytest.MonkeyPatch) -> None:
    cold = ColdReads(InlineLoop())
    assert cold.read_now(part) == bytes(200)
    part.position = 900
    assert cold.read_now(part) is None  # the file ends before the slice
    Probe(monkeypatch, BlockingIOError(errno.EAGAIN, "would wait"))
    assert cold.read_now(part) is None
    Probe(monkeypatch, OSError(errno.EOPNOTSUPP, "not supported"))
    assert cold.read_now(part) is None
    assert cold.read_now(part) == bytes(200)  # from now on without the flag
