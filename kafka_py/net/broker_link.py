"""The way to one broker for requests that the broker itself sends, one at a time: a connection that is opened when a
request needs it, kept, and closed when a request fails.

Nothing is retried here: the caller decides what to do about a request without a response.
Source: docs/reference/controller.md, section 12; InterBrokerSendThread, NetworkClientUtils.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from kafka_py.net.client import BrokerConnection
from kafka_py.net.metrics import LinkMetrics


class LinkConnection(Protocol):
    """What is needed of a connection to a broker."""

    async def send(self, request: Any, version: int) -> Any:
        """The broker's response; raises when the connection is lost."""
        ...

    def close(self) -> None: ...


class CountedConnection:
    """A connection to a broker whose traffic is counted."""

    __slots__ = ("_connection", "_is_open", "_traffic")

    def __init__(self, connection: BrokerConnection, traffic: LinkMetrics) -> None:
        self._connection = connection
        self._traffic = traffic
        self._is_open = True
        traffic.created += 1

    async def send(self, request: Any, version: int) -> Any:
        connection, traffic = self._connection, self._traffic
        received = connection.bytes_received
        response = await connection.send(request, version)
        traffic.requests += 1
        traffic.responses += 1
        traffic.bytes_sent += connection.last_request_size
        traffic.request_size.update(connection.last_request_size)
        traffic.bytes_received += connection.bytes_received - received
        return response

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._traffic.closed += 1
        self._connection.close()


class BrokerLink:
    """connect: opens a connection, raises when that fails. timeout_ms: for the response, the connecting included."""

    __slots__ = ("_connect", "_connection", "_timeout_ms")

    def __init__(self, connect: Callable[[], Awaitable[LinkConnection]], timeout_ms: float) -> None:
        self._connect = connect
        self._timeout_ms = timeout_ms
        self._connection: LinkConnection | None = None

    async def exchange(self, request: Any, version: int) -> Any:
        """The broker's response. Raises what the connection raises, and TimeoutError; it is closed then."""
        try:
            async with asyncio.timeout(self._timeout_ms / 1000):
                if self._connection is None:
                    self._connection = await self._connect()
                return await self._connection.send(request, version)
        except BaseException:  # a cancellation as well: the response to this request must not meet the next one
            self.disconnect()
            raise

    def disconnect(self) -> None:
        """Closes the connection, if there is one; the next request opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
