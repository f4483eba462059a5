"""One log directory of a broker: lock, checkpoints, clean shutdown mark, failure state.

Knows no log; log_manager.py knows which logs are in it. Source: docs/reference/log.md, sections 1, 12, 13 and 17.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping

from kafka_py.base.ids import TopicPartition
from kafka_py.log.disk import filenames
from kafka_py.log.disk.background_file import BackgroundFile
from kafka_py.log.disk.context import LogContext
from kafka_py.log.disk.files import DirectoryLock, FileInfo, explained, write_atomically
from kafka_py.log.loading.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from kafka_py.log.state.checkpoints import create_if_missing, format_offsets, read_offsets

_log = logging.getLogger(__name__)


class LogDirError(Exception):
    """The broker cannot start on its log directories; the text is one line for the operator."""


class LogDir:
    """One directory. `error`: why it is offline; None while it is online.

    failed: called on the loop with the error of failed background work for the directory.
    """

    def __init__(self, path: str, context: LogContext, failed: Callable[[Exception], None]) -> None:
        self.path = path
        self.context = context
        self.failed = failed
        self.error: str | None = None
        self._lock: DirectoryLock | None = None
        self._checkpoints = {
            name: BackgroundFile(self._replacing(name), context.background, failed)
            for name in filenames.OFFSET_CHECKPOINTS
        }

    @property
    def is_online(self) -> bool:
        return self.error is None

    def file(self, name: str) -> str:
        """The path of a file or partition directory in this directory."""
        return f"{self.path}/{name}"

    def open(self) -> None:
        """Creates the directory if it is missing, locks it, and creates missing checkpoints.

        Raises OSError when it cannot be used; LogDirError when another process uses it.
        """
        files = self.context.files
        files.make_directory(self.path)
        if not files.info(self.path).is_directory:
            raise NotADirectoryError(f"{self.path} is not a directory")
        files.list(self.path)
        self._lock = files.lock(self.file(filenames.LOCK))
        if self._lock is None:
            raise LogDirError(f"log directory {self.path} is locked: another broker is running on it")
        for name in filenames.OFFSET_CHECKPOINTS:
            create_if_missing(files, self.file(name))

    def close(self) -> None:
        """Releases the lock."""
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()

    def take_clean_mark(self) -> bool:
        """Whether the last stop was clean; removes the mark, because the next stop may not be clean."""
        try:
            self.context.files.remove(self.file(filenames.CLEAN_SHUTDOWN))
        except FileNotFoundError:
            return False
        self.context.files.sync_directory(self.path)  # or a power failure might bring the mark back
        return True

    def leave_clean_mark(self) -> None:
        """Writes the mark of a clean stop: every log was closed without error. Raises OSError."""
        file = self.context.files.open(self.file(filenames.CLEAN_SHUTDOWN), create=True)
        try:
            file.sync()
        finally:
            file.close()
        self.context.files.sync_directory(self.path)

    def partition_directories(self) -> list[FileInfo]:
        """The subdirectories, sorted by name; not that of a file system whose root this is, as volumes are."""
        found = self.context.files.list(self.path)
        return [entry for entry in found if entry.is_directory and entry.name != filenames.OF_THE_FILE_SYSTEM]

    def read_checkpoint(self, name: str) -> dict[TopicPartition, int]:
        """The entries of an offset checkpoint. Raises OSError, also when the file is corrupt."""
        return read_offsets(self.context.files, self.file(name))

    def checkpoint(self, name: str, offsets: Mapping[TopicPartition, int], *, now: bool = False) -> None:
        """Replaces an offset checkpoint in the background, or with `now` before it returns (raises OSError then).

        offsets: must not be changed afterwards, because it is formatted in the writing thread.
        """
        if self.error is not None:
            return
        file = self._checkpoints[name]
        if now:
            file.save_now(lambda: format_offsets(offsets))
        else:
            file.save(lambda: format_offsets(offsets))

    @property
    def is_checkpointed(self) -> bool:
        """Whether no checkpoint write is pending."""
        return self.error is not None or all(file.is_saved for file in self._checkpoints.values())

    def settle_checkpoints(self, names: Iterable[str]) -> None:
        """Returns when the newest content of these checkpoints is on disk; may block. Raises OSError."""
        for name in names:
            file = self._checkpoints[name]
            if self.error is None and not file.is_saved:
                file.save_now()

    def read_meta(self) -> MetaProperties | None:
        """The content of meta.properties; None without one. Raises OSError, InconsistentMetadata."""
        return read_meta_properties(self.context.files, self.file(filenames.META_PROPERTIES))

    def write_meta(self, meta: MetaProperties) -> None:
        """Replaces meta.properties. Blocks. Raises OSError."""
        now_ms = self.context.clock.wall_ms()
        write_meta_properties(self.context.files, self.file(filenames.META_PROPERTIES), meta, now_ms)

    def go_offline(self, error: Exception) -> None:
        """Marks the directory as failed: nothing is written to it until the broker is restarted."""
        self.error = explained(error)
        _log.error("log directory %s is offline: %s", self.path, self.error)
        with contextlib.suppress(OSError):
            self.close()

    def _replacing(self, name: str) -> Callable[[bytes], None]:
        def replace(data: bytes) -> None:
            write_atomically(self.context.files, self.file(name), data)
            self.context.files.sync_directory(self.path)  # or a power failure might bring the previous file back

        return replace
