"""Calls the metrics reporters: takes the readings on the loop, in slices, and hands them over in a thread (I/O)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor

from kafka_py.base.clock import Clock
from kafka_py.base.meters import MetricRegistry, Reading
from kafka_py.broker.metrics_http import in_slices
from kafka_py.broker.reporters import Reporter

_PER_TURN = 50

log = logging.getLogger(__name__)


class Reporting:
    """All reporters of a broker; `report` is called every kafka.metrics.polling.interval.secs."""

    def __init__(
        self, reporters: Sequence[Reporter], registry: MetricRegistry, clock: Clock, executor: Executor
    ) -> None:
        self._reporters = list(reporters)
        self._registry = registry
        self._clock = clock
        self._executor = executor
        self._task: asyncio.Task[None] | None = None

    def report(self) -> None:
        """Begins a round, unless the last one is still on its way: a slow reporter misses rounds."""
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._round())

    async def _round(self) -> None:
        readings: list[Reading] = []

        def take() -> Iterator[None]:
            for reading in self._registry.read():
                readings.append(reading)
                if len(readings) % _PER_TURN == 0:
                    yield

        await in_slices(take())
        await asyncio.get_running_loop().run_in_executor(self._executor, self._hand_over, readings)

    def _hand_over(self, readings: list[Reading]) -> None:
        for reporter in self._reporters:
            try:
                reporter.report(readings, self._clock.wall_ms())
            except Exception as error:
                log.warning("The metrics reporter %s failed: %r", type(reporter).__name__, error)

    async def close(self) -> None:
        """Ends the round on its way, then the reporters."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for reporter in self._reporters:
            try:
                reporter.close()
            except Exception as error:
                log.warning("The metrics reporter %s did not close: %r", type(reporter).__name__, error)
