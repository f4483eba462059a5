"""Starts and stops the metrics endpoint, the reporters and the traces of a broker (I/O)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import TYPE_CHECKING

from kafka_py.base.chance import Chance
from kafka_py.base.clock import Clock
from kafka_py.base.errors import ConfigError
from kafka_py.base.meters import TICK_MS, MetricRegistry, MetricTable
from kafka_py.base.supervision import Every, Quarantine, Supervisor
from kafka_py.broker.observe.exchanges import Exchanges
from kafka_py.broker.observe.metrics import ProcessMetrics
from kafka_py.broker.observe.metrics_http import MetricsServer
from kafka_py.broker.observe.reporters import load_reporters
from kafka_py.broker.observe.reporting import Reporting
from kafka_py.broker.observe.tracing.starting import RequestTraces, check_tracing
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.net.scraping.endpoint import in_slices

if TYPE_CHECKING:
    from kafka_py.broker.observe.tracing.exporting import SpanExport

_AVERAGES = "averages of metrics"


class Observation:
    """Metrics endpoint, reporters and traces of one broker. process: its metrics, some measured only at a scrape."""

    def __init__(
        self,
        config: BrokerConfig,
        registry: MetricRegistry,
        process: ProcessMetrics,
        clock: Clock,
        executor: Executor,
        supervisor: Supervisor,
    ) -> None:
        self._config = config
        self._registry = registry
        self._process = process
        self._clock = clock
        self._executor = executor
        self._supervisor = supervisor
        self._averages: Quarantine[MetricTable] = supervisor.quarantine(_AVERAGES)
        self._server: MetricsServer | None = None
        self._reporting: Reporting | None = None
        self._ticking: asyncio.Task[None] | None = None
        self._traces: RequestTraces | None = None

    @property
    def address(self) -> str | None:
        """The URL of the metrics; None without an endpoint."""
        server = self._server
        return None if server is None else f"http://{server.host or 'localhost'}:{server.port}/metrics"

    @property
    def span_export(self) -> SpanExport | None:
        """What sends the spans of requests; None while they are not traced."""
        return None if self._traces is None else self._traces.export

    async def start(self, every: Every) -> None:
        """Starts averages, endpoint and reporters according to the settings. Raises ConfigError."""
        config = self._config
        if config.tracing_enabled:
            check_tracing(config, os.environ)
        every(TICK_MS, self._tick, _AVERAGES)
        if config.metrics_http_port >= 0:
            server = MetricsServer(config.metrics_http_host, config.metrics_http_port, self._registry, self._process)
            try:
                await server.start()
            except OSError as error:
                raise ConfigError(f"metrics.http.port {config.metrics_http_port} cannot be used: {error}") from error
            self._server = server
        names = [*config.kafka_metrics_reporters, *config.metric_reporters]
        reporters = load_reporters(names, config.originals)
        if reporters:
            self._reporting = Reporting(reporters, self._registry, self._clock, self._executor, self._supervisor)
            every(config.kafka_metrics_polling_interval_secs * 1000.0, self._reporting.report, "metrics reporters")

    def trace(self, exchanges: Exchanges, broker_id: int, cluster_id: str, chance: Chance) -> None:
        """Traces requests from now on, if the settings say so."""
        if self._config.tracing_enabled:
            self._traces = RequestTraces(self._config, os.environ)
            self._traces.start(broker_id, cluster_id, exchanges, self._registry, chance, self._clock)

    def _tick(self) -> None:
        """Updates the moving averages, in slices because there may be thousands; one round at a time."""
        if self._ticking is None or self._ticking.done():
            self._ticking = self._supervisor.spawn(in_slices(self._tick_tables(), self._clock.monotonic_s), _AVERAGES)

    def _tick_tables(self) -> Iterator[None]:
        for table in self._averages.ready(self._registry.tables()):
            with self._averages.guard(table):
                yield from table.ticking()
            yield

    async def close(self) -> None:
        """Stops everything; may be called again."""
        if self._ticking is not None:
            self._ticking.cancel()
        if self._server is not None:
            await self._server.close()
            self._server = None
        if self._traces is not None:
            traces, self._traces = self._traces, None
            await asyncio.get_running_loop().run_in_executor(self._executor, traces.close)
        if self._reporting is not None:
            await self._reporting.close()
            self._reporting = None
