"""The log of requests: a line per request, once its answer has left. Off unless the level of its logger is DEBUG.

A line names the request, what was asked and answered, who sent it and how long each step took, in the
JSON of Apache Kafka 2.8.2. Records are shown by their size, and secrets not at all. Whether it is on is one attribute,
looked at per request; `look_again` after levels have changed. Source: RequestChannel (kafka.request.logger).
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
from kafka_py.wire.schema import Message, schema_of

Finished = tuple[float, float, float, float, float, float, int]
"""Of a request whose answer has left: when it was read, taken up, parked (0: it was not) and answered, when its answer
began and ended to leave, all in monotonic seconds; and its size in bytes."""


class LoggedRequest(Protocol):
    """What a line tells of a request besides its fields."""

    api: Api
    api_version: int
    correlation_id: int
    client_id: str | None
    connection: Any


_SECRET = frozenset({"auth_bytes", "hmac", "salt", "salted_password", "value"})
"""Fields that may hold a password or what is as good as one."""
_RECORDS = (bytes, bytearray, memoryview, FileSlice)

_log = logging.getLogger(REQUESTS)


class RequestLog:
    """is_on: whether requests are to be kept until their answer has left, for `write`."""

    __slots__ = ("is_on",)

    def __init__(self) -> None:
        self.is_on = False
        self.look_again()

    def look_again(self) -> None:
        """Levels may have changed."""
        self.is_on = _log.isEnabledFor(logging.DEBUG)

    def write(self, context: LoggedRequest, request: Any, response: Any, moments: Finished) -> None:
        """One line. response: None where there is none."""
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
            **_times(moments),
            "securityProtocol": getattr(getattr(connection, "security_protocol", None), "name", ""),
            "principal": str(connection.principal),
            "listener": connection.listener_name,
            "clientInformation": {
                "softwareName": connection.client_software.name,
                "softwareVersion": connection.client_software.version,
            },
        }
        _log.debug("Completed request:%s", json.dumps(row, separators=(",", ":")))


def _times(moments: Finished) -> dict[str, float]:
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
    """A message as JSON shows it: the fields of that version by Apache's names, records by their size."""
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
