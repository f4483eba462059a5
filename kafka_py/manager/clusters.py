"""The clusters that the manager shows: their settings, and clients that are made when one is first used.

A cluster that is down costs the pages of that cluster a short wait, and the others nothing. Clusters that were added on
a page are kept in the file clusters.json of the data folder, which only its owner may read: it holds passwords.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from kafka_py.base.errors import ConfigError
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.clients.consumer.async_consumer import AsyncConsumer
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.clients.producer.producer import AsyncProducer
from kafka_py.manager.identity.users import write_private
from kafka_py.manager.settings import ClusterSettings, check_cluster

CLIENT_ID = "kafka-manager"
ADMIN_DEFAULTS = {
    "default.api.timeout.ms": "10000",
    "request.timeout.ms": "5000",
    "socket.connection.setup.timeout.ms": "3000",
    "socket.connection.setup.timeout.max.ms": "5000",
}
"""Somebody waits for the page."""
OWN_CLUSTERS = "clusters.json"


class ManagedCluster:
    """One cluster: its settings, and clients of it on the running loop."""

    def __init__(self, settings: ClusterSettings, environment: ClientEnvironment) -> None:
        self.settings = settings
        self._environment = environment
        self._admin: AsyncAdminClient | None = None
        self._is_closed = False

    @property
    def name(self) -> str:
        return self.settings.name

    @property
    def admin(self) -> AsyncAdminClient:
        """The admin client, which all pages of this cluster share. Raises ConfigError for settings it cannot take."""
        if self._is_closed:
            raise ConfigError(f"The cluster {self.name} was removed or changed meanwhile")
        if self._admin is None:
            properties = {"client.id": CLIENT_ID, **ADMIN_DEFAULTS, **self.settings.client_properties()}
            self._admin = AsyncAdminClient(properties, environment=self._environment)
        return self._admin

    @contextlib.asynccontextmanager
    async def consumer(self, **properties: Any) -> AsyncIterator[AsyncConsumer]:
        """A consumer for one piece of work; `group_id` stands for group.id and so on."""
        async with AsyncConsumer(self._with(properties), environment=self._environment) as consumer:
            yield consumer

    @contextlib.asynccontextmanager
    async def producer(self, **properties: Any) -> AsyncIterator[AsyncProducer]:
        """A producer for one piece of work; `linger_ms` stands for linger.ms and so on."""
        async with AsyncProducer(self._with(properties), environment=self._environment) as producer:
            yield producer

    def _with(self, properties: dict[str, Any]) -> dict[str, Any]:
        given = {name.replace("_", "."): value for name, value in properties.items()}
        return {"client.id": CLIENT_ID, **self.settings.client_properties(), **given}

    async def close(self) -> None:
        """Closes the clients, for good: a page that is under way makes no new ones."""
        self._is_closed = True
        admin, self._admin = self._admin, None
        if admin is not None:
            await admin.close()


class ManagedClusters:
    """All clusters by name, in the order of the settings; then those added on a page.

    data: the folder of clusters.json; None: clusters that are added end with the process.
    """

    def __init__(
        self, settings: tuple[ClusterSettings, ...], environment: ClientEnvironment, data: Path | None = None
    ) -> None:
        self._environment = environment
        self._file = None if data is None else data / OWN_CLUSTERS
        self._changing = asyncio.Lock()
        self._clusters = {each.name: ManagedCluster(each, environment) for each in settings}
        for own in self._read():
            self._clusters.setdefault(own.name, ManagedCluster(own, environment))

    def __iter__(self) -> Iterator[ManagedCluster]:
        return iter(list(self._clusters.values()))

    def __len__(self) -> int:
        return len(self._clusters)

    def get(self, name: str) -> ManagedCluster | None:
        """The cluster of that name."""
        return self._clusters.get(name)

    async def put(self, settings: ClusterSettings) -> ManagedCluster:
        """Adds a cluster, or replaces one that was added. Raises ConfigError, OSError."""
        cluster = ManagedCluster(replace(check_cluster(settings), is_own=True), self._environment)
        async with self._changing:
            before = self._clusters.get(settings.name)
            if before is not None and not before.settings.is_own:
                raise ConfigError(f"The cluster {settings.name} is one of the settings file, and is changed there")
            await self._replace({**self._clusters, settings.name: cluster})
        if before is not None:
            await before.close()
        return cluster

    async def remove(self, name: str) -> None:
        """Removes a cluster that was added. Raises ConfigError, OSError."""
        async with self._changing:
            cluster = self._clusters.get(name)
            if cluster is None or not cluster.settings.is_own:
                raise ConfigError(f"The cluster {name} was not added here, and cannot be removed here")
            await self._replace({key: each for key, each in self._clusters.items() if key != name})
        await cluster.close()

    async def close(self) -> None:
        """Closes all clients."""
        await asyncio.gather(*(cluster.close() for cluster in self._clusters.values()), return_exceptions=True)

    def _read(self) -> list[ClusterSettings]:
        if self._file is None or not self._file.exists():
            return []
        try:
            rows = json.loads(self._file.read_text(encoding="utf-8"))
            return [check_cluster(ClusterSettings(**{**row, "is_own": True})) for row in rows]
        except (OSError, ValueError, TypeError) as error:
            raise ConfigError(f"{self._file} cannot be read: {error}") from None

    async def _replace(self, clusters: dict[str, ManagedCluster]) -> None:
        """Shows these from now on, once they are kept. Raises OSError, and then all is as it was."""
        if self._file is not None:
            rows = [asdict(each.settings) for each in clusters.values() if each.settings.is_own]
            await asyncio.to_thread(write_private, self._file, json.dumps(rows, indent=2) + "\n")
        self._clusters = clusters
