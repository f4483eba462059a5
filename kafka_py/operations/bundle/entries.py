"""The files of an archive, and how much may be in it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

MiB = 1 << 20


@dataclass(frozen=True, slots=True)
class BundleLimits:
    """entry_bytes: of one file, of a log its end. total_bytes: of all files, before compression. files: how many."""

    entry_bytes: int = 4 * MiB
    total_bytes: int = 64 * MiB
    files: int = 500


class BundleEntry(NamedTuple):
    """One file. note: what is missing in it, "" for nothing."""

    name: str
    data: bytes
    note: str = ""


class BoundedEntries(NamedTuple):
    """entries: what goes into the archive. left_out: what does not, and why."""

    entries: list[BundleEntry]
    left_out: list[str]


def text_entry(name: str, text: str, note: str = "") -> BundleEntry:
    """A file of text; what cannot be encoded is replaced."""
    return BundleEntry(name, text.encode("utf-8", "replace"), note)


def bounded(entries: Iterable[BundleEntry], limits: BundleLimits) -> BoundedEntries:
    """The first entries that fit, each cut to its bound: of logs the end is kept, of others the beginning."""
    taken: list[BundleEntry] = []
    left_out: list[str] = []
    total = 0
    for whole in entries:
        entry = whole
        if len(entry.data) > limits.entry_bytes:
            is_log = entry.name.startswith("logs/")
            data = entry.data[-limits.entry_bytes :] if is_log else entry.data[: limits.entry_bytes]
            note = f"cut: the {'end' if is_log else 'beginning'} of {len(entry.data)} bytes"
            entry = BundleEntry(entry.name, data, note)
        if len(taken) >= limits.files or total + len(entry.data) > limits.total_bytes:
            left_out.append(f"{entry.name}: the archive is full")
            continue
        total += len(entry.data)
        taken.append(entry)
    return BoundedEntries(taken, left_out)


def manifest(made_at: str, version: str, bounded_entries: BoundedEntries) -> dict[str, Any]:
    """bundle.json: what is in the archive, cut or left out."""
    return {
        "made_at": made_at,
        "made_by": f"kafka_py {version}",
        "files": [
            {"name": entry.name, "bytes": len(entry.data), **({"note": entry.note} if entry.note else {})}
            for entry in bounded_entries.entries
        ],
        "left_out": bounded_entries.left_out,
    }
