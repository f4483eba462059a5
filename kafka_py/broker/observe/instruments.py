"""Starts and stops the metrics endpoint and the reporters of a broker (I/O)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Executor

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ConfigError
from kafka_py.base.meters import TICK_MS, MetricRegistry, MetricTable
from kafka_py.base.supervision import Every, Quarantine, Supervisor
from kafka_py.broker.observe.metrics import ProcessMetrics
from kafka_py.broker.observe.metrics_http import MetricsServer
from kafka_py.broker.observe.reporters import load_reporters
from kafka_py.broker.observe.reporting import Reporting
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.net.scraping.endpoint import in_slices

_AVERAGES = "averages of metrics"


class Observation:
    """Metrics endpoint and reporters of one broker. process: its metrics, some measured only at a scrape."""

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

    @property
    def address(self) -> str | None:
        """The URL of the metrics; None without an endpoint."""
        server = self._server
        return None if server is None else f"http://{server.host or 'localhost'}:{server.port}/metrics"

    async def start(self, every: Every) -> None:
        """Starts averages, endpoint and reporters according to the settings. Raises ConfigError."""
        config = self._config
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

    def _tick(self) -> None:
        """Updates the moving averages, in slices because there may be thousands; one round at a time."""
        if self._ticking is None or self._ticking.done():
            self._ticking = self._supervisor.spawn(in_slices(self._tick_tables(), self._clock.monotonic_s), _AVERAGES)

    def _tick_tables(self) -> Iterator[None]:
        now_ms = self._clock.monotonic_ms()
        for table in self._averages.ready(self._registry.tables()):
            with self._averages.guard(table):
                table.tick(now_ms)
            yield

    async def close(self) -> None:
        """Stops everything; may be called again."""
        if self._ticking is not None:
            self._ticking.cancel()
        if self._server is not None:
            await self._server.close()
            self._server = None
        if self._reporting is not None:
            await self._reporting.close()
            self._reporting = None
