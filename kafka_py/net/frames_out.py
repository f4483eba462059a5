"""Bytes and file slices out of a connection: as few system calls as the parts allow, and a bounded amount each time.

Knows parts, not responses; the order was settled before (connection.py).
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from itertools import islice

from kafka_py.base.slices import FileSlice
from kafka_py.net.cold_reads import WINDOW_BYTES, ColdReads
from kafka_py.net.transport import MSG_MORE, Buffer, Transport

JOIN_BYTES = 64 * 1024
"""Up to here copying parts together is cheaper than handing the kernel a list of them."""
SMALL_SLICE_BYTES = 32 * 1024
"""Slices up to here are read and leave together with their neighbours; larger ones go by sendfile, uncopied."""
MOST_BUFFERS = 512
TURN_BYTES = 2 * 1024 * 1024
"""How many bytes one connection sends before others have their turn."""

Part = bytes | bytearray | memoryview | FileSlice


class Flushed(enum.Enum):
    """Where `FrameSender.flush` stopped."""

    DONE = "all has left"
    BLOCKED = "the socket takes more later"
    READING = "file data is being read in; `on_read` follows"


class FrameSender:
    """What one connection has to send.

    on_read: called on the loop when file data that `flush` waited for is there; call `flush` again.
    """

    __slots__ = (
        "_cold_reads", "_offset", "_on_read", "_reading", "_transport", "_warm_until", "parts", "sent_bytes",
    )  # fmt: skip

    def __init__(self, transport: Transport, cold_reads: ColdReads, on_read: Callable[[], None]) -> None:
        self._transport = transport
        self._cold_reads = cold_reads
        self._on_read = on_read
        self._reading = False
        self._offset = 0  # of the first part, how much has left
        self._warm_until = 0  # of the first part, up to where it was probed
        self.parts: list[Part] = []
        """What is still to leave; callers append."""
        self.sent_bytes = 0
        """All that ever left."""

    @property
    def held_bytes(self) -> int:
        """Memory held by what is still to leave; file slices hold none."""
        return sum(len(part) for part in self.parts if not isinstance(part, FileSlice))

    def flush(self) -> Flushed:
        """Send as much as the socket takes. Raises OSError for a lost connection or a file shorter than its slice."""
        parts = self.parts
        if self._reading:
            return Flushed.READING
        turn_ends = self.sent_bytes + TURN_BYTES
        try:
            while parts:
                first = parts[0]
                if isinstance(first, FileSlice):
                    goes_alone = self._offset or first.size > SMALL_SLICE_BYTES or not self._send_run()
                    if goes_alone and not self._send_slice(first):
                        return Flushed.READING
                elif not self._offset and len(parts) == 1:
                    self._sent_of_first(self._transport.send(first, 0), len(first))
                elif not self._offset and _is_large(parts[1]):
                    self._sent_of_first(self._transport.send(first, MSG_MORE), len(first))
                else:
                    self._send_run()
                if self._offset or self.sent_bytes >= turn_ends:  # a part that left in part: the socket is full
                    return Flushed.BLOCKED if parts else Flushed.DONE
        except BlockingIOError:
            return Flushed.BLOCKED
        return Flushed.DONE

    def _send_run(self) -> bool:
        """Send the bytes and small slices up to the next large slice, or as many as one call takes.

        False, and nothing sent, when a slice is first that must go by itself.
        """
        parts = self.parts
        run: list[Buffer] = []
        flags = 0
        size = -self._offset
        for at, part in enumerate(islice(parts, MOST_BUFFERS)):
            if isinstance(part, FileSlice):
                data = self._read_small(part, size) if at or not self._offset else None
                if data is None:
                    flags = MSG_MORE
                    break
                parts[at] = part = data
            run.append(part)
            size += len(part)
        if not run:
            return False
        if self._offset:
            run[0] = memoryview(run[0])[self._offset :]
        if len(run) == 1:
            self._sent(self._transport.send(run[0], flags))
        elif size <= JOIN_BYTES:
            self._sent(self._transport.send(b"".join(run), flags))
        else:
            self._sent(self._transport.sendmsg(run, (), flags))
        return True

    def _read_small(self, part: FileSlice, gathered: int) -> Buffer | None:
        """The slice's bytes, if it is small, in memory, and fits what was gathered to be sent together."""
        if part.size > SMALL_SLICE_BYTES or gathered + part.size > JOIN_BYTES:
            return None
        return self._cold_reads.read_now(part)

    def _send_slice(self, part: FileSlice) -> bool:
        """False when the data must be read from disk first, which then is under way."""
        offset = self._offset
        if not part.size:
            self._sent_of_first(0, 0)
            return True
        if offset >= self._warm_until:
            if not self._cold_reads.is_warm(part, offset):
                self._reading = True
                self._warm_until = offset + WINDOW_BYTES
                self._cold_reads.bring_in(part, offset, self._brought_in)
                return False
            self._warm_until = offset + WINDOW_BYTES
        sent = self._transport.send_file(part, offset)
        if sent <= 0:
            raise ConnectionError(f"{part!r} ends {part.size - offset} bytes early")
        self._sent_of_first(sent, part.size)
        return True

    def _brought_in(self) -> None:
        self._reading = False
        self._on_read()

    def _sent_of_first(self, count: int, size: int) -> None:
        """Strike `count` bytes off the first part, which is `size` long."""
        self.sent_bytes += count
        offset = self._offset + count
        if offset == size:
            del self.parts[0]
            self._warm_until = 0
            offset = 0
        self._offset = offset

    def _sent(self, count: int) -> None:
        """Strike `count` bytes off the front."""
        self.sent_bytes += count
        parts = self.parts
        left = self._offset + count
        gone = 0
        for part in parts:
            if left < len(part):
                break
            left -= len(part)
            gone += 1
        if gone == len(parts):
            parts.clear()
        else:
            del parts[:gone]
        if gone:
            self._warm_until = 0
        self._offset = left

    def close(self) -> None:
        """Drop what is left, with it the files, and the owner, whom a cycle would keep until garbage is collected."""
        self.parts.clear()
        self._offset = 0
        self._on_read = _nothing


class BlockedTime:
    """How long the responses of a connection waited for the peer, which is not the broker's time.

    now_s: a monotonic clock.
    """

    __slots__ = ("_now_s", "_since_s", "_sum_s")

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._since_s: float | None = None  # while they wait
        self._sum_s = 0.0

    def begin(self) -> None:
        """Called when the socket accepts no further bytes for now."""
        self._since_s = self._now_s()

    def end(self) -> None:
        """The peer takes more, or there is nothing left to send; may be called again."""
        if self._since_s is not None:
            self._sum_s += self._now_s() - self._since_s
            self._since_s = None

    def take_s(self) -> float:
        """The time since the last call. What waits now has ended to do so."""
        if self._since_s is not None:
            self.end()
        sum_s, self._sum_s = self._sum_s, 0.0
        return sum_s


def _nothing() -> None:
    """In place of `on_read` of a sender that is closed."""


def _is_large(part: Part) -> bool:
    """Whether a part is sent by itself with sendfile, uncopied."""
    return isinstance(part, FileSlice) and part.size > SMALL_SLICE_BYTES
