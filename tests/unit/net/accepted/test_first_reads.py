"""Whose new connection is read first, how many in a turn, and for how long."""

import asyncio
from collections.abc import Callable

import pytest

from kafka_py.net.accepted.first_reads import FIRST_READS_A_TURN, FirstReads
from kafka_py.net.event_loop.loop import LoopWatch
from kafka_py.net.event_loop.turns import TURN_S, LoopTurns

NO_LOOP: asyncio.AbstractEventLoop = None  # type: ignore[assignment]


class Turns:
    """A loop whose turns are taken by hand. begin_s: how long a connection takes to begin."""

    def __init__(self, begin_s: float = 0.0) -> None:
        self.now_s = 0.0
        self._begin_s = begin_s
        self.due: list[Callable[[], None]] = []
        self.begun: list[str] = []
        loop: asyncio.AbstractEventLoop = self  # type: ignore[assignment]
        self._watch = LoopWatch(0.0)
        self.first_reads = FirstReads(LoopTurns(loop, lambda: self.now_s, self._watch))

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.due.append(callback)

    def turn(self) -> list[str]:
        """What was begun in one turn."""
        due, self.due, self.begun = self.due, [], []
        self._watch.woke_s = self.now_s
        assert len(due) <= 1
        for callback in due:
            callback()
        return self.begun

    def add(self, address: str, count: int = 1) -> None:
        for _ in range(count):
            self.first_reads.add(address, lambda: self._begin(address))

    def _begin(self, address: str) -> None:
        self.now_s += self._begin_s
        self.begun.append(address)


def test_a_connection_of_another_address_does_not_wait_for_the_thousands_of_one() -> None:
    turns = Turns()
    turns.add("storm", 1000)
    assert turns.turn() == ["storm"] * FIRST_READS_A_TURN
    turns.add("other")
    assert turns.turn()[:2] == ["storm", "other"]


def test_addresses_take_turns_and_all_are_begun_in_the_end() -> None:
    turns = Turns()
    for address, count in (("a", 20), ("b", 3), ("c", 1)):
        turns.add(address, count)
    assert turns.turn() == ["a", "b", "c", "a", "b", "a", "b", *["a"] * (FIRST_READS_A_TURN - 7)]
    assert turns.turn() == ["a"] * (24 - FIRST_READS_A_TURN)
    assert turns.due == []
    turns.add("b")
    assert turns.turn() == ["b"]


def test_those_that_take_long_end_a_turn_early() -> None:
    turns = Turns(begin_s=TURN_S / 2)
    turns.add("a", 5)
    assert [len(turns.turn()) for _ in range(4)] == [2, 2, 1, 0]


def test_one_that_takes_longer_than_a_turn_is_begun() -> None:
    turns = Turns(begin_s=TURN_S * 10)
    turns.add("a")
    turns.add("b")
    assert turns.turn() == ["a"]
    assert turns.turn() == ["b"]


def test_a_connection_that_fails_holds_up_no_other() -> None:
    def fail() -> None:
        raise ZeroDivisionError

    turns = Turns()
    turns.first_reads.add("a", fail)
    turns.add("a", 2)
    with pytest.raises(ZeroDivisionError):
        turns.turn()
    assert turns.turn() == ["a", "a"]


def test_one_that_is_added_by_another_one_has_its_turn() -> None:
    turns = Turns()
    turns.first_reads.add("a", lambda: turns.add("b"))
    assert turns.turn() == ["b"]
    assert turns.due == []


def test_none_is_begun_after_the_end() -> None:
    turns = Turns()
    turns.add("a", 100)
    turns.first_reads.close()
    assert turns.turn() == []
    assert turns.due == []


def test_connections_are_begun_after_what_has_just_become_ready() -> None:
    last = list[Callable[[], None]]()
    watch = LoopWatch(0.0)
    watch.woke_s = 0.0
    watch.call_last = last.append
    first_reads, begun = FirstReads(LoopTurns(NO_LOOP, lambda: 0.0, watch)), list[int]()
    for number in range(FIRST_READS_A_TURN + 1):
        first_reads.add("address", lambda number=number: begun.append(number))
    while last:
        last.pop()()
    assert begun == list(range(FIRST_READS_A_TURN + 1))
