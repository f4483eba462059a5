"""One type of quota on this broker: the budgets in use, found by client, created at first use, removed when idle.

Pure; `now_ms` is passed in. Source: docs/reference/quotas.md, sections 2 to 4; ClientQuotaManager.
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import islice
from typing import Generic, TypeVar

from kafka_py.base.quota_rates import Window
from kafka_py.broker.quotas.precedence import Limits, Tags
from kafka_py.broker.quotas.quota_keys import QuotaEntity, QuotaType
from kafka_py.broker.quotas.sensors import LONGEST_THROTTLE_MS, Budget
from kafka_py.net.principal import Principal

IDLE_MS = 3_600_000.0
"""A budget that was not used for so long is removed with its metrics."""
SCAN_MS = 30_000.0
_LOOKED_AT_A_STEP = 256
MOST_BUDGETS = 16_384
"""Beyond that the oldest budgets are forgotten, unless they are over their limits: a client may invent client ids.

Those that are over their limits are idle after a window then, so that a client cannot keep an hour's worth of them.
"""
_LOOKED_AT_WHEN_FULL = 2048
_MOST_NOTED = 8192
"""Clients whose budget is noted."""

B = TypeVar("B", bound=Budget)

Client = tuple[Principal, str]
"""A principal and a client id."""


class Era:
    """Budgets that were looked up are those of their clients as long as `number` is the same."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = 0


class QuotaManager(Generic[B]):
    """The budgets of one type.

    muted: connections that are throttled by it now. A client's budget is looked up once and kept until limits change,
    unless a plug-in decides about it.
    """

    def __init__(
        self, quota_type: QuotaType, limits: Limits, window: Window, make: type[B], era: Era, *,
        longest_ms: float | None = None, is_fixed: bool = True,
    ) -> None:  # fmt: skip
        """longest_ms: bound of throttle times. is_fixed: whether a client's budget changes with the limits only."""
        self.type = quota_type
        self.limits = limits
        self.window = window
        self.muted = 0
        self._make = make
        self._longest_ms = LONGEST_THROTTLE_MS if longest_ms is None else longest_ms
        self.is_fixed = is_fixed
        self._era = era
        self._budgets: dict[Tags, B] = {}
        self._full_at = MOST_BUDGETS
        self.is_on = limits.is_on
        """Whether clients are measured at all."""
        self.known: dict[Client, B] = {}
        """The budgets of clients, as far as they were looked up."""

    @property
    def budgets(self) -> list[B]:
        """Those in use."""
        return list(self._budgets.values())

    def budget_of(self, client: Client) -> B:
        """The budget that a client's requests count against."""
        return self.known.get(client) or self.find(client)

    def find(self, client: Client) -> B:
        """The budget of a client that is not known yet."""
        if not self.is_fixed and self.limits.must_reset():
            for _ in self.resetting_limits():
                pass
        tags = self.limits.tags_of(*client)
        budget = self._budgets.get(tags)
        if budget is None:
            if len(self._budgets) >= self._full_at:
                self._forget_oldest()
            budget = self._make(tags, self.window, self.limits.limit_of(tags), self._longest_ms)
            self._budgets[tags] = budget
        if self.is_fixed:
            if len(self.known) >= _MOST_NOTED:
                self.known.clear()
            self.known[client] = budget
        return budget

    def _forget_known(self) -> None:
        self.known.clear()
        self._era.number += 1

    def _forget_oldest(self) -> None:
        """Makes room. Those that remain count as new, so that others are looked at the next time."""
        self._forget_known()
        for tags in list(islice(self._budgets, _LOOKED_AT_WHEN_FULL)):
            budget = self._budgets.pop(tags)
            if budget.is_over:
                self._budgets[tags] = budget
        self._full_at = max(MOST_BUDGETS, len(self._budgets) + _LOOKED_AT_WHEN_FULL)

    def set_limit(self, entity: QuotaEntity, limit: float | None) -> bool:
        """Sets or removes the limit of an entity; when True is returned, `resetting_limits` must follow."""
        is_changed = self.limits.set_limit(entity, limit)
        self.is_on = self.limits.is_on
        return is_changed

    def resetting_limits(self) -> Generator[None, None, None]:
        """Gives every budget the limit that it has now, in steps (base/turns.py); what was used remains."""
        self._forget_known()
        for number, (tags, budget) in enumerate(list(self._budgets.items()), 1):
            budget.set_limit(self.limits.limit_of(tags))
            if number % _LOOKED_AT_A_STEP == 0:
                yield

    def removing_idle(self, now_ms: float) -> Generator[None, None, None]:
        """Removes budgets that are idle, in steps (base/turns.py)."""
        self._forget_known()  # many clients may share a budget, and each was noted
        for number, (tags, budget) in enumerate(list(self._budgets.items()), 1):
            is_crowded = len(self._budgets) > MOST_BUDGETS
            if budget.is_forgettable(now_ms) if is_crowded else budget.is_idle_since(now_ms - IDLE_MS):
                self._budgets.pop(tags, None)
                self._forget_known()  # a fetch may have looked it up since the last step, and is charged later
            if number % _LOOKED_AT_A_STEP == 0:
                yield
