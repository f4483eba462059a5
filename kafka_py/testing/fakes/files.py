"""A disk in memory that forgets what was not synced, tears writes, fills up and fails on demand.

Same protocol as the real one (kafka_py/log/disk/files.py); tests/contracts runs one suite on both. A crash keeps the
disk and loses what was on its way there; open files of before the crash are dead afterwards.
"""

from __future__ import annotations

import enum
import errno
import os
import posixpath
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass

from kafka_py.log.disk.files import Buffer, DirectoryLock, File, FileInfo
from kafka_py.testing.fakes.inodes import Inode


class Loss(enum.Enum):
    """What a crash takes."""

    NOTHING = "nothing"
    """The process died, the machine did not: everything written is there."""
    UNSYNCED = "unsynced"
    """The power went: only what was synced is there."""
    TORN = "torn"
    """The power went while the disk was writing: of the unsynced writes some are there, some in part, some not."""


@dataclass
class Fault:
    """Makes calls of one operation fail. `after`: calls let through first; `times`: calls that then fail."""

    operation: str
    error: int
    path: str = ""
    after: int = 0
    times: int = 1
    partial: int = 0
    """Of a failing write: bytes that reach the file all the same."""


class FakeFile:
    """An open file of a FakeFiles."""

    def __init__(self, disk: FakeFiles, inode: Inode, path: str) -> None:
        self._disk = disk
        self._inode = inode
        self._path = path
        self._life = disk.life
        self._closed = False

    def fileno(self) -> int:
        self._check("fileno")
        return self._inode.fileno()

    def write(self, data: Buffer, position: int) -> None:
        data = bytes(data)
        self._alive()
        fault = self._disk.fault("write", self._path)
        room = self._disk.room() - max(position + len(data) - self._inode.size, 0)
        partial = fault.partial if fault else max(len(data) + room, 0) if room < 0 else len(data)
        self._apply(position, data[:partial])
        if fault:
            raise OSError(fault.error, os.strerror(fault.error), self._path)
        if room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._path)

    def _apply(self, position: int, data: bytes) -> None:
        if data:
            self._inode.write(data, position)
            self._inode.unsynced.append((position, data))
            self._inode.modified_ms = self._disk.now_ms()

    def read(self, size: int, position: int) -> bytes:
        self._check("read")
        return self._inode.read(size, position)

    def truncate(self, size: int) -> None:
        self._check("truncate")
        self._inode.truncate(size)
        self._inode.unsynced.append((size, None))
        self._inode.modified_ms = self._disk.now_ms()

    def sync(self) -> None:
        self._check("sync")
        self._inode.sync()

    def size(self) -> int:
        self._check("size")
        return self._inode.size

    def close(self) -> None:
        self._closed = True

    def _check(self, operation: str) -> None:
        self._alive()
        self._disk.check(operation, self._path)

    def _alive(self) -> None:
        if self._closed:
            raise OSError(errno.EBADF, "the file is closed", self._path)
        if self._life != self._disk.life:
            raise OSError(errno.EIO, "the machine has crashed since the file was opened", self._path)


class FakeLock:
    """A lock of a FakeFiles; a crash releases it."""

    def __init__(self, disk: FakeFiles, path: str) -> None:
        self._disk = disk
        self._path = path

    def release(self) -> None:
        self._disk.locks.discard(self._path)


