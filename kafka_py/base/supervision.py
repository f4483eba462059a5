"""Fault isolation: what becomes of an unforeseen exception in work for which no request waits.

One rule for every background activity (fetchers, cleaner, checkpoints, refreshes, timers): the item that raised is
logged with its traceback, counted and set aside; the other items and the activity itself continue. A Supervisor starts
tasks (`spawn`), loops (`loop`) and periodic work (`every`); a Quarantine keeps the items of one activity apart.
Errors with a procedure of their own (a disk that fails, a leader that refuses) are caught by the activity, before this.
Single-threaded: everything here runs on the event loop.
Source: AbstractFetcherThread, LogCleaner (which mark single partitions failed); ShutdownableThread (whose loop this one
outlives).
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Iterator
from functools import partial
from types import TracebackType
from typing import Any, Generic, NamedTuple, TypeVar

from kafka_py.base.clock import Clock

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

Schedule = Callable[[float, Callable[[], None]], object]
"""(delay_ms, callback): calls back once, later; `Timers.schedule` is one."""

Every = Callable[[float, Callable[[], object], str], object]
"""(interval_ms, work, activity): has `work` called again and again, under a supervisor."""

_log = logging.getLogger(__name__)


class Backoff(NamedTuple):
    """How long the next attempt waits: `first_ms`, doubled with each further failure, up to `longest_ms`."""

    first_ms: float = 1_000.0
    longest_ms: float = 60_000.0

    def after(self, attempts: int) -> float:
        """Milliseconds to wait after that many failures in succession, >= 1."""
        return min(self.first_ms * 2.0 ** min(attempts - 1, 30), self.longest_ms)


SOON = Backoff()
"""Unless an activity says otherwise."""
NEVER = Backoff(math.inf, math.inf)
"""The back-off of items that stay marked as failed until they are released."""


class Supervisor:
    """Starts background work and reports what fails in it.

    failures: how often each activity has failed, by its name.
    The tasks it starts are cancelled by `cancel` or `close`, or one by one by who started them.
    """

    def __init__(self, clock: Clock, failures: Counter[str] | None = None) -> None:
        """failures: where they are counted, if not here alone."""
        self.failures: Counter[str] = Counter() if failures is None else failures
        self._clock = clock
        self._tasks: dict[asyncio.Task[Any], None] = {}

    def child(self) -> Supervisor:
        """For one component, which cancels or awaits its own tasks with it; failures are counted together."""
        return Supervisor(self._clock, self.failures)

    def report(self, activity: str, error: BaseException, item: object = None) -> None:
        """Logs a failure with its traceback and counts it.

        activity: the kind of work, one of few names. item: what it was about, for the log.
        """
        self.failures[activity] += 1
        about = activity if item is None else f"{activity}: {item}"
        _log.error("%s failed", about, exc_info=error)

    # ---- one task

    def spawn(
        self,
        work: Coroutine[Any, Any, T],
        activity: str,
        item: object = None,
        on_failure: Callable[[BaseException], object] | None = None,
    ) -> asyncio.Task[T]:
        """Runs `work` in a task, to which a reference is kept until it is done.

        An exception is reported, and then handed to `on_failure`. So is the cancellation of something that it awaited;
        when the task itself is cancelled, nothing is said. Whoever awaits the task gets the exception as well.
        """
        task = asyncio.get_running_loop().create_task(work, name=activity if item is None else f"{activity}: {item}")
        self._tasks[task] = None

        def done(task: asyncio.Task[T]) -> None:
            self._tasks.pop(task, None)
            error = _failure_of(task)
            if error is not None:
                self.report(activity, error, item)
                if on_failure is not None:
                    self.call(activity, partial(on_failure, error))

        task.add_done_callback(done)
        return task

    # ---- loops

    def loop(
        self,
        step: Callable[[], Awaitable[object]],
        activity: str,
        item: object = None,
        *,
        until: Callable[[], bool] = lambda: False,
        on_failure: Callable[[Exception], object] | None = None,
        backoff: Backoff = SOON,
    ) -> asyncio.Task[None]:
        """Runs `step` over and over in a task, which ends when `until` says so before a step, or is cancelled.

        A step that raises is reported, `on_failure` may put things in order, and the next step waits for `backoff`.
        """
        return self.spawn(self._repeat(step, activity, item, until, on_failure, backoff), activity, item)

    async def _repeat(
        self,
        step: Callable[[], Awaitable[object]],
        activity: str,
        item: object,
        until: Callable[[], bool],
        on_failure: Callable[[Exception], object] | None,
        backoff: Backoff,
    ) -> None:
        failures = 0
        while not until():
            try:
                await step()
                failures = 0
                continue
            except asyncio.CancelledError as cancelled:
                if _is_being_cancelled():
                    raise
                error: Exception = AwaitedWasCancelled()
                error.__cause__ = cancelled
            except Exception as raised:
                error = raised
            failures += 1
            self.report(activity, error, item)
            if on_failure is not None:
                self.call(activity, partial(on_failure, error))
            await asyncio.sleep(backoff.after(failures) / 1000.0)

    def every(
        self,
        schedule: Schedule,
        interval_ms: float | Callable[[], float],
        work: Callable[[], object],
        activity: str,
        *,
        delay_ms: float | None = None,
    ) -> Periodic:
        """Calls `work` again and again, `interval_ms` after the last call ended, whether it raised or not.

        interval_ms: a function is asked after each call. delay_ms: before the first call; None for an interval.
        """
        periodic = Periodic(self, schedule, interval_ms, work, activity)
        periodic.start(delay_ms)
        return periodic

    # ---- parts of other work

    def guard(self, activity: str, item: object = None) -> Guard:
        """A context: an Exception within is reported, and the code after the context runs."""
        return Guard(lambda error: self.report(activity, error, item))

    def call(self, activity: str, work: Callable[[], object], item: object = None) -> bool:
        """Calls `work`; False when it raised, which is then reported. For callbacks that must not harm each other."""
        try:  # as `guard`, without its object: the clients come here several times per request
            work()
        except Exception as error:
            self.report(activity, error, item)
            return False
        return True

    def quarantine(self, activity: str, backoff: Backoff = SOON) -> Quarantine[Any]:
        """For an activity over items: see Quarantine. backoff: NEVER leaves failed items aside until released."""
        return Quarantine(self, self._clock, activity, backoff)

    # ---- the end

    def cancel(self) -> None:
        """Cancels every task that runs."""
        for task in list(self._tasks):
            task.cancel()

    async def drain(self) -> None:
        """Returns when every task that runs now has ended, by itself."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def close(self) -> None:
        """Cancels every task that runs, and returns when they have ended."""
        self.cancel()
        await self.drain()


