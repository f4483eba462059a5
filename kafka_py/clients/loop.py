"""An event loop in a separate thread, through which blocking code uses the asyncio clients.

The blocking clients own one each; every call of theirs is a coroutine run here. Knows nothing of Kafka.

Not obvious: a thread that waits for the loop is woken every half second (waiting.py): for signals, and to see whether
the loop has ended, which would leave it without a result.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from kafka_py.clients.errors import ClientTimeout, IllegalState
from kafka_py.clients.waiting import waits

_log = logging.getLogger(__name__)

T = TypeVar("T")

JOIN_TIMEOUT_S = 5.0


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A loop for a client: uvloop's where the `fast` extra is installed, else asyncio's."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


async def wait_until_set(event: asyncio.Event, timeout_ms: float) -> bool:
    """Whether the event was set in time. Unlike asyncio.wait_for of Python 3.11 it never loses a cancellation."""
    try:
        async with asyncio.timeout(max(0.0, timeout_ms) / 1000):
            await event.wait()
    except TimeoutError:
        return False
    return True


def closed_meanwhile() -> IllegalState:
    """For a call that the end of the loop leaves without a result."""
    return IllegalState("the client was closed during the call")


class LoopCall:
    """A coroutine that another thread has a loop run. `begin` and `cancel` are called on the loop, in this order.

    An interrupt may come before `begin` is posted, after it, or when the coroutine is done: `cancel` is for all three.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, Any], on_done: Callable[[asyncio.Task[Any]], object]) -> None:
        self._coroutine = coroutine
        self._on_done = on_done
        self._task: asyncio.Task[Any] | None = None

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._coroutine)
        self._task.add_done_callback(self._on_done)

    def cancel(self) -> None:
        """Nobody waits for the result."""
        if self._task is None:
            self._coroutine.close()
        else:
            self._task.cancel()
            self._task.add_done_callback(note_failure)


def note_failure(task: asyncio.Task[Any]) -> None:
    """Logs what a task raised whose caller waits no longer; asyncio would report an error that was not retrieved."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.debug("An interrupted call failed", exc_info=error)


class LoopThread:
    """A running loop; the thread is a daemon, so a client that was never closed does not keep a program alive."""

    def __init__(self, name: str) -> None:
        self.loop = new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        pending = asyncio.all_tasks(self.loop)
        for task in pending:
            task.cancel()
        if pending:
            self.loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        self.loop.close()

    @property
    def is_current(self) -> bool:
        """Whether the caller runs on this loop's thread (a callback), where waiting would be a deadlock."""
        return threading.current_thread() is self._thread

    def run(self, coroutine: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:
        """The coroutine's result, computed on the loop while the calling thread waits.

        Raises ClientTimeout after `timeout_s`; the coroutine is cancelled then, as it is on an interrupt.
        """
        if self.is_current:
            coroutine.close()
            raise IllegalState("a blocking client cannot be called from its own callbacks; hand the work to a thread")
        if self.loop.is_closed():
            coroutine.close()
            raise IllegalState("the client is closed")
        answers: queue.SimpleQueue[asyncio.Task[T]] = queue.SimpleQueue()
        call = LoopCall(coroutine, answers.put)
        try:
            self.loop.call_soon_threadsafe(call.begin)
            done = self._receive(answers, timeout_s)
        except BaseException:
            self.post(call.cancel)
            raise
        if done is None:
            self.post(call.cancel)
            raise ClientTimeout(f"no result after {timeout_s} s")
        if done.cancelled():
            raise closed_meanwhile()
        return done.result()

    def _receive(self, answers: queue.SimpleQueue[T], timeout_s: float | None) -> T | None:
        """What the loop puts there; None after `timeout_s`. Raises IllegalState when the loop has ended without it."""
        for wait_s in waits(timeout_s):
            try:
                return answers.get(timeout=wait_s)
            except queue.Empty:
                if self.has_ended(answers):
                    raise closed_meanwhile() from None
        return None

    def has_ended(self, answers: queue.SimpleQueue[Any]) -> bool:
        """Whether nothing will come from the loop: its thread has ended, and what it put there was taken."""
        return not self._thread.is_alive() and answers.empty()

    def post(self, callback: Callable[..., object], *arguments: object) -> None:
        """Schedules `callback` on the loop; does nothing once the loop is closed."""
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(callback, *arguments)

    def stop(self) -> None:
        """Ends the loop and waits for its thread."""
        if not self.loop.is_closed():
            self.post(self.loop.stop)
            self._thread.join(JOIN_TIMEOUT_S)
