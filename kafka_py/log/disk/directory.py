"""The directory of one log; its files by base offset and suffix.

Shared by all segments of the log, so that a move of the directory updates one path. Knows no file's content.
Belongs to the event loop, except that other threads may `replace` files, one thread at a time per name.
"""

from __future__ import annotations

import contextlib
import threading

from kafka_py.log.disk import filenames
from kafka_py.log.disk.files import File, Files, write_new
from kafka_py.log.disk.handles import OpenHandles


class PartitionDirectory:
    """The directory of one log and the Files that open its files.

    state: last suffix of its segments' file names, such as `.cleaned` while a compaction writes them.
    """

    __slots__ = ("_names", "_state", "files", "handles", "path")

    def __init__(self, path: str, files: Files, handles: OpenHandles, state: str = "") -> None:
        self.path = path
        self.files = files
        self.handles = handles
        self._state = state
        self._names = threading.Lock()  # held while a path is built and used, never during a sync

    def file(self, name: str) -> str:
        """The path of a file in this directory."""
        return f"{self.path}/{name}"

    def segment_path(self, base_offset: int, suffix: str) -> str:
        """The path of a segment's file; `suffix` may carry a state too, as `.log.deleted`."""
        return f"{self.path}/{base_offset:020d}{suffix}{self._state}"

    def open(self, base_offset: int, suffix: str, *, create: bool = False) -> File:
        """A segment's file, for reading and writing."""
        return self.files.open(self.segment_path(base_offset, suffix), create=create)

    def remove_if_present(self, name: str) -> bool:
        """Removes a file; whether it existed."""
        with contextlib.suppress(FileNotFoundError):
            self.files.remove(self.file(name))
            return True
        return False

    def replace(self, name: str, data: bytes) -> None:
        """Replaces a small file as a whole, synced, in the directory's path at the time of the rename.

        Blocks. A directory that was created under the old name after a move is not touched.
        """
        temporary = name + filenames.TEMPORARY
        with self._names:
            file = self.files.open(self.file(temporary), create=True)
        write_new(file, data)
        with self._names:
            self.files.rename(self.file(temporary), self.file(name))

    def move(self, path: str) -> None:
        """Renames the directory. Raises OSError."""
        with self._names:
            self.files.rename(self.path, path)
            self.path = path

    def rename_segment(self, base_offset: int, state: str, *, keep_snapshot: bool = False) -> list[str]:
        """Gives every file of a segment that exists the suffix `state`; returns the new paths.

        keep_snapshot: keeps the producer snapshot at its base offset, because another segment begins there.
        """
        renamed = []
        suffixes = filenames.SEGMENT_SUFFIXES
        for suffix in suffixes if keep_snapshot else (*suffixes, filenames.SNAPSHOT):
            path = self.segment_path(base_offset, suffix)
            with contextlib.suppress(FileNotFoundError):
                self.files.rename(path, path + state)
                renamed.append(path + state)
        return renamed

    def change_state(self, base_offset: int, before: str, after: str) -> None:
        """Renames the files of a segment from suffix `before` to `after`, the .log file first; "" is no suffix.

        Raises FileNotFoundError, before anything is renamed, when the .log file is missing; the others may be missing.
        """
        path = self.segment_path(base_offset, filenames.LOG)
        self.files.rename(path + before, path + after)
        for suffix in filenames.INDEX_SUFFIXES:
            path = self.segment_path(base_offset, suffix)
            with contextlib.suppress(FileNotFoundError):
                self.files.rename(path + before, path + after)
