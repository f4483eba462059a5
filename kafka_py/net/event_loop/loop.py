"""The event loop of a broker, and how long it ever kept others waiting.

With asyncio's own loop the selector is ours: the time between two waits is one turn of the loop, measured exactly and
at the cost of two clock readings a turn. uvloop does not show its turns; the lateness of a timer and
the processor time of the thread are used instead.

The selector also bounds a turn: thousands of connections that are ready at once are served some in each turn, and the
listening sockets are looked at in every turn, so that a new connection waits for a turn and not for all of them. Work
that was put off comes after what has just become ready (`call_last`), and can ask whether there is anything else to do
(`others_wait`); turns.py says how long it continues.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections import deque
from collections.abc import Callable

from kafka_py.base.clock import Clock

WINDOW_S = 60.0
"""The longest stall is that of the present and the previous window."""
SHARE_S = 5.0
"""The idle share is that of so long."""
HEARTBEAT_S = 0.05
READY_A_TURN = 32
"""Descriptors served in one turn; a small request costs some 50 microseconds."""


def _may_be() -> bool:
    return True


class LoopWatch:
    """The figures of one loop.

    now_s: the monotonic time. idle_ns: how long it waited, ever.
    woke_s: when the present turn began; None where the loop does not say it.
    others_wait: whether there is something to do besides the callback that asks: another one, put off or not, a timer
        that is due, a descriptor, also that of the asker; True where it is not known.
    call_last: has a callback called in the next turn, after the descriptors that become ready until then and before
        timers that are due; None where the loop cannot do that.
    urgent: descriptors whose readers are called in every turn while too many others are ready for one turn. They may be
        called although there is nothing to read.
    """

    __slots__ = (
        "_busy_s", "_idle_s", "_longest_s", "_previous_s", "_share", "_share_ends", "_window_ends", "call_last",
        "idle_ns", "others_wait", "urgent", "woke_s",
    )  # fmt: skip

    def __init__(self, now_s: float) -> None:
        self._longest_s = 0.0
        self._previous_s = 0.0
        self._window_ends = now_s + WINDOW_S
        self._busy_s = 0.0
        self._idle_s = 0.0
        self._share: float | None = None
        self._share_ends = 0.0
        self.idle_ns = 0
        self.woke_s: float | None = None
        self.others_wait: Callable[[], bool] = _may_be
        self.call_last: Callable[[Callable[[], None]], None] | None = None
        self.urgent: set[int] = set()

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


Ready = tuple[selectors.SelectorKey, int]
"""A registered descriptor, and the events for which it is ready."""


class WatchedSelector(selectors.DefaultSelector):
    """The system's selector, with the time between waits reported and at most READY_A_TURN descriptors a turn.

    Descriptors that are left over come in the next turns, in their order and before the system is asked again: it would
    name busy ones a second time before those that were never served. has_last: there is work for the next turn, which
    therefore does not wait.
    """

    def __init__(self, watch: LoopWatch, now_s: Callable[[], float]) -> None:
        super().__init__()
        self._watch = watch
        self._now_s = now_s
        self._woke_s = now_s()
        self._left_over: deque[Ready] = deque()
        self._found: list[Ready] = []  # by has_ready, for the next turn
        self.has_last = False

    def select(self, timeout: float | None = None) -> list[Ready]:
        began = self._now_s()
        if self.has_last:
            timeout = 0
        if self._left_over:
            ready = self._some_left_over()
        else:
            found, self._found = self._found, []
            ready = self._still_registered(found) if found else super().select(timeout)
            if len(ready) > READY_A_TURN:
                self._left_over.extend(ready)
                ready = self._some_left_over()
        woke = self._now_s()
        self._watch.turn(began - self._woke_s, woke - began, woke)
        self._watch.woke_s = self._woke_s = woke
        return ready

    def has_ready(self) -> bool:
        """Whether a descriptor is ready. One that is not read yet in this turn would be found a second time."""
        if not self._left_over and not self._found:
            self._found = super().select(0)
        return bool(self._left_over or self._found)

    def _still_registered(self, found: list[Ready]) -> list[Ready]:
        registered = self.get_map()
        return [each for each in found if registered.get(each[0].fd) is each[0]]

    def _some_left_over(self) -> list[Ready]:
        """The urgent descriptors and the next of those left over, but for those that changed since: asked for again."""
        registered, urgent, left_over = self.get_map(), self._watch.urgent, self._left_over
        keys = [registered.get(fileno) for fileno in urgent]
        ready = [(key, selectors.EVENT_READ) for key in keys if key is not None]
        most = len(ready) + READY_A_TURN
        while left_over and len(ready) < most:
            key, events = left_over.popleft()
            if registered.get(key.fd) is key and key.fd not in urgent:
                ready.append((key, events))
        return ready


class _WatchedLoop(asyncio.SelectorEventLoop):
    """asyncio's loop. It has no public way to its queues; all its versions have these three."""

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, selector: WatchedSelector, watch: LoopWatch) -> None:
        super().__init__(selector)
        self._watched = selector
        self._last: list[asyncio.Handle] = []
        watch.call_last = self._call_last
        watch.others_wait = self._others_wait

    def _call_last(self, callback: Callable[[], None]) -> None:
        self._check_closed()  # type: ignore[attr-defined]
        self._last.append(asyncio.Handle(callback, (), self))
        self._watched.has_last = True

    def _others_wait(self) -> bool:
        if self._ready or self._last:
            return True
        timers = self._scheduled
        return (bool(timers) and timers[0].when() <= self.time()) or self._watched.has_ready()

    def close(self) -> None:
        super().close()
        self._last.clear()

    def _process_events(self, event_list: list[Ready]) -> None:
        super()._process_events(event_list)  # type: ignore[misc]
        if self._last:
            self._ready.extend(self._last)
            self._last.clear()
            self._watched.has_last = False


def new_event_loop(clock: Clock, *, use_uvloop: bool = False) -> tuple[asyncio.AbstractEventLoop, LoopWatch]:
    """A loop for a broker, with its figures. use_uvloop: only where uvloop is installed, else ImportError."""
    watch = LoopWatch(clock.monotonic_s())
    if not use_uvloop:
        return _WatchedLoop(WatchedSelector(watch, clock.monotonic_s), watch), watch
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
