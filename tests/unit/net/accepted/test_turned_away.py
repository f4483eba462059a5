"""When the connections of an address that connects too fast are closed, and how many in a turn."""

import asyncio
import socket
from collections.abc import Callable

from kafka_py.net.accepted.turned_away import CLOSED_A_TURN, CLOSING_TURN_S, TurnedAway


class Call:
    def __init__(self, at_s: float, callback: Callable[[], None]) -> None:
        self.at_s = at_s
        self.callback = callback
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Turns:
    """A loop whose time is moved by hand. close_s: how long it takes to close a connection."""

    def __init__(self, close_s: float = 0.0) -> None:
        self.now_s = 1000.0
        self._close_s = close_s
        self._calls: list[Call] = []
        self.closed: list[str] = []
        loop: asyncio.AbstractEventLoop = self  # type: ignore[assignment]
        self.turned_away = TurnedAway(loop, lambda: self.now_s)

    def call_soon(self, callback: Callable[[], None]) -> Call:
        return self.call_later(0.0, callback)

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Call:
        self._calls.append(Call(self.now_s + delay_s, callback))
        return self._calls[-1]

    def keep(self, name: str, unread_ms: float) -> None:
        turns = self

        class Connected:
            def close(self) -> None:
                turns.now_s += turns._close_s
                turns.closed.append(name)

        connected: socket.socket = Connected()  # type: ignore[assignment]
        self.turned_away.keep(connected, unread_ms)

    def turn(self) -> list[str]:
        """What is closed by the calls that are due now."""
        due = [call for call in self._calls if call.at_s <= self.now_s and not call.is_cancelled]
        assert len(due) <= 1
        self._calls = [call for call in self._calls if call not in due and not call.is_cancelled]
        self.closed = []
        for call in due:
            call.callback()
        return self.closed

    @property
    def waits(self) -> bool:
        return any(not call.is_cancelled for call in self._calls)


def test_each_is_closed_when_its_own_time_is_over() -> None:
    turns = Turns()
    for name, unread_ms in (("long", 1000.0), ("short", 10.0), ("middle", 500.0)):
        turns.keep(name, unread_ms)
    assert turns.turn() == []
    for passed_s, closed in ((0.011, "short"), (0.5, "middle"), (0.5, "long")):
        turns.now_s += passed_s
        assert turns.turn() == [closed]
    assert not turns.waits


def test_thousands_that_are_due_at_once_leave_turns_to_others() -> None:
    turns = Turns()
    for number in range(CLOSED_A_TURN + 3):
        turns.keep(str(number), 10.0)
    turns.now_s += 1.0
    assert turns.turn() == [str(number) for number in range(CLOSED_A_TURN)]
    assert len(turns.turn()) == 3
    assert not turns.waits


def test_a_turn_ends_when_its_time_is_over() -> None:
    turns = Turns(close_s=CLOSING_TURN_S * 0.6)
    for number in range(5):
        turns.keep(str(number), 10.0)
    turns.now_s += 1.0
    assert [len(turns.turn()) for _ in range(4)] == [2, 2, 1, 0]


def test_one_that_is_kept_while_others_are_overdue_waits_for_its_own_time() -> None:
    turns = Turns()
    turns.keep("overdue", 10.0)
    turns.now_s += 1.0
    turns.keep("new", 10.0)
    assert turns.turn() == ["overdue"]
    assert turns.turn() == []
    turns.now_s += 0.02
    assert turns.turn() == ["new"]


def test_all_are_closed_at_the_end() -> None:
    turns = Turns()
    for name in ("a", "b"):
        turns.keep(name, 1000.0)
    turns.turned_away.close()
    assert turns.closed == ["a", "b"]
    assert not turns.waits
