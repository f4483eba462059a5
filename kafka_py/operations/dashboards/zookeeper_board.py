"""The dashboard of the brokers' ZooKeeper sessions, as the brokers see them."""

from __future__ import annotations

from kafka_py.operations.dashboards import expressions as shared
from kafka_py.operations.dashboards.panels import BAD_ABOVE_0, Dashboard, Query, Row, Unit, series, stat
from kafka_py.operations.dashboards.variables import CLUSTER, INSTANCE, job_variable

_LISTENER = "kafka_server_sessionexpirelistener_zookeeper"
_LATENCY = "kafka_server_zookeeperclientmetrics_zookeeperrequestlatencyms"


def _lately(name: str) -> str:
    return f"sum by (instance) (increase({_LISTENER}{name}_total{{@brokers}}[@window]))"


_SESSIONS = Row("Sessions", (
    stat("Connected", "Brokers with a connection to ZooKeeper.", f"sum({shared.SESSION_CONNECTED})"),
    stat("Without a connection", "A broker without one cannot change in-sync sets, and loses its session.",
         f"count({shared.SESSION_CONNECTED} == 0) or vector(0)", *BAD_ABOVE_0),
    stat("Expired sessions", "Lately: such a broker has left the cluster and registered again.",
         f"sum({shared.SESSIONS_EXPIRED})", *BAD_ABOVE_0),
    stat("Log-ins refused", "Lately.", f"sum({shared.ZOOKEEPER_LOGINS_REFUSED})", *BAD_ABOVE_0),
    stat("Slowest request", "99th percentile of all brokers.", f"max({shared.ZOOKEEPER_LATENCY})", unit=Unit.MS),
    stat("Requests", "Of all brokers.", f"sum(rate({_LATENCY}_count{{@brokers}}[@window]))", unit=Unit.REQUESTS_PER_S),
    series("Session", "1 with a connection.", Query(shared.SESSION_CONNECTED, "{{instance}}")),
    series("Connections made", "Also those that replace a lost one.", Query(_lately("syncconnects"), "{{instance}}")),
    series("Connections lost", "Before the session expires it can connect to another server.",
           Query(_lately("disconnects"), "{{instance}}")),
    series("Sessions expired", "The controller takes such a broker for dead.",
           Query(shared.SESSIONS_EXPIRED, "{{instance}}")),
    series("Log-ins", "With SASL.", Query(_lately("saslauthentications"), "{{instance}} done"),
           Query(_lately("authfailures"), "{{instance}} refused")),
    series("Read-only connections", "To servers without a quorum.", Query(_lately("readonlyconnects"), "{{instance}}")),
))  # fmt: skip

_REQUESTS = Row("Requests", (
    series("Latency, 99th percentile", "From a request to its response.",
           Query(shared.ZOOKEEPER_LATENCY, "{{instance}}"),
           unit=Unit.MS),
    series("Latency, median", "From a request to its response.",
           Query(f'{_LATENCY}{{@brokers,quantile="0.50"}}', "{{instance}}"), unit=Unit.MS),
    series("Requests", "The controller has the most, when many partitions change.",
           Query(f"sum by (instance) (rate({_LATENCY}_count{{@brokers}}[@window]))", "{{instance}}"),
           unit=Unit.REQUESTS_PER_S),
))  # fmt: skip


def dashboard(job: str) -> Dashboard:
    """job: the scrape job that is chosen at first."""
    return Dashboard(
        "kafka_py-zookeeper", "Kafka: ZooKeeper sessions", "The brokers' sessions and requests at ZooKeeper.",
        (job_variable(job), CLUSTER, INSTANCE), (_SESSIONS, _REQUESTS),
    )  # fmt: skip
