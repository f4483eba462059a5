"""Interrupts that a test draws reach the code that they are meant for."""

import gc
import itertools
from collections.abc import Iterator

import pytest

from kafka_py.testing.interrupts import InterruptAt


class Garbage:
    """Collected with its cycle, and then runs Python code in this file."""

    def __init__(self) -> None:
        self.cycle = self

    def __del__(self) -> None:
        self.cycle.note()

    def note(self) -> None:
        pass


def work() -> None:
    for number in range(20):
        Garbage()
        kept = list(map(list, [(number,)] * 100))
    assert kept


@pytest.fixture
def eager_collector() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(50, 1, 1)
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("eager_collector")
def test_no_interrupt_is_lost_in_a_finalizer_of_garbage() -> None:
    for moment in itertools.count(1):
        interrupt = InterruptAt(moment, (__file__,))
        with interrupt:
            try:
                work()
            except KeyboardInterrupt:
                assert interrupt.came
                continue
        assert not interrupt.came
        break
    assert moment > 1
    assert gc.isenabled()
