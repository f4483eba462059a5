"""How long a turn of the loop goes on, by what is known of those who wait."""

import asyncio
from collections.abc import Callable

import pytest

from kafka_py.net.loop import LoopWatch
from kafka_py.net.loop_turns import LEAST_QUANTUM_S, LEAST_S, QUANTUM_S, TURN_S, LoopTurns


class World:
    """Turns whose clock is moved by hand, of a loop that only keeps its callbacks."""

    def __init__(self, watch: LoopWatch | None = None) -> None:
        self.now_s = 100.0
        self.soon: list[Callable[[], None]] = []
        loop: asyncio.AbstractEventLoop = self  # type: ignore[assignment]
        self.turns = LoopTurns(loop, lambda: self.now_s, watch)

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.soon.append(callback)

    def lasts_s(self) -> float:
        """How long work goes on that begins now and asks every 10 microseconds."""
        share, began_s = self.turns.share(), self.now_s
        while not share.is_over():
            self.now_s += 0.000_01
        return self.now_s - began_s


@pytest.fixture
def watch() -> LoopWatch:
    watch = LoopWatch(0.0)
    watch.woke_s = 100.0
    return watch


@pytest.mark.parametrize(
    ("single", "spent_s", "lasts_s"),
    [
        (False, 0.0, TURN_S), (False, 0.001, TURN_S - 0.001), (False, TURN_S, LEAST_S), (False, 1.0, LEAST_S),
        (True, 0.0, QUANTUM_S), (True, QUANTUM_S / 5, QUANTUM_S * 0.8), (True, QUANTUM_S, LEAST_QUANTUM_S),
        (True, 1.0, LEAST_QUANTUM_S),
    ],
)  # fmt: skip
def test_while_others_wait_work_has_what_is_left_of_the_turn(
    watch: LoopWatch, single: bool, spent_s: float, lasts_s: float
) -> None:
    world = World(watch)
    world.turns.single_until_s = 1000.0 if single else 0.0
    world.now_s += spent_s
    assert world.lasts_s() == pytest.approx(lasts_s, abs=0.000_011)


def test_while_nobody_waits_it_goes_on_to_the_end_of_the_turn(watch: LoopWatch) -> None:
    looks = []
    watch.others_wait = lambda: bool(looks.append(None))
    world = World(watch)
    world.turns.single_until_s = 1000.0
    assert world.lasts_s() == pytest.approx(TURN_S, abs=0.000_011)
    assert TURN_S / QUANTUM_S / 2 < len(looks) <= TURN_S / QUANTUM_S  # a look costs as much as a small request


def test_a_loop_that_does_not_say_when_its_turns_begin_gives_each_work_one_of_its_own() -> None:
    for watch in (None, LoopWatch(0.0)):
        world = World(watch)
        assert [world.lasts_s() for _ in range(2)] == pytest.approx([TURN_S] * 2, abs=0.000_011)
        world.turns.single_until_s = 1000.0
        assert [world.lasts_s() for _ in range(2)] == pytest.approx([QUANTUM_S] * 2, abs=0.000_011)


def test_work_is_put_off_behind_what_becomes_ready_where_the_loop_can_do_that(watch: LoopWatch) -> None:
    world, last = World(watch), []
    world.turns.put_off(print)
    assert world.soon == [print]
    watch.call_last = last.append
    World(watch).turns.put_off(print)
    assert last == [print]
