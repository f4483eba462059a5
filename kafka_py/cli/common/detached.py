"""Processes that outlive the command that starts them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO


def start_detached(
    command: Sequence[str], out: IO[bytes] | int = subprocess.DEVNULL, *, environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> int:  # fmt: skip
    """Starts it in a session of its own, its output and errors to `out`; the process id. Raises OSError."""
    started = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=environment, cwd=folder,
        start_new_session=True,
    )  # fmt: skip
    started.returncode = 0  # its end is not waited for
    return started.pid
