"""The dashboard of topics: what is written and read, how large they are, whether all replicas are in sync."""

from __future__ import annotations

from kafka_py.operations.dashboards.panels import (
    BAD_ABOVE_0,
    WARN_ABOVE_0,
    Dashboard,
    Panel,
    PanelKind,
    Query,
    Row,
    Unit,
    series,
    stat,
)
from kafka_py.operations.dashboards.variables import CLUSTER, INSTANCE, TOPIC, job_variable

_TOPICS = "kafka_server_brokertopicmetrics"


def _rate(name: str) -> str:
    return f"sum by (topic) (rate({_TOPICS}_{name}_total{{@brokers,@topics}}[@window]))"


_STATE = Row("State", (
    stat("Topics", "Of the selection.", "count(count by (topic) (kafka_log_log_size{@brokers,@topics}))"),
    stat("Partitions", "Of the selection.",
         "count(count by (topic, partition) (kafka_log_log_size{@brokers,@topics}))"),
    stat("Under-replicated", "Partitions with a replica that is not in sync.",
         "sum(kafka_cluster_partition_underreplicated{@brokers,@topics})", *WARN_ABOVE_0),
    stat("Under min ISR", "Partitions that refuse records with acks=all.",
         "sum(kafka_cluster_partition_underminisr{@brokers,@topics})", *BAD_ABOVE_0),
    stat("At min ISR", "Partitions that refuse records with acks=all after one more fault.",
         "sum(kafka_cluster_partition_atminisr{@brokers,@topics})", *WARN_ABOVE_0),
    stat("Size", "Bytes of all replicas.", "sum(kafka_log_log_size{@brokers,@topics})", unit=Unit.BYTES),
))  # fmt: skip

_TRAFFIC = Row("Traffic", (
    series("Records in", "Records that producers appended.", Query(_rate("messagesin"), "{{topic}}"),
           unit=Unit.RECORDS_PER_S),
    series("Bytes in", "Bytes that producers appended.", Query(_rate("bytesin"), "{{topic}}"), unit=Unit.BYTES_PER_S),
    series("Bytes out", "Bytes that consumers fetched.", Query(_rate("bytesout"), "{{topic}}"),
           unit=Unit.BYTES_PER_S),
    series("Produce requests", "A request counts once for each of its topics.",
           Query(_rate("totalproducerequests"), "{{topic}}"), unit=Unit.REQUESTS_PER_S),
    series("Fetch requests", "Of consumers and followers.", Query(_rate("totalfetchrequests"), "{{topic}}"),
           unit=Unit.REQUESTS_PER_S),
    series("Mean size of records", "Bytes in, by records in.",
           Query(f"{_rate('bytesin')} / {_rate('messagesin')}", "{{topic}}"), unit=Unit.BYTES),
))  # fmt: skip

_STORED = Row("Stored", (
    series("Size", "Bytes of all replicas.",
           Query("sum by (topic) (kafka_log_log_size{@brokers,@topics})", "{{topic}}"),
           unit=Unit.BYTES),
    series("Records kept", "From the log start offset to the log end offset, of one replica of each partition; "
           "compaction and transactions leave fewer.",
           Query("sum by (topic) (max by (topic, partition) (kafka_log_log_logendoffset{@brokers,@topics})"
                 " - max by (topic, partition) (kafka_log_log_logstartoffset{@brokers,@topics}))", "{{topic}}")),
    series("Segments", "Files of the logs of all replicas.",
           Query("sum by (topic) (kafka_log_log_numlogsegments{@brokers,@topics})", "{{topic}}")),
    series("Largest partition by mean", "How unevenly keys spread records: 1 is even.",
           Query("max by (topic) (kafka_log_log_size{@brokers,@topics})"
                 " / avg by (topic) (kafka_log_log_size{@brokers,@topics})", "{{topic}}")),
    series("Replicas in sync", "Of the partitions that the selected brokers lead.",
           Query("sum by (topic) (kafka_cluster_partition_insyncreplicascount{@brokers,@topics})", "{{topic}} in sync"),
           Query("sum by (topic) (kafka_cluster_partition_replicascount{@brokers,@topics})", "{{topic}} all")),
    series("Records of open transactions", "Records behind the last stable offset, which read_committed does not get.",
           Query("sum by (topic) (kafka_cluster_partition_laststableoffsetlag{@brokers,@topics})", "{{topic}}")),
    Panel("Partitions", "Size and log end offset of each replica.",
          (Query("kafka_log_log_size{@brokers,@topics}", "Bytes"),
           Query("kafka_log_log_logendoffset{@brokers,@topics}", "Log end offset")),
          kind=PanelKind.TABLE, width=24, height=10),
))  # fmt: skip


def dashboard(job: str) -> Dashboard:
    """job: the scrape job that is chosen at first."""
    return Dashboard(
        "kafka_py-topics", "Kafka: topics", "Traffic, size and replicas of topics.",
        (job_variable(job), CLUSTER, INSTANCE, TOPIC), (_STATE, _TRAFFIC, _STORED),
    )  # fmt: skip
