"""Logs and settings of this machine, read with a bound (I/O)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from kafka_py.operations.bundle.entries import BundleEntry

LOG_NAMES = (".log", ".out", ".err", ".txt")
"""Ends of names of logs; rotated ones have a number or a date behind. Never record files: their names are offsets."""


class LocalLogs(NamedTuple):
    """problems: what could not be read, and why."""

    entries: list[BundleEntry]
    problems: list[str]


def logs_in(places: Iterable[str], entry_bytes: int, most_files: int) -> LocalLogs:
    """The ends of log files; of a folder all that are directly in it, the newest first."""
    entries: list[BundleEntry] = []
    problems: list[str] = []
    for number, place in enumerate(places):
        try:
            found = list(_files(Path(place)))
        except OSError as error:
            problems.append(f"{place}: {error.strerror}")
            continue
        for path in found[: max(0, most_files - len(entries))]:
            try:
                entries.append(_end_of(path, f"logs/{number}-{path.name}", entry_bytes))
            except OSError as error:
                problems.append(f"{path}: {error.strerror}")
        if len(found) > most_files:
            problems.append(f"{place}: {len(found)} files, only the newest were taken")
    return LocalLogs(entries, problems)


def _files(place: Path) -> Iterator[Path]:
    if not place.is_dir():
        yield place
        return
    logs = [path for path in place.iterdir() if path.is_file() and is_log(path.name)]
    yield from sorted(logs, key=lambda path: (-path.stat().st_mtime, path.name))


def is_log(name: str) -> bool:
    """Whether it is a log for people, `server.log` or `server.log.2026-11-23-13`; the name of a segment is a number."""
    base = next((name[: name.rindex(end)] for end in LOG_NAMES if f"{name}.".rfind(f"{end}.") > 0), "")
    return bool(base) and not base.isdigit()


def _end_of(path: Path, name: str, most: int) -> BundleEntry:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - most))
        data = file.read(most)
    if size <= most:
        return BundleEntry(name, data)
    return BundleEntry(name, data[data.find(b"\n") + 1 :], f"cut: the end of {size} bytes")
