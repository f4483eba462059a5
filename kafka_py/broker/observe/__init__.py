"""Observability of a broker: metrics, reporters, request log, start-up report.

    metrics.py         metrics of requests and of the broker
    request_log.py     a line per request
    exchanges.py       what is kept of a request for that line and for traces
    tracing/           spans of requests for OpenTelemetry
    startup_report.py  the log lines of a started broker
    prometheus.py      metrics in the format of Prometheus
    jmx_rules.py       names by the rules of JMX exporters
    metrics_http.py    GET /metrics
    reporters.py       metrics to CSV, console and plug-ins
    reporting.py       calls the reporters
    instruments.py     start and stop of all of it
"""
