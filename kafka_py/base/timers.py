"""The timing wheel: many deadlines, few wake-ups of the event loop.

Hierarchical, as Kafka's purgatory has it: level 0 counts single milliseconds, each level above counts twenty times
coarser, and a timer moves one level down when its coarse bucket comes due. Starting and cancelling cost a few dict
operations whatever the number of timers; the loop is woken only when the earliest bucket that ever held a timer is due.
Knows a clock and a way to be called later; nothing of what the callbacks do.
Source: docs/reference/replication.md, section 15.
"""

from __future__ import annotations

import heapq
import logging
import math
from collections.abc import Callable
from typing import Protocol

from kafka_py.base.clock import Clock

TICK_MS = 1
SLOTS = 20

_log = logging.getLogger(__name__)


class Cancellable(Protocol):
    """What `call_later` returns, as asyncio's own handles."""

    def cancel(self) -> object: ...


CallLater = Callable[[float, Callable[[], None]], Cancellable]
"""(delay in seconds, callback) -> handle: `loop.call_later` of any event loop."""


class Timer:
    """One scheduled callback. `bucket` is None once it has fired or was cancelled."""

    __slots__ = ("bucket", "callback", "deadline_ms")

    def __init__(self, deadline_ms: int, callback: Callable[[], object]) -> None:
        self.deadline_ms = deadline_ms
        self.callback = callback
        self.bucket: dict[Timer, None] | None = None

    @property
    def is_active(self) -> bool:
        return self.bucket is not None

    def cancel(self) -> bool:
        """Stop it from firing; False when it already fired or was cancelled before."""
        bucket = self.bucket
        if bucket is None:
            return False
        self.bucket = None
        del bucket[self]
        return True


class Timers:
    """Callbacks at deadlines on `clock.monotonic_ms()`, never early, rounded up to whole milliseconds.

    A callback that raises is logged and harms no other. Callbacks may schedule and cancel freely.
    """

    def __init__(self, clock: Clock, call_later: CallLater) -> None:
        self._clock = clock
        self._call_later = call_later
        # One dict per bucket, found by (level's tick, bucket's start); the heap holds each known bucket once.
        self._buckets: dict[tuple[int, int], dict[Timer, None]] = {}
        self._due: list[tuple[int, int]] = []  # (start_ms, tick_ms)
        self._wake: Cancellable | None = None
        self._wake_at: int | None = None
        self._advancing_to: int | None = None  # the moment being fired, while in `advance`

    def schedule(self, delay_ms: float, callback: Callable[[], object]) -> Timer:
        """Call `callback` once `delay_ms` has passed; a delay <= 0 means as soon as the loop comes round."""
        now = self._clock.monotonic_ms()
        deadline = math.ceil(now + max(delay_ms, 0.0))
        if self._advancing_to is not None:  # a callback that schedules itself again must not hold the loop forever
            deadline = max(deadline, self._advancing_to + 1)
        timer = Timer(deadline, callback)
        self._insert(timer, math.floor(now))
        if self._advancing_to is None:
            self._arm(now)
        return timer

    @property
    def pending(self) -> int:
        """Timers that have neither fired nor been cancelled."""
        return sum(map(len, self._buckets.values()))

    def advance(self) -> int:
        """Fire what is due and go back to sleep until the next bucket; returns how many fired."""
        self._wake = self._wake_at = None
        now = self._clock.monotonic_ms()
        whole_now = math.floor(now)
        fired = 0
        self._advancing_to = whole_now
        try:
            while self._due and self._due[0][0] <= whole_now:
                start, tick = heapq.heappop(self._due)
                for timer in list(self._buckets.pop((tick, start))):
                    if timer.deadline_ms <= whole_now:
                        fired += self._fire(timer)
                    elif timer.bucket is not None:  # one level down; cancelled ones stay out
                        self._insert(timer, whole_now)
        finally:
            self._advancing_to = None
            self._arm(self._clock.monotonic_ms())
        return fired

    def close(self) -> None:
        """Forget every timer; none fires after this."""
        for bucket in self._buckets.values():
            for timer in bucket:
                timer.bucket = None
        self._buckets.clear()
        self._due.clear()
        if self._wake is not None:
            self._wake.cancel()
        self._wake = self._wake_at = None

    def _insert(self, timer: Timer, now_ms: int) -> None:
        """Into the finest level whose twenty buckets reach the deadline."""
        tick = TICK_MS
        while timer.deadline_ms // tick - now_ms // tick >= SLOTS:
            tick *= SLOTS
        start = timer.deadline_ms - timer.deadline_ms % tick
        bucket = self._buckets.get((tick, start))
        if bucket is None:
            bucket = self._buckets[(tick, start)] = {}
            heapq.heappush(self._due, (start, tick))
        bucket[timer] = None
        timer.bucket = bucket

    def _fire(self, timer: Timer) -> int:
        if timer.bucket is None:  # cancelled by a callback that ran just before
            return 0
        timer.bucket = None
        try:
            timer.callback()
        except Exception:
            _log.exception("A timer's callback failed")
        return 1

    def _arm(self, now_ms: float) -> None:
        """Have the loop call `advance` when the earliest bucket is due. Buckets emptied by cancelling are dropped."""
        due = self._due
        while due and not self._buckets[(due[0][1], due[0][0])]:
            start, tick = heapq.heappop(due)
            del self._buckets[(tick, start)]
        wanted = due[0][0] if due else None
        if wanted == self._wake_at:
            return
        if self._wake is not None:
            if wanted is None:  # a late, empty wake-up is cheaper than a cancelled one
                return
            if self._wake_at is not None and self._wake_at < wanted:
                return
            self._wake.cancel()
        if wanted is None:
            self._wake = self._wake_at = None
            return
        self._wake_at = wanted
        self._wake = self._call_later(max(wanted - now_ms, 0.0) / 1000.0, self._on_wake)

    def _on_wake(self) -> None:
        self.advance()
