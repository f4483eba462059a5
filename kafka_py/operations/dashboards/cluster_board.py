"""The dashboard of a whole cluster: whether all is well, its traffic, the load of its brokers."""

from __future__ import annotations

from kafka_py.operations.dashboards import expressions as shared
from kafka_py.operations.dashboards.panels import (
    BAD_ABOVE_0,
    WARN_ABOVE_0,
    Dashboard,
    Query,
    Row,
    Threshold,
    Unit,
    series,
    stat,
)
from kafka_py.operations.dashboards.variables import CLUSTER, INSTANCE, job_variable

_TOPICS = "kafka_server_brokertopicmetrics"

_HEALTH = Row("Health", (
    stat("Brokers", "Brokers whose page of metrics Prometheus can read.", shared.BROKERS_UP),
    stat("Active controllers", "Exactly one broker is the controller.", shared.ACTIVE_CONTROLLERS,
         Threshold(1, "green"), Threshold(2, "red"), base_color="red"),
    stat("Offline partitions", "Partitions without a leader: nothing can be written or read there.",
         shared.OFFLINE_PARTITIONS, *BAD_ABOVE_0),
    stat("Under-replicated partitions", "Partitions with a replica that is not in sync.",
         f"sum({shared.UNDER_REPLICATED})", *WARN_ABOVE_0),
    stat("Under min ISR", "Partitions that refuse records with acks=all.", f"sum({shared.UNDER_MIN_ISR})",
         *BAD_ABOVE_0),
    stat("Offline log directories", "Directories that failed; their replicas are offline.",
         f"sum({shared.OFFLINE_DIRECTORIES})", *BAD_ABOVE_0),
    stat("Topics", "Topics of the cluster, by its controller.",
         "max(kafka_controller_kafkacontroller_globaltopiccount{@cluster})"),
    stat("Partitions", "Partitions of the cluster, by its controller.",
         "max(kafka_controller_kafkacontroller_globalpartitioncount{@cluster})"),
    stat("Reassigning", "Partitions whose replicas are being moved.",
         "sum(kafka_server_replicamanager_reassigningpartitions{@brokers})"),
    stat("Offline replicas", "Replicas in failed log directories.", f"sum({shared.OFFLINE_REPLICAS})",
         *BAD_ABOVE_0),
    stat("ZooKeeper sessions", "Brokers with a connection to ZooKeeper.", f"sum({shared.SESSION_CONNECTED})"),
    stat("Log size", "Bytes of all replicas on the selected brokers.", f"sum({shared.LOG_BYTES})", unit=Unit.BYTES),
))  # fmt: skip

_TRAFFIC = Row("Traffic", (
    series("Records in", "Records that producers appended.",
           Query(f'sum by (instance) (rate({_TOPICS}_messagesin_total{{@brokers,topic=""}}[@window]))', "{{instance}}"),
           unit=Unit.RECORDS_PER_S, stacked=True),
    series("Bytes in", "Bytes that producers appended, as they compressed them.",
           Query(f'sum by (instance) (rate({_TOPICS}_bytesin_total{{@brokers,topic=""}}[@window]))', "{{instance}}"),
           unit=Unit.BYTES_PER_S, stacked=True),
    series("Bytes out", "Bytes that consumers fetched.",
           Query(f'sum by (instance) (rate({_TOPICS}_bytesout_total{{@brokers,topic=""}}[@window]))', "{{instance}}"),
           unit=Unit.BYTES_PER_S, stacked=True),
    series("Replication", "Bytes copied from other brokers, and served to them.",
           Query(f"sum by (instance) (rate({_TOPICS}_replicationbytesin_total{{@brokers}}[@window]))",
                 "{{instance}} in"),
           Query(f"sum by (instance) (rate({_TOPICS}_replicationbytesout_total{{@brokers}}[@window]))",
                 "{{instance}} out"), unit=Unit.BYTES_PER_S),
    series("Produce, 99th percentile", "From the arrival of a request to the end of its response.",
           Query(shared.PRODUCE_P99, "{{instance}}"), unit=Unit.MS),
    series("Fetch, 99th percentile", "Fetches of consumers, without the time in which they wait for new records.",
           Query(shared.FETCH_P99, "{{instance}}"), unit=Unit.MS),
))  # fmt: skip