class AwaitedWasCancelled(RuntimeError):
    """Something that a loop awaited was cancelled, though the loop itself was not."""


class Periodic:
    """Work that is called at intervals until `cancel`."""

    def __init__(
        self,
        supervisor: Supervisor,
        schedule: Schedule,
        interval_ms: float | Callable[[], float],
        work: Callable[[], object],
        activity: str,
    ) -> None:
        self._supervisor = supervisor
        self._schedule = schedule
        self._interval_ms = interval_ms
        self._work = work
        self._activity = activity
        self._last_interval_ms = 60_000.0
        self._is_cancelled = False

    def start(self, delay_ms: float | None = None) -> None:
        """Has the first call made after `delay_ms`, or after an interval."""
        self._schedule(self._next_interval_ms() if delay_ms is None else delay_ms, self._run)

    def cancel(self) -> None:
        """No further call is made."""
        self._is_cancelled = True

    def _run(self) -> None:
        if self._is_cancelled:
            return
        try:
            self._supervisor.call(self._activity, self._work)
        finally:
            self._schedule(self._next_interval_ms(), self._run)

    def _next_interval_ms(self) -> float:
        """As the settings say; the last one if these cannot be read."""
        if not callable(self._interval_ms):
            return self._interval_ms
        try:
            self._last_interval_ms = self._interval_ms()
        except Exception as error:
            self._supervisor.report(self._activity, error, "interval")
        return self._last_interval_ms


