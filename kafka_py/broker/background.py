"""Blocking work in threads, of which the broker knows when none is left: the stop has to wait for it.

Source: design (what blocks goes to a small thread pool).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

from kafka_py.log.background import ThreadBackground, report_failure

T = TypeVar("T")


class CountedBackground:
    """Runs jobs in a pool and reports back on the loop; counts those that have not reported yet."""

    def __init__(self, executor: Executor, loop: asyncio.AbstractEventLoop) -> None:
        self._threads = ThreadBackground(executor, loop.call_soon_threadsafe)
        self._pending = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def run(
        self, work: Callable[[], T], done: Callable[[T], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
    ) -> None:  # fmt: skip
        """Runs `work` in a thread, then `done` with its result, or `failed`, on the loop."""
        self._pending += 1
        self._idle.clear()

        def on_done(result: T) -> None:
            try:
                if done is not None:
                    done(result)
            finally:
                self._finish()

        def on_failed(error: Exception) -> None:
            try:
                report_failure(error, failed)
            finally:
                self._finish()

        self._threads.run(work, on_done, on_failed)

    def _finish(self) -> None:
        self._pending -= 1
        if not self._pending:
            self._idle.set()

    async def wait_idle(self) -> None:
        """Returns when every job, also those that jobs set off, has reported."""
        await self._idle.wait()
