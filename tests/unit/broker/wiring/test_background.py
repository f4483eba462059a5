"""Threads for blocking work: how many they are, and that the stop waits for what they do."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import pytest

from kafka_py.broker.wiring.background import CountedBackground, ResizablePool


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


def test_a_job_that_was_refused_for_want_of_a_thread_does_not_count_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool still has it in its queue, and a later job's thread meets it there."""

    def refuses(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def scenario() -> None:
        with ThreadPoolExecutor(1) as pool:
            background = CountedBackground(pool, asyncio.get_running_loop())
            done: list[int] = []
            failed: list[Exception] = []
            with monkeypatch.context() as patched:
                patched.setattr(threading.Thread, "start", refuses)
                background.run(lambda: 7, done.append, failed.append)
            for number in range(3):
                background.run(lambda number=number: number, done.append)  # type: ignore[misc]
                async with asyncio.timeout(60):
                    await background.wait_idle()
                assert done == list(range(number + 1)) and len(failed) == 1

    asyncio.run(scenario())


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
        failed: list[Exception] = []
        background.run(lambda: 8, done.append, failed.append)
        assert not failed  # it is reported as all else, in a later turn of the loop
        async with asyncio.timeout(60):
            await background.wait_idle()
        assert done == [7]
        assert [type(error) for error in failed] == [RuntimeError]

    asyncio.run(scenario())


def test_a_job_for_which_no_thread_could_be_started_fails_once_though_a_thread_finds_it_later() -> None:
    """ThreadPoolExecutor has queued it by then."""
    class Crowded(Executor):
        queued: list[Callable[[], object]] = []

        def submit(self, fn: Callable[[], object], /, *_args: object, **_named: object) -> Any:
            self.queued.append(fn)
            raise RuntimeError("can't start new thread")

    async def scenario() -> None:
        background = CountedBackground(Crowded(), asyncio.get_running_loop())
        seen: list[object] = []
        background.run(lambda: 8, seen.append, seen.append)
        Crowded.queued.pop()()
        async with asyncio.timeout(60):
            await background.wait_idle()
            await asyncio.sleep(0)
        assert [str(one) for one in seen] == ["can't start new thread"]
        background.run(lambda: 9, seen.append, seen.append)
        async with asyncio.timeout(60):
            await background.wait_idle()  # the count is right: one job, one end
        assert len(seen) == 2

    asyncio.run(scenario())
