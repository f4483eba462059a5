"""Keeps a member alive: sends heartbeats, and leaves the group when the application does not poll in time.

A separate task from the first join on. Errors of heartbeats are passed to the member (group.py), which handles them at
the next poll. Source: AbstractCoordinator; KIP-62 (max.poll.interval.ms).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.supervision import Backoff, Supervisor
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.consumer.metrics import CoordinatorMetrics
from kafka_py.clients.coordinator import Coordinator
from kafka_py.clients.errors import error_code
from kafka_py.clients.loop import wait_until_set
from kafka_py.wire.messages.heartbeat import HeartbeatRequest

if TYPE_CHECKING:
    from kafka_py.clients.consumer.group import Generation, GroupMember

_log = logging.getLogger(__name__)


class Heartbeats:
    """The heartbeats of one member."""

    def __init__(
        self,
        member: GroupMember,
        options: ConsumerOptions,
        coordinator: Coordinator,
        clock: Clock,
        metrics: CoordinatorMetrics,
    ) -> None:
        self._member = member
        self._options = options
        self._coordinator = coordinator
        self._clock = clock
        self._supervisor = Supervisor(clock)
        self._metrics = metrics
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._heard_ms = self._next_ms = clock.monotonic_ms()

    def start(self) -> None:
        """Starts the task if it does not run; heartbeats are sent once the member has joined."""
        if self._task is None or self._task.done():
            pause_ms = max(1, self._options.retry_backoff_ms)
            self._task = self._supervisor.loop(self._step, "group heartbeat", backoff=Backoff(pause_ms, pause_ms))

    def begin(self) -> None:
        """The member has joined: the first heartbeat is due after heartbeat.interval.ms."""
        self._heard_ms = self._clock.monotonic_ms()
        self._next_ms = self._heard_ms + self._options.heartbeat_interval_ms
        self._wake.set()

    async def _step(self) -> None:
        """Does what is due, or waits until something is."""
        options, member = self._options, self._member
        if not member.beats:
            self._wake.clear()
            await self._wake.wait()
            return
        now_ms = self._clock.monotonic_ms()
        polled_ms = now_ms if member.is_waiting else member.last_poll_ms
        silent_until_ms = polled_ms + options.max_poll_interval_ms
        if now_ms >= silent_until_ms:
            await self._leave_for_poll_timeout()
        elif now_ms - self._heard_ms >= options.session_timeout_ms:
            self._coordinator.hang_up()
            self._coordinator.forget("no heartbeat had a response within session.timeout.ms")
            self._heard_ms = now_ms
        elif now_ms >= self._next_ms:
            await self._beat(now_ms)
        else:
            await wait_until_set(self._wake, min(self._next_ms, silent_until_ms) - now_ms)
            self._wake.clear()

    async def _leave_for_poll_timeout(self) -> None:
        _log.warning(
            "The application has not polled for max.poll.interval.ms (%d ms); leaving group %s, so that other members "
            "get its partitions. Increase max.poll.interval.ms or reduce max.poll.records.",
            self._options.max_poll_interval_ms, self._member.group_id,
        )
        await self._member.leave("the application did not poll within max.poll.interval.ms")

    async def _beat(self, now_ms: float) -> None:
        """Sends one heartbeat and handles the response. Never raises: the next poll raises fatal errors."""
        options, generation = self._options, self._member.generation
        self._next_ms = now_ms + options.heartbeat_interval_ms
        request = HeartbeatRequest(
            group_id=self._member.group_id,
            generation_id=generation.id,
            member_id=generation.member_id,
            group_instance_id=options.group_instance_id,
        )
        self._metrics.heartbeats += 1
        left_ms = max(1.0, options.session_timeout_ms - (now_ms - self._heard_ms))
        try:
            async with asyncio.timeout(left_ms / 1000):
                response = await self._coordinator.send(request)
        except TimeoutError:
            return
        except KafkaError as error:
            if not error.retriable and error.code is not ErrorCode.BROKER_NOT_AVAILABLE:
                self._member.fail(error)
            self._next_ms = self._clock.monotonic_ms() + options.retry_backoff_ms
            return
        self._take_answer(error_code(response.error_code), generation, now_ms)

    def _take_answer(self, code: ErrorCode, generation: Generation, sent_ms: float) -> None:
        member = self._member
        now_ms = self._clock.monotonic_ms()
        self._metrics.heartbeat_time.update(now_ms - sent_ms)
        self._metrics.note_heartbeat(now_ms)
        if code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            self._heard_ms = now_ms
            if code is not ErrorCode.NONE and generation == member.stable_generation:
                member.request_rejoin("group is already rebalancing")
        elif code in (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR):
            self._coordinator.forget(code.name)
            self._next_ms = now_ms + self._options.retry_backoff_ms
        elif code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            member.fail_generation(code, generation)
        elif code is ErrorCode.FENCED_INSTANCE_ID:
            member.fence(generation)
        elif code.retriable:
            self._next_ms = now_ms + self._options.retry_backoff_ms
        else:
            member.fail(KafkaError(code, f"heartbeat in group {member.group_id}: {code.meaning}"))

    async def close(self) -> None:
        """Stops the heartbeat task."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
