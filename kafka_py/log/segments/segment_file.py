"""Base of a segment's indexes: a file that is opened on use.

handles.py decides how long it stays open. Knows no content.
"""

from __future__ import annotations

from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.disk.files import File


class SegmentFile:
    """One file of a segment, named by its base offset and `SUFFIX`. used: since the last sweep of idle files."""

    __slots__ = ("_file", "base_offset", "directory", "used")

    SUFFIX: str

    def __init__(self, directory: PartitionDirectory, base_offset: int) -> None:
        self.directory = directory
        self.base_offset = base_offset
        self.used = False
        self._file: File | None = None

    @property
    def path(self) -> str:
        return self.directory.segment_path(self.base_offset, self.SUFFIX)

    def file(self, create: bool = False) -> File:
        """The open file; opens it if necessary."""
        self.used = True
        file = self._file
        if file is None:
            file = self._file = self.directory.open(self.base_offset, self.SUFFIX, create=create)
            self.directory.handles.opened(self)
        return file

    def release(self) -> None:
        """Drops the file; it is opened again on the next use."""
        self._file = None

    def close(self) -> None:
        """Closes the file, if it is open."""
        if self._file is not None:
            self._file = None
            self.directory.handles.closed(self)
