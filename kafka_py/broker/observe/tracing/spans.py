"""The span of a request: name, times, attributes. Pure; knows nothing of OpenTelemetry's packages.

Names of attributes are those of OpenTelemetry's semantic conventions of messaging, where there is one.
Source: docs/tracing.md; docs/reference/errors.tsv.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.observe.request_log import times_of
from kafka_py.broker.observe.tracing.traced import TracedRequest

Value = str | int | float | list[str]
MOST_TOPICS = 16
"""Topics that a span names if there are several."""
_NS = 1_000_000_000
_STEPS = {
    "requestQueueTimeMs": "kafka_py.request_queue.time_ms",
    "localTimeMs": "kafka_py.local.time_ms",
    "remoteTimeMs": "kafka_py.remote.time_ms",
    "responseQueueTimeMs": "kafka_py.response_queue.time_ms",
    "sendTimeMs": "kafka_py.send.time_ms",
}


class SpanRow(NamedTuple):
    """One span. Times are wall clock in ns. events: names and times. errors: names of error codes, each once."""

    name: str
    start_ns: int
    end_ns: int
    attributes: dict[str, Value]
    events: tuple[tuple[str, int], ...]
    errors: tuple[str, ...]


def span_of(traced: TracedRequest, wall_offset_s: float) -> SpanRow:
    """The span of a finished request. wall_offset_s: added to monotonic seconds it is the wall clock."""

    def wall_ns(moment_s: float) -> int:
        return round((moment_s + wall_offset_s) * _NS)

    received, _, parked, answered, _, sent, _ = traced.moments
    errors = tuple(map(_error_name, traced.errors))
    attributes = dict(_of_messages(traced, errors))
    attributes.update(_of_connection(traced))
    attributes.update({_STEPS[name]: ms for name, ms in times_of(traced.moments).items() if name in _STEPS})
    events = (("parked", wall_ns(parked)), ("completed", wall_ns(answered))) if parked else ()
    return SpanRow(traced.name, wall_ns(received), max(wall_ns(sent), wall_ns(received)), attributes, events, errors)


def _of_messages(traced: TracedRequest, errors: tuple[str, ...]) -> Iterator[tuple[str, Value]]:
    yield "messaging.system", "kafka"
    yield "messaging.operation.name", traced.name
    if traced.client_id:
        yield "messaging.client.id", valid(traced.client_id)
    if traced.group:
        yield "messaging.consumer.group.name", valid(traced.group)
    if len(traced.topics) == 1 and not traced.is_partial:
        yield "messaging.destination.name", valid(next(iter(traced.topics)))
        if len(traced.partitions) == 1:
            yield "messaging.destination.partition.id", str(next(iter(traced.partitions)))
    elif traced.topics:
        yield "kafka_py.topics", [valid(topic) for topic in islice(traced.topics, MOST_TOPICS)]
    if errors:
        yield "error.type", errors[0]
        yield "kafka_py.errors", list(errors)
    yield "kafka_py.api.key", traced.api_key
    yield "kafka_py.api.version", traced.version
    yield "kafka_py.request.kind", traced.kind
    yield "kafka_py.correlation.id", traced.correlation_id
    yield "kafka_py.request.bytes", traced.moments[6]
    yield "kafka_py.response.bytes", traced.response_bytes
    yield "kafka_py.throttle.time_ms", traced.throttle_time_ms


def _of_connection(traced: TracedRequest) -> Iterator[tuple[str, Value]]:
    local = traced.connection_id.partition("-")[0]
    host, has_port, port = local.rpartition(":")
    if has_port and port.isdigit():
        yield "server.address", host.strip("[]")
        yield "server.port", int(port)
    yield "client.address", traced.peer[0]
    yield "client.port", traced.peer[1]
    yield "kafka_py.listener", traced.listener
    yield "kafka_py.security.protocol", traced.security_protocol
    name, version = traced.client_software
    if name:
        yield "kafka_py.client.software.name", valid(name)
        yield "kafka_py.client.software.version", valid(version)
    if traced.principal is not None:
        yield "kafka_py.principal", valid(traced.principal)


def _error_name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)


def valid(text: str) -> str:
    """The text with what is not Unicode replaced: one such name would keep all spans beside it from being sent."""
    return text.encode("utf-8", "replace").decode()
