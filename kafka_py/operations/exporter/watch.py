"""Looks at a cluster at intervals, and has the text of the newest look for whoever scrapes it (I/O).

A scrape asks the cluster for nothing: it gets what the last look has found, whatever number of servers scrape.
"""

from __future__ import annotations

import asyncio
import logging
import re

from kafka_py.base.supervision import Backoff, Supervisor
from kafka_py.base.turns import release
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.net.scraping.endpoint import ScrapeQuery, in_slices, pieces_of
from kafka_py.net.scraping.exposition import MetricFamilies
from kafka_py.operations.cluster_view.asking import LookLimits
from kafka_py.operations.cluster_view.derived import partitions
from kafka_py.operations.cluster_view.look import look_at
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, ViewPart
from kafka_py.operations.exporter.samples import ALL, ExporterChoice, noting_ends, take_cluster
from kafka_py.operations.groups.lag import EndOffsets

PARTS = frozenset({ViewPart.TOPICS, ViewPart.OFFSETS, ViewPart.GROUPS, ViewPart.COMMITTED})

_log = logging.getLogger(__name__)


class _NamesWith:
    """The names in which an expression is found, as a container."""

    def __init__(self, expression: re.Pattern[str]) -> None:
        self._expression = expression

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._expression.search(name) is not None


class ClusterWatch:
    """The text of one cluster. admin: is closed by its owner."""

    def __init__(
        self,
        admin: AsyncAdminClient,
        interval_ms: float,
        choice: ExporterChoice = ALL,
        limits: LookLimits | None = None,
    ) -> None:
        self._admin = admin
        self._clock = admin.cluster.clock
        self._interval_ms = interval_ms
        self._choice = choice
        self._limits = limits or LookLimits()
        self._known: dict[str, EndOffsets] = {}
        self._pieces: list[bytes] = []
        self._has_looked = asyncio.Event()
        self._was_reached = True

    def start(self, supervisor: Supervisor) -> asyncio.Task[None]:
        """Looks until the task is cancelled."""
        backoff = Backoff(self._interval_ms, self._interval_ms)
        return supervisor.loop(self.step, "looks at the cluster", backoff=backoff)

    async def step(self) -> None:
        """One look, and the wait until the next one is due."""
        began_ms = self._clock.monotonic_ms()
        await self.look()
        await asyncio.sleep(max(0.0, self._interval_ms - (self._clock.monotonic_ms() - began_ms)) / 1000)

    async def look(self) -> None:
        """Looks at the cluster, and makes the text of it."""
        snapshot = await self._snapshot()
        if snapshot.is_reached:
            await in_slices(noting_ends(self._known, snapshot), self._clock.monotonic_s)
        elif self._was_reached:
            _log.warning("No broker answers: %s", snapshot.unseen[0] if snapshot.unseen else "there is none")
        self._was_reached = snapshot.is_reached
        families = MetricFamilies()
        await in_slices(take_cluster(families, snapshot, self._known, self._choice), self._clock.monotonic_s)
        self._pieces = await pieces_of(families, self._clock.monotonic_s)
        self._has_looked.set()
        seen = [*snapshot.offsets.items(), *partitions(snapshot)]
        del snapshot
        await release(seen)

    async def _snapshot(self) -> ClusterSnapshot:
        """A look at what is exported, and at nothing else."""
        topics: list[str] | None = None
        if self._choice.topics.pattern:
            everything = await look_at(self._admin, {ViewPart.TOPICS}, limits=self._limits)
            if not everything.is_reached:
                return everything
            topics = [name for name in everything.topics if self._choice.topics.search(name)]
        return await look_at(
            self._admin, PARTS, topics=topics, groups=_NamesWith(self._choice.groups), limits=self._limits
        )

    async def scrape(self, query: ScrapeQuery) -> list[bytes]:
        """The text of the newest look, in pieces; before the first one has ended it is waited for."""
        await self._has_looked.wait()
        return self._pieces
