"""Nothing that a test started outlives it, not even when the test run is killed by SIGKILL.

`watch(process)` and `discard_with_us(folder)` tell a guard: a small process of its own session, started with the first
of them. It does nothing but wait for the end of the process that started it, then kills what still runs and removes
the folders. This file is also the guard's program, so it imports the standard library only, and little of it.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import time

LOOK_S = 0.5
"""How often the guard looks whether it has become an orphan: a fork of the test's process may hold the pipe open."""
GONE_S = 10.0

_guard: tuple[int, int] | None = None
"""The process that started the guard (a fork starts its own), and the pipe to it."""


def watch(pid: int) -> None:
    """This process, leader of its own group, is killed with all its group when we end."""
    _tell(f"process {pid} {_started(pid)}")


def discard_with_us(folder: object) -> None:
    """This folder is removed when we end."""
    _tell(f"folder {folder}")


def forget_folder(folder: object) -> None:
    """This folder is no longer ours to remove."""
    _tell(f"forget {folder}")


def _tell(line: str) -> None:
    global _guard
    if _guard is None or _guard[0] != os.getpid():
        _guard = os.getpid(), _start_guard()
    try:
        os.write(_guard[1], line.encode(errors="surrogateescape") + b"\n")
    except BrokenPipeError:
        _guard = None  # somebody killed it; the next one knows at least what comes after


def _start_guard() -> int:
    """A file descriptor to tell it things by, which nobody closes: the system does when we end."""
    reader, writer = os.pipe()
    program = [sys.executable, "-I", "-S", os.path.abspath(__file__), str(os.getpid())]
    guard = subprocess.Popen(program, stdin=reader, stdout=subprocess.DEVNULL, cwd="/", start_new_session=True)
    guard.returncode = 0  # it ends after us, so nobody shall wait for it
    os.close(reader)
    return writer


def _started(pid: int) -> str:
    """The moment a process was started, which tells it from a later one with the same id; "" if there is none."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            state, *rest = stat.read().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state in "ZX" else rest[18]


def _lines_until_the_end_of(parent: int) -> list[str]:
    """What was told, once the process `parent`, whose child this is, has closed the pipe or is no more."""
    data = b""
    while True:
        orphan = os.getppid() != parent  # asked first: what an orphan finds in the pipe is all there will be
        if select.select([0], [], [], 0 if orphan else LOOK_S)[0]:
            piece = os.read(0, 65536)
            if not piece:
                break
            data += piece
        elif orphan:
            break
    return data.decode(errors="surrogateescape").splitlines()


def _kill(processes: list[tuple[int, str]]) -> None:
    alive = [(pid, started) for pid, started in processes if started and _started(pid) == started]
    for pid, _ in alive:
        try:
            os.killpg(pid, signal.SIGKILL)
        except OSError:
            pass
    deadline = time.monotonic() + GONE_S
    while any(_started(pid) == started for pid, started in alive) and time.monotonic() < deadline:
        time.sleep(0.01)


def main() -> None:
    """The life of the guard."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    processes = []
    folders: dict[str, None] = {}
    for line in _lines_until_the_end_of(int(sys.argv[1])):
        what, _, rest = line.partition(" ")
        if what == "process":
            pid, _, started = rest.partition(" ")
            processes.append((int(pid), started))
        elif what == "folder":
            folders[rest] = None
        else:
            folders.pop(rest, None)
    _kill(processes)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
