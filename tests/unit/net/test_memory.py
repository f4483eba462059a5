"""The C library's switch, where there is one, and memory that is not filled with zeros."""

import ctypes
import time

import pytest

from kafka_py.net.frames_in import FrameReceiver, MemoryPool
from kafka_py.net.memory import keep_freed_memory, resize


def test_it_can_be_switched_on_twice() -> None:
    assert keep_freed_memory() is keep_freed_memory()


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: object())
    assert keep_freed_memory() is False


def test_what_is_there_stays_when_more_is_added() -> None:
    frame = bytearray(b"abc")
    for size in (3, 4, 100_000, 50_000_000, 2):
        kept = bytes(frame[:3])
        resize(frame, size)
        assert len(frame) == size
        assert frame[:3] == kept[:size]
    with memoryview(frame), pytest.raises(BufferError):
        resize(frame, 5)


def test_a_large_frame_costs_what_has_arrived_and_not_what_is_to_come() -> None:
    """A gigabyte of zeros takes about half a second."""
    arrived = [(1 << 30).to_bytes(4) + bytes(100_000)]

    def recv_into(buffer: memoryview) -> int:
        data = arrived.pop()
        buffer[: len(data)] = data
        return len(data)

    receiver = FrameReceiver(recv_into, memoryview(bytearray(256 * 1024)), 1 << 30, MemoryPool())
    receiver._credit = 1 << 30  # of a connection that has delivered such a frame before
    began_s = time.thread_time()
    assert receiver.receive() == []
    assert time.thread_time() - began_s < 0.1
    receiver.close()
