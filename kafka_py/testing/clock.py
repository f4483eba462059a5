"""A clock that a test moves by hand, with the timers that hang on it.

For code that takes a Clock and a `later`; for coroutines see virtual_time.py.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable

START_MS = 1_600_000_000_000


class ManualCall:
    """A call that is due later; one that is cancelled does nothing then."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self._callback = None

    def __call__(self) -> None:
        if self._callback is not None:
            self._callback()


class ManualClock:
    """Stands still until `advance`; calls that `later` has noted run when their time has come."""

    def __init__(self, wall_ms: int = START_MS) -> None:
        self._wall_ms = wall_ms
        self._monotonic_ms = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._number = itertools.count()

    def wall_ms(self) -> int:
        return self._wall_ms

    def monotonic_ms(self) -> float:
        return self._monotonic_ms

    def monotonic_s(self) -> float:
        return self.monotonic_ms() / 1000

    def later(self, delay_ms: float, callback: Callable[[], None]) -> None:
        """Runs `callback` once `delay_ms` has passed."""
        heapq.heappush(self._due, (self._monotonic_ms + delay_ms, next(self._number), callback))

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> ManualCall:
        """As `later`, for a timing wheel: in seconds, and can be cancelled."""
        call = ManualCall(callback)
        self.later(delay_s * 1000, call)
        return call

    def advance(self, ms: float = 0) -> None:
        """Lets time pass, and what is due meanwhile happen in order."""
        end = self._monotonic_ms + ms
        while self._due and self._due[0][0] <= end:
            moment, _, callback = heapq.heappop(self._due)
            self._move_to(moment)
            callback()
        self._move_to(end)

    def jump_wall(self, ms: int) -> None:
        """Moves the wall clock alone, as an administrator may."""
        self._wall_ms += ms

    def _move_to(self, moment: float) -> None:
        self._wall_ms += round(moment - self._monotonic_ms)
        self._monotonic_ms = moment


class BusyClock(ManualClock):
    """Time passes whenever somebody looks: every turn is over at once."""

    def monotonic_ms(self) -> float:
        self.advance(5)
        return super().monotonic_ms()
