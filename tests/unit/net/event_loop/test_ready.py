"""In which order descriptors that are ready together are served, and what of them an urgent one costs."""

import contextlib
import selectors
import socket
from collections.abc import Iterator

import pytest

from kafka_py.net.event_loop.loop import READY_A_TURN, LoopWatch, WatchedSelector


class Ready:
    """A selector with more sockets that have something to read than there may be in one turn."""

    def __init__(self, stack: contextlib.ExitStack, count: int = 2 * READY_A_TURN + 10) -> None:
        self._stack = stack
        self.watch = LoopWatch(0.0)
        self.selector = WatchedSelector(self.watch, lambda: 0.0)
        stack.callback(self.selector.close)
        self.filenos = [self.add(is_ready=True) for _ in range(count)]

    def add(self, *, is_ready: bool) -> int:
        ours, theirs = (self._stack.enter_context(each) for each in socket.socketpair())
        if is_ready:
            theirs.send(b"x")
        self.selector.register(ours, selectors.EVENT_READ)
        return ours.fileno()

    def turn(self) -> list[int]:
        """The descriptors of one turn."""
        return [key.fd for key, _ in self.selector.select(0)]


@pytest.fixture
def ready() -> Iterator[Ready]:
    with contextlib.ExitStack() as stack:
        yield Ready(stack)


def test_those_that_are_left_over_come_in_the_order_in_which_the_system_named_them(
    ready: Ready, monkeypatch: pytest.MonkeyPatch
) -> None:
    named: list[int] = []
    select = selectors.DefaultSelector.select

    def noting(each: selectors.DefaultSelector, timeout: float | None = None) -> object:
        found = select(each, timeout)
        named.extend(key.fd for key, _ in found)
        return found

    monkeypatch.setattr(selectors.DefaultSelector, "select", noting)
    served = [fileno for _ in range(3) for fileno in ready.turn()]
    assert served == named
    assert len(named) == len(ready.filenos)


def test_urgent_ones_take_no_place_of_those_that_are_left_over(ready: Ready) -> None:
    """Else a server with as many listening sockets as there are places would serve nobody."""
    ready.watch.urgent.update(ready.add(is_ready=False) for _ in range(READY_A_TURN))
    for count in (READY_A_TURN, READY_A_TURN, 10):
        served = ready.turn()
        assert ready.watch.urgent < set(served)
        assert len(set(served) - ready.watch.urgent) == count


@pytest.mark.parametrize(("more", "turns"), [(0, [READY_A_TURN]), (1, [1 + READY_A_TURN, 1 + 1])])
def test_while_all_that_are_ready_have_room_in_a_turn_urgent_ones_come_only_with_them(
    more: int, turns: list[int]
) -> None:
    with contextlib.ExitStack() as stack:
        ready = Ready(stack, READY_A_TURN + more)
        ready.watch.urgent.add(ready.add(is_ready=False))
        assert [len(ready.turn()) for _ in turns] == turns


def test_those_that_are_left_over_come_in_their_order_beside_urgent_ones(ready: Ready) -> None:
    named = [key.fd for key, _ in selectors.DefaultSelector.select(ready.selector, 0)]
    ready.watch.urgent.update(named[-2:])
    turns = [ready.turn() for _ in range(3)]
    assert [len(turn) for turn in turns] == [2 + READY_A_TURN, 2 + READY_A_TURN, 2 + 8]
    assert [fileno for turn in turns for fileno in turn[2:]] == named[:-2]


def test_an_urgent_one_that_was_left_over_comes_once_in_a_turn(ready: Ready) -> None:
    served = set(ready.turn())
    ready.watch.urgent.add(next(fileno for fileno in ready.filenos if fileno not in served))
    for _ in range(2):
        served_now = ready.turn()
        assert ready.watch.urgent < set(served_now)
        assert len(served_now) == len(set(served_now))


def test_a_second_look_in_the_same_turn_does_not_ask_the_system_again(
    ready: Ready, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ready.selector.has_ready()
    monkeypatch.setattr(selectors.DefaultSelector, "select", None)  # it would fail
    assert ready.selector.has_ready()
    assert len(ready.turn()) == READY_A_TURN
