"""Alerts about partitions, replicas and the controller."""

from __future__ import annotations

from kafka_py.operations.dashboards import expressions as shared
from kafka_py.operations.dashboards.alerts import BROKER, DOCTOR, Alert, AlertSeverity

_DESCRIBE = f"kafka-topics.sh {BROKER} --describe"

ALERTS = (
    Alert("OfflinePartitions", shared.OFFLINE_PARTITIONS, "> 0", "1m", AlertSeverity.CRITICAL,
          "{{ $value }} partitions of {{ $labels.job }} have no leader",
          "Nothing can be written or read there until a broker with an in-sync replica is back.",
          f"{_DESCRIBE} --unavailable-partitions"),
    Alert("UnderReplicatedPartitions", shared.UNDER_REPLICATED, "> 0", "5m", AlertSeverity.WARNING,
          "{{ $value }} partitions that {{ $labels.instance }} leads have replicas out of sync",
          "A broker is down, or too slow to copy what is written; the records have fewer copies than they should.",
          f"{_DESCRIBE} --under-replicated-partitions"),
    Alert("PartitionsUnderMinIsr", shared.UNDER_MIN_ISR, "> 0", "1m", AlertSeverity.CRITICAL,
          "{{ $value }} partitions that {{ $labels.instance }} leads refuse records with acks=all",
          "Fewer replicas are in sync than min.insync.replicas asks for.",
          f"{_DESCRIBE} --under-min-isr-partitions"),
    Alert("ReplicasOffline", shared.OFFLINE_REPLICAS, "> 0", "1m", AlertSeverity.CRITICAL,
          "{{ $value }} replicas on {{ $labels.instance }} are offline", "They are in a log directory that failed.",
          f"kafka-log-dirs.sh {BROKER} --describe"),
    Alert("NoController", shared.ACTIVE_CONTROLLERS, "< 1", "1m", AlertSeverity.CRITICAL,
          "{{ $labels.job }} has no controller",
          "No leader is elected and no topic is created until a broker takes the role, for which it needs ZooKeeper.",
          DOCTOR),
    Alert("SeveralControllers", shared.ACTIVE_CONTROLLERS, "> 1", "1m", AlertSeverity.CRITICAL,
          "{{ $value }} brokers of {{ $labels.job }} take themselves for the controller",
          "All but one have lost their session without noticing it; two clusters under one job look the same.",
          DOCTOR),
    Alert("UncleanElection", shared.UNCLEAN_ELECTIONS, "> 0", "0m", AlertSeverity.CRITICAL,
          "{{ $labels.job }} elected a leader outside the in-sync set",
          "Records that were acknowledged are lost in these partitions; unclean.leader.election.enable allowed it.",
          f"kafka-configs.sh {BROKER} --describe --all --entity-type brokers --entity-name ID"),
    Alert("ControllerQueueLong", shared.CONTROLLER_QUEUE, "> 100", "10m", AlertSeverity.WARNING,
          "{{ $value }} events wait for the controller on {{ $labels.instance }}",
          "Changes of leaders are late by the time of this queue.", DOCTOR),
    Alert("InSyncSetsFlap", shared.ISR_SHRINKS, "> 5", "30m", AlertSeverity.WARNING,
          "Replicas of partitions that {{ $labels.instance }} leads fall behind again and again",
          "A follower is now and then too slow: its disk, its network, or long turns of its event loop.",
          f"{_DESCRIBE} --under-replicated-partitions"),
    Alert("ReplicasNotCopied", shared.FAILED_COPIES, "> 0", "5m", AlertSeverity.WARNING,
          "{{ $labels.instance }} has set aside {{ $value }} partitions that it should copy",
          "A failure stopped their copying until their leader changes; the broker's log names it.",
          f"{_DESCRIBE} --under-replicated-partitions"),
)  # fmt: skip
