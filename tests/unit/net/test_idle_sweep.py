"""Idle connections are closed, and thousands of them in many turns."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafka_py.base.supervision import Supervisor
from kafka_py.net.idle_sweep import LONGEST_SWEEP_MS, SHORTEST_SWEEP_MS, TURN_MS, IdleSweep
from kafka_py.testing.clock import ManualClock


class SweptConnection:
    """Closing it takes time."""

    def __init__(self, clock: ManualClock, id: str, *, is_active: bool = False, unanswered: int = 0) -> None:
        self.id = id
        self.is_active = is_active
        self.unanswered = unanswered
        self.last_active_ms = clock.monotonic_ms()
        self.closed = ""
        self._clock = clock

    def close(self, reason: str) -> None:
        self._clock.advance(TURN_MS / 4)
        self.closed = reason
        if self.id == "broken":
            raise RuntimeError("cannot be closed")


class SweptLoop:
    """Notes what is scheduled."""

    def __init__(self) -> None:
        self.later: list[tuple[float, Any]] = []
        self.soon: list[Any] = []

    def call_later(self, delay_s: float, call: Any) -> Any:
        self.later.append((delay_s, call))
        return asyncio.TimerHandle(0.0, call, (), self)  # type: ignore[arg-type]

    def call_soon(self, call: Any) -> Any:
        self.soon.append(call)
        return asyncio.Handle(call, (), self)  # type: ignore[arg-type]

    def get_debug(self) -> bool:
        return False

    def _timer_handle_cancelled(self, _handle: Any) -> None:
        pass


class Sweeping:
    def __init__(self, idle_ms: float = 1600.0) -> None:
        self.clock = ManualClock()
        self.loop = SweptLoop()
        self.connections: dict[str, Any] = {}
        self.sweep = IdleSweep(
            self.loop, self.clock, Supervisor(self.clock), self.connections, lambda: idle_ms  # type: ignore[arg-type]
        )  # fmt: skip

    def add(self, id: str, **given: Any) -> SweptConnection:
        self.connections[id] = connection = SweptConnection(self.clock, id, **given)
        return connection

    def begin(self) -> None:
        self.loop.later.pop()[1]()


@pytest.mark.parametrize(
    ("idle_ms", "delay_ms"), [(1600, 100), (1, SHORTEST_SWEEP_MS), (10**9, LONGEST_SWEEP_MS), (0, SHORTEST_SWEEP_MS)]
)
def test_how_often_it_looks(idle_ms: float, delay_ms: float) -> None:
    sweeping = Sweeping(idle_ms)
    sweeping.sweep.start()
    assert [delay_s for delay_s, _ in sweeping.loop.later] == [delay_ms / 1000]


def test_it_never_looks_where_connections_may_be_silent_for_ever() -> None:
    sweeping = Sweeping(-1)
    sweeping.sweep.start()
    assert not sweeping.loop.later


def test_who_sent_or_waits_is_not_idle() -> None:
    sweeping = Sweeping()
    silent, active, waiting = sweeping.add("a"), sweeping.add("b", is_active=True), sweeping.add("c", unanswered=1)
    sweeping.sweep.start()
    sweeping.clock.advance(1601)
    sweeping.begin()
    assert (silent.closed, active.closed, waiting.closed) == ("idle for connections.max.idle.ms", "", "")
    assert not active.is_active
    assert len(sweeping.loop.later) == 1
    del sweeping.connections["a"]
    sweeping.clock.advance(1601)
    sweeping.begin()
    assert active.closed and not waiting.closed


def test_just_below_the_time_it_stays() -> None:
    sweeping = Sweeping()
    silent = sweeping.add("a")
    sweeping.sweep.start()
    sweeping.clock.advance(1600)
    sweeping.begin()
    assert not silent.closed


def test_many_are_closed_in_turns_and_one_that_fails_is_no_obstacle() -> None:
    sweeping = Sweeping()
    several = [sweeping.add("broken" if number == 2 else str(number)) for number in range(10)]
    sweeping.sweep.start()
    sweeping.clock.advance(1601)
    sweeping.begin()
    closed = []
    while sweeping.loop.soon:
        assert not sweeping.loop.later
        closed.append(sum(bool(each.closed) for each in several))
        sweeping.loop.soon.pop()()
    assert closed == [4, 8]
    assert all(each.closed for each in several)
    assert len(sweeping.loop.later) == 1


def test_a_closed_one_ends_in_the_middle() -> None:
    sweeping = Sweeping()
    several = [sweeping.add(str(number)) for number in range(10)]
    sweeping.sweep.start()
    sweeping.clock.advance(1601)
    sweeping.begin()
    sweeping.sweep.close()
    assert sum(bool(each.closed) for each in several) == 4
    assert sweeping.sweep._next is None and not sweeping.sweep._left
