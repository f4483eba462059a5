"""How much of handshakes runs in a turn of the event loop."""

import asyncio
from collections.abc import Callable

import pytest

from kafka_py.net.event_loop.loop import LoopWatch
from kafka_py.net.event_loop.turns import TURN_S, LoopTurns
from kafka_py.net.secured.short_steps import ShortSteps


class Turns:
    """A loop whose turns are taken by hand, and whose clock only steps move."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.due: list[Callable[[], None]] = []
        self.ran: list[str] = []
        loop: asyncio.AbstractEventLoop = self  # type: ignore[assignment]
        self._watch = LoopWatch(0.0)
        self._watch.woke_s = 0.0
        self.steps = ShortSteps(LoopTurns(loop, lambda: self.now_s, self._watch))

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.due.append(callback)

    def turn(self) -> list[str]:
        """What ran in one turn."""
        due, self.due, self.ran = self.due, [], []
        self._watch.woke_s = self.now_s
        assert len(due) <= 1
        for callback in due:
            callback()
        return self.ran

    def add(self, name: str, takes_s: float = TURN_S / 4, *, then: str | None = None) -> bool:
        """then: the step that it adds when it is done."""

        def step() -> None:
            self.now_s += takes_s
            self.ran.append(name)
            if then is not None:
                self.add(then)
            if name == "raises":
                raise RuntimeError(name)

        return self.steps.run(step)


def test_a_step_alone_runs_at_once() -> None:
    turns = Turns()
    assert turns.add("a")
    assert turns.ran == ["a"]
    assert turns.turn() == [] and not turns.due


def test_a_turn_runs_no_more_steps_than_its_time_allows_and_others_follow_in_order() -> None:
    turns = Turns()
    names = [str(number) for number in range(10)]
    assert [turns.add(name) for name in names] == [True] * 4 + [False] * 6
    assert turns.ran == names[:4]
    assert not turns.add("late")  # it does not overtake those that wait
    assert turns.turn() == names[4:8]
    assert turns.turn() == [*names[8:], "late"]
    assert turns.turn() == [] and not turns.due


def test_what_arrives_in_a_turn_counts_with_what_had_waited() -> None:
    turns = Turns()
    for number in range(6):
        turns.add(str(number))
    assert turns.turn() == ["4", "5"]
    assert [turns.add("a"), turns.add("b"), turns.add("c")] == [True, True, False]


def test_the_time_of_earlier_turns_does_not_count() -> None:
    turns = Turns()
    for _ in range(50):
        assert turns.add("a", TURN_S)
        turns.turn()


def test_a_step_that_comes_before_the_end_of_the_next_turn_has_the_time_of_that_one() -> None:
    turns = Turns()
    assert [turns.add("a", TURN_S), turns.add("b")] == [True, False]
    assert turns.turn() == ["b"]
    assert turns.add("c", TURN_S)
    turns._watch.woke_s = turns.now_s  # a socket that is ready is served before what was put off
    assert turns.add("d")
    assert not turns.due


def test_steps_that_fit_their_turn_leave_nothing_to_do() -> None:
    turns = Turns()
    assert turns.add("a")
    assert not turns.due  # it would be something that waits


def test_a_step_that_raises_keeps_no_other_from_its_turn() -> None:
    turns = Turns()
    turns.add("long", TURN_S)
    turns.add("raises")
    turns.add("b")
    with pytest.raises(RuntimeError):
        turns.turn()
    assert turns.ran == ["raises"]
    assert not turns.add("c")  # there is time left, but another one waits
    assert turns.turn() == ["b", "c"]
    with pytest.raises(RuntimeError):
        turns.add("raises")
    assert turns.add("c")


def test_steps_that_had_waited_and_took_the_whole_turn_leave_none_of_it_to_others() -> None:
    turns = Turns()
    assert [turns.add("a", TURN_S), turns.add("b", TURN_S)] == [True, False]
    assert turns.turn() == ["b"]
    assert not turns.add("c")
    assert turns.turn() == ["c"]


def test_a_step_that_adds_another_one_at_the_end_of_a_turn_schedules_one_next_turn() -> None:
    turns = Turns()
    assert [turns.add("a", TURN_S), turns.add("b", TURN_S, then="c")] == [True, False]
    assert turns.turn() == ["b"]
    assert len(turns.due) == 1
    assert turns.turn() == ["c"]
    assert turns.turn() == [] and not turns.due


def test_steps_that_come_at_the_end_of_a_long_turn_advance_by_a_part_of_it() -> None:
    turns = Turns()
    turns.now_s = 4 * TURN_S  # what others have taken of this turn
    assert [turns.add(name) for name in "abcde"] == [True] * 4 + [False]
