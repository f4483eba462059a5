"""Calls the metrics reporters: takes the readings on the loop, in slices, and reports them in a thread (I/O)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor

from kafka_py.base.clock import Clock
from kafka_py.base.meters import MetricRegistry, MetricTable, Reading
from kafka_py.base.supervision import Quarantine, Supervisor
from kafka_py.broker.observe.reporters import MetricsReporter
from kafka_py.net.scraping.endpoint import in_slices

_ACTIVITY = "metrics reporters"
_PER_TURN = 50


class Reporting:
    """All reporters of a broker; `report` is called every kafka.metrics.polling.interval.secs."""

    def __init__(
        self,
        reporters: Sequence[MetricsReporter],
        registry: MetricRegistry,
        clock: Clock,
        executor: Executor,
        supervisor: Supervisor,
    ) -> None:
        self._reporters = list(reporters)
        self._registry = registry
        self._clock = clock
        self._executor = executor
        self._supervisor = supervisor
        self._tables: Quarantine[MetricTable] = supervisor.quarantine(_ACTIVITY)
        self._task: asyncio.Task[None] | None = None

    def report(self) -> None:
        """Starts a round, unless the last one is still running: a slow reporter misses rounds."""
        if self._task is None or self._task.done():
            self._task = self._supervisor.spawn(self._round(), _ACTIVITY)

    async def _round(self) -> None:
        readings: list[Reading] = []
        await in_slices(self._take(readings), self._clock.monotonic_s)
        loop = asyncio.get_running_loop()
        for reporter in self._reporters:
            with self._supervisor.guard(_ACTIVITY, type(reporter).__name__):
                await loop.run_in_executor(self._executor, reporter.report, readings, self._clock.wall_ms())

    def _take(self, readings: list[Reading]) -> Iterator[None]:
        """Reads all tables; if one fails, its earlier readings are still reported."""
        for table in self._tables.ready(self._registry.tables()):
            with self._supervisor.guard(_ACTIVITY, table):
                table.settle()  # may create new tables
        for table in self._tables.ready(self._registry.tables()):
            with self._tables.guard(table):
                for reading in table.read():
                    readings.append(reading)
                    if len(readings) % _PER_TURN == 0:
                        yield

    async def close(self) -> None:
        """Waits for the running round, then closes the reporters."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for reporter in self._reporters:
            self._supervisor.call(_ACTIVITY, reporter.close, f"the end of {type(reporter).__name__}")
