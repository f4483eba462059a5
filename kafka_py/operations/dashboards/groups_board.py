"""The dashboard of consumer groups, by the metrics of kafka_exporter, which `kafka-py exporter` has as well."""

from __future__ import annotations

from kafka_py.operations.dashboards import expressions as shared
from kafka_py.operations.dashboards.panels import (
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
from kafka_py.operations.dashboards.variables import EXPORTED_CLUSTER, GROUP, GROUP_TOPIC, exporter_variable

_EACH_READ = "max by (cluster, consumergroup, topic, partition)"
_EACH_PARTITION = "max by (cluster, topic, partition)"
"""Several exporters of a job have the same values."""

_LAG = f"({_EACH_READ} (kafka_consumergroup_lag{{@exporter,@groups,@topics}}) >= 0)"
"""It is -1 where the group has committed nothing."""
_OFFSET = f"{_EACH_READ} (kafka_consumergroup_current_offset{{@exporter,@groups,@topics}})"
_MEMBERS = "max by (cluster, consumergroup) (kafka_consumergroup_members{@exporter,@groups})"
_PARTITIONS = "max by (cluster, topic) (kafka_topic_partitions{@exporter,@topics})"
_READ = (
    "sum by (cluster, consumergroup, topic)"
    f" ({_EACH_READ} (rate(kafka_consumergroup_current_offset{{@exporter,@groups,@topics}}[@window])))"
)
_WRITTEN = (
    "sum by (cluster, topic)"
    f" ({_EACH_PARTITION} (rate(kafka_topic_partition_current_offset{{@exporter,@topics}}[@window])))"
)

_GROUP_TOPIC = "{{cluster}} {{consumergroup}} {{topic}}"
"""Without a label `cluster` the first part is empty."""

_STATE = Row("State", (
    stat("Groups", "Of the selection.",
         "count(count by (cluster, consumergroup) (kafka_consumergroup_members{@exporter,@groups}))"),
    stat("Members", "Consumers in these groups.", f"sum({_MEMBERS})"),
    stat("Lag", "Records that were written and not committed yet.", f"sum{_LAG}"),
    stat("Groups with lag, without members", "No consumer reads what waits there.",
         f"count({shared.LAG_WITHOUT_MEMBERS} > 0) or vector(0)", *WARN_ABOVE_0),
    stat("Brokers", "Known to the exporter.", "max(kafka_brokers{@exporter})"),
    stat("Partitions", "Of the selected topics.", f"sum({_PARTITIONS})"),
))  # fmt: skip

_LAGS = Row("Lag", (
    series("Lag", "Records that were written and not committed yet.",
           Query(f"sum by (cluster, consumergroup, topic) {_LAG}", _GROUP_TOPIC)),
    series("Largest lag of a partition", "One partition far behind: a slow consumer, or a record that it fails on.",
           Query(f"max by (cluster, consumergroup, topic) {_LAG}", _GROUP_TOPIC)),
    series("Change of lag", "Above 0 for long: the group will not catch up.",
           Query("sum by (cluster, consumergroup, topic)"
                 f" ({_EACH_READ} (deriv(kafka_consumergroup_lag{{@exporter,@groups,@topics}}[@window])))",
                 _GROUP_TOPIC), unit=Unit.RECORDS_PER_S),
    series("Read", "Records per second, by committed offsets.", Query(_READ, _GROUP_TOPIC),
           unit=Unit.RECORDS_PER_S),
    series("Written", "Records per second, by log end offsets.", Query(_WRITTEN, "{{cluster}} {{topic}}"),
           unit=Unit.RECORDS_PER_S),
    series("Behind", "Lag by the records written per second: roughly how old the next record is.",
           Query(f"sum by (cluster, consumergroup, topic) {_LAG} / on (cluster, topic) group_left () ({_WRITTEN} > 0)",
                 _GROUP_TOPIC), unit=Unit.S),
    series("Age of the next record", "As `kafka-py exporter` knows it from earlier log ends; other exporters do not.",
           Query("max by (cluster, consumergroup, topic) (kafka_consumergroup_lag_seconds{@exporter,@groups,@topics})",
                 _GROUP_TOPIC), unit=Unit.S),
    series("Members", "Consumers of a group.",
           Query(_MEMBERS, "{{cluster}} {{consumergroup}}")),
    series("Partitions that are read", "With a committed offset, of all that the topic has.",
           Query(f"count by (cluster, consumergroup, topic) ({_OFFSET} >= 0)", _GROUP_TOPIC),
           Query(_PARTITIONS, "{{cluster}} {{topic}} all")),
    series("Partitions without a leader", "As `kafka-py exporter` sees them; other exporters do not.",
           Query("max by (cluster, topic) (kafka_topic_partitions_without_leader{@exporter,@topics})",
                 "{{cluster}} {{topic}}")),
    series("Under-replicated partitions", "Of the selected topics, as the exporter sees them.",
           Query("sum by (cluster, topic)"
                 f" ({_EACH_PARTITION} (kafka_topic_partition_under_replicated_partition{{@exporter,@topics}}))",
                 "{{cluster}} {{topic}}")),
    Panel("Partitions", "Committed offset and lag of each partition.",
          (Query(_OFFSET, "Committed offset"),
           Query(_LAG, "Lag")), kind=PanelKind.TABLE, width=24, height=10),
))  # fmt: skip


def dashboard(exporter_job: str) -> Dashboard:
    """exporter_job: the exporter's scrape job that is chosen at first."""
    return Dashboard(
        "kafka_py-groups", "Kafka: consumer groups", "Lag and members of consumer groups.",
        (exporter_variable(exporter_job), EXPORTED_CLUSTER, GROUP, GROUP_TOPIC), (_STATE, _LAGS),
    )  # fmt: skip
