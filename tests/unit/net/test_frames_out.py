"""Bytes and file slices out, in order, however little the socket takes at a time."""

import random
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from kafka_py.base.slices import FileSlice
from kafka_py.net import frames_out
from kafka_py.net.cold_reads import WINDOW_BYTES
from kafka_py.net.frames_out import MOST_BUFFERS, SMALL_SLICE_BYTES, TURN_BYTES, Flushed, FrameSender, Part
from kafka_py.net.transport import MSG_MORE, Buffer


class Pipe:
    """A transport that takes as many bytes as it was told to, and remembers how they were handed to it."""

    fileno = -1

    def __init__(self, *takes: int) -> None:
        self.takes = list(takes)
        self.sent = bytearray()
        self.calls: list[tuple[str, int, int]] = []  # (method, bytes taken, flags)

    def _take(self, method: str, data: bytes, flags: int) -> int:
        if self.takes and self.takes[0] == 0:
            del self.takes[0]
            raise BlockingIOError
        count = min(len(data), self.takes.pop(0)) if self.takes else len(data)
        self.sent += data[:count]
        self.calls.append((method, count, flags))
        return count

    def send(self, data: Buffer, flags: int) -> int:
        return self._take("send", bytes(data), flags)

    def sendmsg(self, buffers: Iterable[Buffer], _ancillary: Iterable[object], flags: int) -> int:
        return self._take("sendmsg", b"".join(buffers), flags)

    def send_file(self, part: FileSlice, offset: int) -> int:
        file: Any = part.file
        file.seek(part.position + offset)
        data = file.read(part.size - offset)
        return self._take("send_file", data, 0) if data else 0

    def recv_into(self, _buffer: memoryview) -> int:
        raise AssertionError

    def close(self) -> None:
        pass


class Warmth:
    """Stands for ColdReads: windows are warm unless told otherwise; reading ends when the test says."""

    def __init__(self, *cold_offsets: int, reads_small: bool = False) -> None:
        self.cold_offsets = list(cold_offsets)
        self.reads_small = reads_small
        self.probed: list[int] = []
        self.reading: list[Callable[[], None]] = []

    def is_warm(self, _part: FileSlice, offset: int) -> bool:
        self.probed.append(offset)
        return offset not in self.cold_offsets

    def read_now(self, part: FileSlice) -> bytes | None:
        if not self.reads_small:
            return None
        file: Any = part.file
        file.seek(part.position)
        data: bytes = file.read(part.size)
        return data if len(data) == part.size else None

    def bring_in(self, _part: FileSlice, _offset: int, then: Callable[[], None]) -> None:
        self.reading.append(then)


@pytest.fixture
def file(tmp_path: Path) -> Iterable[BinaryIO]:
    with tempfile.TemporaryFile(dir=tmp_path) as opened:
        opened.write(bytes(range(256)) * 40)
        opened.flush()
        yield opened


def sender(pipe: Pipe, warmth: Warmth | None = None, on_read: Callable[[], None] = lambda: None) -> FrameSender:
    return FrameSender(pipe, warmth or Warmth(), on_read)  # type: ignore[arg-type]


def test_one_small_answer_is_one_send() -> None:
    pipe = Pipe()
    out = sender(pipe)
    out.parts.append(b"hello")
    assert out.flush() is Flushed.DONE
    assert pipe.calls == [("send", 5, 0)]
    assert out.parts == []
    assert out.sent_bytes == 5


def test_many_small_answers_leave_in_one_send() -> None:
    pipe = Pipe()
    out = sender(pipe)
    out.parts += [b"ab", b"", b"cd", b"e"] * 20
    assert out.flush() is Flushed.DONE
    assert pipe.calls == [("send", 100, 0)]


def test_large_answers_are_not_copied_together() -> None:
    pipe = Pipe()
    out = sender(pipe)
    out.parts += [bytes(50_000), bytes(50_000)]
    assert out.flush() is Flushed.DONE
    assert pipe.calls == [("sendmsg", 100_000, 0)]


def test_more_buffers_than_one_call_takes() -> None:
    pipe = Pipe()
    out = sender(pipe)
    out.parts += [b"x"] * (MOST_BUFFERS * 2 + 1)
    assert out.flush() is Flushed.DONE
    assert bytes(pipe.sent) == b"x" * (MOST_BUFFERS * 2 + 1)


def test_a_header_waits_for_its_slice(file: BinaryIO) -> None:
    pipe = Pipe()
    out = sender(pipe)
    out.parts += [b"head", FileSlice(file, 10, 20), b"tail"]
    assert out.flush() is Flushed.DONE
    assert pipe.calls == [("send", 4, MSG_MORE), ("send_file", 20, 0), ("send", 4, 0)]
    assert bytes(pipe.sent) == b"head" + bytes(range(10, 30)) + b"tail"


def test_small_slices_leave_with_their_neighbours(file: BinaryIO) -> None:
    pipe = Pipe()
    out = sender(pipe, Warmth(reads_small=True))
    out.parts += [b"<", FileSlice(file, 10, 2), b"><", FileSlice(file, 20, 2), FileSlice(file, 0, 0), b">"]
    assert out.flush() is Flushed.DONE
    assert pipe.calls == [("send", 8, 0)]
    assert bytes(pipe.sent) == b"<\x0a\x0b><\x14\x15>"


