"""Limits of how fast single addresses may connect: `connection_creation_rate` of ips in ZooKeeper.

Pure bookkeeping; `now_ms` is passed in. Source: docs/reference/quotas.md, section 8; KIP-612.
"""

from __future__ import annotations

from collections.abc import Generator

from kafka_py.base.quota_rates import SampledRate, Window

IDLE_MS = 3_600_000.0
"""An address that did not connect for so long is forgotten."""
MOST_ADDRESSES = 16_384
"""Beyond that an address is forgotten after a window, when its rate is 0: a client may have very many addresses."""
_LOOKED_AT_A_STEP = 256


class AddressRates:
    """The limits by address and those of all others, and the rates of the addresses that have one."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.rates: dict[str, SampledRate] = {}
        """Of the addresses that are measured."""
        self._limits: dict[str, int] = {}
        self._default: int | None = None

    def set_limit(self, address: str | None, limit: int | None) -> None:
        """Sets or removes the limit of an address, 0 or more; None is the default of all others."""
        if address is None:
            self._default = limit
        elif limit is None:
            self._limits.pop(address, None)
        else:
            self._limits[address] = limit

    def record(self, address: str, now_ms: float) -> float:
        """Counts a connection; how long it must be kept unread if it is over the limit, and then is not counted; 0."""
        limit = self._limits.get(address, self._default)
        if limit is None:
            return 0.0
        rate = self.rates.get(address)
        if rate is None:
            rate = self.rates[address] = SampledRate(self.window)
        rate.record(1, now_ms)
        time_ms = min(rate.throttle_ms(limit, now_ms), self.window.sample_ms)
        if time_ms:
            rate.record(-1, now_ms)
        return time_ms

    def removing_idle(self, now_ms: float) -> Generator[None, None, None]:
        """Drops the rates of addresses that have not connected for a long time, in steps (base/turns.py)."""
        for number, (address, rate) in enumerate(list(self.rates.items()), 1):
            idle_ms = IDLE_MS if len(self.rates) <= MOST_ADDRESSES else self.window.length_ms
            if rate.is_idle_since(now_ms - idle_ms):
                self.rates.pop(address, None)
            if number % _LOOKED_AT_A_STEP == 0:
                yield
