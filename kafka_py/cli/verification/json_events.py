"""The events of the verifiable tools: one JSON object per line on standard output, first its time and its name.

Source: docs/reference/tools.md, sections 16 and 17.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any, TextIO


class Events:
    """Writes events whole, from any thread. now_ms: the wall clock."""

    def __init__(self, out: TextIO, now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._out = out
        self._now_ms = now_ms
        self._lock = threading.Lock()

    def say(self, event: str, **fields: Any) -> None:
        """Writes one event, at once; fields in the order given."""
        text = json.dumps({"timestamp": self._now_ms(), "name": event, **fields}, separators=(",", ":"),
                          ensure_ascii=False)  # fmt: skip
        with self._lock:
            self._out.write(text + "\n")
            self._out.flush()
