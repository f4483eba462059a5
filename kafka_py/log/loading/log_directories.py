"""The log directories of a broker at start-up: open and lock them, compare their meta.properties, load their logs.

Blocks. A failing directory goes offline, and the broker starts with the others. log_dir.py and loading.py work on a
single directory. Source: docs/reference/log.md, sections 12, 13 and 17.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from kafka_py.base.clock import Clock
from kafka_py.log.loading.loading import LoadedDirectory, load_directory
from kafka_py.log.loading.log_dir import LogDir, LogDirError
from kafka_py.log.loading.meta_properties import MetaProperties, agreed
from kafka_py.log.model.configs import LogConfig


class LoadReport(NamedTuple):
    """Result of loading one directory, for the start-up log. error: set if it has failed."""

    path: str
    logs: int
    is_clean: bool
    took_ms: float
    error: OSError | None


def open_directories(dirs: Collection[LogDir]) -> None:
    """Creates, checks and locks the directories; one that cannot be used is offline from the start.

    Raises LogDirError when none can be used, or when another broker has locked one of them.
    """
    for log_dir in dirs:
        try:
            log_dir.open()
        except OSError as error:
            log_dir.go_offline(error)
    require_one(dirs)


def require_one(dirs: Iterable[LogDir]) -> None:
    """Raises LogDirError when all of them are offline."""
    dirs = list(dirs)
    if not any(log_dir.is_online for log_dir in dirs):
        reasons = "; ".join(f"{log_dir.path}: {log_dir.error}" for log_dir in dirs)
        raise LogDirError(f"none of the log directories can be used: {reasons}")


def read_agreed_meta(live: Iterable[LogDir]) -> MetaProperties:
    """The common content of the directories' meta.properties files; empty fields when there is none yet.

    Raises InconsistentBrokerId, InconsistentMetadata. A directory whose file cannot be read goes offline.
    """
    found: dict[str, MetaProperties | None] = {}
    for log_dir in live:
        try:
            found[log_dir.path] = log_dir.read_meta()
        except OSError as error:
            log_dir.go_offline(error)
    return agreed(found)


def write_missing_meta(live: Iterable[LogDir], meta: MetaProperties, io_failed: Callable[[str, OSError], None]) -> None:
    """Writes meta.properties where it is missing or incomplete. io_failed: takes a directory offline, by its path."""
    for log_dir in live:
        try:
            if log_dir.read_meta() != meta:
                log_dir.write_meta(meta)
        except OSError as error:
            io_failed(log_dir.path, error)


def load_directories(
    live: Sequence[LogDir], config_of: Callable[[str], LogConfig], threads: int, clock: Clock
) -> list[tuple[LogDir, LoadedDirectory, float]]:
    """Opens every log, in parallel threads: per directory its logs, and the duration in ms.

    threads: per directory. Raises LogDirError for a directory with a subdirectory that belongs to no partition.
    """

    def load_one(log_dir: LogDir) -> tuple[LogDir, LoadedDirectory, float]:
        began_ms = clock.monotonic_ms()
        found = load_directory(log_dir, config_of, threads)
        return log_dir, found, clock.monotonic_ms() - began_ms

    with ThreadPoolExecutor(max(len(live), 1), thread_name_prefix="log-loading") as pool:
        return list(pool.map(load_one, live))