class FakeFiles:
    """A file system in memory.

    now_ms: the time that modified files get. capacity_bytes: writes beyond it fail with ENOSPC; zeroes that were never
    written take no room. names_need_sync: a crash also takes creations, renames and removals since the directory's last
    sync.
    """

    def __init__(
        self,
        *,
        now_ms: Callable[[], int] = lambda: 0,
        capacity_bytes: int | None = None,
        names_need_sync: bool = False,
    ) -> None:
        self.now_ms = now_ms
        self.capacity_bytes = capacity_bytes
        self.names_need_sync = names_need_sync
        self.life = 0
        self.locks: set[str] = set()
        self.faults: list[Fault] = []
        self.calls: list[tuple[str, str]] = []
        self._inodes: dict[str, Inode] = {}
        self._directories: set[str] = {"/"}
        self._durable_names: dict[str, dict[str, Inode | None]] = {}
        self._names = threading.RLock()  # directories are loaded and closed in threads

    # ---- the Files protocol

    def open(self, path: str, *, create: bool = False) -> File:
        self.check("open", path)
        inode = self._inodes.get(path)
        if inode is None:
            if path in self._directories:
                raise IsADirectoryError(errno.EISDIR, "is a directory", path)
            if not create:
                raise FileNotFoundError(errno.ENOENT, "no such file", path)
            self._require_parent(path)
            with self._names:
                inode = self._inodes[path] = Inode(modified_ms=self.now_ms())
        return FakeFile(self, inode, path)

    def read_bytes(self, path: str) -> bytes:
        self.check("read_bytes", path)
        inode = self._inode(path)
        return inode.read(inode.size, 0)

    def list(self, directory: str) -> list[FileInfo]:
        self.check("list", directory)
        if directory not in self._directories:
            raise FileNotFoundError(errno.ENOENT, "no such directory", directory)
        return [self._info(path) for path in sorted(self._names_in(directory))]

    def exists(self, path: str) -> bool:
        return path in self._inodes or path in self._directories

    def info(self, path: str) -> FileInfo:
        self.check("info", path)
        if not self.exists(path):
            raise FileNotFoundError(errno.ENOENT, "no such file or directory", path)
        return self._info(path)

    def rename(self, source: str, target: str) -> None:
        self.check("rename", source)
        self._require_parent(target)
        if source in self._inodes:
            if target in self._directories:
                raise IsADirectoryError(errno.EISDIR, "is a directory", target)
            with self._names:
                self._inodes[target] = self._inodes.pop(source)
            return
        if source not in self._directories:
            raise FileNotFoundError(errno.ENOENT, "no such file or directory", source)
        if target in self._directories and self.list(target):
            raise OSError(errno.ENOTEMPTY, "directory not empty", target)
        with self._names:
            self._inodes = {_moved(path, source, target): inode for path, inode in self._inodes.items()}
            self._directories = {_moved(path, source, target) for path in self._directories}
            self._durable_names = {_moved(path, source, target): names for path, names in self._durable_names.items()}

    def remove(self, path: str) -> None:
        self.check("remove", path)
        self._inode(path)
        with self._names:
            del self._inodes[path]

    def remove_tree(self, directory: str) -> None:
        self.check("remove_tree", directory)
        if directory not in self._directories:
            raise FileNotFoundError(errno.ENOENT, "no such directory", directory)
        with self._names:
            self._inodes = {path: inode for path, inode in self._inodes.items() if not _is_in(path, directory)}
            self._directories = {path for path in self._directories if not _is_in(path, directory)}

    def make_directory(self, path: str) -> None:
        self.check("make_directory", path)
        while path not in self._directories:
            if path in self._inodes:
                raise FileExistsError(errno.EEXIST, "a file of that name exists", path)
            with self._names:
                self._directories.add(path)
            path = posixpath.dirname(path)

    def sync_directory(self, path: str) -> None:
        self.check("sync_directory", path)
        if path not in self._directories:
            raise FileNotFoundError(errno.ENOENT, "no such directory", path)
        with self._names:
            self._durable_names[path] = self._names_in(path)

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        self.check("set_modified_ms", path)
        self._inode(path).modified_ms = modified_ms

    def lock(self, path: str) -> DirectoryLock | None:
        self.check("lock", path)
        if path in self.locks:
            return None
        self.open(path, create=True)
        self.locks.add(path)
        return FakeLock(self, path)

    # ---- what a test does to it

    def fail(
        self, operation: str, error: int, *, path: str = "", after: int = 0, times: int = 1, partial: int = 0
    ) -> None:
        """Makes the next calls of `operation` on paths that contain `path` fail."""
        self.faults.append(Fault(operation, error, path, after, times, partial))

    def heal(self) -> None:
        """Ends all faults; there is room again."""
        self.faults.clear()
        self.capacity_bytes = None

    def crash(self, loss: Loss = Loss.UNSYNCED, rng: random.Random | None = None) -> None:
        """The machine, or with Loss.NOTHING the process, dies and comes back; see Loss. rng: for Loss.TORN."""
        self.life += 1
        self.locks.clear()
        self.faults.clear()
        if loss is Loss.NOTHING:
            return
        for inode in self._inodes.values():
            inode.lose((rng or random.Random(0)) if loss is Loss.TORN else None)
        if self.names_need_sync:
            self._forget_names()

    def replace(self) -> None:
        """A new and empty disk; to be done between two lives."""
        self.crash(Loss.NOTHING)
        self._inodes.clear()
        self._directories = {"/"}
        self._durable_names.clear()

    def corrupt(self, path: str, position: int, flip: int = 0x01) -> None:
        """Flips bits of one byte, on disk too."""
        inode = self._inode(path)
        inode.write(bytes([inode.read(1, position)[0] ^ flip]), position)
        inode.sync()

    def room(self) -> int:
        """Bytes that can still be written."""
        if self.capacity_bytes is None:
            return 1 << 62
        return self.capacity_bytes - sum(len(inode.written) for inode in self._inodes.values())

    def check(self, operation: str, path: str) -> None:
        """Raises what a fault demands."""
        fault = self.fault(operation, path)
        if fault is not None:
            raise OSError(fault.error, os.strerror(fault.error), path)

    def fault(self, operation: str, path: str) -> Fault | None:
        """The fault that strikes this call, if one does; notes the call."""
        self.calls.append((operation, path))
        for fault in self.faults:
            if fault.operation == operation and fault.path in path:
                if fault.after > 0:
                    fault.after -= 1
                elif fault.times > 0:
                    fault.times -= 1
                    return fault
        return None

    # ---- inside

    def _inode(self, path: str) -> Inode:
        inode = self._inodes.get(path)
        if inode is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        return inode

    def _info(self, path: str) -> FileInfo:
        inode = self._inodes.get(path)
        name = posixpath.basename(path)
        if inode is None:
            return FileInfo(name, True, 0, 0)
        return FileInfo(name, False, inode.size, inode.modified_ms)

    def _require_parent(self, path: str) -> None:
        if posixpath.dirname(path) not in self._directories:
            raise FileNotFoundError(errno.ENOENT, "no such directory", path)

    def _names_in(self, directory: str) -> dict[str, Inode | None]:
        start = directory.rstrip("/") + "/"
        length = len(start)
        with self._names:
            names: dict[str, Inode | None] = {
                path: inode
                for path, inode in self._inodes.items()
                if path.startswith(start) and "/" not in path[length:]
            }
            inside = [path for path in self._directories if path.startswith(start) and "/" not in path[length:]]
        names.update(dict.fromkeys(path for path in inside if path != "/"))
        return names

    def _forget_names(self) -> None:
        """Every directory holds what it held when it was last synced; one that never was is empty."""
        inodes: dict[str, Inode] = {}
        directories = {"/"}
        pending = ["/"]
        while pending:
            directory = pending.pop()
            known = self._durable_names.get(directory, {} if directory != "/" else self._names_in("/"))
            for path, inode in known.items():
                if inode is None:
                    directories.add(path)
                    pending.append(path)
                else:
                    inodes[path] = inode
        self._inodes, self._directories = inodes, directories


def _is_in(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory + "/")


def _moved(path: str, source: str, target: str) -> str:
    return target + path[len(source) :] if _is_in(path, source) else path
