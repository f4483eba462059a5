"""Alerts and recording rules as values. What they say is for the person who is woken up: what, why, and what to run."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class AlertSeverity(StrEnum):
    """critical: records or availability are lost now. warning: after the next fault. info: to know."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class Alert(NamedTuple):
    """name: without the prefix `Kafka`. expression: with placeholders (scopes.py); has a value while all is well, too.

    condition: a comparison of that value, which is the alert. lasts: how long it must hold, as Prometheus writes it.
    summary, about: may have `{{ $labels.instance }}` and `{{ $value }}`. next_command: what to run then.
    """

    name: str
    expression: str
    condition: str
    lasts: str
    severity: AlertSeverity
    summary: str
    about: str
    next_command: str


class Recording(NamedTuple):
    """An expression whose value Prometheus keeps as a metric of this name, for alerts over hours."""

    name: str
    expression: str


BROKER = "--bootstrap-server BROKER:9092"
"""How commands of alerts name the cluster."""
DOCTOR = f"kafka-py doctor {BROKER}"
