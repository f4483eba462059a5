"""The quotas of clients on this broker: produced and fetched bytes, request time, controller mutations.

Pure but for its logging; `now_ms` is passed in. requests/throttling.py applies it to responses and connections.
Source: docs/reference/quotas.md, sections 1, 2 and 7; QuotaFactory.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping

from kafka_py.base.options import MAX_LONG
from kafka_py.base.quota_rates import SampledRate, Window
from kafka_py.broker.quotas.callback import CallbackLimits, GuardedCallback, QuotaCallback
from kafka_py.broker.quotas.manager import Era, QuotaManager
from kafka_py.broker.quotas.precedence import ConfiguredLimits, Limits
from kafka_py.broker.quotas.quota_keys import CLIENT_KEYS, QuotaEntity, QuotaType, limit_in
from kafka_py.broker.quotas.sensors import Budget, EvenBudget, MutationBudget
from kafka_py.broker.settings.configs import QuotaOptions

_log = logging.getLogger(__name__)


class ClientQuotas:
    """All four types.

    exempt: request time of what is never throttled; recorded while the type REQUEST is on.
    era: a new one begins when the budget of a client may be another one.
    """

    def __init__(self, config: QuotaOptions, callback: QuotaCallback | None = None) -> None:
        self._callback = None if callback is None else GuardedCallback(callback)
        self._when_on: Callable[[], object] | None = None
        window = Window.of_seconds(config.quota_window_num, config.quota_window_size_seconds)
        mutations = Window.of_seconds(
            config.controller_quota_window_num, config.controller_quota_window_size_seconds
        )
        produce, fetch, request, mutation = (self._limits(each, config) for each in QuotaType)
        is_fixed = callback is None
        self.era = era = Era()
        of_bytes = EvenBudget if config.quota_even else Budget
        self.produce = QuotaManager(QuotaType.PRODUCE, produce, window, of_bytes, era, is_fixed=is_fixed)
        self.fetch = QuotaManager(QuotaType.FETCH, fetch, window, of_bytes, era, is_fixed=is_fixed)
        self.request = QuotaManager(
            QuotaType.REQUEST, request, window, Budget, era, longest_ms=window.sample_ms, is_fixed=is_fixed
        )
        self.mutation = QuotaManager(
            QuotaType.CONTROLLER_MUTATION, mutation, mutations, MutationBudget, era, is_fixed=is_fixed
        )
        self.exempt = SampledRate(window)

    def _limits(self, quota_type: QuotaType, config: QuotaOptions) -> Limits:
        if self._callback is not None:
            return CallbackLimits(self._callback, quota_type)
        default = {
            QuotaType.PRODUCE: config.quota_producer_default, QuotaType.FETCH: config.quota_consumer_default
        }.get(quota_type, MAX_LONG)  # fmt: skip
        return ConfiguredLimits(float(default) if default < MAX_LONG else None)

    @property
    def managers(self) -> tuple[QuotaManager[Budget] | QuotaManager[MutationBudget], ...]:
        """One for each type."""
        return self.produce, self.fetch, self.request, self.mutation

    @property
    def is_on(self) -> bool:
        """Whether clients are measured at all; it remains so once it is."""
        return any(manager.is_on for manager in self.managers)

    def when_on(self, callback: Callable[[], object]) -> None:
        """Has `callback` called once, as soon as clients are measured: now, or at the first quota."""
        if self.is_on:
            callback()
        else:
            self._when_on = callback

    def applying(self, entity: QuotaEntity, settings: Mapping[str, str]) -> Generator[None, None, None]:
        """Takes over an entity's quotas, as they are now, in steps (base/turns.py); other settings are left aside."""
        for name, key in CLIENT_KEYS.items():
            [manager] = [each for each in self.managers if each.type is key.type]
            try:
                limit = limit_in(settings, name)
            except ValueError as error:
                _log.error("The quota %s of %s is ignored: %s", name, entity, error)
                limit = None
            if manager.set_limit(entity, limit):
                yield from manager.resetting_limits()
        if self._when_on is not None and self.is_on:
            callback, self._when_on = self._when_on, None
            callback()

    def on_cluster_metadata(self, cluster: object) -> Generator[None, None, None]:
        """Tells a plug-in that the metadata cache has changed, and takes over its limits in steps (base/turns.py)."""
        if self._callback is not None and self._callback.update_cluster_metadata(cluster):
            for manager in self.managers:
                yield from manager.resetting_limits()

    def removing_idle(self, now_ms: float) -> Generator[None, None, None]:
        """Removes budgets that are idle, in steps."""
        for manager in self.managers:
            yield from manager.removing_idle(now_ms)

    def close(self) -> None:
        if self._callback is not None:
            self._callback.close()
