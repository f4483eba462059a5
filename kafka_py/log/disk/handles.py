"""Limits the open files of a broker, so that an idle log holds one descriptor.

The .log files of active segments are not counted here; index files and older segments are opened on use and stay open
for a while. Source: docs/operations.md, "Open files".
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from typing import Protocol


class Holder(Protocol):
    """An object that keeps one file open and can release it."""

    used: bool
    """Set by the holder whenever it uses its file; cleared by the sweep."""

    def release(self) -> None:
        """Drops the file; it is opened again on the next use. A slice in flight keeps its descriptor."""
        ...


MOST_OPEN = 256


def handles_within(limit: int) -> int:
    """How many files besides the active segments may stay open in a process with `limit` descriptors."""
    return min(MOST_OPEN, max(limit // 8, 1))


class OpenHandles:
    """The holders that have a file open, with second chance replacement and a periodic sweep of idle ones.

    May be used from any thread, because logs are loaded and closed in parallel. A holder belongs to one thread at a
    time; its file may be released while it is read, because the reader has a reference of its own.
    """

    __slots__ = ("_capacity", "_lock", "_queue")

    def __init__(self, capacity: int = MOST_OPEN) -> None:
        self._capacity = capacity
        self._queue: deque[Holder] = deque()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._queue)

    def opened(self, holder: Holder) -> None:
        """Notes that `holder` has opened its file; may release another holder's file."""
        with self._lock:
            queue = self._queue
            while len(queue) >= self._capacity:
                oldest = queue.popleft()
                if oldest.used:
                    oldest.used = False
                    queue.append(oldest)
                else:
                    oldest.release()
            holder.used = True
            queue.append(holder)

    def closed(self, holder: Holder) -> None:
        """Notes that `holder` has closed its file by itself."""
        with self._lock, contextlib.suppress(ValueError):
            self._queue.remove(holder)

    def close_idle(self) -> int:
        """Releases every holder that was not used since the last call; returns how many."""
        with self._lock:
            kept: deque[Holder] = deque()
            for holder in self._queue:
                if holder.used:
                    holder.used = False
                    kept.append(holder)
                else:
                    holder.release()
            released = len(self._queue) - len(kept)
            self._queue = kept
            return released
