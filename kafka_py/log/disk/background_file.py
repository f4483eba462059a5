"""A small file that is replaced as a whole, off the event loop; only the newest pending content is written.

Knows nothing of the content. Used for checkpoints and for the leader epochs.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from kafka_py.log.disk.background import Background

Content = bytes | Callable[[], bytes]
"""The content of a file; a function is called in the thread that writes."""


class BackgroundFile:
    """Saves in the background, one write at a time: of the contents saved during a write, only the last is written.

    replace: puts the content on disk, synced; blocks. failed: called on the loop with the error of a failed write.
    """

    __slots__ = ("_background", "_failed", "_lock", "_pending", "_replace", "_saving", "_unsaved")

    def __init__(
        self, replace: Callable[[bytes], None], background: Background, failed: Callable[[Exception], None]
    ) -> None:
        self._replace = replace
        self._background = background
        self._failed = failed
        self._saving = False
        self._pending: Content | None = None
        self._unsaved: Content | None = None
        self._lock: threading.Lock | None = None

    def save(self, data: Content) -> None:
        """Schedules a replacement of the file; never blocks on the disk."""
        self._unsaved = data
        if self._saving:
            self._pending = data
            return
        self._saving = True
        if self._lock is None:
            self._lock = threading.Lock()
        self._background.run(self._write, self._saved, self._not_saved)

    def save_again(self) -> bool:
        """Retries the last write if it failed and nothing was saved since; whether a write was started."""
        if self._saving or self._unsaved is None:
            return False
        self.save(self._unsaved)
        return True

    @property
    def is_saved(self) -> bool:
        """Whether the newest content is on disk and nothing is being written."""
        return not self._saving and self._unsaved is None

    def save_now(self, data: Content | None = None) -> None:
        """Replaces the file before it returns: by `data`, or by the content that is still pending.

        Blocks; for the stop sequence, in any thread. Raises OSError.
        """
        self._pending = None
        if data is None:
            data = self._unsaved
        if data is not None:
            self._unsaved = data
            self._write()

    def _write(self) -> None:
        """Writes the newest content, which may be newer than the content at the time when the job was created."""
        with self._lock or contextlib.nullcontext():
            data = self._unsaved
            if data is None:  # it is on disk already
                return
            self._replace(data() if callable(data) else data)
            if self._unsaved is data:
                self._unsaved = None

    def _saved(self, _: None) -> None:
        self._saving = False
        pending, self._pending = self._pending, None
        if pending is not None:
            self.save(pending)

    def _not_saved(self, error: Exception) -> None:
        self._saving = False
        self._failed(error)
        pending, self._pending = self._pending, None
        if pending is not None:  # newer than the content that could not be written
            self.save(pending)
