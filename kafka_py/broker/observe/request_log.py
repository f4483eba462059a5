"""The request log: a line per request after its response is sent. Off unless the level of its logger is DEBUG.

A line has the request, the response, the client and the time of each step, in the JSON of Apache Kafka 2.8.2. Records
are replaced by their size, and secrets are left out. `is_on` is one attribute; `look_again` must be
called after levels have changed. Source: RequestChannel (kafka.request.logger).
"""

from __future__ import annotations

import json
import logging
from functools import cache
from typing import Any, Protocol
from uuid import UUID

from kafka_py.base.ids import uuid_to_text
from kafka_py.base.slices import FileSlice
from kafka_py.broker.settings.loggers import REQUESTS
from kafka_py.wire.apis import Api, ApiKey
from kafka_py.wire.schema import SECRET_FIELDS, Message, schema_of

Finished = tuple[float, float, float, float, float, float, int]
"""A finished request: when it was read, started, parked (0: not parked) and answered, and when sending the response
began and ended, all in monotonic seconds; and its size in bytes."""


class LoggedRequest(Protocol):
    """The properties of a request in a line, besides its fields."""

    api: Api
    api_version: int
    correlation_id: int
    client_id: str | None
    connection: Any


_SECRET = SECRET_FIELDS | {"value"}
"""Fields that may hold a password or another secret."""
_RECORDS = (bytes, bytearray, memoryview, FileSlice)

_log = logging.getLogger(REQUESTS)


class RequestLog:
    """Writes the request log. is_on: whether requests are kept until their response is sent, for `write`."""

    __slots__ = ("is_on",)

    def __init__(self) -> None:
        self.is_on = False
        self.look_again()

    def look_again(self) -> None:
        """Reads the log level again, because levels may have changed."""
        self.is_on = _log.isEnabledFor(logging.DEBUG)

    def write(self, context: LoggedRequest, request: Any, response: Any, moments: Finished) -> None:
        """Writes one line. response: None if there is none."""
        version, connection = context.api_version, context.connection
        row: dict[str, object] = {
            "isForwarded": False,
            "requestHeader": {
                "requestApiKey": int(context.api.key),
                "requestApiVersion": version,
                "correlationId": context.correlation_id,
                "clientId": context.client_id,
                "requestApiKeyName": ApiKey(context.api.key).name,
            },
            "request": plain(request, version),
            "response": "" if response is None else plain(response, version),
            "connection": getattr(connection, "id", connection.peer_host),
            **times_of(moments),
            "securityProtocol": getattr(getattr(connection, "security_protocol", None), "name", ""),
            "principal": str(connection.principal),
            "listener": connection.listener_name,
            "clientInformation": {
                "softwareName": connection.client_software.name,
                "softwareVersion": connection.client_software.version,
            },
        }
        _log.debug("Completed request:%s", json.dumps(row, separators=(",", ":")))


def times_of(moments: Finished) -> dict[str, float]:
    """The time of each step of a request in ms, by its name in Apache Kafka's request log."""
    received, taken, parked, answered, turn, sent, _ = moments
    done = parked or answered
    steps = {
        "totalTimeMs": sent - received,
        "requestQueueTimeMs": taken - received,
        "localTimeMs": done - taken,
        "remoteTimeMs": answered - done,
        "throttleTimeMs": 0.0,
        "responseQueueTimeMs": turn - answered,
        "sendTimeMs": sent - turn,
    }
    return {name: round(max(seconds, 0.0) * 1000.0, 3) for name, seconds in steps.items()}


def plain(message: Any, version: int) -> dict[str, Any]:
    """A message as JSON: the fields of that version with Apache Kafka's names, records by their size."""
    shown: dict[str, Any] = {}
    for field in schema_of(type(message)).fields:
        if version not in field.versions:
            continue
        value, name = getattr(message, field.name), _camel(field.name)
        if field.name in _SECRET and value is not None:
            shown[name] = "(redacted)"
        elif isinstance(value, _RECORDS) or _is_parts(value):
            shown[f"{name}SizeInBytes"] = sum(map(len, value)) if isinstance(value, list) else len(value)
        else:
            shown[name] = [_plain_value(each, version) for each in value] if field.is_array and value else (
                _plain_value(value, version)
            )
    return shown


def _plain_value(value: Any, version: int) -> Any:
    if isinstance(value, Message):
        return plain(value, version)
    return uuid_to_text(value) if isinstance(value, UUID) else value


def _is_parts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(part, _RECORDS) for part in value)


@cache
def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
