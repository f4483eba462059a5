"""Every function of Kafka Manager (S1-192 to S1-194) as JSON and as pages, on a cluster of ours and of Apache's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from managed_brokers import BROKERS, MAKE_IDS, MAKES, two_brokers

from kafka_py.manager.settings import ManagerSettings
from kafka_py.testing.peers.apache import ApacheBroker
from kafka_py.testing.processes import ZookeeperServer
from kafka_py.testing.web_manager import CalledManager

C = "/clusters/seen"
DEADLINE_S = 60.0


@pytest.fixture(scope="module", params=MAKES, ids=MAKE_IDS)
def bootstrap(
    request: pytest.FixtureRequest, zookeeper: ZookeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Two brokers of one make."""
    if request.param is ApacheBroker:
        assert request.getfixturevalue("apache_kafka")
    folder = tmp_path_factory.mktemp("manager-cluster")
    with two_brokers(request.param, folder, f"{zookeeper.connect}/{folder.name}") as servers:
        yield servers


async def until(what: Callable[[], Awaitable[bool]]) -> None:
    """Asks again and again, until it is so."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            if await what():
                return


async def page(manager: CalledManager, path: str) -> dict[str, Any]:
    """The JSON form of a page, whose HTML is looked at as well."""
    assert (await manager.get(path)).status_code == 200
    answer = await manager.get(f"/api{path.rstrip('/')}")
    found: dict[str, Any] = answer.json()
    assert answer.status_code == 200, found
    return found


async def done(manager: CalledManager, path: str, **members: Any) -> str:
    """Makes a change; a dry run comes first and changes nothing."""
    dry = await manager.call(path, **members, dry_run=True)
    assert dry.status_code == 200 and not dry.json()["is_done"], dry.text
    assert "--bootstrap-server" in dry.json()["command_line"] or path == "/clusters"
    made = await manager.call(path, **members)
    assert made.status_code == 200 and made.json()["is_done"], made.text
    message: str = made.json()["message"]
    return message


@pytest.fixture
def with_manager(bootstrap: str, tmp_path: Path) -> Callable[[Callable[[CalledManager], Awaitable[None]]], None]:
    """Runs a scene with a manager to which the cluster was added (S1-194)."""

    def run(scene: Callable[[CalledManager], Awaitable[None]]) -> None:
        async def main() -> None:
            async with CalledManager(ManagerSettings(data=tmp_path, allow_changes=True)) as manager:
                await done(manager, "/clusters", name="seen", bootstrap_servers=bootstrap, version="2.8.2")
                await scene(manager)

        asyncio.run(main())

    return run


def test_the_state_of_a_cluster_that_was_added_is_shown_s1_192_s1_194(with_manager: Any) -> None:
    async def scene(manager: CalledManager) -> None:
        first = await page(manager, "/")
        assert [(row["name"], row["brokers"], row["problem"]) for row in first["clusters"]] == [("seen", BROKERS, "")]
        found = await page(manager, f"{C}/brokers")
        assert [(row["id"], row["is_alive"]) for row in found["brokers"]] == [(0, True), (1, True)]
        assert sum(row["is_controller"] for row in found["brokers"]) == 1
        broker = await page(manager, f"{C}/brokers/0")
        assert {"produce", "fetch", "metadata"} <= {row["name"] for row in broker["apis"]}
        assert any(row["name"] == "log.dirs" and row["is_read_only"] for row in broker["settings"])
        assert [row["problem"] for row in broker["log_dirs"]] == ["", ""]
        assert not found["problems"] and not broker["problems"]

    with_manager(scene)


def test_topics_are_created_changed_extended_and_deleted_s1_192_s1_193(with_manager: Any) -> None:
    async def scene(manager: CalledManager) -> None:
        await done(manager, f"{C}/topics", name="made", partitions=2, factor=2, settings="retention.ms=3600000")
        wrong = (await manager.call(f"{C}/topics/check", name="made", partitions=1, factor=9)).json()
        assert wrong["problems"]
        await done(manager, f"{C}/topics/made/partitions", count=3)
        await done(manager, f"{C}/topics/made/settings", name="max.message.bytes", value="2000000")
        found = await page(manager, f"{C}/topics/made")
        assert (found["topic"]["partitions"], found["topic"]["replication_factor"]) == (3, 2)
        own = {row["name"]: row["value"] for row in found["settings"] if row["is_own"]}
        assert own == {"retention.ms": "3600000", "max.message.bytes": "2000000"}
        assert (await manager.call(f"{C}/topics/made/settings", name="retention.ms", value="soon")).status_code == 409
        await done(manager, f"{C}/topics/made/settings", name="max.message.bytes", remove=True)
        await done(manager, f"{C}/topics/made/delete")
        assert (await manager.get(f"/api{C}/topics/made")).status_code == 404

    with_manager(scene)


def test_assignments_of_many_topics_are_generated_run_and_cancelled_s1_192(with_manager: Any) -> None:
    async def scene(manager: CalledManager) -> None:
        names = ["first", "second"]
        for name in names:
            await done(manager, f"{C}/topics", name=name, partitions=2, factor=2)
        query = "&".join(f"topic={name}" for name in names)
        proposed = await page(manager, f"{C}/reassignments/plan?{query}")
        assert proposed["copied_bytes"] == 0  # two brokers, two replicas: only the order can change
        described = await page(manager, f"{C}/topics/first")
        turned = {row["partition"]: list(reversed(row["replicas"])) for row in described["partitions"]}
        rows = ",".join(f'{{"topic":"first","partition":{number},"replicas":{ids}}}' for number, ids in turned.items())
        await done(manager, f"{C}/reassignments", plan=f'{{"version":1,"partitions":[{rows}]}}', throttle=1_000_000)

        async def nothing_moves() -> bool:
            return not (await page(manager, f"{C}/reassignments"))["moves"]

        await until(nothing_moves)
        after = await page(manager, f"{C}/topics/first")
        assert {row["partition"]: row["replicas"] for row in after["partitions"]} == turned

        async def nothing_is_throttled() -> bool:
            found = await page(manager, f"{C}/reassignments")
            return not found["rates"] and not found["is_kept"]

        await until(nothing_is_throttled)
        assert (await manager.call(f"{C}/reassignments/cancel")).status_code == 404
        if after["not_preferred"]:
            assert "leaders were elected" in await done(manager, f"{C}/elections", topic="first")

            async def all_preferred() -> bool:
                return not (await page(manager, f"{C}/topics/first"))["not_preferred"]

            await until(all_preferred)

    with_manager(scene)
