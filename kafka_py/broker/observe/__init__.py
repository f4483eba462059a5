"""What operators see of a broker: metrics, reports, the log of requests, the warnings of the start.

    metrics.py         what is counted of requests and the broker
    request_log.py     a line per request
    startup_report.py  what the broker says when it is up
    prometheus.py      metrics as Prometheus reads them
    metrics_http.py    GET /metrics
    reporters.py       metrics as CSV, on the console, by plugins
    reporting.py       calls the reporters
    instruments.py     all of it started and stopped
"""
