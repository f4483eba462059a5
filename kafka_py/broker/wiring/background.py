"""Blocking work in threads, counted, because shutdown has to wait for it.

Source: docs/architecture.md, "Concurrency".
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, TypeVar

from kafka_py.log.disk.background import ThreadBackground, report_failure

T = TypeVar("T")


class ResizablePool(Executor):
    """A thread pool of variable size: running work ends in its old thread, new work uses the new threads."""

    def __init__(self, threads: int, name: str) -> None:
        self._name = name
        self._threads = max(threads, 1)
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix=name)
        self._previous: list[ThreadPoolExecutor] = []

    @property
    def threads(self) -> int:
        """Maximum number of threads."""
        return self._threads

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        return self._pool.submit(fn, *args, **kwargs)

    def resize(self, threads: int) -> None:
        """Sets the number of threads, at least one."""
        threads = max(threads, 1)
        if threads == self._threads:
            return
        self._threads, previous = threads, self._pool
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=self._name)
        previous.shutdown(wait=False)  # its idle threads end; queued work is still done
        self._previous.append(previous)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        for pool in (*self._previous, self._pool):
            pool.shutdown(wait=wait, cancel_futures=cancel_futures)


class CountedBackground:
    """Runs jobs in a pool and reports back on the loop; counts the unfinished ones."""

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
        """Returns when every job has reported, including jobs started by other jobs."""
        await self._idle.wait()
