"""The manager without a socket: `called_manager(settings or admin=...)` makes one, on a clock that the test moves."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.chance import Chance
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.manager.pages.table import ROUTES
from kafka_py.manager.settings import ClusterSettings, ManagerSettings
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.web_manager import CalledManager

Scene = Callable[[CalledManager], Awaitable[None]]


@pytest.fixture
def manager_clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def played(tmp_path: Path, manager_clock: ManualClock) -> Callable[..., None]:
    """Plays a scene with a manager of one cluster `test`, whose admin client is `admin`. options: of its settings."""

    def play(scene: Scene, *, admin: Any = None, routes: Any = ROUTES, **options: Any) -> None:
        async def run() -> None:
            clusters = (ClusterSettings("test", "localhost:1"),)
            quiet = {"history": {"is_enabled": False}}
            settings = ManagerSettings(**{"clusters": clusters, "data": tmp_path, "extra": quiet, **options})
            environment = ClientEnvironment(clock=manager_clock, chance=Chance(1))
            async with CalledManager(settings, environment, routes=routes) as manager:
                cluster = manager.services.clusters.get("test")
                if cluster is not None and admin is not None:
                    cluster._admin = admin
                await scene(manager)

        asyncio.run(run())

    return play
