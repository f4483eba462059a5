"""Lets blocking code use a client on a loop thread, and runs callbacks in the thread that calls.

While a call waits for its coroutine, the loop may let the waiting thread run a function of the application. Such a
function may make calls itself, which wait in the same way. Knows nothing of Kafka.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from kafka_py.clients.errors import IllegalState
from kafka_py.clients.loop import LoopThread, closed_meanwhile, note_failure
from kafka_py.clients.waiting import LOOK_S

T = TypeVar("T")

Message = tuple[Callable[..., Any] | None, Any, Any]
"""(function, arguments, future of its result), or (None, the task that is done, None)."""


class CallingThread:
    """Runs coroutines of one loop thread for one calling thread at a time."""

    def __init__(self, thread: LoopThread) -> None:
        self._thread = thread
        self._waiting: list[queue.SimpleQueue[Message]] = []
        """One queue per call in progress; a nested call comes after the call that contains it."""
        self._interrupted: set[asyncio.Task[Any]] = set()
        """Tasks of interrupted calls that have not ended yet; the next call begins after them."""

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result. On an interrupt the coroutine is cancelled; the next call waits for its end.

        Raises IllegalState on the loop's own thread, and once the loop is closed.
        """
        loop = self._thread.loop
        if self._thread.is_current or loop.is_closed():
            coroutine.close()
            raise IllegalState("the client is closed" if loop.is_closed() else "a call from the client's own thread")
        messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        tasks: list[asyncio.Task[T]] = []

        def begin() -> None:
            self._waiting.append(messages)  # not before: an interrupted call that is not cancelled yet would find it
            task = loop.create_task(self._after_interrupted(coroutine) if self._interrupted else coroutine)
            tasks.append(task)
            task.add_done_callback(lambda done: messages.put((None, done, None)))

        def cancel() -> None:
            self._leave(messages)
            if not tasks:
                coroutine.close()
            for task in tasks:
                task.cancel()
                self._interrupted.add(task)
                task.add_done_callback(self._forget)

        try:
            loop.call_soon_threadsafe(begin)
            done: asyncio.Task[T] = self._serve(messages)
            self._leave(messages)
        except BaseException:
            self._thread.post(cancel)
            raise
        if done.cancelled():
            raise closed_meanwhile()
        return done.result()

    def _leave(self, messages: queue.SimpleQueue[Message]) -> None:
        """The thread waits there no longer. An interrupted call may leave on both threads, or never have come."""
        with contextlib.suppress(ValueError):
            self._waiting.remove(messages)

    async def _after_interrupted(self, coroutine: Coroutine[Any, Any, T]) -> T:
        try:
            if self._interrupted:  # they may have ended since this coroutine was created
                await asyncio.wait(self._interrupted)
        except BaseException:
            coroutine.close()
            raise
        return await coroutine

    def _forget(self, task: asyncio.Task[Any]) -> None:
        """Removes an interrupted call that has ended, and logs what it raised."""
        self._interrupted.discard(task)
        note_failure(task)

    def _serve(self, messages: queue.SimpleQueue[Message]) -> Any:
        """Runs the functions that the loop sends until the task is done; returns the task's result.

        Raises IllegalState when the loop has ended before.
        """
        while True:
            try:
                function, arguments, future = messages.get(timeout=LOOK_S)  # waiting.py says why no longer
            except queue.Empty:
                if self._thread.has_ended(messages):
                    raise closed_meanwhile() from None
                continue
            if function is None:
                return arguments
            if future.cancelled():
                continue
            try:
                result = function(*arguments)
            except StopIteration as error:  # a future refuses this exception
                self._thread.post(_fail, future, RuntimeError(f"{function!r} raised StopIteration({error.value!r})"))
            except Exception as error:
                self._thread.post(_fail, future, error)
            else:
                self._thread.post(_succeed, future, result)

    async def call_user(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Lets the thread of the innermost call run a function, and waits for its result.

        Raises CancelledError when no call is waiting any longer, because it was interrupted.
        """
        if not self._waiting:
            raise asyncio.CancelledError
        future = asyncio.get_running_loop().create_future()
        self._waiting[-1].put((function, arguments, future))
        return await future


def _succeed(future: asyncio.Future[Any], result: Any) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
