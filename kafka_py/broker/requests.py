"""What a handler gets besides the request: who asks, over what, in which version, and the way to answer.

Knows the connection only as something that takes response parts. Source: design (one authorize call per decision).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from kafka_py.base.slices import FileSlice
from kafka_py.net.principal import Principal
from kafka_py.wire.apis import Api

if TYPE_CHECKING:
    from kafka_py.broker.metrics import ApiMetrics


class ClientConnection(Protocol):
    """What dispatch needs of a connection."""

    listener_name: str
    peer_host: str
    principal: Principal

    def respond(self, slot: int, parts: list[bytes | FileSlice] | None) -> None: ...

    def close(self, reason: str) -> None: ...


class _Later(Enum):
    ANSWERS_LATER = "the handler calls context.answer itself"


ANSWERS_LATER = _Later.ANSWERS_LATER
"""What a handler returns that has answered already, or will, through its context."""

Answer = Callable[["RequestContext", Any], None]


class RequestContext:
    """One request on its way. A handler that answers later keeps it and calls `answer` once.

    started_s: when the frame was taken up, for the metrics.
    """

    __slots__ = (
        "_send",
        "api",
        "api_version",
        "client_id",
        "connection",
        "correlation_id",
        "metrics",
        "request_bytes",
        "slot",
        "started_s",
    )

    def __init__(
        self,
        connection: ClientConnection,
        slot: int,
        api: Api,
        api_version: int,
        correlation_id: int,
        client_id: str | None,
        request_bytes: int,
        metrics: ApiMetrics,
        send: Answer,
    ) -> None:
        self.connection = connection
        self.slot = slot
        self.api = api
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.request_bytes = request_bytes
        self.started_s = perf_counter()
        self.metrics = metrics
        self._send = send

    def answer(self, response: Any) -> None:
        """Sends the response; None stands for "no response", as acks=0 wants it."""
        self._send(self, response)

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
