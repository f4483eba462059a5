"""What a handler gets besides the request: who asks, over what, in which version, and the way to answer.

Up to its first wait a coroutine handler runs outside of any task, so it must not enter `asyncio.timeout` there; waits
with a time limit go through a purgatory. Knows the connection only as something that takes response parts.
Source: docs/architecture.md, "Concurrency".
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol

from kafka_py.base.slices import FileSlice
from kafka_py.broker.observe.metrics import ApiMetrics
from kafka_py.net.client_software import ClientSoftware
from kafka_py.net.principal import Principal
from kafka_py.wire.apis import Api
from kafka_py.wire.frames import RequestHeader


class ClientConnection(Protocol):
    """What dispatch needs of a connection."""

    closed: bool
    listener_name: str
    peer_host: str
    peer_port: int
    principal: Principal

    read_s: float
    client_software: ClientSoftware
    batch_trust: object

    def respond(self, slot: int, parts: list[bytes | FileSlice] | None, note: object = None) -> None: ...

    def long_poll(self, slot: int, end: Callable[[], object]) -> None: ...

    def mute(self) -> None: ...

    def unmute(self) -> None: ...

    def describe_client(self, name: str, version: str) -> None: ...

    def close(self, reason: str) -> None: ...


class _Later(Enum):
    ANSWERS_LATER = "the handler calls context.answer itself"


ANSWERS_LATER = _Later.ANSWERS_LATER
"""What a handler returns that has answered already, or will, through its context."""


Answer = Callable[["RequestContext", Any], None]


class EncodedResponse:
    """A response that was encoded before, perhaps for another client: its bytes behind the correlation id."""

    __slots__ = ("_body", "_start")

    def __init__(self, parts: list[bytes | FileSlice]) -> None:
        """parts: as encode_response makes them, without file slices."""
        [frame] = parts
        assert isinstance(frame, bytes)
        self._start = frame[:4]
        self._body = frame[8:]

    def parts_for(self, correlation_id: int) -> list[bytes | FileSlice]:
        """What leaves as the answer to the request with that id; the large part is shared by all."""
        return [self._start + correlation_id.to_bytes(4, "big", signed=True), self._body]

    def __len__(self) -> int:
        return len(self._body)


class RequestContext:
    """One request on its way. A handler that answers later keeps it and calls `answer` once.

    received_s, started_s, parked_s, answered_s: when it was read from the socket, was taken up, was left for later by
        its handler (0: it was not), and was answered.
    exchange: request and response, kept only while requests are logged.
    has_short_answer: it is small, and its answer has at most as many elements.
    large_request: the request if it has so many elements that it was decoded in turns. Its connection is muted until
        the answer, which is encoded in turns as well; then both are freed in turns. () if its handler is through with
        it, and has no need to keep it until the answer.
    """

    __slots__ = (
        "_send",
        "answered_s",
        "api",
        "api_version",
        "client_id",
        "connection",
        "correlation_id",
        "exchange",
        "has_short_answer",
        "large_request",
        "metrics",
        "parked_s",
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
        self.started_s = started_s
        self.metrics = metrics
        self.parked_s = 0.0
        self.answered_s = 0.0
        self.exchange: tuple[Any, Any] | None = None
        self.large_request: Any = None
        self._send = send

    def answer(self, response: Any) -> None:
        """Sends the response; None means "no response", as acks=0 wants it."""
        self._send(self, response)

    def long_poll(self, end: Callable[[], object]) -> None:
        """The answer waits for something that may come; `end` has it sent at once, where it holds up a later answer."""
        self.connection.long_poll(self.slot, end)

    def leave_for_later(self, now_s: float) -> None:
        """The handler is through; the answer comes when others have done their part (unless it has left already)."""
        if not self.answered_s:
            self.parked_s = now_s

    def drop_connection(self, reason: str) -> None:
        """Tells the client of a failure that the protocol has no words for: its connection ends."""
        self.connection.close(reason)

    @property
    def principal(self) -> Principal:
        return self.connection.principal

    @property
    def host(self) -> str:
        return self.connection.peer_host

    @property
    def listener_name(self) -> str:
        return self.connection.listener_name
