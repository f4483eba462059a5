"""Coroutines on a loop thread, callbacks in the thread that calls."""

import asyncio
import queue
import threading
from collections.abc import Iterator
from itertools import count

import pytest

from kafka_py.clients.consumer.calling_thread import CallingThread
from kafka_py.clients.errors import IllegalState
from kafka_py.clients.loop import LoopThread
from kafka_py.testing.interrupts import InterruptAt, interrupts, signal_behind, wait_for_main_thread
from kafka_py.testing.processes import wait_until


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    made = LoopThread("test")
    yield made
    made.stop()


def test_callbacks_run_in_the_calling_thread_and_may_call_again(thread: LoopThread) -> None:
    caller = CallingThread(thread)
    threads: list[int] = []

    async def inner() -> str:
        threads.append(threading.get_ident())
        return await caller.call_user(note, "innermost")

    def note(result: str) -> str:
        threads.append(threading.get_ident())
        return result

    def callback() -> str:
        threads.append(threading.get_ident())
        return caller.run(inner())

    async def outer() -> str:
        return await caller.call_user(callback)

    assert caller.run(outer()) == "innermost"
    me = threading.get_ident()
    assert threads[0] == threads[2] == me
    assert threads[1] != me


@pytest.mark.parametrize("error", [ValueError("no"), StopIteration(3)])
def test_what_a_callback_raises_reaches_the_coroutine_and_the_caller(thread: LoopThread, error: Exception) -> None:
    caller = CallingThread(thread)

    def fails() -> None:
        raise error

    async def calls() -> None:
        await caller.call_user(fails)

    with pytest.raises(ValueError if isinstance(error, ValueError) else RuntimeError):
        caller.run(calls())


def test_an_interrupt_cancels_the_coroutine(thread: LoopThread) -> None:
    caller = CallingThread(thread)
    cancelled = threading.Event()

    def interrupt() -> None:
        raise KeyboardInterrupt

    async def calls() -> None:
        try:
            await caller.call_user(interrupt)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with pytest.raises(KeyboardInterrupt):
        caller.run(calls())
    assert cancelled.wait(30)


def test_a_loop_that_has_ended_is_said_to_be(thread: LoopThread) -> None:
    async def nothing() -> None: ...

    thread.stop()
    with pytest.raises(IllegalState, match="closed"):
        CallingThread(thread).run(nothing())


def test_the_loop_s_own_thread_cannot_wait_for_itself(thread: LoopThread) -> None:
    caller = CallingThread(thread)

    async def nothing() -> None: ...

    async def waits() -> None:
        caller.run(nothing())

    with pytest.raises(IllegalState, match="own thread"):
        caller.run(waits())


def test_a_loop_that_ends_during_a_call_ends_the_call(thread: LoopThread) -> None:
    caller = CallingThread(thread)

    async def calls() -> None:
        await caller.call_user(thread.stop)
        await asyncio.Event().wait()

    with pytest.raises(IllegalState, match="closed during the call"):
        caller.run(calls())


def test_a_call_after_an_interrupted_one_that_ends_meanwhile(thread: LoopThread) -> None:
    """The interrupted task may be the last of its kind when the next call is begun, and gone when that runs."""
    caller = CallingThread(thread)

    async def scenario() -> int:
        ended = asyncio.ensure_future(asyncio.sleep(0))
        caller._interrupted.add(ended)
        ended.add_done_callback(caller._forget)
        late = caller._after_interrupted(asyncio.sleep(0, 7))
        await ended
        await asyncio.sleep(0)
        return await late

    assert thread.run(scenario(), 10) == 7


def test_the_next_call_begins_when_an_interrupted_one_has_ended(thread: LoopThread) -> None:
    """Else two calls would change one consumer at a time."""
    caller = CallingThread(thread)
    notes: list[str] = []
    may_end = asyncio.Event()

    def interrupt() -> None:
        raise KeyboardInterrupt

    async def interrupted() -> None:
        try:
            await caller.call_user(interrupt)
        finally:
            await may_end.wait()
            notes.append("interrupted call ended")

    async def following() -> None:
        notes.append("next call began")

    with pytest.raises(KeyboardInterrupt):
        caller.run(interrupted())
    calling = threading.Thread(target=lambda: caller.run(following()))
    calling.start()

    async def is_begun() -> bool:
        tasks = asyncio.all_tasks()
        return any("_after_interrupted" in repr(task) for task in tasks) or bool(notes)

    wait_until(lambda: thread.run(is_begun(), 10), 30, "the next call")
    assert notes == []
    thread.post(may_end.set)
    calling.join(30)
    assert notes == ["interrupted call ended", "next call began"]


def test_a_signal_that_interrupts_no_wait_is_seen_all_the_same(thread: LoopThread) -> None:
    """It arrived just before the wait began, or another thread received it."""
    caller = CallingThread(thread)
    ended: list[str] = []
    cancelled = threading.Event()

    async def signals() -> None:
        signal_behind(CallingThread._serve.__code__)
        try:
            await asyncio.sleep(30)
            ended.append("the wait was over")
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with interrupts() as interrupt:
        interrupt.armed = True
        with pytest.raises(KeyboardInterrupt):
            caller.run(signals())
    assert cancelled.wait(30) and not ended


def test_an_interrupted_call_has_nothing_called_by_the_next_one(thread: LoopThread) -> None:
    """Which may wait already when the interrupted one is not cancelled yet, and asks for a function of its own."""
    caller = CallingThread(thread)
    notes: list[str] = []
    is_next = threading.Event()

    async def interrupted() -> None:
        signal_behind(CallingThread._serve.__code__)
        assert is_next.wait(30)
        wait_for_main_thread(CallingThread._serve.__code__)
        await caller.call_user(notes.append, "called")

    with interrupts() as interrupt:
        interrupt.armed = True
        with pytest.raises(KeyboardInterrupt):
            caller.run(interrupted())
    is_next.set()
    assert caller.run(asyncio.sleep(0, 7)) == 7
    assert notes == []


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")  # an interrupt before the call had begun
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_wherever_a_call_is_interrupted_the_next_one_is_done(thread: LoopThread) -> None:
    caller = CallingThread(thread)
    files = ("consumer/calling_thread.py", "clients/loop.py", "/threading.py", "/asyncio/base_events.py")

    async def calls() -> str:
        return await caller.call_user(str, 7)

    for moment in count(1):
        interrupt = InterruptAt(moment, files)
        try:
            with interrupt:
                caller.run(calls())
        except KeyboardInterrupt:
            pass
        late = threading.Timer(30, thread.stop)
        late.daemon = True
        late.start()
        assert caller.run(calls()) == "7"
        late.cancel()
        assert not caller._waiting
        if not interrupt.came:
            break
    assert moment > 5


def test_a_call_that_the_end_of_the_loop_leaves_without_a_result_ends_with_it(thread: LoopThread) -> None:
    thread.stop()
    with pytest.raises(IllegalState, match="during the call"):
        CallingThread(thread)._serve(queue.SimpleQueue())
