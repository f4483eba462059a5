"""KeyboardInterrupt at a moment that a test draws, by a real signal, as Ctrl-C would raise it."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Collection, Iterator
from types import CodeType, FrameType

PUT_OFF_S = 2e-5


class Interrupts:
    """SIGALRM raises KeyboardInterrupt in the main thread while `armed`. raised: how often it did.

    spared: code in which it is put off for a moment, such as a line that takes down what the test looks at afterwards.
    """

    def __init__(self, spared: Collection[CodeType] = ()) -> None:
        self.armed = False
        self.raised = 0
        self._spared = spared

    def on_signal(self, _number: int, frame: FrameType | None) -> None:
        if self.armed and frame is not None and frame.f_code in self._spared:
            signal.setitimer(signal.ITIMER_REAL, PUT_OFF_S)
        elif self.armed:
            self.armed = False
            self.raised += 1
            raise KeyboardInterrupt

    def within(self, seconds: float) -> None:
        """One interrupt, so many seconds from now. To be called inside of the `try` that catches it."""
        self.armed = True
        signal.setitimer(signal.ITIMER_REAL, seconds)


@contextlib.contextmanager
def interrupts(spared: Collection[CodeType] = ()) -> Iterator[Interrupts]:
    """The signal is ours within the block; the main thread only."""
    made = Interrupts(spared)
    before = signal.signal(signal.SIGALRM, made.on_signal)
    try:
        yield made
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
