"""Runs blocking work of the log off the event loop.

A job is captured on the loop, runs where it may block, and reports back on the loop; tests and the stop sequence run
jobs inline. Knows nothing of logs.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Protocol, TypeVar

_log = logging.getLogger(__name__)

T = TypeVar("T")


class Background(Protocol):
    """Runs blocking work, usually in another thread."""

    def run(
        self, work: Callable[[], T], done: Callable[[T], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
    ) -> None:  # fmt: skip
        """Runs `work` in a thread that may block, then `done` with its result, or `failed`, on the loop.

        Never raises: if no thread accepts the work, it never runs, and that error goes to `failed` too.
        """
        ...


class InlineBackground:
    """Runs everything at once, in the caller's thread: for tests, start-up and shutdown."""

    __slots__ = ()

    def run(
        self, work: Callable[[], T], done: Callable[[T], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
    ) -> None:  # fmt: skip
        try:
            result = work()
        except Exception as error:
            report_failure(error, failed)
            return
        if done is not None:
            done(result)


class ThreadBackground:
    """A pool of threads that reports back through the loop's `call_soon_threadsafe`."""

    __slots__ = ("_call_soon_threadsafe", "_executor")

    def __init__(self, executor: Executor, call_soon_threadsafe: Callable[..., object]) -> None:
        self._executor = executor
        self._call_soon_threadsafe = call_soon_threadsafe

    def run(
        self, work: Callable[[], T], done: Callable[[T], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
    ) -> None:  # fmt: skip
        claim = threading.Lock()  # held by the thread that runs the work, or after a rejection

        def in_thread() -> None:
            if not claim.acquire(blocking=False):  # the pool had queued the work although it rejected it
                return
            try:
                result = work()
            except Exception as error:
                self._report(report_failure, error, failed)
                return
            if done is not None:
                self._report(done, result)

        try:
            self._executor.submit(in_thread)
        except RuntimeError as error:  # shut down, or no thread can be started; a busy one may still run it
            if claim.acquire(blocking=False):
                self._report(report_failure, error, failed)

    def _report(self, function: Callable[..., object], *arguments: object) -> None:
        try:
            self._call_soon_threadsafe(function, *arguments)
        except RuntimeError:  # the loop is closed, so no callback can run
            _log.debug("background work ended after the loop")


def report_failure(error: Exception, failed: Callable[[Exception], None] | None) -> None:
    """Passes an error to `failed`, or logs it when there is none."""
    if failed is not None:
        failed(error)
    else:
        _log.error("background work failed", exc_info=error)
