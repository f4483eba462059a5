"""Expressions that both panels and alerts use, or several panels.

Source: docs/reference/metrics.tsv; kafka_exporter's documentation, Metrics.
"""

from __future__ import annotations

# ---- partitions and the controller

OFFLINE_PARTITIONS = "sum by (job, cluster) (kafka_controller_kafkacontroller_offlinepartitionscount{@cluster})"
UNDER_REPLICATED = "kafka_server_replicamanager_underreplicatedpartitions{@brokers}"
UNDER_MIN_ISR = "kafka_server_replicamanager_underminisrpartitioncount{@brokers}"
OFFLINE_REPLICAS = "kafka_server_replicamanager_offlinereplicacount{@brokers}"
ACTIVE_CONTROLLERS = "sum by (job, cluster) (kafka_controller_kafkacontroller_activecontrollercount{@cluster})"
UNCLEAN_ELECTIONS = (
    "sum by (job, cluster)"
    " (increase(kafka_controller_controllerstats_uncleanleaderelections_total{@cluster}[@window]))"
)
CONTROLLER_QUEUE = "kafka_controller_controllereventmanager_eventqueuesize{@brokers}"
ISR_SHRINKS = (
    "sum by (job, cluster, instance) (increase(kafka_server_replicamanager_isrshrinks_total{@brokers}[@window]))"
)
FAILED_COPIES = 'kafka_server_replicafetchermanager_failedpartitionscount{@brokers,clientId="Replica"}'

# ---- brokers

BROKERS_UP = "count by (job, cluster) (up{@cluster} == 1)"
OFFLINE_DIRECTORIES = "kafka_log_logmanager_offlinelogdirectorycount{@brokers}"
LOG_BYTES = "sum by (job, cluster, instance) (kafka_log_log_size{@brokers})"
REQUEST_QUEUE = "kafka_network_requestchannel_requestqueuesize{@brokers}"
HANDLERS_IDLE = "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent{@brokers}"
LOOP_STALL = "kafka_network_socketserver_looplongeststallms{@brokers}"
FILES_SHARE = "process_open_fds{@brokers} / process_max_fds{@brokers}"
CLEANER_DEAD = "kafka_log_logcleaner_deadthreadcount{@brokers}"
UNCLEANABLE = "sum by (job, cluster, instance) (kafka_log_logcleanermanager_uncleanable_partitions_count{@brokers})"
BACKGROUND_FAILURES = (
    "increase((sum by (job, cluster, instance) (background_failures_total{@brokers})"
    " or sum by (job, cluster, instance) (kafka_server_kafkaserver_brokerstate{@brokers} * 0))[@window:])"
)
"""A broker has the metric from its first failure on; that one counts too, as until then there is a 0."""

# ---- ZooKeeper sessions

SESSION_CONNECTED = (
    'max by (job, cluster, instance) (kafka_server_sessionexpirelistener_sessionstate_info{@brokers,value="CONNECTED"}'
    " or kafka_server_sessionexpirelistener_sessionstate_info{@brokers} * 0)"
)
"""1 with a connection, else 0: the state is a label."""
SESSIONS_EXPIRED = (
    "sum by (job, cluster, instance)"
    " (increase(kafka_server_sessionexpirelistener_zookeeperexpires_total{@brokers}[@window]))"
)
ZOOKEEPER_LOGINS_REFUSED = (
    "sum by (job, cluster, instance)"
    " (increase(kafka_server_sessionexpirelistener_zookeeperauthfailures_total{@brokers}[@window]))"
)
ZOOKEEPER_LATENCY = 'kafka_server_zookeeperclientmetrics_zookeeperrequestlatencyms{@brokers,quantile="0.99"}'

# ---- clients

PRODUCE_P99 = 'kafka_network_requestmetrics_totaltimems{@brokers,request="Produce",quantile="0.99"}'
FETCH_P99 = (
    "sum by (job, cluster, instance)"
    ' ({__name__=~"kafka_network_requestmetrics_(requestqueue|local|responsequeue|responsesend)timems",@brokers,'
    'request="FetchConsumer",quantile="0.99"})'
)
"""Without the remote time, in which a fetch waits for new records: at most the sum of these parts."""
THROTTLED_P99 = (
    'max by (job, cluster, instance, request) (kafka_network_requestmetrics_throttletimems{@brokers,quantile="0.99"})'
)
LOGINS_REFUSED = (
    "sum by (job, cluster, instance, listener)"
    " (increase(kafka_server_socket_server_metrics_failed_authentication_total{@brokers}[@window]))"
)
CONNECTIONS_REFUSED = (
    "sum by (job, cluster, instance) (increase(kafka_network_socketserver_connectionsrefused_total{@brokers}[@window]))"
)
FAILED_PRODUCES = (
    "sum by (job, cluster, instance)"
    ' (rate(kafka_server_brokertopicmetrics_failedproducerequests_total{@brokers,topic=""}[@window]))'
)
FAILED_FETCHES = (
    "sum by (job, cluster, instance)"
    ' (rate(kafka_server_brokertopicmetrics_failedfetchrequests_total{@brokers,topic=""}[@window]))'
)

# ---- consumer groups, by kafka_exporter: each exporter of a job has all of them, so that `max` comes before `sum`

LAG_CHANGE = (
    "sum by (job, cluster, consumergroup, topic) (max by (job, cluster, consumergroup, topic, partition)"
    " (deriv(kafka_consumergroup_lag{@exporter}[15m])))"
)
LAG_WITHOUT_MEMBERS = (
    "sum by (job, cluster, consumergroup)"
    " (max by (job, cluster, consumergroup, topic) (kafka_consumergroup_lag_sum{@exporter}))"
    " * on (job, cluster, consumergroup)"
    " (max by (job, cluster, consumergroup) (kafka_consumergroup_members{@exporter}) == bool 0)"
    " * on (job, cluster, consumergroup)"
    " (max by (job, cluster, consumergroup) (max_over_time(kafka_consumergroup_members{@exporter}[1d])) > bool 0)"
)
"""0 for a group with members, and for one that had none for a day: its consumers assign partitions themselves."""
