"""How long a turn of the loop goes on, by what is known of those who wait."""

import asyncio
import contextlib
from collections.abc import Callable

import pytest

from kafka_py.net.event_loop.loop import LoopWatch
from kafka_py.net.event_loop.turns import (
    BUSY_S,
    FEW,
    HELD_S,
    LEAST_QUANTUM_S,
    LEAST_S,
    QUANTUM_S,
    SINGLE_S,
    TURN_S,
    LoopTurns,
    TurnShare,
)


class World:
    """Turns whose clock is moved by hand, of a loop that only keeps its callbacks."""

    def __init__(self, watch: LoopWatch | None = None) -> None:
        self.now_s = 100.0
        self.soon: list[Callable[[], None]] = []
        loop: asyncio.AbstractEventLoop = self  # type: ignore[assignment]
        self.turns = LoopTurns(loop, lambda: self.now_s, watch)

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.soon.append(callback)

    def run_soon(self) -> None:
        soon, self.soon = self.soon, []
        for call in soon:
            call()

    def lasts_s(self, share: TurnShare | None = None, piece_s: float = 0.000_01) -> float:
        """How long work continues that begins now and asks after every piece."""
        share, began_s = share or self.turns.share(), self.now_s
        while not share.is_over():
            self.now_s += piece_s
        return self.now_s - began_s


@pytest.fixture
def watch() -> LoopWatch:
    watch = LoopWatch(0.0)
    watch.woke_s = 100.0
    return watch


@pytest.mark.parametrize(
    ("single", "spent_s", "lasts_s"),
    [
        (False, 0.0, TURN_S), (False, 0.001, TURN_S - 0.001), (False, TURN_S, LEAST_S), (False, 0.003, LEAST_S),
        (False, HELD_S, 0.0),
        (True, 0.0, QUANTUM_S), (True, QUANTUM_S / 5, QUANTUM_S * 0.8), (True, QUANTUM_S, LEAST_QUANTUM_S),
        (True, 0.003, LEAST_QUANTUM_S), (True, HELD_S, 0.0),
    ],
)  # fmt: skip
def test_while_others_wait_work_has_what_is_left_of_the_turn(
    watch: LoopWatch, single: bool, spent_s: float, lasts_s: float
) -> None:
    world = World(watch)
    world.turns.single_until_s = 1000.0 if single else 0.0
    world.now_s += spent_s
    assert world.lasts_s(world.turns.share_of_one()) == pytest.approx(lasts_s, abs=0.000_011)


def test_while_no_other_waits_it_continues_to_the_end_of_the_turn(watch: LoopWatch) -> None:
    looks = []
    watch.others_wait = lambda: bool(looks.append(None))
    world = World(watch)
    world.turns.single_until_s = 1000.0
    assert world.lasts_s() == pytest.approx(TURN_S, abs=0.000_011)
    assert TURN_S / QUANTUM_S / 2 < len(looks) <= TURN_S / QUANTUM_S  # a look costs as much as a small request


@pytest.mark.parametrize("watch", [None, LoopWatch(0.0)])
@pytest.mark.parametrize(
    ("single", "lasts_s"), [(False, [TURN_S, LEAST_S, LEAST_S]), (True, [QUANTUM_S, LEAST_QUANTUM_S, LEAST_QUANTUM_S])]
)
def test_on_a_loop_that_does_not_say_it_a_turn_begins_with_its_first_work(
    watch: LoopWatch | None, single: bool, lasts_s: list[float]
) -> None:
    world = World(watch)
    world.turns.single_until_s = 1000.0 if single else 0.0
    for _ in range(2):
        assert [world.lasts_s(world.turns.share_of_one()) for _ in range(3)] == pytest.approx(lasts_s, abs=0.000_011)
        world.run_soon()
        world.now_s += 10.0
    assert not world.soon


@pytest.mark.parametrize("single", [False, True])
def test_what_was_put_off_advances_however_much_is_ready(watch: LoopWatch, single: bool) -> None:
    world = World(watch)
    world.turns.single_until_s = 1000.0 if single else 0.0
    world.now_s += 0.008
    assert world.lasts_s() == pytest.approx(0.002, abs=0.000_011)
    watch.woke_s = world.now_s
    assert world.lasts_s() == pytest.approx(QUANTUM_S if single else TURN_S, abs=0.000_011)
    watch.woke_s = world.now_s - QUANTUM_S
    assert world.lasts_s() == pytest.approx(LEAST_QUANTUM_S if single else TURN_S - QUANTUM_S, abs=0.000_011)


def test_what_has_had_no_turn_yet_alternates_with_what_had_one(watch: LoopWatch) -> None:
    world, done = World(watch), list[str]()

    def work(name: str) -> None:
        done.append(name)
        world.now_s += TURN_S  # one has its turn

    for name in ("old 1", "old 2"):
        world.turns.defer(lambda name=name: work(name))
    for name in ("new 1", "new 2", "new 3", "new 4"):
        world.turns.defer(lambda name=name: work(name), True)
    while world.soon:
        watch.woke_s = world.now_s
        world.run_soon()
    assert done == ["new 1", "old 1", "new 2", "old 2", "new 3", "new 4"]


