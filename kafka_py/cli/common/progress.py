"""How far a long piece of work is, as one line on a terminal that is overwritten; nothing without a terminal.

The line is written to standard error, so output may be redirected. Any thread may call.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import TextIO

REFRESH_S = 0.2
_CLEAR = "\r\x1b[K"


class Progress:
    """`total` steps of `unit`; a total below 1 is not known. stream: shown only where it is a terminal."""

    def __init__(
        self,
        total: int,
        unit: str,
        *,
        stream: TextIO | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._total = total
        self._unit = unit
        self._stream = sys.stderr if stream is None else stream
        self._now = now
        self._started = self._next_at = now()
        self._shown = False
        self._lock = threading.Lock()
        self.is_watched = self._stream.isatty()

    def update(self, done: int) -> None:
        """So many steps are done; the line is rewritten at most a few times a second."""
        if not self.is_watched:
            return
        now = self._now()
        if now < self._next_at:
            return
        self._next_at = now + REFRESH_S
        with self._lock:
            self._stream.write(_CLEAR + self._text(done, now - self._started))
            self._stream.flush()
            self._shown = True

    def print(self, line: str) -> None:
        """A line of output, with the progress out of its way."""
        with self._lock:
            self._clear()
            print(line, flush=True)

    def end(self) -> None:
        """Takes the line away."""
        with self._lock:
            self._clear()

    def _clear(self) -> None:
        if self._shown:
            self._shown = False
            self._stream.write(_CLEAR)
            self._stream.flush()

    def _text(self, done: int, elapsed_s: float) -> str:
        per_second = done / elapsed_s if elapsed_s > 0 else 0.0
        text = f"{done:,} {self._unit}, {per_second:,.0f}/s"
        if self._total < 1:
            return text
        left_s = (self._total - done) / per_second if per_second else None
        rest = f", {duration(left_s)} left" if left_s is not None and done < self._total else ""
        return f"{min(100, 100 * done // self._total):3d} % {text}{rest}"


def duration(seconds: float) -> str:
    """`12 s`, `3:05 min`, `2:10 h`."""
    whole = int(max(0.0, seconds) + 0.5)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02d} h"
