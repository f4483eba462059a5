"""A collector: gaps are noted once, connections to a cluster that is down are closed, a full disk ends nothing."""

import asyncio
import sqlite3
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.clients.metadata import Node
from kafka_py.manager.history import collector as module
from kafka_py.manager.history.collector import ClusterCollector, lagging_topics
from kafka_py.manager.history.metrics import TOPIC_END
from kafka_py.manager.history.observation import GroupObservation, Observed
from kafka_py.manager.history.observing import ClusterUnreachable
from kafka_py.manager.history.settings import DAY_MS, HistorySettings
from kafka_py.manager.history.timeline import ClusterEvent, EventKind
from kafka_py.testing.clock import ManualClock

NODES = {1: Node(1, "a", 1)}


class Notebook(SimpleNamespace):
    """A history in memory. failure: raised for every write."""

    def __init__(self) -> None:
        super().__init__(events=[], recorded=[], asked=[], failure=None)

    async def record(self, _cluster: str, time_ms: int, _samples: object, events: Sequence[ClusterEvent]) -> None:
        if self.failure is not None:
            raise self.failure
        self.recorded.append(time_ms)
        self.events += [event.kind for event in events]

    async def note(self, _cluster: str, events: Sequence[ClusterEvent]) -> None:
        self.events += [event.kind for event in events]

    async def vectors(self, *asked: Any) -> list[SimpleNamespace]:
        self.asked.append(asked[1:])
        return [SimpleNamespace(time_ms=1_000, value=(4,)), SimpleNamespace(time_ms=2_000, value=7.0)]


class World:
    """A collector whose observations are given one by one: an Observed, or an error."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *looks: Observed | BaseException) -> None:
        self.clock, self.notebook, self.opened, self.closed = ManualClock(), Notebook(), 0, 0
        self.thorough: list[bool] = []
        self._looks = list(looks)
        monkeypatch.setattr(module, "observe", self._observe)
        settings = HistorySettings(interval_ms=1_000, longest_backoff_ms=8_000)
        self.collector = ClusterCollector("test", self._connect, self.notebook, settings, self.clock)  # type: ignore[arg-type]

    def _connect(self) -> Any:
        self.opened += 1
        return SimpleNamespace(close=self._close)

    async def _close(self) -> None:
        self.closed += 1

    async def _observe(self, *_: Any, is_thorough: bool) -> Observed:
        self.thorough.append(is_thorough)
        look = self._looks.pop(0)
        if isinstance(look, BaseException):
            raise look
        return look

    def attempt(self, times: int = 1) -> list[bool]:
        async def run() -> list[bool]:
            return [await self.collector.attempt() for _ in range(times)]

        return asyncio.run(run())


def test_a_gap_is_noted_at_its_beginning_and_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    down = ClusterUnreachable("connection refused")
    world = World(monkeypatch, Observed(1, nodes=NODES), down, down, Observed(2, nodes=NODES))
    assert world.attempt(3) == [True, False, False]
    assert world.collector.failure == "connection refused" and world.collector.last is not None
    assert world.attempt() == [True] and world.collector.failure is None
    assert world.notebook.events == [EventKind.UNREACHABLE, EventKind.REACHABLE]
    assert (world.opened, world.closed) == (3, 2)  # one that answers keeps its connections


def test_what_is_no_answer_of_the_cluster_closes_the_connections_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, asyncio.CancelledError(), ValueError("a fault of ours"))
    for kind in (asyncio.CancelledError, ValueError):
        with pytest.raises(kind):
            world.attempt()
    assert (world.opened, world.closed) == (2, 2) and world.notebook.events == []


def test_a_file_that_cannot_be_written_leaves_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, Observed(1, nodes=NODES), Observed(2, nodes=NODES))
    world.notebook.failure = sqlite3.OperationalError("disk full")
    assert world.attempt() == [True]
    world.notebook.failure = None
    assert world.attempt() == [True] and world.notebook.recorded == [2]


def test_earlier_ends_of_a_topic_with_lag_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = DAY_MS + 5_000
    group = GroupObservation("Stable", (), {"t": (3,), "read": (9,)})
    seen = Observed(now, nodes=NODES, ends={"t": (9,), "read": (9,)}, groups={"g": group})
    assert list(lagging_topics(seen)) == ["t"]
    world = World(monkeypatch, seen, seen)
    world.attempt(2)
    assert world.notebook.asked == [(TOPIC_END, "t", 5_000, now - 1)]


def test_sizes_and_settings_are_looked_at_first_and_then_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock()
    looks = [Observed(clock.wall_ms(), nodes=NODES) for _ in range(3)]
    world = World(monkeypatch, *looks)
    world.attempt(2)
    world.clock.advance(6 * 60_000)
    world.attempt()
    assert world.thorough == [True, False, True]
