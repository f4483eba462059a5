"""Observes one cluster at intervals, and writes samples and events to the history.

A cluster that is unreachable costs little: its connections are closed, and the next attempt waits longer and longer.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Iterator

from kafka_py.base.clock import Clock
from kafka_py.base.supervision import Backoff
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.manager.history.metrics import TOPIC_END
from kafka_py.manager.history.observation import Observed
from kafka_py.manager.history.observing import ClusterUnreachable, observe
from kafka_py.manager.history.resolutions import is_keyframe
from kafka_py.manager.history.sampling import samples_of
from kafka_py.manager.history.settings import DAY_MS, HistorySettings
from kafka_py.manager.history.store import HistoryStore
from kafka_py.manager.history.timeline import ClusterEvent, EventKind, ValueChange, events_between
from kafka_py.net.scraping.exposition import MetricFamilies
from kafka_py.operations.cluster_view.asking import LookLimits
from kafka_py.operations.exporter.samples import take_cluster
from kafka_py.operations.groups.lag import EndOffsets, lags, note_ends

CLUSTER = "cluster"
"""The subject of events about the cluster as a whole."""

_log = logging.getLogger(__name__)


class ClusterCollector:
    """Observes one cluster until it is cancelled. connect: makes an admin client, which the collector closes."""

    def __init__(
        self,
        cluster: str,
        connect: Callable[[], AsyncAdminClient],
        store: HistoryStore,
        settings: HistorySettings,
        clock: Clock,
    ) -> None:
        self.cluster = cluster
        self.last: Observed | None = None
        """The last observation that succeeded."""
        self.failure: str | None = None
        """Why the last attempt failed; None if it succeeded, or before the first."""
        self._connect = connect
        self._store = store
        self._settings = settings
        self._clock = clock
        self._limits = LookLimits(timeout_ms=settings.request_timeout_ms, parallel=settings.parallel)
        self._backoff = Backoff(settings.interval_ms, max(settings.interval_ms, settings.longest_backoff_ms))
        self._admin: AsyncAdminClient | None = None
        self._failures = 0
        self._known: dict[str, EndOffsets] = {}
        self._recalled: set[str] = set()

    async def step(self) -> None:
        """One attempt, and the wait until the next one is due."""
        began_ms = self._clock.monotonic_ms()
        reached = await self.attempt()
        self._failures = 0 if reached else self._failures + 1
        wait_ms = self._settings.interval_ms if reached else self._backoff.after(self._failures)
        await asyncio.sleep(max(0.0, wait_ms - (self._clock.monotonic_ms() - began_ms)) / 1000)

    async def attempt(self) -> bool:
        """Observes the cluster and writes what was seen; whether it was reached."""
        is_thorough = is_keyframe(None if self.last is None else self.last.time_ms, self._clock.wall_ms())
        if self._admin is None:
            self._admin = self._connect()
        try:
            seen = await observe(self._admin, self.last, self._limits, is_thorough=is_thorough)
        except ClusterUnreachable as error:
            await self.close()
            await self._unreachable(str(error))
            return False
        except BaseException:
            await self.close()
            raise
        await self._recall(seen)
        note_ends(self._known, seen.time_ms, seen.topics, seen.ends)
        events = [] if self.last is None else events_between(self.last, seen)
        if self.failure is not None:
            events.insert(0, ClusterEvent(seen.time_ms, EventKind.REACHABLE, CLUSTER))
        samples = samples_of(seen, self.last, self._known)
        self.last, self.failure = seen, None
        await self._write(self._store.record(self.cluster, seen.time_ms, samples, events))
        return True

    def take(self, families: MetricFamilies) -> Iterator[None]:
        """The last attempt as samples for Prometheus; none before the first. Asks the cluster for nothing."""
        if self.last is not None or self.failure is not None:
            snapshot = self.last.snapshot if self.last is not None and self.failure is None else None
            yield from take_cluster(families, snapshot, self._known, cluster=self.cluster)

    async def close(self) -> None:
        """Closes the connections; the next attempt opens others."""
        admin, self._admin = self._admin, None
        if admin is not None:
            await admin.close()

    async def _unreachable(self, reason: str) -> None:
        """Notes it once."""
        if self.failure is None:
            _log.warning("Cluster %s is unreachable, its history has a gap: %s", self.cluster, reason)
            change = ValueChange("reason", "", reason)
            event = ClusterEvent(self._clock.wall_ms(), EventKind.UNREACHABLE, CLUSTER, (change,))
            await self._write(self._store.note(self.cluster, [event]))
        self.failure = reason

    async def _write(self, writing: Awaitable[None]) -> None:
        """A file that cannot be written leaves a gap; collecting continues."""
        try:
            await writing
        except sqlite3.Error as error:
            _log.error("The history of cluster %s cannot be written: %s", self.cluster, error)

    async def _recall(self, seen: Observed) -> None:
        """Once per topic on which a group lags: reads its earlier log end offsets, for the lag in seconds."""
        for topic in sorted(set(lagging_topics(seen)) - self._recalled):
            self._recalled.add(topic)
            if topic in self._known and len(self._known[topic]) > 1:
                continue
            rows = await self._store.vectors(self.cluster, TOPIC_END, topic, seen.time_ms - DAY_MS, seen.time_ms - 1)
            known = self._known[topic] = EndOffsets()
            for row in rows:
                if isinstance(row.value, tuple):
                    known.add(row.time_ms, row.value)


def lagging_topics(seen: Observed) -> Iterable[str]:
    """The topics of which some group has not consumed everything."""
    for group in seen.groups.values():
        for topic, committed in (group.committed or {}).items():
            if any(each > 0 for each in lags(committed, seen.ends.get(topic, ()))):
                yield topic
