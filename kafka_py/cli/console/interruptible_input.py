"""Standard input that a signal always interrupts, also one that comes just before the wait for input.

Python checks for signals before it enters read(2) and when a signal interrupts it; one that arrives between the check
and the call is seen only when there is something to read, which may be never. Here the wait is for the input and for
the pipe that Python's signal handler writes to (signal.set_wakeup_fd), so no signal is missed.
"""

from __future__ import annotations

import io
import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_DRAIN_BYTES = 512


class _WakingInput(io.RawIOBase):
    """The bytes of `source_fd`; a read that waits ends its wait when `signal_fd` has something to read."""

    def __init__(self, source_fd: int, signal_fd: int) -> None:
        self._source_fd = source_fd
        self._signal_fd = signal_fd

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._source_fd

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """As read(2), 0 at the end; what a signal's handler raises comes out here."""
        ready: list[int] = []
        while self._source_fd not in ready:
            ready = _wait_readable(self._source_fd, self._signal_fd)
            if self._signal_fd in ready:
                os.read(self._signal_fd, _DRAIN_BYTES)
        return os.readv(self._source_fd, [buffer])


def _wait_readable(*fds: int) -> list[int]:
    poll = select.poll()
    for fd in fds:
        poll.register(fd, select.POLLIN)
    return [fd for fd, _events in poll.poll()]


@contextmanager
def interruptible(source: BinaryIO) -> Iterator[BinaryIO]:
    """A stream over the descriptor of `source`, whose own buffer must still be empty; in the main thread only.

    A source without descriptor (a buffer in memory) never waits, and is given back as it is.
    """
    try:
        source_fd = source.fileno()
    except io.UnsupportedOperation:
        yield source
        return
    signal_fd, wakeup_fd = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    before = signal.set_wakeup_fd(wakeup_fd, warn_on_full_buffer=False)
    try:
        yield cast(BinaryIO, io.BufferedReader(_WakingInput(source_fd, signal_fd)))
    finally:
        signal.set_wakeup_fd(before)
        os.close(wakeup_fd)
        os.close(signal_fd)
