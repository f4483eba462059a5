"""File slices that are not in memory: found out before they are sent, and read in by a thread.

`sendfile` of data that is only on disk would hold the event loop, and with it every client, until the disk has
answered. So a slice's far end is probed without waiting (preadv2 with RWF_NOWAIT); when it would wait, a thread reads
the slice into the page cache first. Knows files and positions, nothing of sockets.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, Protocol

from kafka_py.base.slices import FileSlice

WINDOW_BYTES = 8 * 1024 * 1024
"""Longer slices are probed, and read in, one window at a time."""
_CHUNK_BYTES = 256 * 1024
_RWF_NOWAIT = getattr(os, "RWF_NOWAIT", 0)
_UNSUPPORTED = frozenset({errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS})


class RunsInThreads(Protocol):
    """What is needed of an event loop."""

    def run_in_executor(self, executor: Executor | None, function: Callable[[], Any], /) -> Any: ...


class ColdReads:
    """The probe and the thread, shared by all connections of a broker.

    executor: runs the reads; None for the default executor of the loop.
    """

    def __init__(self, loop: RunsInThreads, executor: Executor | None = None) -> None:
        self._loop = loop
        self._executor = executor
        self._probe = [bytearray(1)]
        self._can_probe = hasattr(os, "preadv") and bool(_RWF_NOWAIT)
        self.cold_count = 0
        """Slices that had to be read in."""

    def is_warm(self, part: FileSlice, offset: int) -> bool:
        """Whether the window of the slice that begins at `offset` can be sent without waiting for the disk.

        True too where the system or the file system cannot tell, and for what the file says was written lately
        (an attribute `warm_from`: the position from which all is recent; optional).
        """
        if not self._can_probe:
            return True
        file = part.file
        warm_from = getattr(file, "warm_from", None)
        position = part.position + offset
        if warm_from is not None and position >= warm_from:
            return True
        last = position + min(part.size - offset, WINDOW_BYTES) - 1
        try:
            os.preadv(file.fileno(), self._probe, last, _RWF_NOWAIT)
        except BlockingIOError:
            self.cold_count += 1
            return False
        except OSError as error:
            if error.errno in _UNSUPPORTED:
                self._can_probe = False
        return True

    def read_now(self, part: FileSlice) -> bytearray | None:
        """The bytes of a small slice; None when the disk would have to be waited for, or the file is too short."""
        data = bytearray(part.size)
        try:
            got = os.preadv(part.file.fileno(), (data,), part.position, _RWF_NOWAIT if self._can_probe else 0)
        except OSError as error:
            if error.errno in _UNSUPPORTED:
                self._can_probe = False
            return None
        return data if got == part.size else None

    def bring_in(self, part: FileSlice, offset: int, then: Callable[[], None]) -> None:
        """Read the window that begins at `offset` in a thread, and call `then` on the loop.

        A read that fails is not reported: the sendfile that follows meets the same failure.
        """
        size = min(part.size - offset, WINDOW_BYTES)
        future = self._loop.run_in_executor(self._executor, lambda: _read_through(part, part.position + offset, size))
        future.add_done_callback(lambda _future: then())


def _read_through(part: FileSlice, position: int, size: int) -> None:
    """Have the kernel hold these bytes; `part` keeps the file open while the thread is at it."""
    scratch = bytearray(min(size, _CHUNK_BYTES))
    fileno = part.file.fileno()
    end = position + size
    try:
        while position < end:
            got = os.preadv(fileno, [memoryview(scratch)[: end - position]], position)
            if not got:
                return
            position += got
    except OSError:
        return
