"""Writes an archive that only its owner can read, in one piece or not at all (I/O)."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Sequence
from pathlib import Path

from kafka_py.operations.bundle.entries import BundleEntry


def write_archive(path: Path, entries: Sequence[BundleEntry], folder: str, now_s: float) -> int:
    """Writes a tar.gz with the entries below `folder`; its size. Raises OSError, also for a file that exists."""
    partial = path.with_name(f".{path.name}.part")
    partial.unlink(missing_ok=True)  # of an earlier process; one of another user would keep that user's rights to it
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with open(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
            for entry in entries:
                about = tarfile.TarInfo(f"{folder}/{entry.name}")
                about.size, about.mtime, about.mode = len(entry.data), int(now_s), 0o600
                archive.addfile(about, io.BytesIO(entry.data))
        os.link(partial, path)  # unlike a rename it does not replace what is there
    finally:
        partial.unlink(missing_ok=True)
    return path.stat().st_size
