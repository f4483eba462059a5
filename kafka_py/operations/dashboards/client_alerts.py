"""Alerts about what clients see: times, refusals, quotas, and the lag of consumer groups (by kafka_exporter)."""

from __future__ import annotations

from kafka_py.operations.dashboards import expressions as shared
from kafka_py.operations.dashboards.alerts import BROKER, DOCTOR, Alert, AlertSeverity

_GROUP = f"kafka-consumer-groups.sh {BROKER} --describe --group {{{{ $labels.consumergroup }}}}"

ALERTS = (
    Alert("ProduceSlow", shared.PRODUCE_P99, "> 1000", "10m", AlertSeverity.WARNING,
          "Produce requests to {{ $labels.instance }} take {{ $value }} ms (99th percentile)",
          "The dashboard of clients shows which part takes the time: with acks=all mostly the slowest replica.",
          f"kafka-py top {BROKER}"),
    Alert("FetchSlow", shared.FETCH_P99, "> 1000", "10m", AlertSeverity.WARNING,
          "Fetch requests to {{ $labels.instance }} take {{ $value }} ms (99th percentile)",
          "Without the time in which they wait for new records: a slow disk, or a saturated broker.",
          f"kafka-py top {BROKER}"),
    Alert("ProduceFails", shared.FAILED_PRODUCES, "> 1", "5m", AlertSeverity.WARNING,
          "{{ $value | humanize }} produce requests a second fail on {{ $labels.instance }}",
          "Too few replicas in sync, records that are too large, or a client that may not write there.", DOCTOR),
    Alert("FetchFails", shared.FAILED_FETCHES, "> 1", "5m", AlertSeverity.WARNING,
          "{{ $value | humanize }} fetch requests a second fail on {{ $labels.instance }}",
          "Partitions that moved, offsets that are gone, or a client that may not read there.", DOCTOR),
    Alert("LoginsFail", shared.LOGINS_REFUSED, "> 10", "0m", AlertSeverity.WARNING,
          "{{ $value | humanize }} log-ins failed on {{ $labels.listener }} of {{ $labels.instance }} in 5 minutes",
          "A wrong password, a certificate that expired, or somebody who tries; the broker's log has the addresses.",
          f"{DOCTOR} --command-config client.properties"),
    Alert("ConnectionsRefused", shared.CONNECTIONS_REFUSED, "> 0", "0m", AlertSeverity.WARNING,
          "{{ $labels.instance }} refused {{ $value | humanize }} connections in 5 minutes",
          "An address has more connections than max.connections.per.ip allows.",
          f"kafka-configs.sh {BROKER} --describe --all --entity-type brokers --entity-name ID"),
    Alert("ClientsThrottled", shared.THROTTLED_P99, "> 1000", "10m", AlertSeverity.INFO,
          "{{ $labels.request }} requests on {{ $labels.instance }} are throttled for {{ $value }} ms",
          "A user or client uses more than its quota.",
          f"kafka-configs.sh {BROKER} --describe --entity-type clients"),
    Alert("ConsumerLagGrows", shared.LAG_CHANGE, "> 0.1", "30m", AlertSeverity.WARNING,
          "Group {{ $labels.consumergroup }} falls behind on {{ $labels.topic }}",
          "Its lag has grown for half an hour, by {{ $value | humanize }} records a second: "
          "its consumers are too slow or too few.", _GROUP),
    Alert("GroupWithoutMembers", shared.LAG_WITHOUT_MEMBERS, "> 0", "10m", AlertSeverity.WARNING,
          "Group {{ $labels.consumergroup }} has {{ $value }} records to read and no member",
          "Its consumers are down; records that expire before they are back are lost to it.", _GROUP),
    Alert("ExporterDown", "up{@exporter}", "< 1", "5m", AlertSeverity.WARNING,
          "The exporter {{ $labels.instance }} cannot be read", "Nothing watches the lag of groups meanwhile.", DOCTOR),
    Alert("ClusterUnreachable", "kafka_exporter_up{@exporter}", "< 1", "1m", AlertSeverity.CRITICAL,
          "No broker answers the exporter {{ $labels.instance }}",
          "The brokers are down, or their addresses or its log-in are wrong. Only `kafka-py exporter` has this metric.",
          DOCTOR),
)  # fmt: skip
