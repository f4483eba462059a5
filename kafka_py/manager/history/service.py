"""The history of all clusters of a manager: the store and one collector per cluster, on an event loop of their own.

Decoding the metadata of ten thousand partitions takes longer than a page may wait, so collectors do not run on the
loop that serves pages.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path

from kafka_py.base.clock import Clock
from kafka_py.base.supervision import Backoff, Supervisor
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.clients.loop import LoopThread
from kafka_py.manager.history.collector import ClusterCollector
from kafka_py.manager.history.settings import HistorySettings
from kafka_py.manager.history.store import HistoryStore

Connect = Callable[[], AsyncAdminClient]
"""Makes an admin client of a cluster; called on the loop that uses it."""


class HistoryService:
    """The history of several clusters. store: for pages, from any loop between `start` and `stop`."""

    def __init__(self, path: Path, settings: HistorySettings, clock: Clock) -> None:
        self.settings = settings
        self.clock = clock
        self.store = HistoryStore(path, settings, clock)
        self.collectors: dict[str, ClusterCollector] = {}
        self._thread: LoopThread | None = None
        self._supervisor = Supervisor(clock)

    async def start(self, clusters: Mapping[str, Connect]) -> None:
        """Opens the file and begins to observe the clusters. Raises HistoryInUse or OSError."""
        await self.store.open()
        self.collectors = {
            cluster: ClusterCollector(cluster, connect, self.store, self.settings, self.clock)
            for cluster, connect in clusters.items()
        }
        self._thread = LoopThread("history collectors")
        await self._on_collectors(self._begin)

    async def stop(self) -> None:
        """Ends the collectors and closes the file; may be called repeatedly."""
        if self._thread is not None:
            thread, self._thread = self._thread, None
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._end(), thread.loop))
            await asyncio.to_thread(thread.stop)
        with contextlib.suppress(RuntimeError):  # it was closed before
            await self.store.close()

    async def _on_collectors(self, call: Callable[[], object]) -> None:
        assert self._thread is not None

        async def run() -> None:
            call()

        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(run(), self._thread.loop))

    def _begin(self) -> None:
        backoff = Backoff(self.settings.interval_ms, max(self.settings.interval_ms, self.settings.longest_backoff_ms))
        for cluster, collector in self.collectors.items():
            self._supervisor.loop(collector.step, "history of a cluster", cluster, backoff=backoff)

    async def _end(self) -> None:
        await self._supervisor.close()
        for collector in self.collectors.values():
            await collector.close()
