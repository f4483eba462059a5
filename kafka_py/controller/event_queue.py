"""The queue of events, and the futures of callers that wait for their outcome (I/O)."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from kafka_py.base.clock import Clock
from kafka_py.base.errors import KafkaError
from kafka_py.controller.events import Asked, Event


class QueuedEvent:
    """A queued event.

    started: done when its processing begins, or when it is dropped. answer: the future of the outcome of an Asked
    event; None for others.
    """

    __slots__ = ("answer", "enqueued_ms", "event", "started")

    def __init__(self, event: Event, enqueued_ms: float) -> None:
        loop = asyncio.get_running_loop()
        self.event = event
        self.enqueued_ms = enqueued_ms
        self.started: asyncio.Future[None] = loop.create_future()
        self.answer: asyncio.Future[Any] | None = loop.create_future() if isinstance(event, Asked) else None

    def start(self) -> None:
        if not self.started.done():
            self.started.set_result(None)

    def reply(self, outcome: object) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(outcome)

    def refuse(self, error: BaseException) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(error)

    def preempt(self) -> None:
        """Drops the event unprocessed; its future gets an error."""
        if isinstance(self.event, Asked):
            self.refuse(KafkaError(self.event.if_not_controller, "this broker is not the active controller"))


class EventQueue:
    """A first-in, first-out queue with one consumer."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._events: deque[QueuedEvent] = deque()
        self._arrived = asyncio.Event()

    def __len__(self) -> int:
        return len(self._events)

    def put(self, event: Event) -> QueuedEvent:
        """Appends an event."""
        queued = QueuedEvent(event, self._clock.monotonic_ms())
        self._events.append(queued)
        self._arrived.set()
        return queued

    def clear_and_put(self, event: Event) -> QueuedEvent:
        """Drops every queued event with `preempt`, and appends this one."""
        dropped, self._events = self._events, deque()
        for queued in dropped:
            queued.start()
            queued.preempt()
        return self.put(event)

    async def take(self) -> QueuedEvent:
        """Removes and returns the oldest event; waits until there is one."""
        while not self._events:
            self._arrived.clear()
            await self._arrived.wait()
        return self._events.popleft()