@pytest.mark.parametrize(("others", "lasts_s"), [(0, TURN_S), (1, TURN_S / 2), (7, LEAST_S), (500, LEAST_S)])
def test_those_that_are_deferred_have_equal_parts_of_a_turn(watch: LoopWatch, others: int, lasts_s: float) -> None:
    world = World(watch)
    for _ in range(others):
        world.turns.defer(print)
    assert world.lasts_s(world.turns.share_of_one()) == pytest.approx(lasts_s, abs=0.000_011)


def test_one_of_those_that_are_deferred_does_not_continue_while_another_waits(watch: LoopWatch) -> None:
    watch.others_wait = lambda: False
    world = World(watch)
    world.turns.single_until_s = 1000.0
    world.turns.defer(print)
    assert world.lasts_s(world.turns.share_of_one()) == pytest.approx(QUANTUM_S, abs=0.000_011)


def test_a_turn_is_no_longer_than_it_may_be_by_more_than_a_piece(watch: LoopWatch) -> None:
    watch.others_wait = lambda: False
    world = World(watch)
    world.turns.single_until_s = 1000.0
    assert TURN_S <= world.lasts_s(piece_s=0.000_07) < TURN_S + 0.000_07


def test_deferred_work_is_done_in_its_order_some_in_each_turn(watch: LoopWatch) -> None:
    world, done = World(watch), list[int]()

    def work(number: int) -> None:
        done.append(number)
        world.now_s += 0.0015
        if number == 0 and len(done) == 1:
            world.turns.defer(lambda: work(10))
        if number == 2:
            raise ZeroDivisionError

    for number in range(5):
        world.turns.defer(lambda number=number: work(number))
    turns = []
    while world.soon:
        watch.woke_s = world.now_s
        with contextlib.suppress(ZeroDivisionError):
            world.run_soon()
        turns.append(list(done))
    assert turns == [[0, 1], [0, 1, 2], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 10]]


def test_work_that_is_deferred_again_has_its_turn_after_the_others_on_the_loop(watch: LoopWatch) -> None:
    world, count = World(watch), 0

    def work() -> None:
        nonlocal count
        count += 1
        world.turns.defer(work)

    world.turns.defer(work)
    for number in range(1, 4):
        world.run_soon()
        assert count == number


def test_what_has_had_no_turn_yet_takes_nothing_from_the_parts_of_the_others(watch: LoopWatch) -> None:
    world = World(watch)
    world.turns.defer(print, True)
    assert world.lasts_s(world.turns.share_of_one()) == pytest.approx(TURN_S, abs=0.000_011)


def test_all_that_has_had_no_turn_yet_is_done_in_one_turn_if_its_time_allows(watch: LoopWatch) -> None:
    world, done = World(watch), list[int]()
    for number in range(5):
        world.turns.defer(lambda number=number: done.append(number), True)
    world.run_soon()
    assert done == list(range(5))


def test_what_is_left_of_deferred_work_is_put_off_again(watch: LoopWatch) -> None:
    last = list[Callable[[], None]]()
    watch.call_last = last.append
    world = World(watch)

    def work() -> None:
        world.now_s += TURN_S

    world.turns.defer(work)
    world.turns.defer(work)
    last.pop()()
    assert len(last) == 1
    assert not world.soon


@pytest.mark.parametrize(("count", "is_single"), [(0, False), (1, True), (2, False), (FEW - 1, False), (FEW, False)])
def test_a_request_that_arrives_alone_makes_turns_short(watch: LoopWatch, count: int, is_single: bool) -> None:
    turns = World(watch).turns
    assert turns.arrived(count, 100.0, 7.0) == (100.0 + BUSY_S if count == FEW else 7.0)
    assert turns.single_until_s == (100.0 + SINGLE_S if is_single else 0.0)


def test_a_request_of_a_connection_that_was_busy_is_no_single_one_for_a_while(watch: LoopWatch) -> None:
    turns = World(watch).turns
    busy_until_s = turns.arrived(FEW, 100.0, 0.0)
    for now_s in (100.1, busy_until_s):
        assert turns.arrived(1, now_s, busy_until_s) == busy_until_s
        assert turns.single_until_s == 0.0
    later_s = busy_until_s + 0.1
    turns.arrived(1, later_s, busy_until_s)
    assert turns.single_until_s == later_s + SINGLE_S


def test_work_is_put_off_behind_what_becomes_ready_where_the_loop_can_do_that(watch: LoopWatch) -> None:
    world, last = World(watch), []
    world.turns.put_off(print)
    assert world.soon == [print]
    watch.call_last = last.append
    World(watch).turns.put_off(print)
    assert last == [print]
