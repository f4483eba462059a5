"""promtool, the checker of Prometheus' own files, as a judge of metrics in its text format."""

from __future__ import annotations

import re
import shutil
import subprocess

_ADVICE_ON_NAMES = re.compile(r" should (not )?(have|contain|be written)| use base unit ")
"""Names are those of exporters that dashboards know, and not all of these follow Prometheus' advice."""


class MetricsUnreadable(Exception):
    """The text cannot be parsed."""


def program() -> str | None:
    """Where it is installed; Debian has it in the package prometheus."""
    return shutil.which("promtool")


def complaints(text: str) -> list[str]:
    """What promtool finds wrong with the text, but for its advice on names and labels. Raises MetricsUnreadable."""
    done = subprocess.run(
        [program() or "promtool", "check", "metrics"], input=text, text=True, capture_output=True, check=False
    )
    if done.returncode not in (0, 3):
        raise MetricsUnreadable(done.stderr)
    return [line for line in done.stderr.splitlines() if not _ADVICE_ON_NAMES.search(line)]
