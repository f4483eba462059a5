"""Metrics of traces; there are none while requests are not traced."""

from __future__ import annotations

from kafka_py.base.meters import MetricTable
from kafka_py.base.metric_rows import Gauge


class TracingMetrics(MetricTable, group="kafka_py:type=tracing", attributes=True):
    """Spans of requests. The owner is the SpanExport."""

    exported = Gauge("spans_exported_total", of=lambda export: export.exported, about="Accepted by the collector.")
    failed = Gauge("spans_failed_total", of=lambda export: export.failed, about="Not accepted by the collector.")
    dropped = Gauge(
        "spans_dropped_total", of=lambda export: export.sampler.dropped, about="Dropped because too many waited."
    )
