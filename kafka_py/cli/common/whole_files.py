"""Files that are always seen whole, whatever interrupts the command that writes them."""

from __future__ import annotations

import os
from pathlib import Path


def replace_text(path: Path, text: str) -> None:
    """Writes a file: readers see the previous text or the new one, never a part. Raises OSError."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_text(text)
    fresh.replace(path)


def write_secret(path: Path, text: str) -> None:
    """A file that only its owner can read, from its first byte on; the old one stays until it is whole."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    fresh.replace(path)
