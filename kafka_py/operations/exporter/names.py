"""The table of families: names, labels and meanings; all are gauges.

Those from BROKERS to GROUP_MEMBERS have the names and labels of kafka_exporter (danielqsj/kafka_exporter), so that its
dashboards and alerts work; the others are ours. kafka_consumergroupzookeeper_lag_zookeeper is left out: no group has
stored its offsets in ZooKeeper since Kafka 0.8. Source: docs/metrics.md.
"""

from __future__ import annotations

from typing import NamedTuple


class ExporterFamily(NamedTuple):
    """One row. labels: without the label `cluster`, which the web manager adds to each."""

    name: str
    labels: tuple[str, ...]
    about: str


_PARTITION = ("topic", "partition")
_GROUP_TOPIC = ("consumergroup", "topic")
_GROUP_PARTITION = ("consumergroup", "topic", "partition")

BROKERS = ExporterFamily("kafka_brokers", (), "Live brokers.")
BROKER_INFO = ExporterFamily("kafka_broker_info", ("id", "address"), "1 for each live broker.")
PARTITIONS = ExporterFamily("kafka_topic_partitions", ("topic",), "Partitions of the topic.")
CURRENT_OFFSET = ExporterFamily("kafka_topic_partition_current_offset", _PARTITION, "Offset of the next record.")
OLDEST_OFFSET = ExporterFamily("kafka_topic_partition_oldest_offset", _PARTITION, "Offset of the first record.")
LEADER = ExporterFamily(
    "kafka_topic_partition_leader", _PARTITION, "Id of the leader; a partition without leader has no sample."
)
LEADER_IS_PREFERRED = ExporterFamily(
    "kafka_topic_partition_leader_is_preferred", _PARTITION, "1 where the first replica leads, else 0."
)
REPLICAS = ExporterFamily("kafka_topic_partition_replicas", _PARTITION, "Replicas of the partition.")
IN_SYNC_REPLICAS = ExporterFamily("kafka_topic_partition_in_sync_replica", _PARTITION, "Replicas in the in-sync set.")
UNDER_REPLICATED = ExporterFamily(
    "kafka_topic_partition_under_replicated_partition", _PARTITION, "1 where a replica is not in sync, else 0."
)
GROUP_OFFSET = ExporterFamily(
    "kafka_consumergroup_current_offset", _GROUP_PARTITION,
    "Committed offset; -1 where the group has committed for other partitions of the topic only.",
)  # fmt: skip
GROUP_OFFSET_SUM = ExporterFamily(
    "kafka_consumergroup_current_offset_sum", _GROUP_TOPIC, "Sum of the committed offsets of a topic."
)
GROUP_LAG = ExporterFamily(
    "kafka_consumergroup_lag", _GROUP_PARTITION, "Records not committed yet; -1 where nothing was committed."
)
GROUP_LAG_SUM = ExporterFamily("kafka_consumergroup_lag_sum", _GROUP_TOPIC, "Sum of the known lags of a topic.")
GROUP_MEMBERS = ExporterFamily("kafka_consumergroup_members", ("consumergroup",), "Members of the group.")

GROUP_LAG_SECONDS = ExporterFamily(
    "kafka_consumergroup_lag_seconds", _GROUP_PARTITION,
    "Age of the first record not committed, estimated from the log ends of earlier looks; none where it is not known.",
)  # fmt: skip
WITHOUT_LEADER = ExporterFamily(
    "kafka_topic_partitions_without_leader", ("topic",), "Partitions that have no live leader."
)
UP = ExporterFamily("kafka_exporter_up", (), "1 if a broker answered the last look, else 0 and nothing else.")
LOOK_TIME = ExporterFamily("kafka_exporter_look_timestamp_seconds", (), "When the last look began, since the epoch.")
LOOK_DURATION = ExporterFamily("kafka_exporter_look_duration_seconds", (), "How long the last look took.")
UNSEEN = ExporterFamily("kafka_exporter_unseen_parts", (), "Requests of the last look that failed.")

FAMILIES = (
    BROKERS, BROKER_INFO, PARTITIONS, CURRENT_OFFSET, OLDEST_OFFSET, LEADER, LEADER_IS_PREFERRED, REPLICAS,
    IN_SYNC_REPLICAS, UNDER_REPLICATED, GROUP_OFFSET, GROUP_OFFSET_SUM, GROUP_LAG, GROUP_LAG_SUM, GROUP_MEMBERS,
    GROUP_LAG_SECONDS, WITHOUT_LEADER, UP, LOOK_TIME, LOOK_DURATION, UNSEEN,
)  # fmt: skip
