"""The history beside the pages of a manager: from its settings, for the clusters that the manager has at each time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

from kafka_py.base.errors import ConfigError
from kafka_py.base.supervision import Supervisor
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.manager.clusters import ADMIN_DEFAULTS
from kafka_py.manager.history.database import HistoryInUse
from kafka_py.manager.history.service import FollowedCluster, HistoryService
from kafka_py.manager.history.settings import DAY_MS, SECOND_MS, HistorySettings
from kafka_py.manager.services import ManagerServices
from kafka_py.manager.settings import ClusterSettings

SECTION = "history"
"""Of the settings file, and the name among the parts of the manager."""
FILE_NAME = "history.db"
FOLLOW_S = 5.0
"""How soon a cluster that was added or changed is observed."""

_OPTIONS: dict[str, tuple[type, ...]] = {
    "is_enabled": (bool,),
    "interval_seconds": (int, float),
    "retention_days": (int, float),
    "limit_megabytes": (int,),
}

_MOST = {"interval_seconds": 86_400, "retention_days": 36_500, "limit_megabytes": 1_000_000}
"""Each is above 0."""

_log = logging.getLogger(__name__)


def settings_of_history(section: Mapping[str, Any]) -> HistorySettings | None:
    """The settings of the section [history]; None if it switches the history off. Raises ConfigError."""
    for name, value in section.items():
        kinds = _OPTIONS.get(name)
        if kinds is None:
            raise ConfigError(f"[history] has no setting {name}; it has {', '.join(_OPTIONS)}")
        if not isinstance(value, kinds) or (bool not in kinds and isinstance(value, bool)):
            raise ConfigError(f"{name} of [history] cannot be {value!r}")
        if name in _MOST and not 0 < section[name] <= _MOST[name]:
            raise ConfigError(f"{name} of [history] is above 0 and at most {_MOST[name]}, not {value}")
    if not section.get("is_enabled", True):
        return None
    usual = HistorySettings()
    try:
        return HistorySettings(
            interval_ms=int(section.get("interval_seconds", usual.interval_ms / SECOND_MS) * SECOND_MS),
            retention_ms=int(section.get("retention_days", usual.retention_ms / DAY_MS) * DAY_MS),
            limit_bytes=int(section.get("limit_megabytes", usual.limit_bytes >> 20)) << 20,
        )
    except ValueError as error:
        raise ConfigError(f"[history]: {error}") from None


@contextlib.asynccontextmanager
async def collecting(services: ManagerServices) -> AsyncIterator[None]:
    """Observes the clusters of the manager; pages find the HistoryService among the parts. Raises ConfigError."""
    settings = settings_of_history(services.settings.extra.get(SECTION, {}))
    if settings is None:
        yield
        return
    clock = services.environment.clock
    with _folder(services.settings.data) as folder:
        service = HistoryService(folder / FILE_NAME, settings, clock)
        supervisor = Supervisor(clock)
        try:
            await service.start()
        except (HistoryInUse, OSError) as error:
            _log.error("There is no history: %s", error)
        else:
            services.parts[SECTION] = service

            async def follow() -> None:
                await service.follow(clusters_of(services))
                await asyncio.sleep(FOLLOW_S)

            supervisor.loop(follow, "clusters of the history")
        try:
            yield
        finally:
            await supervisor.close()
            await service.stop()


def clusters_of(services: ManagerServices) -> dict[str, FollowedCluster]:
    """The clusters that the manager has now."""
    return {
        cluster.name: FollowedCluster(cluster.settings, Connecting(cluster.settings, services.environment))
        for cluster in services.clusters
    }


class Connecting:
    """Makes an admin client of a cluster for its collector."""

    def __init__(self, settings: ClusterSettings, environment: ClientEnvironment) -> None:
        self._settings = settings
        self._environment = environment

    def __call__(self) -> AsyncAdminClient:
        properties = {"client.id": "kafka-manager-history", **ADMIN_DEFAULTS, **self._settings.client_properties()}
        return AsyncAdminClient(properties, environment=self._environment)


@contextlib.contextmanager
def _folder(data: Path | None) -> Iterator[Path]:
    """The data folder; without one a temporary one, with which the history ends."""
    if data is not None:
        yield data
        return
    with tempfile.TemporaryDirectory(prefix="kafka-manager-") as name:
        yield Path(name)
