"""A receiver of OpenTelemetry's spans for tests: OTLP over HTTP (protobuf and JSON) and gRPC.

    with OtlpReceiver() as receiver:
        receiver.http_endpoint, receiver.grpc_endpoint
        receiver.spans()
"""

from __future__ import annotations

import base64
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import grpc
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)

JSON = "application/json"


@dataclass(frozen=True)
class ReceivedSpan:
    """One span. Times are wall clock in ns; kind, status: numbers of OTLP (kind 2: server, status 2: error)."""

    name: str
    kind: int
    status: int
    start_ns: int
    end_ns: int
    trace_id: str
    attributes: dict[str, Any]
    events: tuple[tuple[str, int], ...]
    resource: dict[str, Any]


class OtlpReceiver(TraceServiceServicer):  # type: ignore[misc]
    """Answers with `status` (of HTTP); keeps spans and the headers of requests while that is 200."""

    def __init__(self) -> None:
        self.status = 200
        self.requests = 0
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()
        """Unset: requests over HTTP wait for it."""
        self.released.set()
        self._received: list[Any] = []
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._grpc = grpc.server(ThreadPoolExecutor(2))
        add_TraceServiceServicer_to_server(self, self._grpc)
        grpc_port = self._grpc.add_insecure_port("127.0.0.1:0")
        self.http_endpoint = f"http://127.0.0.1:{self._http.server_address[1]}"
        self.grpc_endpoint = f"http://127.0.0.1:{grpc_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self._grpc.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()
        self._grpc.stop(0).wait()

    def take(self, message: Any, headers: dict[str, str]) -> None:
        """One message was received."""
        with self._lock:
            self.requests += 1
            if self.status == 200:
                self._received.append(message)
                self.headers.append(headers)

    def Export(self, request: Any, context: Any) -> Any:  # the name of the method in gRPC
        """Receives spans over gRPC."""
        self.take(request, dict(context.invocation_metadata()))
        return ExportTraceServiceResponse()

    def spans(self, name: str = "") -> list[ReceivedSpan]:
        """All spans so far, in the order of their ends; name: only those."""
        with self._lock:
            received = list(self._received)
        spans = [
            _plain(span, _attributes(of_resource.resource.attributes))
            for message in received
            for of_resource in message.resource_spans
            for scope in of_resource.scope_spans
            for span in scope.spans
        ]
        return sorted((span for span in spans if name in ("", span.name)), key=lambda span: span.end_ns)


def _handler_of(receiver: OtlpReceiver) -> type[BaseHTTPRequestHandler]:
    class SpanHandler(BaseHTTPRequestHandler):
        """POST /v1/traces."""

        def do_POST(self) -> None:
            """Receives spans over HTTP."""
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.released.wait(60)
            message = ExportTraceServiceRequest()
            if self.path != "/v1/traces":
                self.send_error(404)
                return
            kind = self.headers["Content-Type"]
            if kind == JSON:
                json_format.Parse(_with_base64(body), message)
            else:
                message.ParseFromString(body)
            receiver.take(message, {name.lower(): value for name, value in self.headers.items()})
            self.send_response(receiver.status)
            self.send_header("Content-Type", kind)
            answer = b"{}" if kind == JSON else b""
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    return SpanHandler


def _with_base64(body: bytes) -> str:
    """OTLP's JSON with ids in base64, as protobuf's own JSON has them; OTLP writes them in hexadecimal."""
    def converted(fields: dict[str, Any]) -> dict[str, Any]:
        for name in ("traceId", "spanId", "parentSpanId"):
            if name in fields:
                fields[name] = base64.b64encode(bytes.fromhex(fields[name])).decode()
        return fields

    return json.dumps(json.loads(body, object_hook=converted))


def _plain(span: Any, resource: dict[str, Any]) -> ReceivedSpan:
    events = tuple((event.name, event.time_unix_nano) for event in span.events)
    return ReceivedSpan(
        span.name, span.kind, span.status.code, span.start_time_unix_nano, span.end_time_unix_nano,
        span.trace_id.hex(), _attributes(span.attributes), events, resource,
    )  # fmt: skip


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, kind)
