"""A loop in a thread of its own, called from plain code."""

import asyncio
import queue
import threading
from itertools import count

import pytest

from kafka_py.clients.errors import ClientTimeout, IllegalState
from kafka_py.clients.loop import LoopThread, wait_until_set
from kafka_py.testing.interrupts import InterruptAt, interrupts, signal_behind


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


def test_a_signal_that_interrupts_no_wait_is_seen_all_the_same() -> None:
    """It arrived just before the wait began, or another thread received it."""
    thread = LoopThread("x")
    ended: list[str] = []
    cancelled = threading.Event()

    async def signals() -> None:
        signal_behind(LoopThread._receive.__code__)
        try:
            await asyncio.sleep(30)
            ended.append("the wait was over")
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with interrupts() as interrupt:
        interrupt.armed = True
        with pytest.raises(KeyboardInterrupt):
            thread.run(signals())
    assert cancelled.wait(30) and not ended
    thread.stop()


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")  # an interrupt before the call had begun
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupted_call_leaves_the_loop_able_to_work() -> None:
    """Wherever it is interrupted, in the code of Python's library as well: no lock is left that the loop waits for."""
    thread = LoopThread("x")
    files = ("clients/loop.py", "clients/waiting.py", "/threading.py", "/concurrent/futures/_base.py",
             "/asyncio/tasks.py", "/asyncio/base_events.py")  # fmt: skip
    for moment in count(1):
        interrupt = InterruptAt(moment, files)
        try:
            with interrupt:
                thread.run(thread_name(), 60)
        except KeyboardInterrupt:
            pass
        assert thread.run(thread_name(), 30) == "x"
        if not interrupt.came:
            break
    assert moment > 5
    thread.stop()


def test_a_call_that_the_end_of_the_loop_leaves_without_a_result_ends_with_it() -> None:
    thread = LoopThread("x")
    thread.stop()
    with pytest.raises(IllegalState, match="during the call"):
        thread._receive(queue.SimpleQueue(), None)
