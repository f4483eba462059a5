"""Removes the throttles that were set on the page of reassignments, once the moves that they were set for are over.

What was set is in a file per cluster in the data folder, written before the throttles are set, so that another process
of the manager removes them after a restart. Nothing is removed while a page sets throttles and begins moves.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection
from pathlib import Path

from kafka_py.base.clock import Clock
from kafka_py.base.errors import KafkaError
from kafka_py.base.supervision import Supervisor
from kafka_py.manager import rebalance_jobs
from kafka_py.manager.clusters import ManagedCluster
from kafka_py.manager.identity.users import write_private
from kafka_py.manager.services import ManagerServices
from kafka_py.operations.reassignments.kept_throttles import (
    KeptThrottles,
    kept_of,
    kept_text,
    no_longer_needed,
    restored,
    throttle_settings,
    with_settings,
    without,
)
from kafka_py.operations.rebalancing.carriers import BROKERS, TOPICS, BrokerCarrier
from kafka_py.operations.rebalancing.throttles import REPLICATION_RATES, TOPIC_THROTTLES, Moves

PART = "throttles"
"""The name among the parts of the manager, and of the folder."""
POLL_S = 2.0
RETRY_MS = 30_000
"""A cluster that did not answer is asked again after that."""

_log = logging.getLogger(__name__)


class ThrottleKeeper:
    """is_busy: whether a rebalance of that cluster runs, which sets and removes throttles of its own."""

    def __init__(self, folder: Path, clock: Clock, is_busy: Callable[[str], bool]) -> None:
        self._folder = folder
        self._clock = clock
        self._is_busy = is_busy
        self._kept: dict[str, KeptThrottles] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._retry_at: dict[str, float] = {}

    def kept(self, cluster: str) -> KeptThrottles:
        """What is removed later."""
        if cluster not in self._kept:
            self._kept[cluster] = self._read(cluster)
        return self._kept[cluster]

    def _path(self, cluster: str) -> Path:
        return self._folder / f"{cluster}.json"

    def _read(self, cluster: str) -> KeptThrottles:
        try:
            return kept_of(self._path(cluster).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return KeptThrottles()
        except (OSError, ValueError) as error:
            _log.warning("%s cannot be read, throttles stay until a user removes them: %s", self._path(cluster), error)
            return KeptThrottles()

    async def _keep(self, cluster: str, kept: KeptThrottles) -> None:
        if kept.is_set:
            await asyncio.to_thread(write_private, self._path(cluster), kept_text(kept))
        else:
            await asyncio.to_thread(self._path(cluster).unlink, missing_ok=True)
        self._kept[cluster] = kept

    def holding(self, cluster: str) -> asyncio.Lock:
        """Nothing is removed within this context: the moves of a throttle may not have begun yet."""
        return self._locks[cluster]

    async def throttle(self, cluster: ManagedCluster, rate: int, moves: Moves) -> None:
        """Throttles moves, within `holding`. Brokers that are down copy nothing. Raises KafkaError, OSError."""
        carrier, seen = BrokerCarrier(cluster.admin), await cluster.admin.describe_cluster()
        topics, brokers = throttle_settings(moves, rate, {node.id for node in seen.nodes})
        kept = self.kept(cluster.name)
        if kept.cluster_id != seen.cluster_id:
            kept = KeptThrottles(seen.cluster_id)
        await self._keep(cluster.name, KeptThrottles(
            seen.cluster_id,
            with_settings(kept.topics, topics, await carrier.overrides(TOPICS, list(topics), TOPIC_THROTTLES)),
            with_settings(kept.brokers, brokers, await carrier.overrides(BROKERS, list(brokers), REPLICATION_RATES)),
        ))  # fmt: skip
        await carrier.alter(BROKERS, brokers)
        await carrier.alter(TOPICS, topics)

    async def forget(self, cluster: str, topics: Collection[str], brokers: Collection[str]) -> None:
        """A user has removed the throttles of these, within `holding`; brokers that are down still have theirs."""
        await self._keep(cluster, without(self.kept(cluster), topics, brokers))

    async def look(self, cluster: ManagedCluster) -> None:
        """Removes what is no longer needed, unless the cluster did not answer just now."""
        name = cluster.name
        is_early = self._clock.monotonic_ms() < self._retry_at.get(name, 0)
        if is_early or not self.kept(name).is_set or self._is_busy(name):
            return
        try:
            async with self.holding(name):
                await self._release(cluster)
        except (KafkaError, OSError) as error:
            _log.info("The throttles of %s are removed later: %s", name, error)
            self._retry_at[name] = self._clock.monotonic_ms() + RETRY_MS

    async def _release(self, cluster: ManagedCluster) -> None:
        kept, admin = self.kept(cluster.name), cluster.admin
        topics, brokers = no_longer_needed(kept, await admin.list_partition_reassignments())
        if not topics and not brokers:
            return
        seen = await admin.describe_cluster()
        if kept.cluster_id != seen.cluster_id:
            await self._keep(cluster.name, KeptThrottles())  # of another cluster at the same addresses
            return
        live = {str(node.id) for node in seen.nodes}
        brokers = [name for name in brokers if name in live]  # the others are asked for once they are back
        carrier = BrokerCarrier(admin)
        for kind, names, of_kind, settings in (
            (TOPICS, topics, kept.topics, TOPIC_THROTTLES), (BROKERS, brokers, kept.brokers, REPLICATION_RATES),
        ):  # fmt: skip
            found = await carrier.overrides(kind, names, settings) if names else {}
            changes = restored(of_kind, names, found)
            if changes:
                await carrier.alter(kind, changes)
        await self._keep(cluster.name, without(kept, topics, brokers))


@contextlib.asynccontextmanager
async def keeping_throttles(services: ManagerServices) -> AsyncIterator[None]:
    """The keeper among the parts of the manager; it looks at the clusters as long as the manager runs."""

    def is_busy(name: str) -> bool:
        jobs: rebalance_jobs.RebalanceJobs | None = services.parts.get(rebalance_jobs.PART)
        return jobs is not None and jobs.is_running(name)

    clock = services.environment.clock
    with services.folder_of(PART) as folder:
        keeper = services.parts[PART] = ThrottleKeeper(folder, clock, is_busy)

        async def look() -> None:
            await asyncio.gather(*(keeper.look(cluster) for cluster in services.clusters))
            await asyncio.sleep(POLL_S)

        supervisor = Supervisor(clock)
        supervisor.loop(look, "throttles of reassignments")
        try:
            yield
        finally:
            await supervisor.close()
