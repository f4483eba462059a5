"""Traces of requests for OpenTelemetry: one span of a request in the sample. Off unless kafka_py.tracing.enabled.

    traced.py      what is kept of one request
    sampling.py    which requests are traced, and what is kept of them
    spans.py       times and attributes of a span
    exporting.py   a thread that sends spans to a collector
    metrics.py     what became of the spans
    starting.py    start and stop as the settings say

Not obvious: exporting.py imports packages of the extra `otel`, so it is imported where the setting asks for it.
Nothing that the loop does waits for the collector: it appends to a queue of fixed length.
"""
