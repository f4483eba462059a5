"""Clusters added and removed on a page."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from kafka_py.manager import directory_jobs, rebalance_jobs
from kafka_py.testing.web_manager import CalledManager

SECRET = "a secret password"


def test_a_cluster_is_added_with_its_settings_and_removed(played: Callable[..., None], tmp_path: Path) -> None:
    async def scene(manager: CalledManager) -> None:
        added = await manager.submit(
            "/clusters", name="second", bootstrap_servers="127.0.0.1:1", version="0.11",
            properties=f"ssl.key.password={SECRET}\nsecurity.protocol=PLAINTEXT", step="apply", submission="1",
        )  # fmt: skip
        assert added.status_code == 303
        cluster = manager.services.clusters.get("second")
        assert cluster is not None and cluster.settings.properties["ssl.key.password"] == SECRET
        again = await manager.call("/clusters", name="second", bootstrap_servers="127.0.0.1:2", dry_run=True,
                                   properties=f"ssl.key.password={SECRET}")  # fmt: skip
        assert SECRET not in again.text
        assert again.json()["effects"] == [
            {"what": "bootstrap servers", "before": "127.0.0.1:1", "after": "127.0.0.1:2"}
        ]
        removed = await manager.call("/clusters/remove", name="second")
        assert removed.json()["is_done"]
        assert manager.services.clusters.get("second") is None

    played(scene, allow_changes=True)
    assert SECRET not in (tmp_path / "audit.jsonl").read_text()


def test_what_cannot_be_is_said_in_the_form(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        for fields, why in (
            ({"name": "a b"}, "letters"),
            ({"bootstrap_servers": "x"}, "Invalid url"),
            ({"name": "test"}, "settings file has a cluster"),
            ({"properties": "sasl.login.callback.handler.class=evil"}, "settings file only"),
            ({"properties": "config.providers=file"}, "settings file only"),
            ({"properties": "sasl.oauthbearer.token.endpoint.url=FILE:///run/secrets/token"}, "settings file only"),
            ({"properties": "sasl.kerberos.kinit.cmd=/tmp/evil"}, "settings file only"),
            ({"properties": "colour=red"}, "no setting colour"),
            ({"properties": "no value"}, "name=value"),
        ):
            form = {"name": "second", "bootstrap_servers": "x:1", "step": "apply", "submission": why, **fields}
            answer = await manager.submit("/clusters", **form)
            assert (answer.status_code, why in answer.text) == (422, True), answer.text
        for dry_run in (True, False):
            assert (await manager.call("/clusters/remove", name="test", dry_run=dry_run)).status_code == 400

    played(scene, allow_changes=True)


@pytest.mark.parametrize("part", [rebalance_jobs.PART, directory_jobs.PART])
def test_a_cluster_whose_rebalance_is_carried_out_stays(played: Callable[..., None], part: str) -> None:
    async def scene(manager: CalledManager) -> None:
        await manager.call("/clusters", name="second", bootstrap_servers="127.0.0.1:1")
        jobs = manager.services.parts[part]
        jobs._jobs["second"] = SimpleNamespace(is_running=True)
        for path, fields in (("/clusters/remove", {}), ("/clusters", {"bootstrap_servers": "127.0.0.1:2"})):
            refused = await manager.call(path, name="second", **fields)
            assert (refused.status_code, "stop it first" in refused.text) == (400, True)
        jobs._jobs["second"].is_running = False
        assert (await manager.call("/clusters/remove", name="second")).status_code == 200

    played(scene, allow_changes=True)


def test_a_reader_adds_nothing(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        refused = await manager.submit("/clusters", name="b", bootstrap_servers="x:1", step="apply", submission="1")
        assert (refused.status_code, len(manager.services.clusters)) == (403, 1)

    played(scene)
