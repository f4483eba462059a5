"""Responses to the requests of clients that have not logged in yet: ApiVersions, and refusals of all others.

Source: KIP-35, KIP-511; SaslServerAuthenticator.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.base.slices import FileSlice
from kafka_py.broker.requests.error_responses import refuse
from kafka_py.broker.requests.large_requests import PLAIN_BYTES
from kafka_py.broker.requests.offered_apis import offered, unsupported_version
from kafka_py.broker.requests.request_context import ClientConnection
from kafka_py.wire.apis import APIS
from kafka_py.wire.compiler import decoder
from kafka_py.wire.frames import RequestHeader, encode_response
from kafka_py.wire.primitives import MalformedMessage

Parts = list[bytes | FileSlice]


class ConnectionAnswers:
    """The responses on one connection."""

    __slots__ = ("_connection",)

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    def api_versions(self, header: RequestHeader, frame: bytearray, pos: int) -> tuple[Parts, bool]:
        """The response to ApiVersions, and whether it has no error. Raises MalformedMessage."""
        api, version = APIS[header.api_key], header.api_version
        if not 0 <= version <= api.max_version:
            return encode_response(unsupported_version(), 0, header.correlation_id), False
        request = decoder(api.request, version)(frame, pos)[0]
        response = offered(request, version, self._connection)
        return encode_response(response, version, header.correlation_id), response.error_code == ErrorCode.NONE

    def refusal(self, header: RequestHeader, frame: bytearray, pos: int, code: ErrorCode, text: str) -> Parts | None:
        """The error response to any request; None for a large one. Raises MalformedMessage.

        A large request may have very many elements, each of which the response would name. Whoever has not logged in
        could hold the event loop with it for most of a second.
        """
        if len(frame) > PLAIN_BYTES:
            return None
        api, version = APIS[header.api_key], header.api_version
        if not 0 <= version <= api.max_version:
            raise MalformedMessage(f"{api.name} v{version} is not supported")
        request = decoder(api.request, version)(frame, pos)[0]
        return encode_response(refuse(api, version, request, code, text), version, header.correlation_id)
