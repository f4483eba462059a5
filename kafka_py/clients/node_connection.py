"""One open connection of a client: negotiated versions, time-outs, throttling by the broker, metrics.

Knows nothing of other brokers or of connecting; connections.py creates it.
Source: NetworkClient; KIP-219 (throttling).
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, NamedTuple

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.metadata import Node
from kafka_py.clients.metrics import ConnectionMetrics, NodeMetrics
from kafka_py.clients.throttling import asked_to_wait_ms
from kafka_py.net.client import BrokerConnection
from kafka_py.net.connection_failures import ConnectionLost
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.schema import schema_of

_log = logging.getLogger(__name__)


class Counts(NamedTuple):
    """The metrics that count the traffic of a connection."""

    whole: ConnectionMetrics
    node: NodeMetrics


class _Held(NamedTuple):
    """A request that waits for the end of a throttle time, or of the renewal of the session.

    future, expiry: None for a request without response.
    """

    request: Any
    version: int
    timeout_s: float
    future: asyncio.Future[Any] | None
    expiry: asyncio.TimerHandle | None


class NodeConnection:
    """An open connection with its negotiated versions and its throttle time."""

    __slots__ = (
        "_api", "_counted_bytes", "_counts", "_held", "_loop", "_muted_until_s", "_now_s", "_renews",
        "_request_timeout_s", "_unmuting", "_versions", "last_used", "node", "wire",
    )  # fmt: skip

    def __init__(
        self, node: Node, wire: BrokerConnection, request_timeout_ms: float, clock: Clock, counts: Counts | None = None
    ) -> None:
        self.node = node
        self.wire = wire
        self._loop = asyncio.get_running_loop()
        self._now_s = clock.monotonic_s
        self._request_timeout_s = request_timeout_ms / 1000
        self._counts = counts
        self._counted_bytes = 0
        self._versions: dict[type, int] = {}
        self._api: dict[type, ApiKey] = {}
        self._muted_until_s = 0.0
        self._held: dict[object, _Held] = {}  # by future; in the order in which they are to be sent
        self._unmuting: asyncio.TimerHandle | None = None
        self._renews = False  # its session is being renewed
        if wire.session is not None:
            wire.session.on_renewal = self._on_renewal
        wire.on_end = self._drop_held
        self.last_used = self._now_s()

    @property
    def is_open(self) -> bool:
        return not self.wire.closed

    @property
    def in_flight(self) -> int:
        """The number of requests, sent or throttled, without response."""
        return self.wire.in_flight + len(self._held)

    @property
    def unsent_bytes(self) -> int:
        """The bytes that the socket has not accepted yet."""
        return self.wire.unsent_bytes

    @property
    def muted_for_ms(self) -> float:
        """The remaining throttle time in ms; 0 without one."""
        return max(0.0, self._muted_until_s - self._now_s()) * 1000 if self._muted_until_s else 0.0

    def version_for(self, request: type) -> int:
        """The newest version of the request that both the broker and this client know.

        Raises KafkaError(UNSUPPORTED_VERSION) when there is none.
        """
        version = self._versions.get(request)
        if version is None:
            version = self._versions[request] = self._negotiated(self._api_of(request))
        return version

    def _api_of(self, request: type) -> ApiKey:
        key = self._api.get(request)
        if key is None:
            key = schema_of(request).api
            assert key is not None
            self._api[request] = key
        return key

    def _negotiated(self, key: ApiKey) -> int:
        theirs = self.wire.versions.get(key)
        ours = APIS[key]
        if theirs is not None:
            version = min(ours.known_version, theirs[1])
            if version >= max(ours.min_version, theirs[0]):
                return version
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION, f"the broker at {self.node} supports no known version of {ours.name}"
        )

    # ---- requests

    def send(self, request: Any, *, version: int | None = None, timeout_ms: float | None = None) -> asyncio.Future[Any]:
        """Sends a request, after the throttle time if there is one; the future gets the response, or ConnectionLost.

        If a response does not arrive in time the connection is closed, because later responses cannot arrive either.
        A throttle time may be much longer than that: a request that could not be sent in the same time fails as well.
        """
        if version is None:
            version = self.version_for(type(request))
        timeout_s = self._request_timeout_s if timeout_ms is None else timeout_ms / 1000
        if self._muted_until_s and self._is_muted():
            future: asyncio.Future[Any] = self._loop.create_future()
            expiry = self._loop.call_later(timeout_s, self._expire, future)
            self._held[future] = _Held(request, version, timeout_s, future, expiry)
            return future
        return self._send_now(request, version, timeout_s)

    def _send_now(self, request: Any, version: int, timeout_s: float) -> asyncio.Future[Any]:
        now_s = self.last_used = self._now_s()
        future = self.wire.send_nowait(request, version)
        if self._counts is not None:
            self._count_request(self._counts)
        timer = self._loop.call_later(timeout_s, self._give_up, future)
        api = self._api_of(type(request))

        def on_answer(answer: asyncio.Future[Any]) -> None:
            timer.cancel()
            if not answer.cancelled() and answer.exception() is None:
                self._take_answer(api, version, answer.result(), now_s)

        future.add_done_callback(on_answer)
        return future

    def send_and_forget(self, request: Any) -> None:
        """Sends a request without response: a Produce with acks=0."""
        version = self.version_for(type(request))
        if self._muted_until_s and self._is_muted():
            self._held[object()] = _Held(request, version, 0.0, None, None)
        else:
            self._send_and_forget_now(request, version)

    def _send_and_forget_now(self, request: Any, version: int) -> None:
        self.last_used = self._now_s()
        self.wire.send_and_forget(request, version)
        if self._counts is not None:
            self._count_request(self._counts)

    def _give_up(self, future: asyncio.Future[Any]) -> None:
        if not future.done():
            self.close("a request had no response within request.timeout.ms")

    def _expire(self, future: asyncio.Future[Any]) -> None:
        self._held.pop(future, None)
        if not future.done():
            what = "the renewal of the session takes" if self._renews else "the throttle time of the broker is"
            future.set_exception(ConnectionLost(f"{what} longer than the request may take"))

    def _take_answer(self, api: ApiKey, version: int, response: Any, sent_s: float) -> None:
        if self._counts is not None:
            self._count_answer(self._counts, (self._now_s() - sent_s) * 1000)
        wait_ms = asked_to_wait_ms(api, version, response)
        if wait_ms:
            self._muted_until_s = max(self._muted_until_s, self._now_s() + wait_ms / 1000)

    # ---- throttling

    def _is_muted(self) -> bool:
        """Whether a request has to wait for the end of the throttle time; starts the timer for that. Or for a login."""
        if self._renews:
            return True
        if not self._held and self._now_s() >= self._muted_until_s:
            self._muted_until_s = 0.0
            return False
        if self._unmuting is None:
            self._unmuting = self._loop.call_later(self._muted_until_s - self._now_s(), self._unmute)
        return True

    def _unmute(self) -> None:
        self._unmuting = None
        if self._renews:
            return
        if self._muted_until_s > self._now_s():  # another response has extended the throttle time
            self._unmuting = self._loop.call_later(self._muted_until_s - self._now_s(), self._unmute)
            return
        self._muted_until_s = 0.0
        held, self._held = self._held, {}
        for request, version, timeout_s, waiting, expiry in held.values():
            if expiry is not None:
                expiry.cancel()
            try:
                if waiting is None:
                    self._send_and_forget_now(request, version)
                elif not waiting.done():
                    self._send_now(request, version, timeout_s).add_done_callback(_hand_on_to(waiting))
            except Exception as error:  # a request that cannot be encoded must not hold up those behind it
                if waiting is not None:
                    waiting.set_exception(error)
                else:
                    _log.exception("A request without a response could not be sent to %s", self.node)

    def _on_renewal(self, renewal: asyncio.Task[None]) -> None:
        """Holds requests while the session is renewed."""
        self._renews = True
        self._muted_until_s = self._muted_until_s or self._now_s()
        renewal.add_done_callback(self._renewed)

    def _renewed(self, _renewal: object) -> None:
        """Sends what was held; it fails if the connection was closed because its session could not be renewed."""
        self._renews = False
        if not self.is_open:
            self.close("the session was not renewed")
        elif self._unmuting is None:
            self._unmute()

    # ---- counting

    def _count_request(self, counts: Counts) -> None:
        size = self.wire.last_request_size
        for table in counts:
            table.requests += 1
            table.bytes_sent += size
            table.request_size.update(size)

    def _count_answer(self, counts: Counts, latency_ms: float) -> None:
        size = self.wire.bytes_received - self._counted_bytes
        self._counted_bytes += size
        for table in counts:
            table.responses += 1
            table.bytes_received += size
        counts.node.latency.update(latency_ms)

    def close(self, reason: str = "the client closed it") -> None:
        """Closes the connection; requests without response, sent or throttled, fail with ConnectionLost."""
        self.wire.close(reason)
        self._drop_held(reason)

    def _drop_held(self, reason: str) -> None:
        """The connection has ended, and with it the throttle time, which may be very long: nothing waits for that."""
        self._muted_until_s = 0.0
        if self._unmuting is not None:
            self._unmuting.cancel()
            self._unmuting = None
        held, self._held = self._held, {}
        for each in held.values():
            if each.expiry is not None:
                each.expiry.cancel()
            if each.future is not None and not each.future.done():
                each.future.set_exception(ConnectionLost(reason))


def _hand_on_to(waiting: asyncio.Future[Any]) -> Any:
    """A callback that copies the outcome of a future to `waiting`."""

    def hand_on(answer: asyncio.Future[Any]) -> None:
        if waiting.done():
            return
        error = ConnectionLost("cancelled") if answer.cancelled() else answer.exception()
        if error is None:
            waiting.set_result(answer.result())
        else:
            waiting.set_exception(error)

    return hand_on
