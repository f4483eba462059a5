"""What the placeholders of an expression become: matchers by variables in a dashboard, by names of jobs in a rule.

    sum by (job) (kafka_x{@brokers}), rate(kafka_y_total{@brokers,@topics}[@window])

Source: Prometheus' documentation, Querying; Grafana's documentation, Global variables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"@([a-z]+)")

Scope = Mapping[str, str]
"""Placeholder without its `@` -> text."""

DASHBOARD: Scope = {
    "brokers": 'job="$job",cluster=~"$cluster",instance=~"$instance"',
    "cluster": 'job="$job",cluster=~"$cluster"',
    "exporter": 'job="$exporter",cluster=~"$cluster"',
    "topics": 'topic=~"$topic"',
    "groups": 'consumergroup=~"$group"',
    "window": "$__rate_interval",
}
"""brokers: those that are selected. cluster: all brokers. window: at least four scrapes."""


def rules_scope(job: str, exporter_job: str) -> Scope:
    """The scope of rules. job, exporter_job: names of the scrape jobs of brokers and of the exporter."""
    brokers = f"job={quoted(job)}"
    return {"brokers": brokers, "cluster": brokers, "exporter": f"job={quoted(exporter_job)}", "window": "5m"}


def resolved(expression: str, scope: Scope) -> str:
    """The expression in PromQL. Raises KeyError for a placeholder that the scope does not have."""
    return _PLACEHOLDER.sub(lambda found: scope[found[1]], expression)


def quoted(text: str) -> str:
    """A string literal of PromQL."""
    return json.dumps(text, ensure_ascii=False)
