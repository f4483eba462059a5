"""One type of quota on this broker: the budgets in use, found by client, created at first use, removed when idle.

Pure; `now_ms` is passed in. Source: docs/reference/quotas.md, sections 2 to 4; ClientQuotaManager.
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import islice
from typing import Generic, TypeVar

from kafka_py.base.quota_rates import Window
from kafka_py.broker.quotas.precedence import Limits, Tags
from kafka_py.broker.quotas.quota_keys import QuotaType
from kafka_py.broker.quotas.sensors import LONGEST_THROTTLE_MS, Budget
from kafka_py.net.principal import Principal

IDLE_MS = 3_600_000.0
"""A budget that was not used for so long is removed with its metrics."""
SCAN_MS = 30_000.0
_LOOKED_AT_A_STEP = 256
MOST_BUDGETS = 16_384
"""Beyond that the oldest budgets are forgotten, unless they are over their limits: a client may invent client ids."""
_LOOKED_AT_WHEN_FULL = 2048
_MOST_NOTED = 8192
"""Clients whose budget is noted."""

B = TypeVar("B", bound=Budget)


class QuotaManager(Generic[B]):
    """The budgets of one type.

    muted: connections that are throttled by it now. A client's budget is looked up once and kept until limits change,
    unless a plug-in decides about it.
    """

    def __init__(
        self, quota_type: QuotaType, limits: Limits, window: Window, make: type[B], *, longest_ms: float | None = None,
        is_fixed: bool = True,
    ) -> None:  # fmt: skip
        """longest_ms: bound of throttle times. is_fixed: whether a client's budget changes with the limits only."""
        self.type = quota_type
        self.limits = limits
        self.window = window
        self.muted = 0
        self._make = make
        self._longest_ms = LONGEST_THROTTLE_MS if longest_ms is None else longest_ms
        self._is_fixed = is_fixed
        self._budgets: dict[Tags, B] = {}
        self._of_clients: dict[tuple[Principal, str], B] = {}
        self._full_at = MOST_BUDGETS

    @property
    def is_on(self) -> bool:
        """Whether clients are measured at all."""
        return self.limits.is_on

    @property
    def budgets(self) -> list[B]:
        """Those in use."""
        return list(self._budgets.values())

    def budget_of(self, principal: Principal, client_id: str) -> B:
        """The budget that a client's requests count against."""
        return self._of_clients.get((principal, client_id)) or self._find(principal, client_id)

    def _find(self, principal: Principal, client_id: str) -> B:
        if not self._is_fixed and self.limits.must_reset():
            for _ in self.resetting_limits():
                pass
        tags = self.limits.tags_of(principal, client_id)
        budget = self._budgets.get(tags)
        if budget is None:
            if len(self._budgets) >= self._full_at:
                self._forget_oldest()
            budget = self._make(tags, self.window, self.limits.limit_of(tags), self._longest_ms)
            self._budgets[tags] = budget
        if self._is_fixed:
            if len(self._of_clients) >= _MOST_NOTED:
                self._of_clients.clear()
            self._of_clients[principal, client_id] = budget
        return budget

    def _forget_oldest(self) -> None:
        """Makes room. Those that remain count as new, so that others are looked at the next time."""
        self._of_clients.clear()
        for tags in list(islice(self._budgets, _LOOKED_AT_WHEN_FULL)):
            budget = self._budgets.pop(tags)
            if budget.is_over:
                self._budgets[tags] = budget
        self._full_at = max(MOST_BUDGETS, len(self._budgets) + _LOOKED_AT_WHEN_FULL)

    def charge(self, principal: Principal, client_id: str, value: float, now_ms: float) -> int:
        """Records a value; returns the throttle time in ms, 0 when the rate is within the limit."""
        budget = self._of_clients.get((principal, client_id)) or self._find(principal, client_id)
        return budget.charge(value, now_ms)

    def most_at_once(self, principal: Principal, client_id: str) -> float | None:
        """How much one response may have so that it can be sent at all under the limit; None without one."""
        limit = self.budget_of(principal, client_id).limit
        return None if limit is None else limit * self.window.shortest_s

    def resetting_limits(self) -> Generator[None, None, None]:
        """Gives every budget the limit that it has now, in steps (base/turns.py); what was used remains."""
        self._of_clients.clear()
        for number, (tags, budget) in enumerate(list(self._budgets.items()), 1):
            budget.set_limit(self.limits.limit_of(tags))
            if number % _LOOKED_AT_A_STEP == 0:
                yield

    def removing_idle(self, now_ms: float) -> Generator[None, None, None]:
        """Removes budgets that are idle, in steps (base/turns.py)."""
        self._of_clients.clear()  # many clients may share a budget, and each was noted
        for number, (tags, budget) in enumerate(list(self._budgets.items()), 1):
            if budget.is_idle_since(now_ms - IDLE_MS):
                self._budgets.pop(tags, None)
            if number % _LOOKED_AT_A_STEP == 0:
                yield
