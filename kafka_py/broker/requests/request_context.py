"""Context of a request for its handler: client, connection, version, and the method to respond.

Up to its first wait a coroutine handler runs without a task, so it must not enter `asyncio.timeout` there; waits with a
time limit use a purgatory. Knows the connection only as an interface that takes response parts.
Source: docs/architecture.md, "Concurrency".
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol

from kafka_py.base.slices import FileSlice
from kafka_py.broker.observe.exchanges import Exchange
from kafka_py.broker.observe.metrics import ApiMetrics
from kafka_py.net.client_software import ClientSoftware
from kafka_py.net.endpoints import SecurityProtocol
from kafka_py.net.frames_out import BlockedTime
from kafka_py.net.principal import Principal
from kafka_py.wire.apis import Api
from kafka_py.wire.frames import RequestHeader

_log = logging.getLogger(__name__)


class ClientConnection(Protocol):
    """The interface of a connection that dispatch uses."""

    closed: bool
    listener_name: str
    security_protocol: SecurityProtocol
    peer_host: str
    peer_port: int
    principal: Principal

    read_s: float
    client_software: ClientSoftware
    batch_trust: object
    budgets: Any
    blocked: BlockedTime | None

    @property
    def queued_responses(self) -> int: ...

    def respond(self, slot: int, parts: list[bytes | FileSlice] | None, note: object = None) -> None: ...

    def long_poll(self, slot: int, end: Callable[[], object]) -> None: ...

    def mute(self) -> None: ...

    def unmute(self) -> None: ...

    def describe_client(self, name: str, version: str) -> None: ...

    def close(self, reason: str) -> None: ...


class _Later(Enum):
    ANSWERS_LATER = "the handler calls context.answer itself"


ANSWERS_LATER = _Later.ANSWERS_LATER
"""Returned by a handler that responds through its context, or has done so."""


Answer = Callable[["RequestContext", Any], None]


class EncodedResponse:
    """A response that is encoded already, perhaps for another client: its bytes after the correlation id.

    throttle_at: where in them the throttle time is stored; None: the version has none.
    """

    __slots__ = ("_body", "_start", "_throttle_at")

    def __init__(self, parts: list[bytes | FileSlice], throttle_at: int | None = None) -> None:
        """parts: as encode_response makes them, without file slices."""
        self._throttle_at = throttle_at
        [frame] = parts
        assert isinstance(frame, bytes)
        self._start = frame[:4]
        self._body = frame[8:]

    def parts_for(self, correlation_id: int) -> list[bytes | FileSlice]:
        """The parts of the response with that correlation id; the large part is shared."""
        return [self._start + correlation_id.to_bytes(4, "big", signed=True), self._body]

    def throttled(self, time_ms: int) -> EncodedResponse:
        """The same response with this throttle time; the original is not changed."""
        at = self._throttle_at
        if at is None:
            return self
        body = self._body[:at] + time_ms.to_bytes(4, "big") + self._body[at + 4 :]
        return EncodedResponse([self._start + b"\0\0\0\0" + body], at)

    def __len__(self) -> int:
        return len(self._body)


class RequestContext:
    """One request in progress. A handler that responds later keeps it and calls `answer` once.

    received_s, started_s, parked_s, answered_s: when it was read from the socket, was started, was parked (0: it was
        not), and was answered; monotonic seconds. parked_s is later by the steps of the handler since then, so that
        the time from started_s until then is the handler's.
    principal, host: who asks, and from which address. A later login of the same connection does not change them.
    exchange: what is kept of request and response, if the request log or traces want it.
    budget: what the time of sending the response counts against, if that is known when it is answered; see throttling.
    has_short_answer: the request is small, and its response has at most as many elements.
    large_request: the request if it has so many elements that it was decoded in turns. Its connection is muted until
        the response, which is encoded in turns as well; then both are freed in turns. () if the handler no longer needs
        the request.
    """

    __slots__ = (
        "_send",
        "answered_s",
        "api",
        "api_version",
        "budget",
        "client_id",
        "connection",
        "correlation_id",
        "exchange",
        "has_short_answer",
        "host",
        "large_request",
        "metrics",
        "parked_s",
        "principal",
        "received_s",
        "request_bytes",
        "slot",
        "started_s",
    )

    def __init__(  # noqa: PLR0917  # made for every request: positions cost less than names
        self,
        connection: ClientConnection,
        slot: int,
        api: Api,
        header: RequestHeader,
        request_bytes: int,
        metrics: ApiMetrics,
        send: Answer,
        started_s: float = 0.0,
        has_short_answer: bool = False,
    ) -> None:
        self.connection = connection
        self.slot = slot
        self.api = api
        _, self.api_version, self.correlation_id, self.client_id = header
        self.has_short_answer = has_short_answer
        self.request_bytes = request_bytes
        self.received_s = connection.read_s
        self.principal, self.host = connection.principal, connection.peer_host
        self.started_s = started_s
        self.metrics = metrics
        self.parked_s = 0.0
        self.answered_s = 0.0
        self.exchange: Exchange | None = None
        self.budget: Any = None
        self.large_request: Any = None
        self._send = send

    def answer(self, response: Any) -> None:
        """Sends the response; None means no response (acks=0).

        A response that fails closes its connection. Nothing is raised: the caller may be serving another client.
        """
        try:
            self._send(self, response)
        except Exception:
            self.fail("its response failed")

    def fail(self, what: str) -> None:
        """Logs the exception that is being handled, and closes the connection, whose client would wait for ever."""
        _log.exception("%s v%d: %s", self.api.name, self.api_version, what)
        self.connection.close("internal error")

    def long_poll(self, end: Callable[[], object]) -> None:
        """Marks the request as a long poll; `end` completes it at once if it delays a later response."""
        self.connection.long_poll(self.slot, end)

    def leave_for_later(self, now_s: float) -> None:
        """Notes that the handler has returned and the response comes later (unless it was sent already)."""
        if not self.answered_s:
            self.parked_s = now_s

    def note_step(self, used_s: float) -> None:
        """Notes that the handler has had the loop for so long since it had left the response for later."""
        if not self.answered_s:
            self.parked_s += used_s

    def drop_connection(self, reason: str) -> None:
        """Closes the connection, to report an error that the protocol cannot express."""
        self.connection.close(reason)

    @property
    def is_logged(self) -> bool:
        """Whether the request log will show the messages, which must not be freed before."""
        return self.exchange is not None and self.exchange.is_logged

    @property
    def request_name(self) -> str:
        """The name of the API, as the audit log has it."""
        return self.api.name

    @property
    def listener_name(self) -> str:
        return self.connection.listener_name
