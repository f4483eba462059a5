"""A range of an open file, which travels from the log to the socket without its bytes being read.

Knows nothing of segments or sockets; net sends it with sendfile, wire only counts its size.
"""

import os
from typing import Protocol


class OpenFile(Protocol):
    """What a slice needs of a file: its descriptor, open for as long as the object lives."""

    def fileno(self) -> int: ...


class FileSlice:
    """`size` bytes of `file` from `position` on.

    The slice keeps the file object alive, and the object its descriptor: a segment that is deleted while a
    response is on its way out is still sent whole, and closed with the last slice.
    """

    __slots__ = ("file", "position", "size")

    def __init__(self, file: OpenFile, position: int, size: int) -> None:
        self.file = file
        self.position = position
        self.size = size

    def read(self) -> bytes:
        """The bytes; fewer where the file was cut meanwhile. Blocks."""
        return os.pread(self.file.fileno(), self.size, self.position)

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"FileSlice({self.file!r}, position={self.position}, size={self.size})"
