"""`GET /metrics` of a broker, on a separate port (metrics.http.port), served by the broker's loop (I/O).

The text is made and sent in slices of a few milliseconds, so that a scrape does not delay other work.
`/metrics?names=confluent` has the names of another set of rules, and of that only.
"""

from __future__ import annotations

import asyncio

from kafka_py.base.meters import MetricRegistry
from kafka_py.broker.observe.jmx_rules import MetricNames, RuleSet, sets_named
from kafka_py.broker.observe.metrics import ProcessMetrics, count_open_files
from kafka_py.broker.observe.prometheus import Exposition
from kafka_py.net.scraping.endpoint import MetricsEndpoint, ScrapeQuery, in_slices, pieces_of


class MetricsServer(MetricsEndpoint):
    """The endpoint of one broker."""

    def __init__(self, host: str, port: int, registry: MetricRegistry, process: ProcessMetrics | None = None) -> None:
        super().__init__(host, port, self.scrape, registry.clock)
        self._registry = registry
        self._process = process
        self._names: dict[tuple[RuleSet, ...], MetricNames] = {}

    async def scrape(self, query: ScrapeQuery | None = None) -> list[bytes]:
        """The current values as text, in pieces. query: `names` are sets of rules. Raises ValueError for others."""
        sets = sets_named((query or {}).get("names", ()))
        names = self._names.setdefault(sets, MetricNames(sets))
        if self._process is not None:
            loop = asyncio.get_running_loop()
            self._process.open_files = await loop.run_in_executor(None, count_open_files)
        exposition = Exposition(names)
        now_s = self._registry.clock.monotonic_s
        await in_slices(exposition.render(self._registry), now_s)
        return await pieces_of(exposition.families, now_s)
