"""The event loop of a broker, and how long it ever kept others waiting.

With asyncio's own loop the selector is ours: the time between two waits is one turn of the loop, measured exactly and
at the cost of two clock readings a turn. uvloop does not show its turns; the lateness of a timer and
the processor time of the thread are used instead.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable

from kafka_py.base.clock import Clock

WINDOW_S = 60.0
"""The longest stall is that of the present and the previous window."""
SHARE_S = 5.0
"""The idle share is that of so long."""
HEARTBEAT_S = 0.05


class LoopWatch:
    """The figures of one loop.

    now_s: the monotonic time. idle_ns: how long it waited, ever.
    """

    __slots__ = ("_busy_s", "_idle_s", "_longest_s", "_previous_s", "_share", "_share_ends", "_window_ends", "idle_ns")

    def __init__(self, now_s: float) -> None:
        self._longest_s = 0.0
        self._previous_s = 0.0
        self._window_ends = now_s + WINDOW_S
        self._busy_s = 0.0
        self._idle_s = 0.0
        self._share: float | None = None
        self._share_ends = 0.0
        self.idle_ns = 0

    @property
    def longest_stall_ms(self) -> float:
        """The longest turn of the last one to two minutes."""
        return max(self._longest_s, self._previous_s) * 1000.0

    @property
    def idle_share(self) -> float:
        """The share of time spent waiting, of the last whole SHARE_S or else of the time so far; 1 before any."""
        if self._share is not None:
            return self._share
        passed_s = self._busy_s + self._idle_s
        return self._idle_s / passed_s if passed_s > 0 else 1.0

    def turn(self, busy_s: float, idle_s: float, now_s: float) -> None:
        """One turn of the loop is over: it worked `busy_s` and then waited `idle_s`."""
        self.spent(busy_s, idle_s, now_s)
        self.held(busy_s, now_s)

    def spent(self, busy_s: float, idle_s: float, now_s: float) -> None:
        """Time has passed, working and waiting."""
        self._busy_s += busy_s
        self._idle_s += idle_s
        self.idle_ns += int(idle_s * 1e9)
        if now_s >= self._share_ends:
            if self._share_ends:
                passed_s = self._busy_s + self._idle_s
                self._share = self._idle_s / passed_s if passed_s > 0 else 1.0
                self._busy_s = self._idle_s = 0.0
            self._share_ends = now_s + SHARE_S

    def held(self, busy_s: float, now_s: float) -> None:
        """The loop was held for so long without a wait."""
        if busy_s > self._longest_s:
            self._longest_s = busy_s
        if now_s >= self._window_ends:
            self._window_ends = now_s + WINDOW_S
            self._previous_s, self._longest_s = self._longest_s, 0.0


class WatchedSelector(selectors.DefaultSelector):
    """The system's selector, with the time between waits reported."""

    def __init__(self, watch: LoopWatch, now_s: Callable[[], float]) -> None:
        super().__init__()
        self._watch = watch
        self._now_s = now_s
        self._woke_s = now_s()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        began = self._now_s()
        ready = super().select(timeout)
        woke = self._now_s()
        self._watch.turn(began - self._woke_s, woke - began, woke)
        self._woke_s = woke
        return ready


def new_event_loop(clock: Clock, *, use_uvloop: bool = False) -> tuple[asyncio.AbstractEventLoop, LoopWatch]:
    """A loop for a broker, with its figures. use_uvloop: only where uvloop is installed, else ImportError."""
    watch = LoopWatch(clock.monotonic_s())
    if not use_uvloop:
        return asyncio.SelectorEventLoop(WatchedSelector(watch, clock.monotonic_s)), watch
    import uvloop

    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    _Heartbeat(loop, watch, clock.monotonic_s)
    return loop, watch


class _Heartbeat:
    """Measures how late a timer comes, which shows a stall only if it covers a beat. Busy is the thread's CPU time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, watch: LoopWatch, now_s: Callable[[], float]) -> None:
        self._loop = loop
        self._now_s = now_s
        self._watch = watch
        self._due = loop.time() + HEARTBEAT_S
        self._cpu_s: float | None = None  # the thread that runs the loop is known at the first beat
        self._seen_s = 0.0
        loop.call_at(self._due, self._beat)

    def _beat(self) -> None:
        now_s, cpu_s = self._now_s(), time.thread_time()
        if self._cpu_s is not None:
            busy_s = cpu_s - self._cpu_s
            self._watch.spent(busy_s, max(now_s - self._seen_s - busy_s, 0.0), now_s)
        self._cpu_s, self._seen_s = cpu_s, now_s
        self._watch.held(max(self._loop.time() - self._due, 0.0), now_s)
        self._due = self._loop.time() + HEARTBEAT_S
        self._loop.call_at(self._due, self._beat)
