"""The seam between the log and a disk: the File and Files protocols, and the real ones.

Everything in log/ that touches a disk does it through a `Files` handed in, so that a test can lose unsynced data,
tear writes or fail (kafka_py/testing/fakes/files.py). Knows nothing of segments. Any thread may call any method.
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


class File(Protocol):
    """An open file; its descriptor lives as long as the object, so a FileSlice may outlast the file's name."""

    def fileno(self) -> int: ...

    def write(self, data: Buffer, position: int) -> None:
        """All of `data` at `position`, or an OSError (some of it may then be in the file)."""
        ...

    def read(self, size: int, position: int) -> bytes:
        """Up to `size` bytes from `position`; fewer only at the end of the file."""
        ...

    def truncate(self, size: int) -> None:
        """Makes the file exactly `size` bytes long; what is new reads as zeroes and takes no space."""
        ...

    def sync(self) -> None:
        """Returns when the content would survive a power failure."""
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
        """For reading and writing; `create` makes a missing file."""
        ...

    def read_bytes(self, path: str) -> bytes: ...

    def list(self, directory: str) -> list[FileInfo]:
        """Entries in order of name."""
        ...

    def exists(self, path: str) -> bool: ...

    def info(self, path: str) -> FileInfo: ...

    def rename(self, source: str, target: str) -> None:
        """Atomic; replaces a file of the target's name."""
        ...

    def remove(self, path: str) -> None: ...

    def remove_tree(self, directory: str) -> None: ...

    def make_directory(self, path: str) -> None:
        """With the parents it lacks; an existing directory is fine."""
        ...

    def sync_directory(self, path: str) -> None:
        """Makes creations, renames and removals in a directory survive a power failure."""
        ...

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        """Makes a file look as if it was last written then."""
        ...

    def lock(self, path: str) -> DirectoryLock | None:
        """An exclusive lock on a file, made if missing; None when another process holds it."""
        ...


class RealFile:
    """A descriptor of the operating system."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def fileno(self) -> int:
        return self._fd

    def write(self, data: Buffer, position: int) -> None:
        written = os.pwrite(self._fd, data, position)
        while written < len(data):  # a nearly full disk takes a part; the next call says why
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
                with contextlib.suppress(FileNotFoundError):  # removed between listing and asking
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
        os.makedirs(path, exist_ok=True)

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
    """Makes this the file's content, synced, and closes it."""
    try:
        file.truncate(0)
        file.write(data, 0)
        file.sync()
    finally:
        file.close()


def remove_files(files: Files, paths: Iterable[str]) -> None:
    """Removes files; those that are gone already are fine. Blocks."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            files.remove(path)


def remove_tree(files: Files, directory: str) -> None:
    """Removes a directory with all that is in it; one that is gone already is fine. Blocks."""
    with contextlib.suppress(FileNotFoundError):
        files.remove_tree(directory)


def is_shortage(error: OSError) -> bool:
    """Whether the process or the machine lacks descriptors, memory or processes: no failure of the disk."""
    return error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)


def explained(error: Exception) -> str:
    """An error for people: where the process has no descriptor left, with what to do about that."""
    if isinstance(error, OSError) and error.errno == errno.EMFILE:
        return (
            f"{error}; this process may have {open_files_limit()} files open, and every partition keeps one open: "
            "raise the limit (ulimit -n) before the broker is started, or have fewer partitions here"
        )
    return str(error)


def open_files_limit() -> int:
    """How many descriptors the process may have."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def raise_open_files_limit() -> int:
    """Lifts the process's soft limit on descriptors to its hard limit; returns the limit now in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return soft
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
