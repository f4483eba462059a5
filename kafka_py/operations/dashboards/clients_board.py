"""The dashboard of clients: connections and log-ins, requests and their times, errors, quotas."""

from __future__ import annotations

from kafka_py.operations.dashboards import expressions as shared
from kafka_py.operations.dashboards.panels import Dashboard, Query, Row, Unit, series
from kafka_py.operations.dashboards.variables import CLUSTER, INSTANCE, job_variable

_SOCKETS = "kafka_server_socket_server_metrics"
_REQUESTS = "kafka_network_requestmetrics"


def _by_listener(name: str) -> str:
    return f"sum by (listener) (rate({_SOCKETS}_{name}_total{{@brokers}}[@window]))"


_CONNECTIONS = Row("Connections", (
    series("Connections", "Open now, of clients and of brokers.",
           Query(f"sum by (instance, listener) ({_SOCKETS}_connection_count{{@brokers}})",
                 "{{instance}} {{listener}}")),
    series("New and closed connections", "Clients that connect all the time should keep their connections.",
           Query(_by_listener("connection_creation"), "{{listener}} new"),
           Query(_by_listener("connection_close"), "{{listener}} closed"), unit=Unit.PER_S),
    series("Client libraries", "Connections by library and version.",
           Query(f"sum by (clientSoftwareName, clientSoftwareVersion) ({_SOCKETS}_connections{{@brokers}})",
                 "{{clientSoftwareName}} {{clientSoftwareVersion}}"), stacked=True),
    series("Log-ins", "TLS and SASL; many that fail are a wrong password, or somebody who tries.",
           Query(_by_listener("successful_authentication"), "{{listener}} successful"),
           Query(_by_listener("failed_authentication"), "{{listener}} failed"), unit=Unit.PER_S),
    series("Connections refused", "For max.connections.per.ip.", Query(shared.CONNECTIONS_REFUSED, "{{instance}}")),
    series("Network", "Bytes of all requests and responses.",
           Query(_by_listener("incoming_byte"), "{{listener}} in"),
           Query(_by_listener("outgoing_byte"), "{{listener}} out"),
           unit=Unit.BYTES_PER_S),
))  # fmt: skip

_WORK = Row("Requests", (
    series("Requests", "By kind.",
           Query(f"sum by (request) (rate({_REQUESTS}_requests_total{{@brokers}}[@window]))", "{{request}}"),
           unit=Unit.REQUESTS_PER_S, stacked=True),
    series("Errors", "Responses with an error, by error; some are a normal part of the protocol.",
           Query(f'sum by (error) (rate({_REQUESTS}_errors_total{{@brokers,error!="NONE"}}[@window]))', "{{error}}"),
           unit=Unit.PER_S),
    series("Produce and fetch that fail", "Per second and topic of a request.",
           Query(shared.FAILED_PRODUCES, "{{instance}} produce"), Query(shared.FAILED_FETCHES, "{{instance}} fetch"),
           unit=Unit.PER_S),
    series("Time by kind, 99th percentile", "From the arrival of a request to the end of its response; fetches wait "
           "for new records.",
           Query(f'max by (request) ({_REQUESTS}_totaltimems{{@brokers,quantile="0.99"}})', "{{request}}"),
           unit=Unit.MS),
    series("Parts of Produce, 99th percentile", "Waiting for the broker, in the handler, for replicas, for the client.",
           *[Query(f'max({_REQUESTS}_{part}timems{{@brokers,request="Produce",quantile="0.99"}})', part)
             for part in ("requestqueue", "local", "remote", "responsequeue", "responsesend")], unit=Unit.MS),
    series("Parts of Fetch, 99th percentile", "Of consumers; remote is the time in which they wait for new records.",
           *[Query(f'max({_REQUESTS}_{part}timems{{@brokers,request="FetchConsumer",quantile="0.99"}})', part)
             for part in ("requestqueue", "local", "remote", "responsequeue", "responsesend")], unit=Unit.MS),
    series("Size of requests, 99th percentile", "By kind.",
           Query(f'max by (request) ({_REQUESTS}_requestbytes{{@brokers,quantile="0.99"}})', "{{request}}"),
           unit=Unit.BYTES),
    series("Parked", "Requests that wait for replicas, records or group members.",
           Query("sum by (delayedOperation) (kafka_server_delayedoperationpurgatory_purgatorysize{@brokers})",
                 "{{delayedOperation}}")),
    series("Fetch sessions", "Sessions and their partitions (KIP-227).",
           Query("sum(kafka_server_fetchsessioncache_numincrementalfetchsessions{@brokers})", "sessions"),
           Query("sum(kafka_server_fetchsessioncache_numincrementalfetchpartitionscached{@brokers})", "partitions")),
))  # fmt: skip

_COORDINATION = Row("Groups by their coordinators", (
    series("Groups", "By state.",
           *[Query(f"sum(kafka_coordinator_group_groupmetadatamanager_numgroups{state}{{@brokers}})", state)
             for state in ("stable", "empty", "dead", "preparingrebalance", "completingrebalance")], stacked=True),
    series("Offset commits", "Per second.",
           Query("sum by (instance) (kafka_server_group_coordinator_metrics_offset_commit_rate{@brokers})",
                 "{{instance}}"), unit=Unit.PER_S),
    series("Rebalances", "Completed per second; many of them are consumers that come and go, or that are too slow.",
           Query("sum by (instance) (kafka_server_group_coordinator_metrics_group_completed_rebalance_rate{@brokers})",
                 "{{instance}}"), unit=Unit.PER_S),
))  # fmt: skip

_QUOTAS = Row("Quotas", (
    series("Throttle time, 99th percentile", "What quotas make clients wait.",
           Query(shared.THROTTLED_P99, "{{instance}} {{request}}"), unit=Unit.MS),
    series("Produced by client", "Of users and clients that have a quota.",
           Query("sum by (user, client_id) (kafka_server_produce_byte_rate{@brokers})", "{{user}} {{client_id}}"),
           unit=Unit.BYTES_PER_S),
    series("Fetched by client", "Of users and clients that have a quota.",
           Query("sum by (user, client_id) (kafka_server_fetch_byte_rate{@brokers})", "{{user}} {{client_id}}"),
           unit=Unit.BYTES_PER_S),
    series("Throttled by client", "Mean throttle time of produce and fetch requests.",
           Query("max by (user, client_id) (kafka_server_produce_throttle_time{@brokers})",
                 "{{user}} {{client_id}} produce"),
           Query("max by (user, client_id) (kafka_server_fetch_throttle_time{@brokers})",
                 "{{user}} {{client_id}} fetch"), unit=Unit.MS),
    series("Request time by client", "Percent of the time of a thread, as request_percentage counts it.",
           Query("sum by (user, client_id) (kafka_server_request_request_time{@brokers})", "{{user}} {{client_id}}")),
    series("Throttled connections", "Connections that are throttled now.",
           Query("sum(kafka_server_produce_queue_size{@brokers})", "produce"),
           Query("sum(kafka_server_fetch_queue_size{@brokers})", "fetch"),
           Query("sum(kafka_server_request_queue_size{@brokers})", "request")),
))  # fmt: skip


def dashboard(job: str) -> Dashboard:
    """job: the scrape job that is chosen at first."""
    return Dashboard(
        "kafka_py-clients", "Kafka: clients", "Connections, requests, errors and quotas.",
        (job_variable(job), CLUSTER, INSTANCE), (_CONNECTIONS, _WORK, _COORDINATION, _QUOTAS),
    )  # fmt: skip
