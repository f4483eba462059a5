"""The budget of clients with equal tags: what they have used, and how long they are throttled.

Pure; `now_ms` is passed in. Made for each budget in use, so it is kept small.
Source: docs/reference/quotas.md, sections 3 and 4; ClientQuotaManager, ControllerMutationQuotaManager.
"""

from __future__ import annotations

import math
from functools import lru_cache

from kafka_py.base.quota_rates import SampledRate, TokenBucket, Window
from kafka_py.broker.quotas.precedence import Tags

LONGEST_THROTTLE_MS = (1 << 31) - 1
ALWAYS_ASK = -1.0
"""As `enough`: no total is."""
_TIMES_KEPT_MS = 60_000.0


class ThrottleTimes:
    """The average of recent throttle times: those of this minute and the one before."""

    __slots__ = ("_before", "_began_ms", "_count", "_sum")

    def __init__(self, now_ms: float) -> None:
        self._began_ms = now_ms
        self._before = (0.0, 0)
        self._sum = 0.0
        self._count = 0

    def add(self, value_ms: float, now_ms: float) -> None:
        self._move_on(now_ms)
        self._sum += value_ms
        self._count += 1

    def _move_on(self, now_ms: float) -> None:
        passed_ms = now_ms - self._began_ms
        if passed_ms >= _TIMES_KEPT_MS / 2:
            self._before = (self._sum, self._count) if passed_ms < _TIMES_KEPT_MS else (0.0, 0)
            self._sum, self._count, self._began_ms = 0.0, 0, now_ms

    def average(self, now_ms: float) -> float:
        """NaN without recent ones."""
        self._move_on(now_ms)
        count = self._count + self._before[1]
        return (self._sum + self._before[0]) / count if count else math.nan


class Budget(SampledRate):
    """A budget that is a rate: bytes, or percents of a thread's time.

    limit: per second; None for none. longest_ms: of a throttle time. enough: up to this `total` no throttle time is
    possible, because no window is shorter; less where something else decides as well.
    """

    __slots__ = ("_limit", "_longest_ms", "enough", "tags", "times")

    def __init__(self, tags: Tags, window: Window, limit: float | None, longest_ms: float) -> None:
        super().__init__(window)
        self.tags = tags
        self.times: ThrottleTimes | None = None
        """Set at the first throttle time."""
        self._longest_ms = longest_ms
        self.set_limit(limit)

    @property
    def limit(self) -> float | None:
        return self._limit

    def set_limit(self, limit: float | None) -> None:
        """Replaces the limit; what was used remains."""
        self._limit = limit
        self.enough = self.most_at_once

    @property
    def most_at_once(self) -> float:
        """The largest value that is ever within the limit; infinite without one."""
        return math.inf if self._limit is None else _most_total(self._limit, self.window.shortest_s)

    def charge(self, value: float, now_ms: float) -> int:
        """Records a value; returns the throttle time in ms, 0 when the rate is within the limit."""
        if now_ms >= self.ends_ms:
            self._begin(now_ms)
        self.total += value
        if self.total <= self.enough:
            return 0
        return self.time_over(now_ms)

    def time_over(self, now_ms: float) -> int:
        """The throttle time for what is recorded already."""
        if self._limit is None:
            return 0
        return bounded(self.throttle_ms(self._limit, now_ms), self._longest_ms, self.window)

    def admit(self, value: float, now_ms: float, _who: int) -> int:
        """As `charge`, for what is used within the limit only: it is not recorded where there is a throttle time.

        _who: the connection.
        """
        time_ms = self.charge(value, now_ms)
        if time_ms:
            self.take_back(value, now_ms)
        return time_ms

    def take_back(self, value: float, now_ms: float) -> None:
        """What was just charged was not used after all."""
        self.record(-value, now_ms)

    @property
    def is_over(self) -> bool:
        """Whether more was used than the limit allows, so that to forget the budget would lift its throttling."""
        return self.total > self.enough

    def is_forgettable(self, now_ms: float) -> bool:
        """Whether a new budget would throttle its clients no less: it was not used for a whole window."""
        return self.is_idle_since(now_ms - self.window.length_ms)

    def note_throttled(self, time_ms: float, now_ms: float) -> None:
        """Counts a throttle time that is applied."""
        if self.times is None:
            self.times = ThrottleTimes(now_ms)
        self.times.add(time_ms, now_ms)


