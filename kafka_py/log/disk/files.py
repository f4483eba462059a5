"""File system access of the log: the File and Files protocols, and the real implementation.

All disk access in log/ goes through a `Files` that is passed in, so that a test can lose unsynced data, tear writes or
raise errors (kafka_py/testing/fakes/files.py). Knows nothing of segments. Any thread may call any method.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import resource
import shutil
from collections.abc import Iterable
from typing import NamedTuple, Protocol

Buffer = bytes | bytearray | memoryview

_OPEN_FLAGS = os.O_RDWR | os.O_CLOEXEC
PRIVATE = 0o700
"""Mode of directories that a broker creates: whoever reads records asks it, and not the file system."""


class File(Protocol):
    """An open file; its descriptor lives as long as the object, so a FileSlice may outlast the file's name."""

    def fileno(self) -> int: ...

    def write(self, data: Buffer, position: int) -> None:
        """Writes all of `data` at `position`. Raises OSError; a part may have been written then."""
        ...

    def read(self, size: int, position: int) -> bytes:
        """Up to `size` bytes from `position`; fewer only at the end of the file."""
        ...

    def truncate(self, size: int) -> None:
        """Makes the file exactly `size` bytes long; an extension reads as zeroes and takes no disk space."""
        ...

    def sync(self) -> None:
        """Flushes the content to disk, so that it survives a power failure."""
        ...

    def size(self) -> int: ...

    def close(self) -> None:
        """Closes at once. Dropping the last reference does the same later."""
        ...


class FileInfo(NamedTuple):
    """One entry of a directory."""

    name: str
    is_directory: bool
    size: int
    modified_ms: int


class DirectoryLock(Protocol):
    """Held until released or until the process ends."""

    def release(self) -> None: ...


class Files(Protocol):
    """A file system. Every method raises OSError as the operating system would."""

    def open(self, path: str, *, create: bool = False) -> File:
        """Opens a file for reading and writing; `create`: a missing file is created."""
        ...

    def read_bytes(self, path: str) -> bytes: ...

    def list(self, directory: str) -> list[FileInfo]:
        """The entries of a directory, sorted by name."""
        ...

    def exists(self, path: str) -> bool: ...

    def info(self, path: str) -> FileInfo: ...

    def rename(self, source: str, target: str) -> None:
        """Renames atomically; replaces an existing target."""
        ...

    def remove(self, path: str) -> None: ...

    def remove_tree(self, directory: str) -> None: ...

    def make_directory(self, path: str) -> None:
        """Creates a directory for this user alone, and its missing parents; no error if it exists."""
        ...

    def sync_directory(self, path: str) -> None:
        """Syncs a directory, so that creations, renames and removals in it survive a power failure."""
        ...

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        """Sets the modification time of a file."""
        ...

    def lock(self, path: str) -> DirectoryLock | None:
        """Takes an exclusive lock on a file, which is created if missing; None when another process holds it."""
        ...


class RealFile:
    """A file descriptor of the operating system."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def fileno(self) -> int:
        return self._fd

    def write(self, data: Buffer, position: int) -> None:
        written = os.pwrite(self._fd, data, position)
        while written < len(data):  # a nearly full disk takes a part; the next call raises the error
            written += os.pwrite(self._fd, memoryview(data)[written:], position + written)

    def read(self, size: int, position: int) -> bytes:
        return os.pread(self._fd, size, position)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)

    def sync(self) -> None:
        os.fsync(self._fd)

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        with contextlib.suppress(OSError):
            self.close()


class RealLock:
    """A POSIX record lock, which a Java broker on the same directory sees too."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def release(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


class RealFiles:
    """The machine's own file system."""

    __slots__ = ()

    def open(self, path: str, *, create: bool = False) -> File:
        return RealFile(os.open(path, _OPEN_FLAGS | os.O_CREAT if create else _OPEN_FLAGS, 0o644))

    def read_bytes(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def list(self, directory: str) -> list[FileInfo]:
        entries = []
        with os.scandir(directory) as scan:
            for entry in scan:
                with contextlib.suppress(FileNotFoundError):  # removed between the listing and stat
                    stat = entry.stat()
                    entries.append(FileInfo(entry.name, entry.is_dir(), stat.st_size, stat.st_mtime_ns // 1_000_000))
        entries.sort()
        return entries

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def info(self, path: str) -> FileInfo:
        stat = os.stat(path)
        return FileInfo(os.path.basename(path), os.path.isdir(path), stat.st_size, stat.st_mtime_ns // 1_000_000)

    def rename(self, source: str, target: str) -> None:
        os.rename(source, target)

    def remove(self, path: str) -> None:
        os.unlink(path)

    def remove_tree(self, directory: str) -> None:
        shutil.rmtree(directory)

    def make_directory(self, path: str) -> None:
        os.makedirs(path, mode=PRIVATE, exist_ok=True)

    def sync_directory(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        os.utime(path, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))

    def lock(self, path: str) -> DirectoryLock | None:
        fd = os.open(path, _OPEN_FLAGS | os.O_CREAT, 0o644)
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            os.close(fd)
            return None
        except OSError:
            os.close(fd)
            raise
        return RealLock(fd)


def write_atomically(files: Files, path: str, data: bytes) -> None:
    """Replaces a small file as a whole: `<path>.tmp`, sync, rename. Blocks; for a pool thread, or at start and stop."""
    temporary = path + ".tmp"
    write_new(files.open(temporary, create=True), data)
    files.rename(temporary, path)


def write_new(file: File, data: bytes) -> None:
    """Writes the whole content of a new file, syncs and closes it."""
    try:
        file.truncate(0)
        file.write(data, 0)
        file.sync()
    finally:
        file.close()


def remove_files(files: Files, paths: Iterable[str]) -> None:
    """Removes files; missing ones are ignored. Blocks."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            files.remove(path)


def remove_tree(files: Files, directory: str) -> None:
    """Removes a directory tree; a missing one is ignored. Blocks."""
    with contextlib.suppress(FileNotFoundError):
        files.remove_tree(directory)


def is_shortage(error: OSError) -> bool:
    """Whether the error is a lack of file descriptors, memory or processes, which is not a disk failure."""
    return error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)


def explained(error: Exception) -> str:
    """The text of an error; where the process has run out of file descriptors, with advice."""
    if isinstance(error, OSError) and error.errno == errno.EMFILE:
        return (
            f"{error}; this process may have {open_files_limit()} files open, and every partition keeps one open: "
            "raise the limit (ulimit -n) before the broker is started, or have fewer partitions here"
        )
    return str(error)


def open_files_limit() -> int:
    """The process's limit on open file descriptors."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def raise_open_files_limit() -> int:
    """Raises the soft limit on open file descriptors to the hard limit; returns the new limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return soft
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
