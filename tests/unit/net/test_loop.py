"""The loop's own figures."""

import asyncio
import time

import pytest

from kafka_py.base.clock import SystemClock
from kafka_py.net.loop import LoopWatch, new_event_loop


def test_the_longest_turn_is_kept() -> None:
    now = 1000.0
    watch = LoopWatch(now)
    for busy in (0.001, 0.007, 0.002):
        watch.turn(busy, 0.01, now)
    assert watch.longest_stall_ms == pytest.approx(7)


def test_an_old_stall_is_forgotten_after_two_windows() -> None:
    now = 1000.0
    watch = LoopWatch(now)
    watch.turn(0.007, 0.0, now)
    watch.turn(0.001, 0.0, now + 61)
    assert watch.longest_stall_ms == pytest.approx(7)
    watch.turn(0.001, 0.0, now + 122)
    assert watch.longest_stall_ms == pytest.approx(1)


def test_the_idle_share_is_that_of_the_last_five_seconds_for_all_who_look() -> None:
    watch = LoopWatch(0.0)
    assert watch.idle_share == 1.0
    watch.turn(0.25, 0.75, 100.0)
    assert watch.idle_share == pytest.approx(0.75)
    watch.turn(0.25, 0.75, 105.0)
    watch.turn(1.0, 0.0, 106.0)
    assert watch.idle_share == watch.idle_share == pytest.approx(0.75)
    watch.turn(1.0, 0.0, 110.0)
    assert watch.idle_share == pytest.approx(0.0)
    assert watch.idle_ns == 1_500_000_000


def test_under_uvloop_the_thread_s_processor_time_is_what_is_busy() -> None:
    pytest.importorskip("uvloop")
    loop, watch = new_event_loop(SystemClock(), use_uvloop=True)

    async def work() -> None:
        ends = time.monotonic() + 0.5
        while time.monotonic() < ends:  # noqa: ASYNC110
            await asyncio.sleep(0)

    try:
        loop.run_until_complete(asyncio.sleep(0.12))
        assert watch.idle_share > 0.5
        before_ns, began_s, used_s = watch.idle_ns, time.monotonic(), time.thread_time()
        loop.run_until_complete(work())
        not_used_s = (time.monotonic() - began_s) - (time.thread_time() - used_s)
        assert 0 <= (watch.idle_ns - before_ns) / 1e9 <= not_used_s + 0.2  # it is looked at now and then only
    finally:
        loop.close()


def test_a_turn_of_a_real_loop_is_measured() -> None:
    loop, watch = new_event_loop(SystemClock())

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
