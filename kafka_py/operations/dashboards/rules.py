"""The file of rules for Prometheus.

Source: Prometheus' documentation, Recording rules; Prometheus' documentation, Alerting rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_py.operations.dashboards import broker_alerts, client_alerts, partition_alerts
from kafka_py.operations.dashboards.alerts import Alert, Recording
from kafka_py.operations.dashboards.scopes import Scope, resolved

PREFIX = "Kafka"
RECORDINGS: tuple[Recording, ...] = (broker_alerts.LOG_BYTES,)
ALERTS: Mapping[str, Sequence[Alert]] = {
    "partitions": partition_alerts.ALERTS,
    "brokers": broker_alerts.ALERTS,
    "clients": client_alerts.ALERTS,
}
"""By group; Prometheus evaluates the rules of a group one after the other."""


def document(scope: Scope) -> dict[str, Any]:
    """The rules of these jobs."""
    recordings = [{"record": each.name, "expr": resolved(each.expression, scope)} for each in RECORDINGS]
    groups: list[dict[str, Any]] = [{"name": "kafka_py-recordings", "rules": recordings}]
    for name, alerts in ALERTS.items():
        groups.append({"name": f"kafka_py-{name}", "rules": [_rule(alert, scope) for alert in alerts]})
    return {"groups": groups}


def _rule(alert: Alert, scope: Scope) -> dict[str, Any]:
    return {
        "alert": f"{PREFIX}{alert.name}",
        "expr": f"{resolved(alert.expression, scope)} {alert.condition}",
        "for": alert.lasts,
        "labels": {"severity": alert.severity.value},
        "annotations": {
            "summary": alert.summary,
            "description": f"{alert.about} Next: `{alert.next_command}`",
        },
    }
