"""The history of all clusters of a manager: the store and one collector per cluster, on an event loop of their own.

Decoding the metadata of ten thousand partitions takes longer than a page may wait, so collectors do not run on the
loop that serves pages.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from kafka_py.base.clock import Clock
from kafka_py.base.supervision import Backoff, Supervisor
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.clients.loop import LoopThread
from kafka_py.manager.history.collector import ClusterCollector
from kafka_py.manager.history.settings import HistorySettings
from kafka_py.manager.history.store import HistoryStore
from kafka_py.net.scraping.endpoint import in_slices, pieces_of
from kafka_py.net.scraping.exposition import MetricFamilies

T = TypeVar("T")

CANCEL_AGAIN_S = 1.0
CLOSE_S = 10.0
"""How long the client of a collector may take to close."""


async def ended(task: asyncio.Task[None]) -> None:
    """Cancels a task and waits for its end.

    Cancelled again now and then: asyncio.wait_for of Python 3.11 loses a cancellation that comes with its result.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=CANCEL_AGAIN_S)
    await asyncio.gather(task, return_exceptions=True)


class FollowedCluster(NamedTuple):
    """A cluster to observe. settings: a collector with others is replaced. connect: called on the loop that uses it."""

    settings: object
    connect: Callable[[], AsyncAdminClient]


class _RunningCollector(NamedTuple):
    """A collector that runs."""

    settings: object
    collector: ClusterCollector
    task: asyncio.Task[None]


class HistoryService:
    """The history of several clusters. store: for pages, from any loop between `start` and `stop`."""

    def __init__(self, path: Path, settings: HistorySettings, clock: Clock) -> None:
        self.settings = settings
        self.clock = clock
        self.store = HistoryStore(path, settings, clock)
        self._following: dict[str, _RunningCollector] = {}
        self._thread: LoopThread | None = None
        self._supervisor = Supervisor(clock)

    async def start(self) -> None:
        """Opens the file. Raises HistoryInUse or OSError."""
        await self.store.open()
        self._thread = LoopThread("history collectors")

    async def stop(self) -> None:
        """Ends the collectors and closes the file; may be called repeatedly."""
        if self._thread is not None:
            thread = self._thread
            await self.follow({})
            self._thread = None
            await asyncio.to_thread(thread.stop)
        with contextlib.suppress(RuntimeError):  # it was closed before
            await self.store.close()

    def collector(self, cluster: str) -> ClusterCollector | None:
        """The collector of a cluster; None if it is not observed."""
        following = self._following.get(cluster)
        return None if following is None else following.collector

    async def scrape(self) -> list[bytes]:
        """What was observed last of each cluster, for Prometheus, in pieces. Asks no cluster for anything."""
        return [] if self._thread is None else await self._on_collectors(self._scrape(), self._thread)

    async def _scrape(self) -> list[bytes]:
        families = MetricFamilies()
        for _, following in sorted(self._following.items()):
            await in_slices(following.collector.take(families), self.clock.monotonic_s)
        return await pieces_of(families, self.clock.monotonic_s)

    async def follow(self, wanted: Mapping[str, FollowedCluster]) -> None:
        """Observes these clusters, and no others."""
        if self._thread is not None:
            await self._on_collectors(self._follow(dict(wanted)), self._thread)

    async def _on_collectors(self, work: Coroutine[Any, Any, T], thread: LoopThread) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, thread.loop))

    async def _follow(self, wanted: Mapping[str, FollowedCluster]) -> None:
        for cluster, following in list(self._following.items()):
            now = wanted.get(cluster)
            if now is None or now.settings != following.settings:
                del self._following[cluster]
                await ended(following.task)
                with contextlib.suppress(TimeoutError):  # its connections end with the loop then
                    async with asyncio.timeout(CLOSE_S):
                        await following.collector.close()
        longest_ms = max(self.settings.interval_ms, self.settings.longest_backoff_ms)
        backoff = Backoff(self.settings.interval_ms, longest_ms)
        for cluster, (settings, connect) in wanted.items():
            if cluster not in self._following:
                collector = ClusterCollector(cluster, connect, self.store, self.settings, self.clock)
                task = self._supervisor.loop(collector.step, "history of a cluster", cluster, backoff=backoff)
                self._following[cluster] = _RunningCollector(settings, collector, task)