class SetAside(NamedTuple):
    """Why an item is set aside. attempts: failures in succession. retry_at_ms: monotonic, inf for never."""

    error: Exception
    attempts: int
    retry_at_ms: float


class Quarantine(Generic[K]):
    """The items of one activity that failed. An item whose work raises harms no other; it is left out for a while.

        for item in quarantine.ready(items):
            with quarantine.guard(item):
                await work(item)

    faults: the items that failed last time. A success, or `release`, takes an item out.
    """

    def __init__(self, supervisor: Supervisor, clock: Clock, activity: str, backoff: Backoff) -> None:
        self.faults: dict[K, SetAside] = {}
        self._supervisor = supervisor
        self._clock = clock
        self._activity = activity
        self._backoff = backoff

    def guard(self, item: K) -> Guard:
        """A context: an Exception within is reported and sets the item aside, and the code after the context runs."""
        return Guard(partial(self.failed, item), partial(self.release, item))

    def attempt(self, item: K, work: Callable[[], object]) -> bool:
        """Calls `work` within `guard`; False when it raised. The item is not asked whether it is set aside."""
        with self.guard(item) as guard:
            work()
        return guard.error is None

    def ready(self, items: Iterable[K]) -> Iterator[K]:
        """Those of the items that are not set aside now."""
        return (item for item in items if not self.is_aside(item))

    def is_aside(self, item: K) -> bool:
        """Whether it failed, and its time to be tried again has not come."""
        fault = self.faults.get(item)
        return fault is not None and self._clock.monotonic_ms() < fault.retry_at_ms

    def failed(self, item: K, error: Exception) -> None:
        """Reports a failure of the item and sets it aside."""
        self._supervisor.report(self._activity, error, item)
        self.set_aside(item, error)

    def set_aside(self, item: K, error: Exception) -> None:
        """Sets the item aside for an error that was foreseen, which is not reported."""
        former = self.faults.get(item)
        attempts = 1 if former is None else former.attempts + 1
        self.faults[item] = SetAside(error, attempts, self._clock.monotonic_ms() + self._backoff.after(attempts))

    def release(self, item: K) -> None:
        """Forgets that the item failed: it was a success, it has changed, or it does not exist now."""
        self.faults.pop(item, None)

    def retry_at_ms(self) -> float | None:
        """When the first of the items set aside may be tried again (monotonic); None without one."""
        first = min((fault.retry_at_ms for fault in self.faults.values()), default=math.inf)
        return None if first == math.inf else first


class Guard:
    """A context around work on one of many things. error: the Exception that it raised, once it is over.

    An Exception is handed on and ends the context, not the code around it; a cancellation passes.
    """

    __slots__ = ("_failed", "_succeeded", "error")

    def __init__(self, failed: Callable[[Exception], object], succeeded: Callable[[], object] | None = None) -> None:
        self.error: Exception | None = None
        self._failed = failed
        self._succeeded = succeeded

    def __enter__(self) -> Guard:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _traceback: TracebackType | None
    ) -> bool:
        if error is None:
            if self._succeeded is not None:
                self._succeeded()
            return False
        if not isinstance(error, Exception):  # a cancellation, or the end of the process
            return False
        self.error = error
        self._failed(error)
        return True


def _failure_of(task: asyncio.Task[Any]) -> BaseException | None:
    """The failure of a task that is done; None if it succeeded or was cancelled by request."""
    if not task.cancelled():
        return task.exception()
    return None if task.cancelling() else AwaitedWasCancelled()


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
