"""The metrics of client quotas: one bean per budget in use. Source: docs/reference/metrics.tsv."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from kafka_py.base.meters import Fleet, MetricRegistry, MetricTable, Reading, mbean_name
from kafka_py.base.metric_rows import Gauge
from kafka_py.broker.quotas.client_quotas import ClientQuotas
from kafka_py.broker.quotas.manager import QuotaManager
from kafka_py.broker.quotas.precedence import Tags
from kafka_py.broker.quotas.quota_keys import CLIENT_ID, USER
from kafka_py.broker.quotas.sensors import Budget, MutationBudget

_TAGS = (USER, CLIENT_ID)


class Measured:
    """A budget with the time at which its metrics are read."""

    __slots__ = ("budget", "now_ms")

    def __init__(self, budget: Budget, now_ms: float) -> None:
        self.budget = budget
        self.now_ms = now_ms

    def rate(self) -> float:
        """Per second."""
        return self.budget.per_second(self.now_ms)

    def throttle_time(self) -> float:
        """The average of the recent ones; NaN without any."""
        times = self.budget.times
        return math.nan if times is None else times.average(self.now_ms)

    def tokens(self) -> float:
        """Of a budget of mutations."""
        return self.budget.tokens_at(self.now_ms) if isinstance(self.budget, MutationBudget) else math.nan


_throttle_time = "Average of the throttle times applied lately, in ms."


class _Budgets(Fleet, attributes=True):
    """The budgets of one type."""

    def __init__(self, registry: MetricRegistry, manager: QuotaManager[Any]) -> None:
        super().__init__(registry, self._measured)
        self._manager = manager

    def _measured(self) -> Iterable[tuple[Sequence[str], Measured]]:
        now_ms = self.registry.clock.monotonic_ms()
        for budget in self._manager.budgets:
            named = tags_by_name(budget.tags)
            yield [named.get(name, "") for name in _TAGS], Measured(budget, now_ms)

    def read(self) -> Iterator[Reading]:
        now_ms = self.registry.clock.monotonic_ms()
        for budget in self._manager.budgets:
            measured, tags = Measured(budget, now_ms), tags_by_name(budget.tags)
            attributes = {row.name: row.of(measured) for row in self.gauges() if row.of is not None}
            yield Reading(mbean_name(self.GROUP, "", tags), attributes, self.GROUP, tags, None)


class ProduceBudgets(_Budgets, group="kafka.server:type=Produce", tags=_TAGS):
    """Bytes of produce requests."""

    byte_rate = Gauge("byte-rate", of=Measured.rate, about="Bytes of produce requests per second.")
    throttle_time = Gauge("throttle-time", of=Measured.throttle_time, about=_throttle_time)


class FetchBudgets(_Budgets, group="kafka.server:type=Fetch", tags=_TAGS):
    """Bytes of fetch responses."""

    byte_rate = Gauge("byte-rate", of=Measured.rate, about="Bytes of fetch responses to consumers per second.")
    throttle_time = Gauge("throttle-time", of=Measured.throttle_time, about=_throttle_time)


class RequestBudgets(_Budgets, group="kafka.server:type=Request", tags=_TAGS):
    """Time of the event loop."""

    request_time = Gauge("request-time", of=Measured.rate, about="Percent of the event loop's time used.")
    throttle_time = Gauge("throttle-time", of=Measured.throttle_time, about=_throttle_time)


class MutationBudgets(_Budgets, group="kafka.server:type=ControllerMutation", tags=_TAGS):
    """Partitions created and deleted."""

    tokens = Gauge("tokens", of=Measured.tokens, about="Partitions that may be created or deleted at once.")
    mutation_rate = Gauge("mutation-rate", of=Measured.rate, about="Partitions created and deleted per second.")
    throttle_time = Gauge("throttle-time", of=Measured.throttle_time, about=_throttle_time)


_queue_size = "Connections that are throttled now."


class ProduceQueue(MetricTable, group="kafka.server:type=Produce", attributes=True):
    """Of all clients; the owner is the QuotaManager."""

    size = Gauge("queue-size", of=lambda manager: manager.muted, about=_queue_size)


class FetchQueue(MetricTable, group="kafka.server:type=Fetch", attributes=True):
    """Of all clients; the owner is the QuotaManager."""

    size = Gauge("queue-size", of=lambda manager: manager.muted, about=_queue_size)


class MutationQueue(MetricTable, group="kafka.server:type=ControllerMutation", attributes=True):
    """Of all clients; the owner is the QuotaManager."""

    size = Gauge("queue-size", of=lambda manager: manager.muted, about=_queue_size)


class RequestQueue(MetricTable, group="kafka.server:type=Request", attributes=True):
    """Of all clients; the owner is the ClientQuotas."""

    size = Gauge("queue-size", of=lambda quotas: quotas.request.muted, about=_queue_size)
    exempt_request_time = Gauge("exempt-request-time", about="Percent of the event loop's time, of exempt requests.")


def tags_by_name(tags: Tags) -> dict[str, str]:
    """The tags of a budget with their names: those of the default, or as a plug-in gave them."""
    if tags and isinstance(tags[0], tuple):
        return dict(cast("tuple[tuple[str, str], ...]", tags))
    return {name: str(value) for name, value in zip(_TAGS, tags, strict=True)}


def measure_quotas(registry: MetricRegistry, quotas: ClientQuotas) -> None:
    """Shows the metrics of all types of quota."""
    ProduceBudgets(registry, quotas.produce)
    FetchBudgets(registry, quotas.fetch)
    RequestBudgets(registry, quotas.request)
    MutationBudgets(registry, quotas.mutation)
    ProduceQueue(registry, quotas.produce)
    FetchQueue(registry, quotas.fetch)
    MutationQueue(registry, quotas.mutation)
    requests = RequestQueue(registry, quotas)
    requests.exempt_request_time = lambda: quotas.exempt.per_second(registry.clock.monotonic_ms())
