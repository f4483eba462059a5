"""Stops a pipeline that runs forever: after the present batch, by Ctrl-C or SIGTERM; at once by a second one.

Python's own way, an exception wherever the program is, would leave Spark in the middle of a job and pages of its
complaints behind.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

LOOK_S = 0.1


class Stop:
    """asked: whether the pipeline is to end."""

    def __init__(self) -> None:
        self.asked = False

    def wait(self, seconds: float) -> None:
        """Sleeps, at most until the pipeline is to end."""
        end = time.monotonic() + seconds
        while not self.asked and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, LOOK_S))

    @contextmanager
    def by_signals(self) -> Iterator[None]:
        """While this lasts, SIGINT and SIGTERM ask; the second one raises KeyboardInterrupt. Main thread only."""
        before = {number: signal.signal(number, self._signalled) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _signalled(self, _number: int, _frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        print("kafka-pipeline: stopping; once more to stop at once", file=sys.stderr, flush=True)
