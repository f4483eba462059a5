"""Which connections are idle, and how many of them are closed before others have their turn."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from kafka_py.base.supervision import Supervisor
from kafka_py.net.accepted.idle import LONGEST_SWEEP_MS, SHORTEST_SWEEP_MS, SWEEP_TURN_MS, IdleSweeps
from kafka_py.testing.clock import ManualClock


class Peer:
    def __init__(self, world: "World", name: str) -> None:
        self.world = world
        self.id = name
        self.closed = self.is_active = False
        self.last_active_ms = world.clock.monotonic_ms()
        self.unanswered = 0
        self.mutes = 0

    def close(self, reason: str) -> None:
        self.world.clock.advance(self.world.close_ms)
        self.world.closed.append(self.id)
        self.closed = True
        del self.world.connections[self.id]


class World:
    """Connections of a loop that does what is due when it is told to. close_ms: how long it takes to close one."""

    def __init__(self, count: int, max_idle_ms: float = 1_600.0, close_ms: float = 0) -> None:
        self.clock = ManualClock()
        self.close_ms = close_ms
        self.closed: list[str] = []
        self.connections: dict[str, Any] = {str(number): Peer(self, str(number)) for number in range(count)}
        self.due: list[tuple[float, Callable[[], None]]] = []
        loop: asyncio.AbstractEventLoop = self  # type: ignore[assignment]
        supervisor = Supervisor(self.clock)
        self.sweeps = IdleSweeps(loop, self.clock, supervisor, self.connections, lambda: max_idle_ms)

    def call_later(self, delay_s: float, callback: Callable[..., None], *arguments: Any) -> Any:
        entry = (delay_s, lambda: callback(*arguments))
        self.due.append(entry)
        world = self

        class Handle:
            def cancel(self) -> None:
                if entry in world.due:
                    world.due.remove(entry)

        return Handle()

    def call_soon(self, callback: Callable[..., None], *arguments: Any) -> Any:
        return self.call_later(0.0, callback, *arguments)

    def turn(self) -> float:
        """Makes the next turn; returns how long it was waited for."""
        [(delay_s, callback)] = self.due
        self.due.clear()
        self.clock.advance(delay_s * 1000)
        callback()
        return delay_s * 1000


def test_only_connections_without_traffic_for_that_long_are_closed() -> None:
    world = World(6)
    active, waiting, quiet, late, muted, throttled = world.connections.values()
    active.is_active, waiting.unanswered, muted.unanswered, muted.mutes = True, 1, 1, 1
    throttled.is_active, throttled.mutes = True, 1
    late.last_active_ms = 1_000.0
    world.sweeps.start()
    for _ in range(16):
        assert world.turn() == 100
    assert world.closed == []
    world.turn()
    assert world.closed == [quiet.id, muted.id]
    waiting.unanswered = 0
    world.turn()
    assert world.closed == [quiet.id, muted.id, active.id, throttled.id]
    while world.connections:
        world.turn()
    assert world.closed == [quiet.id, muted.id, active.id, throttled.id, late.id, waiting.id]
    assert world.clock.monotonic_ms() == 3_400.0
    world.sweeps.close()
    assert world.due == []


@pytest.mark.parametrize("idle_ms, sweep_ms", [(10.0, SHORTEST_SWEEP_MS), (600_000.0, LONGEST_SWEEP_MS), (-1.0, None)])
def test_how_often_it_is_looked(idle_ms: float, sweep_ms: float | None) -> None:
    world = World(0, idle_ms)
    world.sweeps.start()
    assert [delay_s * 1000 for delay_s, _ in world.due] == ([] if sweep_ms is None else [sweep_ms])


def test_thousands_that_are_idle_together_are_closed_in_turns() -> None:
    world = World(1_000, close_ms=1)
    world.clock.advance(1_601)
    world.sweeps.start()
    world.turn()
    turns = 1
    while world.due[0][0] == 0.0:
        began_ms = world.clock.monotonic_ms()
        world.turn()
        assert world.clock.monotonic_ms() - began_ms <= SWEEP_TURN_MS
        turns += 1
    assert len(world.closed) == 1_000
    assert turns >= 1_000


def test_a_connection_that_was_closed_between_two_turns_is_left_alone() -> None:
    world = World(2, close_ms=1)
    world.clock.advance(1_601)
    world.sweeps.start()
    world.turn()
    world.connections["1"].closed = True
    world.turn()
    assert world.closed == ["0"]
    world.sweeps.close()
    assert world.due == []