class EvenBudget(Budget):
    """A budget of bytes that comes back evenly to clients that take all they can.

    By the samples alone such a client has a whole window's budget at once, waits until that sample is left behind, and
    has it at once again: over 30 seconds up to 1.17 times the limit, and a burst for all others every 11 seconds. Here
    the throttle time is the longer one of two: that by the samples, and, from the first one on, the time until what was
    used since then is paid back at the limit. Clients that stay within the limit never notice, and whoever leaves
    his budget unused for the time of a sample is measured by the samples alone again.

    What is refused is tried again, and an even rate allows one of them at a time. If all connections of a client tried
    at that moment, the one with the shortest way would have all of it and the others nothing, so they take turns: each
    that is refused waits for those before it, and nobody is admitted while others wait but who comes in a turn.

    _even_ms: when all will be paid back; None while the samples decide alone. At most a window ahead, for what the
        samples have forgotten then is forgotten here too.
    _turns: by connection, when those that were refused try again, in this order; they too are at most a window ahead.
        None before the first one.
    """

    __slots__ = ("_even_ms", "_turns")

    def __init__(self, tags: Tags, window: Window, limit: float | None, longest_ms: float) -> None:
        self._even_ms: float | None = None
        self._turns: dict[int, float] | None = None
        super().__init__(tags, window, limit, longest_ms)

    def set_limit(self, limit: float | None) -> None:
        if self._even_ms is None or limit != self._limit:
            self._even_ms = None
            super().set_limit(limit)

    def charge(self, value: float, now_ms: float) -> int:
        time_ms = super().charge(value, now_ms)
        even_ms, limit = self._even_ms, self._limit
        if not limit or limit < 0:
            return time_ms
        if even_ms is not None and now_ms - even_ms > self.window.sample_ms:
            even_ms = None
        elif even_ms is not None:
            even_ms += value * 1000.0 / limit
        if time_ms:
            even_ms = now_ms + time_ms if even_ms is None else max(even_ms, now_ms + time_ms)
        if even_ms is None:
            if self._even_ms is not None:
                self._even_ms, self.enough = None, self.most_at_once
            return time_ms
        self._even_ms = even_ms = min(even_ms, now_ms + self.window.length_ms)
        self.enough = ALWAYS_ASK
        return max(time_ms, bounded(math.floor(even_ms - now_ms + 0.5), self._longest_ms, self.window))

    def admit(self, value: float, now_ms: float, who: int) -> int:
        limit, turns, sample_ms = self._limit, self._turns or {}, self.window.sample_ms
        own_ms = value * 1000.0 / limit if limit and limit > 0 else 0.0
        if not 0.0 < own_ms <= sample_ms / 2:  # the samples decide about the large: none waits for them
            return super().admit(value, now_ms, who)
        while turns and (first := next(iter(turns.items())))[1] < now_ms - sample_ms:  # it has left
            del turns[first[0]]
        is_turn = turns.pop(who, math.inf) < now_ms + 1.0  # throttle times are whole milliseconds
        time_ms = self.charge(value, now_ms)
        if self._even_ms is None:
            turns.clear()
        if not time_ms and (is_turn or not turns):
            return 0
        self.take_back(value, now_ms)
        if self._even_ms is None:
            return time_ms
        turn_ms = now_ms + time_ms
        if turns:
            last_ms = max(next(reversed(turns.values())), now_ms)
            turn_ms = max(turn_ms, min(last_ms + own_ms, now_ms + self.window.length_ms))
        turns[who] = turn_ms
        self._turns = turns
        return bounded(math.ceil(turn_ms - now_ms), self._longest_ms, self.window)

    def take_back(self, value: float, now_ms: float) -> None:
        super().take_back(value, now_ms)
        if self._even_ms is not None and self._limit:
            self._even_ms -= value * 1000.0 / self._limit


class MutationBudget(Budget):
    """A budget of controller mutations: a bucket of tokens while there is a limit, and their rate for the metrics."""

    __slots__ = ("_bucket",)

    def set_limit(self, limit: float | None) -> None:
        super().set_limit(limit)
        bucket: TokenBucket | None = getattr(self, "_bucket", None)
        if limit is None:
            bucket = None
        elif bucket is None:
            bucket = TokenBucket(self.window, limit)
        else:
            bucket.limit = limit
        self._bucket = bucket

    @property
    def is_over(self) -> bool:
        return self.tokens < 0

    @property
    def tokens(self) -> float:
        """Those left when the bucket was last used; infinite without a limit."""
        return math.inf if self._bucket is None else self._bucket.tokens

    def tokens_at(self, now_ms: float) -> float:
        """Those left, with what has come in until now."""
        if self._bucket is not None:
            self._bucket.refill(now_ms)
        return self.tokens

    def is_forgettable(self, now_ms: float) -> bool:
        return super().is_forgettable(now_ms) and self.tokens_at(now_ms) >= 0

    def take(self, permits: float, now_ms: float, *, is_strict: bool) -> tuple[bool, int]:
        """Takes permits; whether they were granted, and the throttle time.

        is_strict: permits are refused while the bucket is exhausted, and a grant has no throttle time. Otherwise they
            are always granted, and the throttle time is that of the exhausted bucket.
        """
        bucket = self._bucket
        if bucket is None:
            self.record(permits, now_ms)
            return True, 0
        if is_strict:
            bucket.refill(now_ms)
            if bucket.tokens < 0:
                return False, bounded(bucket.exhausted_ms(), self._longest_ms, self.window)
        bucket.take(permits, now_ms)
        self.record(permits, now_ms)
        return True, 0 if is_strict else bounded(bucket.exhausted_ms(), self._longest_ms, self.window)


@lru_cache(maxsize=1024)
def _most_total(limit: float, shortest_s: float) -> float:
    """The largest total that never exceeds the limit.

    Equal limits share one number: it is read for every request, and one for each of many clients would not be in the
    processor's caches.
    """
    return limit * shortest_s


def bounded(time_ms: float, longest_ms: float, window: Window) -> int:
    """A throttle time as responses have it.

    A limit of 0 would throttle for ever: it does so for a window at a time. A limit below 0 does not throttle.
    """
    return max(int(min(window.length_ms if time_ms == math.inf else time_ms, longest_ms)), 0)
