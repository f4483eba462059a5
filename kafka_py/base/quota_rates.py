"""What quotas are measured by: a rate over the last samples, and a bucket of tokens.

Pure; times are milliseconds of any clock and are passed in.
Source: docs/reference/quotas.md, sections 3 and 4; KIP-13, KIP-599; Rate, TokenBucket.
"""

from __future__ import annotations

import math
from array import array
from typing import NamedTuple

_NEVER = -math.inf


class Window(NamedTuple):
    """How far back a rate looks: `samples` samples of `sample_ms`, the present one included."""

    samples: int
    sample_ms: float

    @classmethod
    def of_seconds(cls, samples: int, seconds: int) -> Window:
        """As the settings give it."""
        return cls(samples, seconds * 1000.0)

    @property
    def length_ms(self) -> float:
        return self.samples * self.sample_ms

    @property
    def shortest_s(self) -> float:
        """The shortest time that a rate is spread over: all samples but the present one."""
        return (self.samples - 1) * self.sample_ms / 1000.0


class SampledRate:
    """How much was recorded per second, over the samples of a Window.

    total: the sum of all samples. A rate never exceeds `total` divided by the window's `shortest_s`.
    ends_ms: when the present sample is over; until then recording a value is adding it to `total`.
    """

    __slots__ = ("_at", "_others", "_starts", "_sums", "_used_ms", "ends_ms", "total", "window")

    def __init__(self, window: Window) -> None:
        self.window = window
        self.total = 0.0
        self._starts = array("d")  # of each sample, in ms
        self._sums = array("d")  # of each sample; that of the present one is brought up to date late
        self._at = -1  # the present sample
        self._others = 0.0  # sum of the samples besides the present one
        self._used_ms = _NEVER  # when the last sample was over that a measurement has emptied; it held something
        self.ends_ms = _NEVER

    def record(self, value: float, now_ms: float) -> None:
        """Adds a value; a negative one takes an earlier value back."""
        if now_ms >= self.ends_ms:
            self._begin(now_ms)
        self.total += value

    def _begin(self, now_ms: float) -> None:
        """The present sample is over: the next one of the ring begins."""
        sums, at = self._sums, self._at
        samples, sample_ms = self.window
        if at >= 0:
            sums[at] = self.total - self._others
        at += 1
        if at == samples:
            at = 0
        if at == len(sums):
            self._starts.append(now_ms)
            sums.append(0.0)
        else:
            self._starts[at] = now_ms
            sums[at] = 0.0
        self._at = at
        self.ends_ms = now_ms + sample_ms
        self._others = self.total = float(sum(sums))

    def _forget_old(self, now_ms: float) -> None:
        """Empties samples that the window has left behind."""
        starts, sums, length_ms = self._starts, self._sums, self.window.length_ms
        if self.total:
            self._used_ms = self.ends_ms
        sums[self._at] = self.total - self._others
        for place, start_ms in enumerate(starts):
            if now_ms - start_ms >= length_ms:
                starts[place] = now_ms
                sums[place] = 0.0
        self.ends_ms = starts[self._at] + self.window.sample_ms
        present = sums[self._at]
        self._others = float(sum(sums)) - present
        self.total = self._others + present

    def per_second(self, now_ms: float) -> float:
        """The rate: 0 before the first value, infinite or NaN for a window without any length."""
        return self.measure(now_ms)[0]

    def measure(self, now_ms: float) -> tuple[float, float]:
        """The rate per second, and the milliseconds that it is spread over: as long as `shortest_s`, or longer."""
        if self._at < 0:
            return 0.0, self.window.shortest_s * 1000.0
        oldest_ms = min(self._starts)
        if now_ms - oldest_ms >= self.window.length_ms:
            self._forget_old(now_ms)
            oldest_ms = min(self._starts)
        elapsed_ms = now_ms - oldest_ms
        samples, sample_ms = self.window
        missing = max(samples - 1 - math.floor(elapsed_ms / sample_ms), 0)
        spread_ms = elapsed_ms + missing * sample_ms
        if spread_ms:
            return self.total / (spread_ms / 1000.0), spread_ms
        return (math.inf if self.total else math.nan), spread_ms

    def throttle_ms(self, limit: float, now_ms: float) -> float:
        """How long nothing may be recorded until the rate is down at the limit; see the function."""
        rate, spread_ms = self.measure(now_ms)
        return throttle_ms(rate, limit, spread_ms)

    def is_idle_since(self, moment_ms: float) -> bool:
        """Whether nothing was recorded since then, give or take a sample. A measurement is no use of it."""
        return (self.ends_ms if self.total else min(self.ends_ms, self._used_ms)) < moment_ms


def throttle_ms(rate: float, limit: float, spread_ms: float) -> float:
    """How long nothing may be recorded until a rate over `spread_ms` is down at the limit; whole ms, 0 below it.

    Infinite where the limit is 0.
    """
    if not rate > limit or rate == math.inf:
        return 0.0
    if not limit:
        return math.inf
    return float(math.floor((rate - limit) / limit * spread_ms + 0.5))


class TokenBucket:
    """Tokens that come in at `limit` per second, up to what a whole window brings, with which it begins.

    limit: may be changed. tokens: fewer than 0 means exhausted.
    """

    __slots__ = ("_last_ms", "limit", "tokens", "window")

    def __init__(self, window: Window, limit: float) -> None:
        self.window = window
        self.limit = limit
        self.tokens = 0.0
        self._last_ms: float | None = None  # before the first use

    @property
    def _most(self) -> float:
        return self.window.length_ms / 1000.0 * self.limit

    def refill(self, now_ms: float) -> None:
        """Adds what has come in since the last time."""
        if self._last_ms is None:
            self.tokens = self._most
        else:
            self.tokens = min(self._most, self.tokens + self.limit * ((now_ms - self._last_ms) / 1000.0))
        self._last_ms = now_ms

    def take(self, permits: float, now_ms: float) -> None:
        """Takes tokens, even if there are too few."""
        self.refill(now_ms)
        self.tokens = min(self._most, self.tokens - permits)

    def exhausted_ms(self) -> float:
        """How long the bucket remains exhausted; whole ms, 0 when it is not, infinite where the limit is 0."""
        if self.tokens >= 0:
            return 0.0
        return float(math.floor(-self.tokens / self.limit * 1000.0 + 0.5)) if self.limit else math.inf
