"""promtool, the checker of Prometheus' own files, as a judge of metrics in its text format."""

from __future__ import annotations

import re
import shutil
import subprocess

_OF_NAMES_THAT_ARE_GIVEN = re.compile(r'"_(total|count|info|sum)" suffix')
"""Names are those of exporters that dashboards know, and not all of these follow Prometheus' advice."""


class MetricsUnreadable(Exception):
    """The text cannot be parsed."""


def program() -> str | None:
    """Where it is installed; Debian has it in the package prometheus."""
    return shutil.which("promtool")


def complaints(text: str) -> list[str]:
    """What promtool finds wrong with the text, but for suffixes of names. Raises MetricsUnreadable."""
    done = subprocess.run(
        [program() or "promtool", "check", "metrics"], input=text, text=True, capture_output=True, check=False
    )
    if done.returncode not in (0, 3):
        raise MetricsUnreadable(done.stderr)
    return [line for line in done.stderr.splitlines() if not _OF_NAMES_THAT_ARE_GIVEN.search(line)]
