"""Clusters that are added are kept for the next start, in a file that only its owner may read."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.clients.environment import SYSTEM
from kafka_py.manager.clusters import ManagedClusters
from kafka_py.manager.settings import ClusterSettings

FIXED = ClusterSettings("fixed", "x:1")
ADDED = ClusterSettings("added", "y:1", {"sasl.jaas.config": "secret"}, "zk:1", "2.8.2", True, True)


def test_a_cluster_that_was_added_is_there_after_a_restart_and_may_be_removed(tmp_path: Path) -> None:
    async def scene() -> None:
        clusters = ManagedClusters((FIXED,), SYSTEM, tmp_path)
        await clusters.put(ADDED)
        assert (tmp_path / "clusters.json").stat().st_mode & 0o77 == 0
        again = ManagedClusters((FIXED,), SYSTEM, tmp_path)
        assert [each.settings for each in again] == [FIXED, ADDED]
        await again.remove("added")
        assert [each.name for each in ManagedClusters((FIXED,), SYSTEM, tmp_path)] == ["fixed"]
        for name in ("fixed", "none"):
            with pytest.raises(ConfigError):
                await again.remove(name)
        with pytest.raises(ConfigError, match="one of the settings file"):
            await again.put(FIXED)

    asyncio.run(scene())


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "clusters.json").write_text("{")
    with pytest.raises(ConfigError, match=r"clusters\.json cannot be read"):
        ManagedClusters((), SYSTEM, tmp_path)


def test_a_change_that_cannot_be_kept_is_not_made(tmp_path: Path) -> None:
    async def scene() -> None:
        clusters = ManagedClusters((FIXED,), SYSTEM, tmp_path)
        await clusters.put(ADDED)
        (tmp_path / "clusters.json").unlink()
        (tmp_path / "clusters.json").mkdir()
        with pytest.raises(OSError, match="clusters"):
            await clusters.remove("added")
        with pytest.raises(OSError, match="clusters"):
            await clusters.put(replace(ADDED, name="third"))
        assert [each.name for each in clusters] == ["fixed", "added"]

    asyncio.run(scene())


def test_clusters_that_are_added_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    async def scene() -> None:
        clusters = ManagedClusters((), SYSTEM, tmp_path)
        await asyncio.gather(*(clusters.put(replace(ADDED, name=name)) for name in "abc"))
        assert {each.name for each in ManagedClusters((), SYSTEM, tmp_path)} == set("abc")

    asyncio.run(scene())


def test_a_cluster_that_was_removed_makes_no_client() -> None:
    async def scene() -> None:
        clusters = ManagedClusters((), SYSTEM)
        cluster = await clusters.put(ADDED)
        await clusters.remove("added")
        with pytest.raises(ConfigError, match="removed or changed meanwhile"):
            _ = cluster.admin

    asyncio.run(scene())
