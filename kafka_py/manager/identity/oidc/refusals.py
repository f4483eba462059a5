"""How often logins by the provider are refused, by address: the audit log has a line for one of them per second.

Whoever is not logged in can have the callback refused as often as they like, and would fill the disk otherwise.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from kafka_py.base.clock import Clock

LINE_MS = 1_000
MOST_ADDRESSES = 10_000
"""The one that was refused longest ago is forgotten for one more."""


class AddressRefusals(NamedTuple):
    """written_ms: when a line was due last. left_out: refused since then."""

    written_ms: float
    left_out: int


class RefusedLogins:
    """Refusals of each address since its last line."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: OrderedDict[str, AddressRefusals] = OrderedDict()

    def count(self, address: str) -> int | None:
        """Counts one. Returns how many were left out before it where a line is due, else None."""
        now_ms = self._clock.monotonic_ms()
        known = self._known.pop(address, None)
        is_due = known is None or now_ms - known.written_ms >= LINE_MS
        left_out = 0 if known is None else known.left_out
        if known is None or is_due:
            self._known[address] = AddressRefusals(now_ms, 0)
        else:
            self._known[address] = known._replace(left_out=left_out + 1)
        while len(self._known) > MOST_ADDRESSES:
            self._known.popitem(last=False)
        return left_out if is_due else None
