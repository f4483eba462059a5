"""Alerts about brokers: whether they run, their load, their disks, their ZooKeeper sessions."""

from __future__ import annotations

from kafka_py.operations.dashboards import expressions as shared
from kafka_py.operations.dashboards.alerts import BROKER, DOCTOR, Alert, AlertSeverity, Recording

LOG_BYTES = Recording("instance:kafka_log_log_size:sum", shared.LOG_BYTES)
"""Bytes of a broker's replicas."""
LARGE_BYTES = 10_000_000_000
"""Logs that are smaller may double in a day."""
_GROWTH = (
    f"predict_linear({LOG_BYTES.name}{{@brokers}}[6h], 86400) / {LOG_BYTES.name}{{@brokers}}"
    f" * ({LOG_BYTES.name}{{@brokers}} > bool {LARGE_BYTES})"
)
"""What the size will be in a day by the size now, 0 for small logs."""

ALERTS = (
    Alert("BrokerDown", "up{@brokers}", "< 1", "1m", AlertSeverity.CRITICAL,
          "The metrics of broker {{ $labels.instance }} cannot be read",
          "The broker is down, or its page of metrics is.",
          f"{DOCTOR} --metrics {{{{ $labels.instance }}}}"),
    Alert("NoBrokerScraped", "(count(up{@brokers}) or vector(0))", "< 1", "5m", AlertSeverity.CRITICAL,
          "Prometheus has no broker to ask",
          "No target has the job that these rules are about: none of their other alerts can fire.",
          "promtool check config prometheus.yml"),
    Alert("BrokerAbsent",
          "max by (job, cluster) (max_over_time(kafka_brokers{@exporter}[1h]))"
          " - max by (job, cluster) (kafka_brokers{@exporter})", "> 0", "2m", AlertSeverity.CRITICAL,
          "{{ $value }} brokers have left the cluster within an hour",
          "They are no longer registered in ZooKeeper; their replicas are out of sync.", DOCTOR),
    Alert("LogDirectoryOffline", shared.OFFLINE_DIRECTORIES, "> 0", "0m", AlertSeverity.CRITICAL,
          "{{ $value }} log directories of {{ $labels.instance }} have failed",
          "Its disk could not be read or written; the broker takes the directory up again after a restart only.",
          f"kafka-log-dirs.sh {BROKER} --describe"),
    Alert("LogsGrow", _GROWTH, "> 2", "1h", AlertSeverity.WARNING,
          "The logs of {{ $labels.instance }} will have doubled in a day",
          "At the pace of the last six hours; a disk that is full fails its log directory.",
          f"kafka-log-dirs.sh {BROKER} --describe"),
    Alert("RequestQueueLong", shared.REQUEST_QUEUE, "> 100", "5m", AlertSeverity.WARNING,
          "{{ $value }} requests wait on {{ $labels.instance }}", "Clients send more than the broker can serve.",
          f"kafka-py top {BROKER}"),
    Alert("BrokerSaturated", shared.HANDLERS_IDLE, "< 0.1", "10m", AlertSeverity.WARNING,
          "{{ $labels.instance }} is idle for only {{ $value | humanizePercentage }} of the time",
          "Its event loop has hardly any time left; requests will wait. Spread leaders, or add brokers.",
          f"kafka-py rebalance {BROKER}"),
    Alert("EventLoopHeld", shared.LOOP_STALL, "> 1000", "10m", AlertSeverity.WARNING,
          "One piece of work holds the event loop of {{ $labels.instance }} for {{ $value }} ms",
          "Every client waits that long: a slow disk, a swapped process, or a fault.", DOCTOR),
    Alert("OpenFilesNearLimit", shared.FILES_SHARE, "> 0.85", "5m", AlertSeverity.WARNING,
          "{{ $labels.instance }} has {{ $value | humanizePercentage }} of the files open that it may have",
          "At the limit log directories fail and connections are refused: raise the limit (ulimit -n).", DOCTOR),
    Alert("CleanerDead", shared.CLEANER_DEAD, "> 0", "5m", AlertSeverity.WARNING,
          "{{ $value }} cleaners of {{ $labels.instance }} have ended",
          "Compacted topics grow, the offsets of groups among them, until the broker is restarted.",
          f"kafka-log-dirs.sh {BROKER} --describe"),
    Alert("PartitionsUncleanable", shared.UNCLEANABLE, "> 0", "15m", AlertSeverity.WARNING,
          "{{ $value }} partitions on {{ $labels.instance }} cannot be compacted",
          "The log cleaner failed on them and leaves them alone; the broker's log names the failure.",
          f"kafka-log-dirs.sh {BROKER} --describe"),
    Alert("BackgroundFailures", shared.BACKGROUND_FAILURES, "> 0", "0m", AlertSeverity.WARNING,
          "{{ $labels.instance }} had {{ $value }} failures that were not foreseen",
          "The broker continues; its log has the tracebacks.", f"kafka-py bundle {BROKER}"),
    Alert("ZooKeeperSessionExpired", shared.SESSIONS_EXPIRED, "> 0", "0m", AlertSeverity.WARNING,
          "{{ $labels.instance }} lost its ZooKeeper session",
          "The controller took it for dead and moved its leaders: ZooKeeper, the network or the broker was too slow.",
          f"{DOCTOR} --zookeeper ZOOKEEPER:2181"),
    Alert("ZooKeeperDisconnected", shared.SESSION_CONNECTED, "< 1", "1m", AlertSeverity.CRITICAL,
          "{{ $labels.instance }} has no connection to ZooKeeper",
          "It cannot change in-sync sets, and leaves the cluster when its session expires.",
          f"{DOCTOR} --zookeeper ZOOKEEPER:2181"),
    Alert("ZooKeeperLoginsRefused", shared.ZOOKEEPER_LOGINS_REFUSED, "> 0", "0m", AlertSeverity.WARNING,
          "ZooKeeper refuses the log-in of {{ $labels.instance }}", "Its user or password there is wrong.",
          "zookeeper-shell.sh ZOOKEEPER:2181"),
    Alert("ZooKeeperSlow", shared.ZOOKEEPER_LATENCY, "> 1000", "10m", AlertSeverity.WARNING,
          "ZooKeeper needs {{ $value }} ms to answer {{ $labels.instance }} (99th percentile)",
          "Elections and changes of in-sync sets are slow, and sessions will expire.",
          f"{DOCTOR} --zookeeper ZOOKEEPER:2181"),
)  # fmt: skip
