"""Parked operations complete exactly once."""

import pytest

from kafka_py.base.purgatory import DelayedOperation, Purgatory
from kafka_py.base.timers import Timers


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def wall_ms(self) -> int:
        return int(self.now)

    def monotonic_ms(self) -> float:
        return self.now

    def monotonic_s(self) -> float:
        return self.monotonic_ms() / 1000


class Handle:
    def cancel(self) -> None:
        pass


class Operation(DelayedOperation):
    def __init__(self, ready: bool = False) -> None:
        super().__init__()
        self.ready = ready
        self.events: list[str] = []

    def try_complete(self) -> bool:
        return self.complete() if self.ready else False

    def on_complete(self) -> None:
        self.events.append("complete")

    def on_expire(self) -> None:
        self.events.append("expire")


class Failing(Operation):
    def try_complete(self) -> bool:
        if self.ready:
            raise RuntimeError("no")
        return False


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def timers(clock: Clock) -> Timers:
    return Timers(clock, lambda _delay, _callback: Handle())


@pytest.fixture
def purgatory(timers: Timers) -> Purgatory[str]:
    return Purgatory("Fetch", timers)


def test_what_is_ready_is_never_parked(purgatory: Purgatory[str]) -> None:
    operation = Operation(ready=True)
    assert purgatory.try_complete_else_watch(operation, ["a"], 100)
    assert operation.events == ["complete"]
    assert (purgatory.watched, purgatory.delayed) == (0, 0)


def test_parked_until_its_key_has_news(purgatory: Purgatory[str]) -> None:
    operation = Operation()
    assert not purgatory.try_complete_else_watch(operation, ["a", "b", "a"], 100)
    assert (purgatory.watched, purgatory.delayed) == (2, 1)
    assert purgatory.check_and_complete("a") == 0
    operation.ready = True
    assert purgatory.check_and_complete("c") == 0
    assert purgatory.check_and_complete("b") == 1
    assert operation.events == ["complete"]
    assert (purgatory.watched, purgatory.delayed) == (0, 0)
    assert purgatory.watched_keys() == []
    assert purgatory.check_and_complete("a") == 0


def test_expires_once_and_completes_first(purgatory: Purgatory[str], timers: Timers, clock: Clock) -> None:
    operation = Operation()
    purgatory.try_complete_else_watch(operation, ["a"], 100)
    clock.now = 99
    timers.advance()
    assert operation.events == []
    clock.now = 100
    timers.advance()
    assert operation.events == ["complete", "expire"]
    operation.ready = True
    assert purgatory.check_and_complete("a") == 0
    assert not operation.complete()
    assert operation.events == ["complete", "expire"]


def test_completing_stops_the_timer(purgatory: Purgatory[str], timers: Timers, clock: Clock) -> None:
    operation = Operation()
    purgatory.try_complete_else_watch(operation, ["a"], 100)
    assert operation.complete()
    assert timers.pending == 0
    clock.now = 200
    timers.advance()
    assert operation.events == ["complete"]


def test_operations_of_one_key_are_tried_oldest_first(purgatory: Purgatory[str]) -> None:
    order: list[int] = []

    class Numbered(Operation):
        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

        def on_complete(self) -> None:
            order.append(self.number)

    operations = [Numbered(number) for number in range(5)]
    for operation in operations:
        purgatory.try_complete_else_watch(operation, ["a"], 100)
        operation.ready = True
    assert purgatory.check_and_complete("a") == 5
    assert order == [0, 1, 2, 3, 4]


def test_completing_one_may_complete_another_of_the_same_key(purgatory: Purgatory[str]) -> None:
    other = Operation()

    class Chain(Operation):
        def on_complete(self) -> None:
            super().on_complete()
            other.complete()

    chain = Chain()
    purgatory.try_complete_else_watch(chain, ["a"], 100)
    purgatory.try_complete_else_watch(other, ["a"], 100)
    chain.ready = other.ready = True
    assert purgatory.check_and_complete("a") == 1
    assert (chain.events, other.events) == (["complete"], ["complete"])
    assert (purgatory.watched, purgatory.delayed) == (0, 0)


def test_a_failing_attempt_completes_its_operation_and_harms_no_other(purgatory: Purgatory[str]) -> None:
    failing, good = Failing(), Operation()
    purgatory.try_complete_else_watch(failing, ["a"], 100)
    purgatory.try_complete_else_watch(good, ["a"], 100)
    failing.ready = good.ready = True
    assert purgatory.check_and_complete("a") == 1
    assert failing.events == ["complete"]
    assert good.events == ["complete"]


def test_cancel_for_key_hands_the_operations_back(purgatory: Purgatory[str], timers: Timers) -> None:
    operation = Operation()
    purgatory.try_complete_else_watch(operation, ["a", "b"], 100)
    assert purgatory.cancel_for_key("a") == [operation]
    assert (purgatory.watched, purgatory.delayed, timers.pending) == (0, 0, 0)
    assert not operation.is_completed
    assert purgatory.watched_keys() == []


def test_close_completes_everything_without_expiring(purgatory: Purgatory[str]) -> None:
    operations = [Operation() for _ in range(3)]
    for number, operation in enumerate(operations):
        purgatory.try_complete_else_watch(operation, [str(number), "all"], 100)
    assert purgatory.close() == 3
    assert all(operation.events == ["complete"] for operation in operations)
    assert (purgatory.watched, purgatory.delayed) == (0, 0)
