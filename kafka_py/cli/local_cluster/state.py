"""Which processes of a cluster run, as its `processes.json` says; and that one command at a time changes it."""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.common.whole_files import replace_text
from kafka_py.cli.local_cluster.processes import POLL_S, ServerProcess

FILE = "processes.json"
PATIENCE_S = 2.0
"""How long another command is waited for: one that only looks is done at once."""


def read(folder: Path) -> list[ServerProcess]:
    """What was started and not stopped since, whether it still runs or not. Raises CommandFailed."""
    path = folder / FILE
    try:
        return [ServerProcess(row["name"], row["pid"], row["started"]) for row in json.loads(path.read_text())]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CommandFailed(f"{path} cannot be read ({error}): stop the processes by hand and remove it") from None


def running(folder: Path) -> list[ServerProcess]:
    """Those that still run."""
    return [process for process in read(folder) if process.is_alive]


def write(folder: Path, processes: Sequence[ServerProcess]) -> None:
    """Notes what runs; nothing at all removes the file. Raises OSError."""
    path = folder / FILE
    if not processes:
        path.unlink(missing_ok=True)
        return
    replace_text(path, json.dumps([process._asdict() for process in processes], indent=2) + "\n")


def replaced(processes: Sequence[ServerProcess], fresh: ServerProcess) -> list[ServerProcess]:
    """The list with the process of that name exchanged, or added."""
    others = [process for process in processes if process.name != fresh.name]
    return sorted([*others, fresh], key=lambda process: (process.name.startswith("broker"), len(process.name), process))


def is_busy(folder: Path) -> bool:
    """Whether a command starts or stops processes of this folder right now."""
    try:
        with (folder / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        pass
    return False


@contextmanager
def exclusively(folder: Path) -> Iterator[None]:
    """Only one command at a time starts or stops processes of this folder. Raises CommandFailed, OSError."""
    with (folder / "lock").open("a") as lock:
        deadline = time.monotonic() + PATIENCE_S
        while not _locked(lock):
            if time.monotonic() > deadline:
                raise CommandFailed(f"Another kafka-py command works on {folder}: try again when it has ended")
            time.sleep(POLL_S)
        yield


def _locked(lock: TextIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
