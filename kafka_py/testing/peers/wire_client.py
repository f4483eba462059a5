"""The smallest client: one blocking socket, one request at a time, any message in any version.

For tests that send exactly the bytes they mean. Knows no metadata and retries nothing. `connect` may open connections
with TLS and a login.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import TracebackType
from typing import Any

from kafka_py.cli.local_cluster.broker_view import Connect, plain_connection, receive
from kafka_py.wire.apis import api_of
from kafka_py.wire.frames import decode_response, encode_request
from kafka_py.wire.schema import schema_of


class WireClient:
    """A connection to one broker, given as host:port."""

    def __init__(self, bootstrap: str, *, timeout_s: float = 30, connect: Connect = plain_connection) -> None:
        host, _, port = bootstrap.rpartition(":")
        self._socket = connect(host, int(port), timeout_s)
        self._ids = itertools.count(1)

    def ask(self, request: object, version: int, *, client_id: str = "wire-client") -> Any:
        """The response to a request. Raises ConnectionError, TimeoutError, MalformedMessage."""
        return self.begin(request, version, client_id=client_id)()

    def begin(self, request: object, version: int, *, client_id: str = "wire-client") -> Callable[[], Any]:
        """Sends a request; what it returns waits for the response. Not to be mixed with other requests meanwhile."""
        sent = next(self._ids)
        self._socket.sendall(encode_request(request, version, sent, client_id))
        return lambda: self._response(type(request), version, sent)

    def _response(self, request: type, version: int, sent: int) -> Any:
        key = schema_of(request).api
        assert key is not None, f"{request.__name__} is not a request"
        size = int.from_bytes(receive(self._socket, 4), "big")
        answered, response = decode_response(api_of(key).response, version, receive(self._socket, size))
        assert answered == sent, f"answer to request {answered} instead of {sent}"
        return response

    def send_raw(self, data: bytes) -> None:
        self._socket.sendall(data)

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> WireClient:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()
