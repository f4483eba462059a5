"""What Prometheus scrapes: the text format of metrics, and the endpoint that serves it.

    exposition.py  families of samples, and their text
    endpoint.py    GET /metrics over plain HTTP
"""
