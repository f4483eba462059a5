"""An event loop in a thread of its own: what lets plain blocking code use the asyncio clients.

The blocking clients own one each; every call of theirs is a coroutine run here. Knows nothing of Kafka.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from kafka_py.clients.errors import ClientTimeout, IllegalState

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
    """Whether the event was set in time. Unlike asyncio.wait_for of 3.11 this never swallows a cancellation."""
    try:
        async with asyncio.timeout(max(0.0, timeout_ms) / 1000):
            await event.wait()
    except TimeoutError:
        return False
    return True


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
        """Whether the caller runs on this loop's thread (a callback), where waiting would never end."""
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
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            return future.result(timeout_s)
        except concurrent.futures.TimeoutError:
            if future.done():
                raise
            future.cancel()
            raise ClientTimeout(f"no result after {timeout_s} s") from None
        except BaseException:
            future.cancel()
            raise

    def post(self, callback: Callable[..., object], *arguments: object) -> None:
        """Has the loop call `callback` soon; does nothing once the loop is closed."""
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(callback, *arguments)

    def stop(self) -> None:
        """Ends the loop and waits for its thread."""
        if not self.loop.is_closed():
            self.post(self.loop.stop)
            self._thread.join(JOIN_TIMEOUT_S)