_LOAD = Row("Load of brokers", (
    series("Idle share", "Time in which the event loop waits; near 0 the broker is saturated.",
           Query(shared.HANDLERS_IDLE, "{{instance}}"), unit=Unit.SHARE),
    series("Request queue", "Requests that were read and not taken up yet.",
           Query(shared.REQUEST_QUEUE, "{{instance}}")),
    series("Longest turn", "The longest time that one piece of work held the event loop lately.",
           Query(shared.LOOP_STALL, "{{instance}}"), unit=Unit.MS),
    series("Leaders", "Partitions that a broker leads; they should be spread evenly.",
           Query("kafka_server_replicamanager_leadercount{@brokers}", "{{instance}}")),
    series("Replicas", "Replicas that a broker has.",
           Query("kafka_server_replicamanager_partitioncount{@brokers}", "{{instance}}")),
    series("Processor", "Processor time per second, of one core.",
           Query("rate(process_cpu_seconds_total{@brokers}[@window])", "{{instance}}"), unit=Unit.SHARE),
    series("Memory", "Resident memory.", Query("process_resident_memory_bytes{@brokers}", "{{instance}}"),
           unit=Unit.BYTES),
    series("Open files", "Share of the files and sockets that the process may have open.",
           Query(shared.FILES_SHARE, "{{instance}}"), unit=Unit.SHARE),
    series("Background failures", "Failures that were not foreseen; the broker's log has their tracebacks.",
           Query(shared.BACKGROUND_FAILURES, "{{instance}}")),
))  # fmt: skip

_REPLICATION = Row("Replication and disks", (
    series("In-sync sets", "Replicas that fell behind (shrinks) and caught up again (expands).",
           Query("sum by (instance) (rate(kafka_server_replicamanager_isrshrinks_total{@brokers}[@window]))",
                 "{{instance}} shrinks"),
           Query("sum by (instance) (rate(kafka_server_replicamanager_isrexpands_total{@brokers}[@window]))",
                 "{{instance}} expands"), unit=Unit.PER_S),
    series("Largest lag of a replica", "Records that the slowest replica of a broker lacks.",
           Query('kafka_server_replicafetchermanager_maxlag{@brokers,clientId="Replica"}', "{{instance}}")),
    series("Replicas that are not copied", "Partitions that a fetcher has set aside after a failure.",
           Query(shared.FAILED_COPIES, "{{instance}}")),
    series("Log size by broker", "Bytes of a broker's replicas.", Query(shared.LOG_BYTES, "{{instance}}"),
           unit=Unit.BYTES, stacked=True),
    series("Disk", "Bytes that the process reads from disk and writes to it.",
           Query("rate(kafka_server_kafkaserver_linux_disk_read_bytes{@brokers}[@window])", "{{instance}} read"),
           Query("rate(kafka_server_kafkaserver_linux_disk_write_bytes{@brokers}[@window])", "{{instance}} written"),
           unit=Unit.BYTES_PER_S),
    series("Cold reads", "Fetches per second that had to wait for the disk.",
           Query("rate(kafka_network_socketserver_coldreads{@brokers}[@window])", "{{instance}}"), unit=Unit.PER_S),
    series("Flush, 99th percentile", "Time to write a log's data to disk.",
           Query('kafka_log_logflushstats_logflushrateandtimems{@brokers,quantile="0.99"}', "{{instance}}"),
           unit=Unit.MS),
    series("Compaction", "Dead cleaner threads, and partitions that cannot be compacted: both should be 0.",
           Query(shared.CLEANER_DEAD, "{{instance}} dead threads"),
           Query(shared.UNCLEANABLE, "{{instance}} partitions")),
    series("Time since the last compaction", "Since the log cleaner last ran.",
           Query("kafka_log_logcleanermanager_time_since_last_run_ms{@brokers}", "{{instance}}"), unit=Unit.MS),
))  # fmt: skip


def dashboard(job: str) -> Dashboard:
    """job: the scrape job that is chosen at first."""
    return Dashboard(
        "kafka_py-cluster", "Kafka: cluster", "Health, traffic and load of the brokers of a cluster.",
        (job_variable(job), CLUSTER, INSTANCE), (_HEALTH, _TRAFFIC, _LOAD, _REPLICATION),
    )  # fmt: skip
