"""Sends the controller's requests to the brokers: per broker one connection, one queue, one request in flight (I/O).

A request without response is sent again over a new connection until its broker is removed; so a broker may receive a
request twice, but never out of order. Versions are not negotiated: version and address come from the caller.
Source: docs/reference/controller.md, section 12.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from kafka_py.base.clock import Clock
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.supervision import Backoff, Supervisor
from kafka_py.controller.decisions.batch import ControllerRequest
from kafka_py.controller.decisions.steps import Address
from kafka_py.controller.metrics import ChannelMetrics, ChannelsMetrics
from kafka_py.net.broker_link import BrokerLink, LinkConnection

RESEND_AFTER_MS = 100

_ACTIVITY = "requests of the controller"
_PAUSE_AFTER_FAILURE = Backoff(100.0, 1_000.0)

_log = logging.getLogger(__name__)


Connect = Callable[[Address], Awaitable[LinkConnection]]
"""Opens a connection with this broker's id as client id; raises if that fails."""

OnReply = Callable[[ControllerRequest, Any], None]


@dataclass(frozen=True, slots=True)
class ChannelContext:
    """How the channels of a controller send. on_reply: takes every request with its response."""

    connect: Connect
    on_reply: OnReply
    request_timeout_ms: float
    clock: Clock
    registry: MetricRegistry
    supervisor: Supervisor


class Channel:
    """The channel to one broker."""

    def __init__(self, broker: int, address: Address, context: ChannelContext) -> None:
        self.broker = broker
        self._context = context
        self._link = BrokerLink(partial(context.connect, address), context.request_timeout_ms)
        self._metrics = ChannelMetrics(context.registry, self, **{"broker-id": str(broker)})
        self._queue: deque[tuple[ControllerRequest, float]] = deque()
        self._arrived = asyncio.Event()
        self._in_flight: ControllerRequest | None = None
        self._task = context.supervisor.loop(
            self._send_next, _ACTIVITY, f"broker {broker}", backoff=_PAUSE_AFTER_FAILURE
        )

    @property
    def waiting(self) -> int:
        """The number of queued requests, without the one in flight."""
        return len(self._queue)

    def send(self, request: ControllerRequest) -> None:
        self._queue.append((request, self._context.clock.monotonic_ms()))
        self._arrived.set()

    def close(self) -> None:
        """Drops queued requests and the one in flight; no response is delivered after this."""
        self._task.cancel()
        self._queue.clear()
        self._link.disconnect()
        self._metrics.close()

    async def _send_next(self) -> None:
        """Sends the next request until it has a response; one that was interrupted is sent again before others."""
        request = self._in_flight
        if request is None:
            while not self._queue:
                self._arrived.clear()
                await self._arrived.wait()
            request, enqueued_ms = self._queue.popleft()
            self._in_flight = request
            self._metrics.request_wait.update(self._context.clock.monotonic_ms() - enqueued_ms)
        response = await self._until_answered(request)
        self._in_flight = None
        context, name = self._context, type(request.message).__name__
        with context.supervisor.guard("replies to the controller", f"{name} of {self.broker}"):
            context.on_reply(request, response)

    async def _until_answered(self, request: ControllerRequest) -> Any:
        logged = ""
        while True:
            try:
                return await self._link.exchange(request.message, request.version)
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
                if reason != logged:  # logged once, not ten times a second
                    name, logged = type(request.message).__name__, reason
                    _log.warning("Broker %d does not accept %s (%s), retrying", self.broker, name, reason)
                    if not isinstance(error, OSError | TimeoutError):
                        self._context.supervisor.report(_ACTIVITY, error, f"{name} to broker {self.broker}")
                await asyncio.sleep(RESEND_AFTER_MS / 1000)


class Channels:
    """The channels to all registered brokers, including this one."""

    def __init__(
        self,
        connect: Connect,
        on_reply: OnReply,
        *,
        request_timeout_ms: float,
        clock: Clock,
        registry: MetricRegistry,
        supervisor: Supervisor | None = None,
    ) -> None:
        self._context = ChannelContext(
            connect, on_reply, request_timeout_ms, clock, registry, supervisor or Supervisor(clock)
        )
        self._metrics = ChannelsMetrics(registry, self)
        self._channels: dict[int, Channel] = {}

    @property
    def waiting(self) -> int:
        return sum(channel.waiting for channel in self._channels.values())

    def add(self, broker: int, address: Address) -> None:
        """Opens a channel to a broker that has none."""
        if broker not in self._channels:
            self._channels[broker] = Channel(broker, address, self._context)

    def remove(self, broker: int) -> None:
        """Closes the channel to a broker; queued requests are dropped."""
        channel = self._channels.pop(broker, None)
        if channel is not None:
            channel.close()

    def send(self, request: ControllerRequest) -> None:
        """Queues a request; one to a broker without a channel is dropped."""
        channel = self._channels.get(request.broker)
        if channel is None:
            _log.warning("Not sending %s to broker %d: not registered", type(request.message).__name__, request.broker)
        else:
            channel.send(request)

    def close(self) -> None:
        for broker in list(self._channels):
            self.remove(broker)
        self._metrics.close()
