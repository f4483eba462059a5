"""What is kept of a request until its response is sent, for the request log and for traces; nothing while both are off.

`Exchanges.is_on` is one attribute, read per request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from kafka_py.base.slices import FileSlice
from kafka_py.broker.observe.request_log import Finished, LoggedRequest, RequestLog


class Traced(Protocol):
    """One request that a trace is made of."""

    def note_response(self, response: Any, size_bytes: int) -> None:
        """Takes what is wanted of the response, which is None if there is none."""
        ...


class Tracing(Protocol):
    """What makes traces of requests. All on the event loop."""

    def begin(self, request: Any) -> Any | None:
        """A Traced for a request of the sample; None for others. The request itself is not kept."""
        ...

    def finish(self, traced: Any, context: Any, moments: Finished) -> None:
        """The response was sent."""
        ...


class Exchange:
    """One request and its response. is_logged: both are kept for the request log. traced: None: in no trace."""

    __slots__ = ("is_logged", "request", "response", "traced")

    def __init__(self, request: Any, traced: Traced | None, *, is_logged: bool) -> None:
        self.is_logged = is_logged
        self.request = request if is_logged else None
        self.response: Any = None
        self.traced = traced

    def note_response(self, response: Any, parts: Sequence[bytes | FileSlice] | None) -> None:
        """The response is on its way. parts: its bytes; None if there are none."""
        if self.is_logged:
            self.response = response
        if self.traced is not None:
            self.traced.note_response(response, sum(map(len, parts)) if parts else 0)


class Exchanges:
    """The request log and the traces of a broker. is_on: whether dispatch calls `begin` for each request."""

    __slots__ = ("_tracing", "is_on", "log")

    def __init__(self) -> None:
        self.log = RequestLog()
        self._tracing: Tracing | None = None
        self.is_on = self.log.is_on

    def look_again(self) -> None:
        """Reads the level of the request log again, because levels may have changed."""
        self.log.look_again()
        self._decide()

    def trace_with(self, tracing: Tracing | None) -> None:
        """Traces requests from now on; None: no longer."""
        self._tracing = tracing
        self._decide()

    def _decide(self) -> None:
        self.is_on = self.log.is_on or self._tracing is not None

    def begin(self, request: Any) -> Exchange | None:
        """What is kept of a request that has been decoded; None: nothing."""
        traced = None if self._tracing is None else self._tracing.begin(request)
        is_logged = self.log.is_on
        return Exchange(request, traced, is_logged=is_logged) if is_logged or traced is not None else None

    def finish(self, context: LoggedRequest, exchange: Exchange, moments: Finished) -> None:
        """The response was sent."""
        if exchange.is_logged:
            self.log.write(context, exchange.request, exchange.response, moments)
        if exchange.traced is not None and self._tracing is not None:
            self._tracing.finish(exchange.traced, context, moments)
