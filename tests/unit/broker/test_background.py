"""Threads for blocking work: how many they are, and that the stop waits for what they do."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from kafka_py.broker.background import CountedBackground, ResizablePool


def test_a_pool_that_is_resized_ends_what_it_had_begun() -> None:
    pool = ResizablePool(0, "test")
    may_end = threading.Event()
    began = pool.submit(lambda: (may_end.wait(60), threading.current_thread().name)[1])
    waiting = pool.submit(lambda: "later")
    pool.resize(2)
    together = threading.Barrier(2)
    both = [pool.submit(together.wait, 60) for _ in range(2)]
    assert sorted(one.result(60) for one in both) == [0, 1], "at once"
    assert not began.done() and not waiting.done(), "the former pool had one thread"
    may_end.set()
    assert began.result(60).startswith("test") and waiting.result(60) == "later"
    pool.resize(2)
    pool.shutdown()
    with pytest.raises(RuntimeError):
        pool.submit(int)


def test_the_stop_waits_for_what_a_former_pool_still_does() -> None:
    pool = ResizablePool(2, "test")
    may_end = threading.Event()
    began = pool.submit(may_end.wait, 60)
    pool.resize(1)
    stopped = threading.Thread(target=pool.shutdown)
    stopped.start()
    assert not began.done() and stopped.is_alive()
    may_end.set()
    stopped.join(60)
    assert began.done() and not stopped.is_alive()


def test_a_job_that_no_thread_takes_is_not_waited_for() -> None:
    async def scenario() -> None:
        pool = ThreadPoolExecutor(1)
        background = CountedBackground(pool, asyncio.get_running_loop())
        done: list[int] = []
        background.run(lambda: 7, done.append)
        async with asyncio.timeout(60):
            await background.wait_idle()
        assert done == [7]
        pool.shutdown()
        with pytest.raises(RuntimeError):
            background.run(lambda: 8, done.append)
        async with asyncio.timeout(60):
            await background.wait_idle()
        assert done == [7]

    asyncio.run(scenario())
