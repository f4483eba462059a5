"""Looks at a cluster at intervals: what is asked for, what a scrape gets, and what is logged without any broker."""

import asyncio
import logging
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot
from kafka_py.operations.exporter import watch
from kafka_py.operations.exporter.samples import ALL, ExporterChoice
from kafka_py.operations.exporter.watch import ClusterWatch
from kafka_py.testing.clock import ManualClock

from .test_samples import SNAPSHOT

DOWN = replace(SNAPSHOT, nodes={}, topics={}, groups={}, offsets={})
QUERY = cast(Any, None)


class PlayedLooks:
    """Gives the next snapshot for each look; the last one for all that follow. asked: arguments of each look."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *snapshots: ClusterSnapshot) -> None:
        self.clock, self.asked, self._snapshots = ManualClock(), [], list(snapshots)  # type: ignore[var-annotated]
        monkeypatch.setattr(watch, "look_at", self)

    async def __call__(self, _admin: object, parts: object, **asked: Any) -> ClusterSnapshot:
        self.asked.append({"parts": parts, **asked})
        self.clock.advance(300)
        return self._snapshots.pop(0) if len(self._snapshots) > 1 else self._snapshots[0]

    def watch(self, choice: ExporterChoice = ALL) -> ClusterWatch:
        admin = SimpleNamespace(cluster=SimpleNamespace(clock=self.clock))
        return ClusterWatch(cast(AsyncAdminClient, admin), 1_000, choice)


async def page(watching: ClusterWatch) -> str:
    return b"".join(await watching.scrape(QUERY)).decode()


def test_a_cluster_that_no_longer_answers_has_no_old_values(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        watching = PlayedLooks(monkeypatch, SNAPSHOT, DOWN).watch()
        await watching.look()
        assert "kafka_brokers 2" in await page(watching)
        await watching.look()
        found = await page(watching)
        assert "kafka_exporter_up 0" in found and "kafka_brokers" not in found

    asyncio.run(scene())


def test_that_no_broker_answers_is_logged_once_each_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        watching = PlayedLooks(monkeypatch, DOWN, DOWN, SNAPSHOT, DOWN, DOWN).watch()
        for _ in range(5):
            await watching.look()

    monkeypatch.setattr(logging.getLogger(watch.__name__), "disabled", False)
    with caplog.at_level(logging.WARNING, logger=watch.__name__):
        asyncio.run(scene())
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["No broker answers"] * 2


def test_only_what_is_chosen_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Log ends and commits of thousands of partitions that are not exported would be asked for otherwise."""

    async def scene() -> None:
        looks = PlayedLooks(monkeypatch, SNAPSHOT)
        await looks.watch(ExporterChoice(re.compile("^t$"), re.compile("^g"))).look()
        _, second = looks.asked
        assert second["topics"] == ["t"]
        assert ("g" in second["groups"], "empty" in second["groups"]) == (True, False)
        everything = PlayedLooks(monkeypatch, SNAPSHOT)
        await everything.watch().look()
        assert [asked["topics"] for asked in everything.asked] == [None]

    asyncio.run(scene())


def test_a_look_begins_an_interval_after_the_one_before_began(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def scene() -> None:
        watching = PlayedLooks(monkeypatch, SNAPSHOT).watch()
        fake = SimpleNamespace(**{name: getattr(asyncio, name) for name in ("Event", "Task")}, sleep=sleep)
        monkeypatch.setattr(watch, "asyncio", fake)
        await watching.step()

    asyncio.run(scene())
    assert waits == [0.7]


def test_the_first_scrape_waits_for_the_first_look(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        watching = PlayedLooks(monkeypatch, SNAPSHOT).watch()
        scraping = asyncio.ensure_future(page(watching))
        await asyncio.sleep(0)
        assert not scraping.done()
        await watching.look()
        assert "kafka_exporter_up 1" in await scraping

    asyncio.run(scene())
