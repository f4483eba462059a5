"""Java programs that start faster the second time: an archive of the classes that a run has loaded.

The first run of a program writes the archive as it ends, later runs map it: ZooKeeper is ready in half the time.
The archives are kept in the user's cache folder, one for each runtime and class path, as the runtime demands.
Source: JEP 350 (JDK 13: `-XX:ArchiveClassesAtExit`, on top of the archive that most runtimes bring along); JEP 514 (JDK
25: `-XX:AOTCacheOutput`, which needs none).
"""

from __future__ import annotations

import glob
import hashlib
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from kafka_py.cli.common.user_folders import cache_directory
from kafka_py.cli.java_compat.java import find_jars, find_java, java_version

QUICK_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Xlog:disable -Djava.awt.headless=true"
"""Options for a small server that shall start fast."""


class _ArchiveOptions(NamedTuple):
    """The options with which a runtime writes an archive and with which it reads one."""

    write: str
    read: str


_OWN_CLASSES = _ArchiveOptions("-XX:ArchiveClassesAtExit=", "-XX:SharedArchiveFile=")
_AHEAD_OF_TIME = _ArchiveOptions("-XX:AOTCacheOutput=", "-XX:AOTCache=")


def archive_key(java: Path, class_path: Iterable[str]) -> str:
    """Changes with the runtime and with any file of the class path."""
    digest = hashlib.sha256()
    files = [file for entry in class_path for file in (sorted(glob.glob(entry)) or [entry])]
    for path in (str(java.resolve()), *files):
        try:
            stat = os.stat(path)
            digest.update(f"{path} {stat.st_size} {stat.st_mtime_ns}\n".encode())
        except OSError:
            digest.update(f"{path}\n".encode())
    return digest.hexdigest()[:16]


class ClassArchive:
    """The archive at `path`, for the runtime `java`: used if it is there, else made by the run that begins here."""

    def __init__(self, path: Path, java: Path) -> None:
        self.path = path
        self._kind = _kind_for(java)
        self._fresh: Path | None = None

    @property
    def is_being_made(self) -> bool:
        """Whether this run writes it, which it does as it ends: by itself or by SIGTERM, not by SIGKILL."""
        return self._fresh is not None

    def begin(self) -> list[str]:
        """The options for the run; none where the archive can be neither read nor written."""
        if self._kind is None:
            return []
        if self.path.exists():
            return [f"{self._kind.read}{self.path}"]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError:
            return []
        if not os.access(self.path.parent, os.W_OK):
            return []
        self._fresh = self.path.with_suffix(f".{os.getpid()}-{time.monotonic_ns()}")
        return [f"{self._kind.write}{self._fresh}"]

    @property
    def fresh(self) -> Path | None:
        """What this run writes; None if it writes nothing."""
        return self._fresh

    def quick_options(self) -> str:
        """Begins a run; the value of KAFKA_JVM_PERFORMANCE_OPTS for it."""
        return " ".join([QUICK_JVM, *self.begin()])

    def finish(self) -> None:
        """After the run: puts what it wrote in its place."""
        fresh, self._fresh = self._fresh, None
        if fresh is not None:
            put_in_place(fresh, self.path)


def zookeeper_archive(environment: Mapping[str, str], *, may_install: bool = False) -> ClassArchive:
    """The archive of ZooKeeper's classes for the Java and the jars of this environment. Raises CommandFailed."""
    java = find_java(environment, may_install=may_install).executable
    key = archive_key(java, find_jars(environment))
    return ClassArchive(cache_directory() / f"zookeeper-{key}.jsa", java)


def put_in_place(fresh: Path, path: Path) -> None:
    """After a run that was to write `fresh`: later runs find it at `path`."""
    if fresh.exists():
        fresh.rename(path)


def _kind_for(java: Path) -> _ArchiveOptions | None:
    if java_version(java) >= 25:
        return _AHEAD_OF_TIME
    brought_along = java.resolve().parents[1] / "lib" / "server" / "classes.jsa"
    return _OWN_CLASSES if brought_along.exists() else None
