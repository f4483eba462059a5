"""The log of requests: a line per request, once its answer has left. Off unless the level of its logger is DEBUG.

DEBUG names the request, who sent it and how long each step took; TRACE shows what was asked and answered too. Records
are shown by their size, and secrets not at all. Whether it is on is one attribute, looked at per request; `look_again`
after levels have changed. Source: the request log of the classic broker (logger kafka.request.logger).
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kafka_py.base.slices import FileSlice
from kafka_py.broker.loggers import REQUESTS, TRACE
from kafka_py.wire.schema import Message

if TYPE_CHECKING:
    from kafka_py.broker.metrics import Finished
    from kafka_py.broker.requests import RequestContext

_SECRET = frozenset({"auth_bytes", "hmac", "salt", "salted_password", "value"})
"""Fields that may hold a password or what stands for one."""
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

    def write(self, context: RequestContext, request: Any, response: Any, moments: Finished) -> None:
        """One line. response: None where there is none."""
        row: dict[str, object] = {
            "requestHeader": {
                "requestApiKey": int(context.api.key),
                "requestApiVersion": context.api_version,
                "correlationId": context.correlation_id,
                "clientId": context.client_id,
                "requestApiKeyName": context.api.key.name,
            }
        }
        if _log.isEnabledFor(TRACE):
            row["request"] = plain(request)
            row["response"] = plain(response)
        connection = context.connection
        row["connection"] = getattr(connection, "id", connection.peer_host)
        row.update(_times(moments))
        row["securityProtocol"] = getattr(getattr(connection, "security_protocol", None), "name", None)
        row["principal"] = str(connection.principal)
        row["listener"] = connection.listener_name
        _log.debug("Completed request:%s", json.dumps(row, separators=(",", ":")))


def _times(moments: Finished) -> dict[str, float]:
    received, taken, parked, answered, turn, sent, _ = moments
    done = parked or answered
    steps = {
        "totalTimeMs": sent - received,
        "requestQueueTimeMs": taken - received,
        "localTimeMs": done - taken,
        "remoteTimeMs": answered - done,
        "responseQueueTimeMs": turn - answered,
        "sendTimeMs": sent - turn,
    }
    return {name: round(max(seconds, 0.0) * 1000.0, 3) for name, seconds in steps.items()}


def plain(value: Any, name: str = "") -> Any:
    """A message as JSON shows it: the reference's field names, records as `recordsSizeInBytes`-like sizes."""
    if isinstance(value, Message):
        shown = {}
        for field in value.__slots__:
            inner = getattr(value, field)
            is_records = isinstance(inner, _RECORDS) or (isinstance(inner, list) and _is_parts(inner))
            shown[_camel(field) + ("SizeInBytes" if is_records else "")] = plain(inner, field)
        return shown
    if name in _SECRET and value is not None:
        return "(redacted)"
    if isinstance(value, _RECORDS):
        return len(value)
    if isinstance(value, list):
        return sum(map(len, value)) if _is_parts(value) else [plain(each, name) for each in value]
    return str(value) if isinstance(value, UUID) else value


def _is_parts(value: list[Any]) -> bool:
    return bool(value) and all(isinstance(part, _RECORDS) for part in value)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