def test_a_large_slice_goes_by_itself(file: BinaryIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames_out, "SMALL_SLICE_BYTES", 50)
    pipe = Pipe()
    out = sender(pipe, Warmth(reads_small=True))
    out.parts += [b"<", FileSlice(file, 0, 50), b"><", FileSlice(file, 0, 51), b">"]
    assert out.flush() is Flushed.DONE
    assert pipe.calls == [("send", 53, MSG_MORE), ("send_file", 51, 0), ("send", 1, 0)]


def test_more_small_slices_than_are_worth_joining(file: BinaryIO) -> None:
    pipe = Pipe()
    out = sender(pipe, Warmth(reads_small=True))
    out.parts += [FileSlice(file, 0, 10_000)] * 10
    assert out.flush() is Flushed.DONE
    assert bytes(pipe.sent) == (bytes(range(256)) * 40)[:10_000] * 10
    assert max(count for _, count, _ in pipe.calls) <= frames_out.JOIN_BYTES


@pytest.mark.parametrize("reads_small", [False, True])
def test_any_split_sends_the_same_bytes(file: BinaryIO, reads_small: bool) -> None:
    chance = random.Random(5)
    for _ in range(200):
        parts: list[Part] = []
        expected = b""
        for _ in range(chance.randrange(1, 8)):
            if chance.random() < 0.4:
                position, size = chance.randrange(1000), chance.randrange(300)
                parts.append(FileSlice(file, position, size))
                expected += (bytes(range(256)) * 40)[position : position + size]
            else:
                parts.append(chance.randbytes(chance.randrange(200)))
                expected += parts[-1]  # type: ignore[operator]
        pipe = Pipe(*(chance.choice((0, 1, 7, 100)) for _ in range(30)))
        out = sender(pipe, Warmth(reads_small=reads_small))
        out.parts += parts
        while out.flush() is Flushed.BLOCKED:
            pass
        assert bytes(pipe.sent) == expected
        assert out.sent_bytes == len(expected)
        assert out.parts == []


def test_one_connection_gives_way_after_its_share() -> None:
    pipe = Pipe()
    out = sender(pipe)
    out.parts += [bytes(TURN_BYTES), bytes(10)]
    pipe.takes = [TURN_BYTES]
    assert out.flush() is Flushed.BLOCKED
    assert out.sent_bytes == TURN_BYTES
    assert out.flush() is Flushed.DONE


def test_a_cold_slice_is_read_in_before_it_is_sent(file: BinaryIO) -> None:
    pipe, warmth, events = Pipe(), Warmth(0), []
    out = sender(pipe, warmth, lambda: events.append("on_read"))
    out.parts += [b"head", FileSlice(file, 0, 100)]
    assert out.flush() is Flushed.READING
    assert out.flush() is Flushed.READING
    assert bytes(pipe.sent) == b"head"
    warmth.reading.pop()()
    assert events == ["on_read"]
    assert out.flush() is Flushed.DONE
    assert warmth.probed == [0]
    assert len(pipe.sent) == 104


def test_a_slice_is_probed_once_however_often_the_socket_blocks(file: BinaryIO) -> None:
    pipe, warmth = Pipe(10, 0, 10, 0), Warmth()
    out = sender(pipe, warmth)
    out.parts += [FileSlice(file, 0, 100), FileSlice(file, 100, 10)]
    while out.flush() is not Flushed.DONE:
        pass
    assert warmth.probed == [0, 0]  # each slice at its own start


def test_a_slice_that_was_read_in_says_nothing_of_the_one_behind_it(file: BinaryIO) -> None:
    """Small and in memory now, it leaves with its neighbours; the large one behind it may be on disk only."""
    pipe, warmth = Pipe(), Warmth(0)
    out = sender(pipe, warmth)
    out.parts += [FileSlice(file, 0, 100), FileSlice(file, 100, SMALL_SLICE_BYTES + 1)]
    assert out.flush() is Flushed.READING
    warmth.reads_small = True
    warmth.reading.pop()()
    assert out.flush() is Flushed.READING
    assert warmth.probed == [0, 0]
    assert len(pipe.sent) == 100


def test_a_long_slice_is_probed_window_by_window(file: BinaryIO) -> None:
    class Endless(Pipe):
        def send_file(self, part: FileSlice, offset: int) -> int:
            return min(TURN_BYTES, part.size - offset)

    warmth = Warmth()
    out = sender(Endless(), warmth)
    out.parts.append(FileSlice(file, 0, 3 * WINDOW_BYTES))
    while out.flush() is not Flushed.DONE:
        pass
    assert warmth.probed == [0, WINDOW_BYTES, 2 * WINDOW_BYTES]


def test_a_file_shorter_than_its_slice_ends_the_connection(file: BinaryIO) -> None:
    out = sender(Pipe())
    out.parts.append(FileSlice(file, 10_000, 1_000))
    assert out.flush() is Flushed.BLOCKED  # what there is has left
    with pytest.raises(ConnectionError, match="early"):
        out.flush()


def test_slices_hold_no_memory(file: BinaryIO) -> None:
    out = sender(Pipe(0))
    out.parts += [b"12345", FileSlice(file, 0, 1000)]
    assert out.held_bytes == 5
    assert out.flush() is Flushed.BLOCKED
    out.close()
    assert out.held_bytes == 0
