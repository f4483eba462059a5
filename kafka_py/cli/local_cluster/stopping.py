"""Stops the processes of a cluster cleanly: brokers first, for they give their leaderships back, ZooKeeper last."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kafka_py.cli.java_compat.class_archive import put_in_place
from kafka_py.cli.local_cluster import state
from kafka_py.cli.local_cluster.layout import ZOOKEEPER
from kafka_py.cli.local_cluster.processes import ServerProcess, terminate
from kafka_py.cli.local_cluster.starting import archive_note

STOP_TIMEOUT_S = 30.0


def stop_all(folder: Path, timeout_s: float, say: Callable[[str], None]) -> list[ServerProcess]:
    """Stops what runs and returns it. say: gets a line for each process that had to be killed after `timeout_s`."""

    def insist(process: ServerProcess) -> None:
        say(f"{process.name} (process {process.pid}) did not stop within {timeout_s:.0f} s and is killed")

    found = state.running(folder)
    terminate([process for process in found if process.name != ZOOKEEPER], timeout_s, insist)
    terminate([process for process in found if process.name == ZOOKEEPER], timeout_s, insist)
    keep_archive(folder)
    state.write(folder, [])
    return found


def keep_archive(folder: Path) -> None:
    """The archive of classes that ZooKeeper left is put where its next start finds it."""
    note = archive_note(folder)
    if note.exists():
        fresh, path = note.read_text().splitlines()
        put_in_place(Path(fresh), Path(path))
        note.unlink()
