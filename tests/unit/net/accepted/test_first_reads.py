"""Whose new connection is read first, and how many in a turn."""

import asyncio
from collections.abc import Callable

import pytest

from kafka_py.net.accepted.first_reads import BEGUN_A_TURN, FirstReads


class Turns:
    """A loop whose turns are taken by hand."""

    def __init__(self) -> None:
        self.due: list[Callable[[], None]] = []
        self.begun: list[str] = []
        loop: asyncio.AbstractEventLoop = self  # type: ignore[assignment]
        self.first_reads = FirstReads(loop)

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.due.append(callback)

    def turn(self) -> list[str]:
        """What was begun in one turn."""
        due, self.due, self.begun = self.due, [], []
        assert len(due) <= 1
        for callback in due:
            callback()
        return self.begun

    def add(self, address: str, count: int = 1) -> None:
        for _ in range(count):
            self.first_reads.add(address, lambda: self.begun.append(address))


def test_a_connection_of_another_address_does_not_wait_for_the_thousands_of_one() -> None:
    turns = Turns()
    turns.add("storm", 1000)
    assert turns.turn() == ["storm"] * BEGUN_A_TURN
    turns.add("other")
    assert turns.turn()[:2] == ["storm", "other"]


def test_addresses_take_turns_and_all_are_begun_in_the_end() -> None:
    turns = Turns()
    for address, count in (("a", 20), ("b", 3), ("c", 1)):
        turns.add(address, count)
    assert turns.turn() == ["a", "b", "c", "a", "b", "a", "b", *["a"] * (BEGUN_A_TURN - 7)]
    assert turns.turn() == ["a"] * (24 - BEGUN_A_TURN)
    assert turns.due == []
    turns.add("b")
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
