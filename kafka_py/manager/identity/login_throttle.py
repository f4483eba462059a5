"""Failed logins make the next one from the same address, and of the same user, wait longer and longer.

The wait of a user is short, so that nobody can lock another one out for long.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from kafka_py.base.clock import Clock

FREE_FAILURES = 3
"""So many mistakes cost nothing."""
LONGEST_WAIT_MS = {"address": 60_000, "user": 5_000}
FORGOTTEN_AFTER_MS = 15 * 60_000
MOST_KEYS = 10_000
MOST_CHARACTERS = 100
"""Of a name that is kept: no user's name is longer, and whoever is not logged in sends any."""


class FailedLogins(NamedTuple):
    """Of one address or user."""

    failures: int
    last_ms: float


class LoginThrottle:
    """Failures by (kind, name); kind is `address` or `user`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures: OrderedDict[tuple[str, str], FailedLogins] = OrderedDict()

    def wait_ms(self, address: str, user: str) -> int:
        """How long until the next attempt is looked at; 0 for at once."""
        now_ms = self._clock.monotonic_ms()
        return max(self._wait_of(key, now_ms) for key in _keys(address, user))

    def _wait_of(self, key: tuple[str, str], now_ms: float) -> int:
        failed = self._failures.get(key)
        if failed is None or failed.failures < FREE_FAILURES:
            return 0
        pause_ms = min(LONGEST_WAIT_MS[key[0]], 1_000 << min(failed.failures - FREE_FAILURES, 16))
        return max(0, round(failed.last_ms + pause_ms - now_ms))

    def failed(self, address: str, user: str) -> None:
        """Notes a failed attempt."""
        now_ms = self._clock.monotonic_ms()
        for key in _keys(address, user):
            before = self._failures.pop(key, FailedLogins(0, now_ms))
            count = 0 if now_ms - before.last_ms > FORGOTTEN_AFTER_MS else before.failures
            self._failures[key] = FailedLogins(count + 1, now_ms)
        while len(self._failures) > MOST_KEYS:
            self._failures.popitem(last=False)

    def succeeded(self, address: str, user: str) -> None:
        """Forgets the failures of both."""
        for key in _keys(address, user):
            self._failures.pop(key, None)


def _keys(address: str, user: str) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("address", address), ("user", user[:MOST_CHARACTERS])
