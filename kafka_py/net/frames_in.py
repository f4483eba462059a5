"""Bytes of a stream into whole frames, each in a bytearray of its own and of its exact size.

A frame is four bytes of size (big-endian, signed) and that many bytes. Small frames are cut out of one receive
buffer that all connections of a loop share; a large one is received straight into its own bytearray. What a peer
claims is not believed: memory grows with what has arrived. Knows of a frame's content that it begins with the api key.
Source: docs/reference/protocol.md, section 1.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from kafka_py.net.memory import resize

RECEIVE_BUFFER_BYTES = 256 * 1024
DIRECT_BYTES = 64 * 1024
"""Frames above this size that have not arrived whole are received into their own bytearray."""
FIRST_STEP_BYTES = 128 * 1024
"""What a large frame may allocate before any of it has arrived; connections that delivered more before get more."""
FIRST_READ_BYTES = 4 * 1024
"""What is read at first of the frame after a large one: if that is large too, little of it must be copied."""
GROWTH = 4
"""An unfinished frame takes at most this many times the bytes that have arrived."""

_SIZE = struct.Struct(">i").unpack_from
_SIZE_AND_KEY = struct.Struct(">ih").unpack_from

SizeFault = Callable[[int, int], str | None]
"""(api key, size in bytes) -> why a frame that large is refused; None when it is not."""


def any_size(_key: int, _size: int) -> None:
    """Frames of one kind are as large as those of any other."""


class InvalidFrame(Exception):
    """The peer announced a frame size that is negative or over the limit: nothing after it can be understood."""


class PeerClosed(ConnectionError):
    """The peer closed its side of the stream."""


def _refused(size: int, max_bytes: int) -> str:
    refused = f"it announced {size} bytes, at most {max_bytes} are allowed"
    return f"{refused}; these are the first bytes of TLS, on a listener without it" if is_tls(size) else refused


def is_tls(size: int) -> bool:
    """Whether the four bytes of a size begin a TLS record: an alert or a handshake message, of a version 3.x."""
    return size >> 16 in (0x1503, 0x1603)


class MemoryPool:
    """Room for large frames that are being received, of all connections together (queued.max.request.bytes).

    As in Kafka a frame is admitted while any room is left, so that the bound is passed by one frame at most.
    limit_bytes: <= 0 for none. now_ms: a clock, for `depleted_ms`.
    """

    def __init__(self, limit_bytes: int = 0, now_ms: Callable[[], float] = lambda: 0.0) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self._now_ms = now_ms
        self._depleted_ms = 0.0
        self._waiting_since_ms = 0.0
        self._waiting: dict[Callable[[], None], None] = {}

    def take(self, size: int) -> bool:
        if self.limit_bytes > 0 and self.used_bytes >= self.limit_bytes:
            return False
        self.used_bytes += size
        return True

    def give_back(self, size: int) -> None:
        self.used_bytes -= size
        while self._waiting and (self.limit_bytes <= 0 or self.used_bytes < self.limit_bytes):
            waiter = next(iter(self._waiting))
            self.stop_waiting(waiter)
            waiter()

    def wait(self, waiter: Callable[[], None]) -> None:
        """Have `waiter` called once, when there is room again; first come, first served."""
        if not self._waiting:
            self._waiting_since_ms = self._now_ms()
        self._waiting[waiter] = None

    def stop_waiting(self, waiter: Callable[[], None]) -> None:
        if waiter in self._waiting:
            del self._waiting[waiter]
            if not self._waiting:
                self._depleted_ms += self._now_ms() - self._waiting_since_ms

    @property
    def depleted_ms(self) -> float:
        """The total time in which connections waited for room."""
        return self._depleted_ms + (self._now_ms() - self._waiting_since_ms if self._waiting else 0.0)

    @property
    def available_bytes(self) -> int:
        """Room that is left; the greatest long where there is no bound, as Apache Kafka's broker says it."""
        return max(self.limit_bytes - self.used_bytes, 0) if self.limit_bytes > 0 else (1 << 63) - 1


