"""What Kafka's own sensors compute: rates, averages and extremes over the last few windows of time.

A window ends when its owner ticks; nothing here asks for the time. Knows no metric, no table.
Source: SampledStat, Rate (metrics.sample.window.ms, metrics.num.samples).
"""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple


class Sampling(NamedTuple):
    """How far back is looked: `past` windows that are over, and the present one.

    fills_up: time since the start that is shorter than the past windows counts as if they had passed, without events;
        so do Kafka's clients, and their rates start low. Otherwise at least one second counts as passed.
    """

    window_ms: float = 5_000.0
    past: int = 6
    fills_up: bool = False

    def elapsed_ms(self, since_ms: float, now_ms: float) -> float:
        """Over how long events since then are spread."""
        elapsed_ms = now_ms - since_ms
        if not self.fills_up:
            return max(elapsed_ms, 1000.0)
        missing = self.past - int(elapsed_ms // self.window_ms) if self.window_ms else 0
        return max(elapsed_ms + max(missing, 0) * self.window_ms, 1.0)


HALF_A_MINUTE = Sampling()
"""As the broker looks back."""


class RecentRate:
    """How fast a count has grown over the last windows."""

    __slots__ = ("_marks",)

    def __init__(self, now_ms: float, past: int) -> None:
        self._marks: deque[tuple[float, float]] = deque([(now_ms, 0)], maxlen=past + 1)

    def tick(self, count: float, now_ms: float) -> None:
        """A window is over, and the count is at `count`."""
        self._marks.append((now_ms, count))

    def read(self, count: float, now_ms: float, sampling: Sampling) -> float:
        """Per second."""
        since_ms, before = self._marks[0]
        return (count - before) * 1000.0 / sampling.elapsed_ms(since_ms, now_ms)


class Samples:
    """Average, extremes and number of the values of the last windows, and the sum of all there ever were."""

    __slots__ = ("_before", "_count", "_greatest", "_least", "_total", "_windows")

    def __init__(self, past: int) -> None:
        self._windows: deque[tuple[int, float, float, float]] = deque(maxlen=past)
        self._before = 0.0
        self._reset()

    def _reset(self) -> None:
        self._count = 0
        self._total = 0.0
        self._least = math.inf
        self._greatest = -math.inf

    def update(self, value: float) -> None:
        self._count += 1
        self._total += value
        if value > self._greatest:
            self._greatest = value
        if value < self._least:
            self._least = value

    def tick(self) -> None:
        """A window is over."""
        self._windows.append((self._count, self._total, self._least, self._greatest))
        self._before += self._total
        self._reset()

    @property
    def average(self) -> float:
        """NaN when nothing came, as Kafka says it."""
        count = self._count + sum(window[0] for window in self._windows)
        return (self._total + sum(window[1] for window in self._windows)) / count if count else math.nan

    @property
    def greatest(self) -> float:
        """NaN when nothing came."""
        greatest = max((self._greatest, *(window[3] for window in self._windows)))
        return math.nan if greatest == -math.inf else greatest

    @property
    def least(self) -> float:
        """NaN when nothing came."""
        least = min((self._least, *(window[2] for window in self._windows)))
        return math.nan if least == math.inf else least

    @property
    def total(self) -> float:
        """The sum of all values since the start."""
        return self._before + self._total
