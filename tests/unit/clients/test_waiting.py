"""Waits that signals end, and a gate for threads."""

import itertools
import threading

import pytest

from kafka_py.clients.waiting import LOOK_S, Gate, waits
from kafka_py.testing.interrupts import InterruptAt, interrupts, signal_behind


def test_a_wait_is_cut_in_pieces_that_are_its_time() -> None:
    assert list(waits(0)) == [0]
    assert list(waits(-1)) == [0]
    assert list(waits(LOOK_S)) == [LOOK_S]
    assert list(waits(2 * LOOK_S + 0.25)) == [LOOK_S, LOOK_S, 0.25]
    assert list(itertools.islice(waits(None), 3)) == [LOOK_S] * 3


def test_a_gate_lets_all_through_once_it_is_open() -> None:
    gate = Gate()
    assert not gate.wait(0)
    assert not gate.wait(0.01)
    passed: list[bool] = []
    threads = [threading.Thread(target=lambda: passed.append(gate.wait(None)), daemon=True) for _ in range(5)]
    for thread in threads:
        thread.start()
    gate.open()
    gate.open()
    for thread in threads:
        thread.join(30)
    assert passed == [True] * 5
    assert gate.wait(0) and gate.wait(None)


def test_a_signal_that_interrupts_no_wait_is_seen_all_the_same() -> None:
    """It arrived just before the wait began, or another thread received it."""
    gate = Gate()
    threading.Thread(target=signal_behind, args=(Gate.wait.__code__,), daemon=True).start()
    late = threading.Timer(30, gate.open)
    late.daemon = True
    late.start()
    with interrupts() as interrupt:
        interrupt.armed = True
        with pytest.raises(KeyboardInterrupt):
            gate.wait(None)
    assert not gate.wait(0)
    late.cancel()


def test_a_wait_that_is_interrupted_keeps_no_other_from_its_end() -> None:
    """Also one that is interrupted when it has taken the lock that lets the next one through."""
    for moment in itertools.count(1):
        gate = Gate()
        gate.open()
        gate._is_open = False  # as a wait sees it that began before
        interrupt = InterruptAt(moment, ("clients/waiting.py",))
        try:
            with interrupt:
                gate.wait(0.01)
        except KeyboardInterrupt:
            pass
        gate._is_open = True
        assert gate.wait(None)
        if not interrupt.came:
            break
    assert moment > 2
