"""What metrics compute from plain numbers: moving averages of counts, and distributions that favour recent values.

Everything here is cheap to feed and does its arithmetic when ticked or read. Knows no metric, no table. What looks back
over a few windows only: samples.py.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from operator import mul

TICK_SECONDS = 5.0
_SPANS_S = (60.0, 300.0, 900.0)
_DECAY_PER_TICK = math.exp(-0.015 * TICK_SECONDS)
"""Values weigh half after 46 s, as in the ExponentiallyDecayingReservoir of yammer metrics (alpha 0.015)."""
_NEGLIGIBLE = 1e-5
_FOLD_AT = 512
_SAMPLE = 32
"""Of values that come in bulk about so many are looked at for the percentiles; count, sum and extremes take all."""
_MOST_BUCKETS = 512


class EventRates:
    """How fast a count grows: per second since the start, and as 1, 5 and 15 minute moving averages."""

    __slots__ = ("_averages", "_last_count", "_last_ms", "_started_ms")

    def __init__(self, now_ms: float) -> None:
        self._started_ms = self._last_ms = now_ms
        self._last_count = 0
        self._averages: list[float] | None = None

    def tick(self, count: int, now_ms: float) -> None:
        """Called every five seconds, or later where there is much to do, with the count as it is."""
        seconds = max((now_ms - self._last_ms) / 1000.0, TICK_SECONDS)  # the first time may come sooner
        rate = (count - self._last_count) / seconds
        self._last_count, self._last_ms = count, now_ms
        if self._averages is None:
            self._averages = [rate] * len(_SPANS_S)
        else:
            self._averages = [
                average + (1.0 - math.exp(-seconds / span_s)) * (rate - average)
                for average, span_s in zip(self._averages, _SPANS_S, strict=True)
            ]

    def read(self, count: int, now_ms: float) -> dict[str, float]:
        """The rates of a JMX meter, per second."""
        one, five, fifteen = self._averages or (0.0, 0.0, 0.0)
        elapsed = (now_ms - self._started_ms) / 1000.0
        return {
            "MeanRate": count / elapsed if count and elapsed > 0 else 0.0,
            "OneMinuteRate": one,
            "FiveMinuteRate": five,
            "FifteenMinuteRate": fifteen,
        }


class Histogram:
    """Count, extremes, mean and deviation over all time; percentiles in which recent values weigh more.

    `update` only appends to a list; a few hundred values at a time are folded in: all of them into the sums, by
    functions written in C, and a sample of them into weighted buckets. `extend` folds many in at once.
    """

    __slots__ = ("_buckets", "_count", "_greatest", "_least", "_pending", "_squares", "_total", "_turn")

    def __init__(self) -> None:
        self._pending: list[float] = []
        self._buckets: dict[float, float] = {}
        self._count = 0
        self._total = 0.0
        self._squares = 0.0
        self._least = math.inf
        self._greatest = -math.inf
        self._turn = 0
        """Where the next sample begins, so that no place in a batch is preferred."""

    def update(self, value: float) -> None:
        pending = self._pending
        pending.append(value)
        if len(pending) >= _FOLD_AT:
            self._fold()

    @property
    def count(self) -> int:
        return self._count + len(self._pending)

    def tick(self) -> None:
        """Every five seconds: what was seen before weighs a little less; what hardly weighs anything is dropped."""
        self._fold()
        buckets = self._buckets
        if not buckets:
            return
        least = sum(buckets.values()) * _NEGLIGIBLE
        self._buckets = {value: weight * _DECAY_PER_TICK for value, weight in buckets.items() if weight > least}

    def read(self) -> dict[str, float]:
        """The attributes of a JMX histogram."""
        self._fold()
        count = self._count
        shares = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)
        names = ("50thPercentile", "75thPercentile", "95thPercentile", "98thPercentile", "99thPercentile",
                 "999thPercentile")  # fmt: skip
        values: dict[str, float] = {
            "Count": count,
            "Min": self._least if count else 0.0,
            "Max": self._greatest if count else 0.0,
            "Mean": self._total / count if count else 0.0,
            "StdDev": self._deviation(),
        }
        values.update(zip(names, self._percentiles(shares), strict=True))
        return values

    def _deviation(self) -> float:
        if self._count < 2:
            return 0.0
        variance = (self._squares - self._total * self._total / self._count) / (self._count - 1)
        return math.sqrt(max(variance, 0.0))

    def _percentiles(self, shares: tuple[float, ...]) -> list[float]:
        self._fold()
        if not self._buckets:
            return [0.0] * len(shares)
        whole = sum(self._buckets.values())
        found: list[float] = []
        reached = 0.0
        for value in sorted(self._buckets):
            reached += self._buckets[value]
            while len(found) < len(shares) and reached >= shares[len(found)] * whole:
                found.append(value)
        greatest = max(self._buckets)
        return found + [greatest] * (len(shares) - len(found))  # rounding may leave the last one short

    def extend(self, values: Sequence[float], count: int | None = None, sample: int = _SAMPLE) -> None:
        """Many values at once. count: they stand for so many. sample: about so many serve for the percentiles."""
        self._fold()
        self._absorb(values, len(values) if count is None else count, sample)

    def _fold(self) -> None:
        pending = self._pending
        if pending:
            self._absorb(pending, len(pending), _SAMPLE)
            pending.clear()

    def _absorb(self, values: Sequence[float], count: int, sample_size: int) -> None:
        size = len(values)
        if not size:
            return
        weight = count / size
        self._count += count
        self._total += sum(values) * weight
        self._squares += sum(map(mul, values, values)) * weight
        self._least = min(self._least, min(values))
        self._greatest = max(self._greatest, max(values))
        step = max(size // sample_size, 1)
        sample = values[self._turn % step :: step]
        self._turn += 1
        if count > size or step > 1:  # in bulk: like values share a bucket from the start
            sample = [_rounded(value) for value in sample]
        weight = count / len(sample)
        buckets = self._buckets
        for value, times in Counter(sample).items():
            buckets[value] = buckets.get(value, 0.0) + times * weight
        if len(buckets) > _MOST_BUCKETS:
            self._buckets = _coarser(buckets)


def _rounded(value: float) -> float:
    """The value to 1/64 of itself: a bucket for it and its like."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * 32), exponent - 5)


def _coarser(buckets: dict[float, float]) -> dict[float, float]:
    """The same weights on rounded values."""
    coarse: dict[float, float] = {}
    for value, weight in buckets.items():
        rounded = _rounded(value)
        coarse[rounded] = coarse.get(rounded, 0.0) + weight
    return coarse