class FrameReceiver:
    """The frames of one connection.

    recv_into: of the transport. buffer: shared by the connections of one loop, at least DIRECT_BYTES + 4 long; its
        content means nothing between two calls. max_bytes: a larger frame is refused. size_fault: asked about frames
        of more than DIRECT_BYTES that have not arrived whole, before memory is taken for them.
    """

    __slots__ = (
        "_buffer", "_credit", "_expects_large", "_filled", "_frame", "_pool", "_recv_into", "_size", "_size_fault",
        "_tail", "failure", "is_starved", "max_bytes", "received_bytes",
    )  # fmt: skip

    def __init__(
        self, recv_into: Callable[[memoryview], int], buffer: memoryview, max_bytes: int, pool: MemoryPool,
        size_fault: SizeFault = any_size,
    ) -> None:  # fmt: skip
        self._recv_into = recv_into
        self._buffer = buffer
        self.max_bytes = max_bytes
        """May change between two frames: connections that have not logged in are given less."""
        self._pool = pool
        self._size_fault = size_fault
        self._tail = b""  # the beginning of a frame, its four bytes of size included
        self._frame: bytearray | None = None  # a large frame, `_filled` of `_size` bytes of which are here
        self._filled = 0
        self._size = 0
        self._credit = FIRST_STEP_BYTES
        self._expects_large = False  # the last frame was
        self.failure: InvalidFrame | None = None
        """Set when the frames returned last are followed by malformed bytes."""
        self.is_starved = False
        """Set when a large frame must wait for room in the pool: read on after `resume`."""
        self.received_bytes = 0
        """What the last call of `receive` read from the stream."""

    def receive(self) -> list[bytearray]:
        """Read once and return the frames that are complete now, perhaps none.

        Raises BlockingIOError when nothing is there, PeerClosed at the end of the stream, OSError when it broke.
        """
        if self._frame is not None:
            return self._receive_large(self._frame)
        buffer = self._buffer
        tail = self._tail
        if tail:
            end = len(tail)
            got = self._recv_into(buffer[end:])
            buffer[:end] = tail
            end += got
        else:
            end = got = self._recv_into(buffer[:FIRST_READ_BYTES] if self._expects_large else buffer)
        self._expects_large = False
        if not got:
            raise PeerClosed("the peer closed the connection")
        self.received_bytes = got
        return self._cut(end)

    def _cut(self, end: int) -> list[bytearray]:
        """The whole frames in buffer[:end]; the rest becomes the tail or the start of a large frame."""
        buffer = self._buffer
        frames: list[bytearray] = []
        start = 0
        while end - start >= 4:
            (size,) = _SIZE(buffer, start)
            body = start + 4
            start_of_next = body + size
            if size < 0 or size > self.max_bytes:
                self.failure = InvalidFrame(_refused(size, self.max_bytes))
                return frames
            if start_of_next > end:
                if size > DIRECT_BYTES and end >= body + 2:
                    fault = self._size_fault(_SIZE_AND_KEY(buffer, start)[1], size)
                    if fault is not None:
                        self.failure = InvalidFrame(fault)
                        return frames
                    if self._pool.take(size):
                        self._begin_large(size, buffer[body:end])
                        start = end
                    else:
                        self.is_starved = True
                break
            frames.append(bytearray(buffer[body:start_of_next]))
            start = start_of_next
        self._tail = bytes(buffer[start:end]) if start < end else b""
        return frames

    def _begin_large(self, size: int, arrived: memoryview) -> None:
        filled = len(arrived)
        self._frame = frame = bytearray()
        resize(frame, min(size, max(self._credit, GROWTH * filled)))
        frame[:filled] = arrived
        self._filled = filled
        self._size = size

    def _receive_large(self, frame: bytearray) -> list[bytearray]:
        got = self._recv_into(memoryview(frame)[self._filled :])
        if not got:
            raise PeerClosed("the peer closed the connection within a request")
        self.received_bytes = got
        self._filled = filled = self._filled + got
        size = self._size
        if filled == size:
            self._frame = None
            self._size = 0
            self._credit = max(self._credit, size)
            self._pool.give_back(size)
            self._expects_large = True
            return [frame]
        if filled == len(frame):
            resize(frame, min(size, GROWTH * filled))
        return []

    def resume(self) -> None:
        """There is room in the pool: take up the large frame that had to wait, or wait on (`is_starved`)."""
        tail = self._tail
        (size,) = _SIZE(tail)
        self.is_starved = not self._pool.take(size)
        if not self.is_starved:
            self._tail = b""
            self._begin_large(size, memoryview(tail)[4:])

    def close(self) -> None:
        """Give back what an unfinished frame holds."""
        if self._frame is not None:
            self._frame = None
            self._pool.give_back(self._size)
        self._tail = b""
