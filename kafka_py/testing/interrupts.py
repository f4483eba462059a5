"""KeyboardInterrupt at a moment that a test draws, by a real signal, as Ctrl-C would raise it."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType


class Interrupts:
    """SIGALRM raises KeyboardInterrupt in the main thread while `armed`. raised: how often it did."""

    def __init__(self) -> None:
        self.armed = False
        self.raised = 0

    def on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self.armed:
            self.armed = False
            self.raised += 1
            raise KeyboardInterrupt

    def within(self, seconds: float) -> None:
        """One interrupt, so many seconds from now. To be called inside of the `try` that catches it."""
        self.armed = True
        signal.setitimer(signal.ITIMER_REAL, seconds)


@contextlib.contextmanager
def interrupts() -> Iterator[Interrupts]:
    """The signal is ours within the block; the main thread only."""
    made = Interrupts()
    before = signal.signal(signal.SIGALRM, made.on_signal)
    try:
        yield made
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
