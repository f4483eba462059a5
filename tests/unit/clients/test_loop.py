"""A loop in a thread of its own, called from plain code."""

import asyncio
import threading

import pytest

from kafka_py.clients.errors import ClientTimeout, IllegalState
from kafka_py.clients.loop import LoopThread, wait_until_set


async def thread_name() -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


async def failing() -> None:
    raise LookupError("mine")


def test_a_coroutine_runs_on_the_loops_thread_and_its_result_comes_back() -> None:
    thread = LoopThread("the-loop")
    assert thread.run(thread_name()) == "the-loop"
    with pytest.raises(LookupError, match="mine"):
        thread.run(failing())
    thread.stop()


def test_a_wait_that_takes_too_long_is_given_up_and_cancelled() -> None:
    thread = LoopThread("x")
    cancelled = threading.Event()

    async def sleeper() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with pytest.raises(ClientTimeout):
        thread.run(sleeper(), timeout_s=0.01)
    assert cancelled.wait(5)
    thread.stop()


def test_waiting_on_the_loops_own_thread_is_refused() -> None:
    thread = LoopThread("x")

    async def inside() -> None:
        thread.run(thread_name())

    with pytest.raises(IllegalState, match="callbacks"):
        thread.run(inside())
    thread.stop()


def test_a_stopped_loop_takes_nothing_more_and_has_cancelled_what_ran() -> None:
    thread = LoopThread("x")
    ended = threading.Event()

    async def forever() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    started = threading.Event()

    def begin() -> None:
        task = thread.loop.create_task(forever())
        task.add_done_callback(lambda _: None)
        thread.loop.call_soon(started.set)

    thread.post(begin)
    assert started.wait(5)
    thread.stop()
    assert ended.is_set()
    with pytest.raises(IllegalState, match="closed"):
        thread.run(thread_name())
    thread.post(print)
    thread.stop()


def test_waiting_for_an_event_ends_with_it_or_with_its_time() -> None:
    async def scenario() -> tuple[bool, bool]:
        event = asyncio.Event()
        late = await wait_until_set(event, 1)
        event.set()
        return late, await wait_until_set(event, 0)

    assert asyncio.run(scenario()) == (False, True)
