"""When offsets are committed: at the application's request, waiting or not, or automatically in intervals.

The callback of an asynchronous commit runs inside a later call of the consumer, never concurrently with the
application. Automatic commits store the positions after the records that earlier polls have returned: in a poll once
auto.commit.interval.ms has passed, before a rebalance, and at close. commits.py makes the requests.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from kafka_py.base.clock import Clock
from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.texts import paired
from kafka_py.clients.consumer.commits import CommittedOffsets
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.consumer.interceptors import ConsumerInterceptors
from kafka_py.clients.consumer.subscriptions import Subscriptions
from kafka_py.clients.offsets import OffsetAndMetadata

_log = logging.getLogger(__name__)

Offsets = Mapping[TopicPartition, OffsetAndMetadata]
Callback = Callable[[Offsets, Exception | None], object]
"""Called with the offsets of an asynchronous commit and the error with which it failed, or None."""

CallUser = Callable[..., Awaitable[Any]]
"""Calls a function of the application with arguments, in the thread where the application expects it."""

NEVER = float("inf")


async def call_here(function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls the function on the running loop, and awaits its result if that is awaitable."""
    result = function(*arguments)
    return await result if inspect.isawaitable(result) else result


class Committer:
    """All commits of one consumer with a group.

    due_ms: when the next automatic commit is due.
    """

    def __init__(
        self,
        options: ConsumerOptions,
        offsets: CommittedOffsets,
        subscriptions: Subscriptions,
        interceptors: ConsumerInterceptors,
        clock: Clock,
        *,
        call_user: CallUser,
        on_event: Callable[[], object],
    ) -> None:
        self._options = options
        self._offsets = offsets
        self._subscriptions = subscriptions
        self._interceptors = interceptors
        self._clock = clock
        self._call_user = call_user
        self._on_event = on_event
        self._under_way: dict[asyncio.Task[None], None] = {}
        self._answered: deque[Callable[[], object]] = deque()
        self._automatic: asyncio.Task[None] | None = None
        self.due_ms = NEVER
        self.restart_interval()

    # ---- requested by the application

    async def commit(self, offsets: Offsets, timeout_ms: float) -> None:
        """Commits and waits for the result. Raises what CommittedOffsets.commit raises."""
        await self.run_callbacks()
        await self._offsets.commit(offsets, timeout_ms, as_member=self._subscriptions.by_group)
        if self._interceptors and offsets:
            self._answered.append(lambda: self._interceptors.on_commit(offsets))
            await self.run_callbacks()

    def commit_async(self, offsets: Offsets, callback: Callback | None = None) -> None:
        """Starts a commit that is not retried; commits reach the coordinator in the order of these calls."""
        self._begin(offsets, callback)

    def _begin(self, offsets: Offsets, callback: Callback | None) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(self._commit_once(offsets, callback))
        self._under_way[task] = None
        task.add_done_callback(self._under_way.pop)
        return task

    async def _commit_once(self, offsets: Offsets, callback: Callback | None) -> None:
        problem: Exception | None = None
        try:
            if offsets:
                await self._offsets.commit_once(offsets, as_member=self._subscriptions.by_group)
        except KafkaError as error:
            problem = error
        except Exception as error:
            _log.exception("Offset commit failed")
            problem = error
        if problem is None and self._interceptors and offsets:
            self._answered.append(lambda: self._interceptors.on_commit(offsets))
        if callback is not None:
            self._answered.append(lambda: callback(offsets, problem))
        elif problem is not None:
            _log.warning("Commit of %s failed: %s", _shown(offsets), problem)
        if self._answered:
            self._on_event()

    @property
    def has_callbacks(self) -> bool:
        """Whether `run_callbacks` has something to do."""
        return bool(self._answered)

    async def run_callbacks(self) -> None:
        """Calls the callbacks of asynchronous commits that have completed. Raises what a callback raises.

        If this is cancelled, the remaining callbacks are called the next time.
        """
        while self._answered:
            await self._call_user(lambda: self._answered.popleft()())

    async def finish(self, timeout_ms: float) -> None:
        """Waits, up to `timeout_ms`, for commits in flight, then runs their callbacks."""
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=max(0.0, timeout_ms) / 1000)
        await self.run_callbacks()

    # ---- automatic

    @property
    def _is_automatic(self) -> bool:
        return bool(self._options.enable_auto_commit)

    def restart_interval(self) -> None:
        """Restarts the interval: the next automatic commit is due auto.commit.interval.ms from now."""
        if self._is_automatic:
            self.due_ms = self._clock.monotonic_ms() + self._options.auto_commit_interval_ms

    def commit_if_due(self) -> None:
        """Starts an automatic commit if one is due."""
        if self._clock.monotonic_ms() < self.due_ms:
            return
        self.restart_interval()
        offsets = self._subscriptions.consumed()
        if offsets and (self._automatic is None or self._automatic.done()):
            self._automatic = self._begin(offsets, self._note_automatic)

    def _note_automatic(self, offsets: Offsets, problem: Exception | None) -> None:
        if problem is None:
            return
        if isinstance(problem, KafkaError) and problem.retriable:
            self.due_ms = min(self.due_ms, self._clock.monotonic_ms() + self._options.retry_backoff_ms)
            _log.debug("Automatic commit of %s failed and will be retried: %s", _shown(offsets), problem)
        else:
            _log.warning("Automatic commit of %s failed: %s", _shown(offsets), problem)

    async def commit_automatically(self, timeout_ms: float) -> None:
        """Commits the positions if commits are automatic, and waits for the result. Failures are logged."""
        if not self._is_automatic:
            return
        offsets = self._subscriptions.consumed()
        try:
            await self.commit(offsets, timeout_ms)
        except KafkaError as error:
            _log.warning("Automatic commit of %s before partitions are revoked failed: %s", _shown(offsets), error)

    def close(self) -> None:
        """Cancels commits in flight."""
        for task in list(self._under_way):
            task.cancel()


def _shown(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> str:
    return paired({topic_partition: offset.offset for topic_partition, offset in offsets.items()})
