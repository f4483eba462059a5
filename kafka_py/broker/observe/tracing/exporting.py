"""Sends spans to an OpenTelemetry collector, from a thread of its own (I/O). Needs the packages of the extra `otel`.

A collector that is down or slow costs the spans, never a request: the thread waits for it, the queue is full meanwhile
and what finds no room is dropped. The log has one line when that begins and one when it is over.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from threading import Event, Thread, get_ident
from time import sleep

from opentelemetry.context import Context
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import SpanKind, Status, StatusCode

from kafka_py import __version__
from kafka_py.base.chance import Random
from kafka_py.base.clock import Clock
from kafka_py.base.texts import one_line
from kafka_py.broker.observe.tracing.sampling import Sampler
from kafka_py.broker.observe.tracing.spans import SpanRow, span_of
from kafka_py.broker.settings.tracing_configs import GRPC, TracingOptions, headers_of, protocol_of, traces_url

_log = logging.getLogger(__name__)

DELAY_S = 1.0
"""How long spans are collected before they are sent, unless there are enough before."""
AT_ONCE = 32
"""Spans of one message to the collector: they are encoded in about 2 ms, in which the loop may have to wait."""
_PAUSE_S = 0.0005
_PER_PAUSE = 8
_CLOSE_S = 2.0
_MOST_REASON = 300


def make_exporter(options: TracingOptions, environ: Mapping[str, str]) -> SpanExporter:
    """The exporter of the settings; what they leave open, OpenTelemetry reads in its environment variables."""
    endpoint, headers = options.tracing_endpoint, headers_of(options.tracing_headers)
    if protocol_of(options, environ) == GRPC:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter

        return GrpcExporter(endpoint=endpoint, headers=headers)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter

    return HttpExporter(endpoint=None if endpoint is None else traces_url(endpoint), headers=headers)


def make_resource(service_name: str | None, broker_id: int, cluster_id: str) -> Resource:
    """What all spans of a broker have in common; OTEL_RESOURCE_ATTRIBUTES is added."""
    names = {"service.instance.id": str(broker_id), "service.version": __version__, "kafka_py.cluster.id": cluster_id}
    if service_name is not None:
        names[SERVICE_NAME] = service_name
    elif str(Resource.create().attributes[SERVICE_NAME]).startswith("unknown_service"):
        names[SERVICE_NAME] = "kafka"
    return Resource.create(names)


class _Ids(IdGenerator):
    """Ids of spans and traces. random: of this owner only."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def generate_span_id(self) -> int:
        return self._random.getrandbits(64) or 1

    def generate_trace_id(self) -> int:
        return self._random.getrandbits(128) or 1


class _Collected(SpanProcessor):
    """Keeps the spans that have ended, in `spans`."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.spans.append(span)

    def take(self) -> list[ReadableSpan]:
        taken, self.spans = self.spans, []
        return taken


class _Reasons(logging.Filter):
    """Keeps the last line that the exporter logs in our thread out of the log, in `last`, for a line of our own."""

    def __init__(self, exporter: SpanExporter) -> None:
        super().__init__()
        self.last = ""
        self.thread_id = 0
        names = {cls.__module__ for cls in type(exporter).__mro__ if cls.__module__.startswith("opentelemetry.")}
        self._loggers = [logging.getLogger(name) for name in sorted(names)]
        for logger in self._loggers:
            logger.addFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        if record.thread != self.thread_id:
            return True
        self.last = record.getMessage()
        return False

    def remove(self) -> None:
        for logger in self._loggers:
            logger.removeFilter(self)


class SpanExport:
    """Takes requests from the queue of a sampler and sends their spans, from `start` to `close`.

    wakened: set when there is enough to send. exported, failed: spans that the collector accepted, and did not accept.
    """

    def __init__(
        self, exporter: SpanExporter, resource: Resource, sampler: Sampler, wakened: Event, random: Random, clock: Clock
    ) -> None:
        self.sampler = sampler
        self.exported = 0
        self.failed = 0
        self._exporter = exporter
        self._clock = clock
        self._collected = _Collected()
        provider = TracerProvider(
            sampler=ALWAYS_ON, resource=resource, shutdown_on_exit=False, id_generator=_Ids(random)
        )
        provider.add_span_processor(self._collected)
        self._tracer = provider.get_tracer("kafka_py.broker", __version__)
        self._reasons = _Reasons(exporter)
        self._wakened = wakened
        self._closing = False
        self._is_down = False
        self._thread = Thread(target=self._run, name="kafka-traces", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def close(self) -> None:
        """Sends what is left, for a few seconds at most. Blocks."""
        self._closing = True
        self._wakened.set()
        self._thread.join(_CLOSE_S)
        self._exporter.shutdown()  # also ends a wait before another attempt
        self._thread.join(_CLOSE_S)
        self._reasons.remove()

    # ---- in the thread

    def _run(self) -> None:
        self._reasons.thread_id = get_ident()
        while not self._closing:
            self._wakened.wait(DELAY_S)
            self._wakened.clear()
            while self.sampler.queue and not (self._closing and self._is_down):
                self._export()

    def _export(self) -> None:
        """Sends the spans of a few requests."""
        clock, queue = self._clock, self.sampler.queue
        wall_offset_s = clock.wall_ms() / 1000.0 - clock.monotonic_s()
        count = min(len(queue), AT_ONCE)
        for number in range(1, count + 1):
            self._record(span_of(queue.popleft(), wall_offset_s))
            if number % _PER_PAUSE == 0:
                sleep(_PAUSE_S)  # leaves the interpreter to the event loop
        try:
            is_sent = self._exporter.export(self._collected.take()) is SpanExportResult.SUCCESS
        except Exception as error:
            is_sent, self._reasons.last = False, f"{type(error).__name__}: {error}"
        if is_sent:
            self.exported += count
        else:
            self.failed += count
        self._note(is_sent)

    def _record(self, row: SpanRow) -> None:
        span = self._tracer.start_span(
            row.name, Context(), SpanKind.SERVER, row.attributes, start_time=row.start_ns, record_exception=False
        )
        for name, at_ns in row.events:
            span.add_event(name, timestamp=at_ns)
        if row.errors:
            span.set_status(Status(StatusCode.ERROR, ", ".join(row.errors)))
        span.end(row.end_ns)

    def _note(self, is_sent: bool) -> None:
        if is_sent and self._is_down:
            _log.info("The collector takes traces again; %d spans were lost", self.failed + self.sampler.dropped)
        elif not (is_sent or self._is_down or self._closing):  # what the end of the broker interrupts is no news
            reason = one_line(self._reasons.last, _MOST_REASON)
            _log.warning("The collector takes no traces, so they are dropped until it does: %s", reason)
        self._is_down = not is_sent
