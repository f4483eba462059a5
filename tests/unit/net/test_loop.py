"""The loop's own figures."""

import asyncio
import time

import pytest

from kafka_py.net.loop import LoopWatch, new_event_loop


def test_the_longest_turn_is_kept() -> None:
    watch = LoopWatch()
    now = time.monotonic()
    for busy in (0.001, 0.007, 0.002):
        watch.turn(busy, 0.01, now)
    assert watch.longest_stall_ms == pytest.approx(7)


def test_an_old_stall_is_forgotten_after_two_windows() -> None:
    watch = LoopWatch()
    now = time.monotonic()
    watch.turn(0.007, 0.0, now)
    watch.turn(0.001, 0.0, now + 61)
    assert watch.longest_stall_ms == pytest.approx(7)
    watch.turn(0.001, 0.0, now + 122)
    assert watch.longest_stall_ms == pytest.approx(1)


def test_the_idle_share_is_since_the_last_look() -> None:
    watch = LoopWatch()
    assert watch.idle_share == 1.0
    watch.turn(0.25, 0.75, 0.0)
    assert watch.idle_share == pytest.approx(0.75)
    watch.turn(1.0, 0.0, 0.0)
    assert watch.idle_share == pytest.approx(0.0)


def test_a_turn_of_a_real_loop_is_measured() -> None:
    loop, watch = new_event_loop()

    async def hold_the_loop() -> None:
        await asyncio.sleep(0)
        ends = time.monotonic() + 0.02
        while time.monotonic() < ends:
            pass
        await asyncio.sleep(0)

    try:
        loop.run_until_complete(hold_the_loop())
        loop.run_until_complete(asyncio.sleep(0))
    finally:
        loop.close()
    assert watch.longest_stall_ms >= 20
