"""The history beside the pages: settings, its file, clusters that come and go."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.manager.history import service
from kafka_py.manager.history.background import FILE_NAME, SECTION, clusters_of, settings_of_history
from kafka_py.manager.history.settings import DAY_MS, HistorySettings
from kafka_py.manager.settings import ClusterSettings
from kafka_py.testing.web_manager import CalledManager


def test_settings_of_the_section() -> None:
    assert settings_of_history({}) == HistorySettings()
    assert settings_of_history({"is_enabled": False}) is None
    found = settings_of_history({"interval_seconds": 10, "retention_days": 2, "limit_megabytes": 5})
    assert found == HistorySettings(interval_ms=10_000, retention_ms=2 * DAY_MS, limit_bytes=5 << 20)


@pytest.mark.parametrize(
    "section", [{"x": 1}, {"limit_megabytes": 0}, {"interval_seconds": "5"}, {"retention_days": True}]
)
def test_settings_that_cannot_be_are_refused(section: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"\[history\]"):
        settings_of_history(section)


def test_a_cluster_that_is_added_is_followed(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        services = manager.services
        service = services.parts[SECTION]
        await services.clusters.put(ClusterSettings("more", "localhost:2"))
        await service.follow(clusters_of(services))
        assert service.collector("more") is not None and service.collector("test") is not None
        await services.clusters.remove("more")
        await service.follow(clusters_of(services))
        assert service.collector("more") is None

    played(scene, extra={})


def test_a_second_manager_with_the_same_folder_has_no_history(
    played: Callable[..., None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(manager: CalledManager) -> None:
        service = manager.services.parts[SECTION]
        await service.store.note("test", [])
        with caplog.at_level(logging.ERROR):
            await asyncio.to_thread(played, second, extra={})

    async def second(manager: CalledManager) -> None:
        assert SECTION not in manager.services.parts
        assert "keeps no history" in (await manager.get("/clusters/test/history")).text

    played(scene, extra={})
    assert f"{tmp_path / FILE_NAME} is in use by another process" in caplog.text


def test_a_task_that_loses_a_cancellation_is_cancelled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "CANCEL_AGAIN_S", 0.01)
    lost = []

    async def deaf() -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                lost.append(1)
                if len(lost) > 2:
                    raise

    async def scene() -> None:
        task = asyncio.create_task(deaf())
        await asyncio.sleep(0)
        await service.ended(task)
        assert task.cancelled()

    asyncio.run(asyncio.wait_for(scene(), 30))
    assert len(lost) == 3
