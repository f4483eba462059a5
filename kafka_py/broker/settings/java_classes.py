"""Java class names in a broker's settings: the warnings about classes whose function this broker lacks.

A property file of Apache Kafka must start this broker too, so no class name is rejected here; a missing function is one
line of the start-up log. Not in the table: policies (create.topic.policy.class.name loads Python), classes
that protect the broker (protections.py), and those of settings that have no effect at all (column `no_effect`).
Source: docs/reference/configs.tsv.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kafka_py.base.plugins import find_class

NOTHING_LOST = ""


class ClassSetting(NamedTuple):
    """A setting that names classes, comma-separated if several.

    known: the function lost for each class of Apache Kafka itself, by its name without package. otherwise: the function
        lost for any other class.
    """

    known: Mapping[str, str]
    otherwise: str


_LEADER_ONLY = "consumers read from the leader, whatever their rack"
_NO_JMX = "metrics are not offered over JMX, but over HTTP (metrics.http.port)"
_NOT_CALLED = "a Java class, which this broker cannot call"

_REPORTERS = ("metric.reporters", "kafka.metrics.reporters")
"""Settings that may also name Python classes."""

REPORTER_METHODS = ("configure", "report", "close")
"""The methods that such a class must have; see reporters.MetricsReporter."""

SETTINGS: dict[str, ClassSetting] = {
    "replica.selector.class": ClassSetting(
        {"LeaderSelector": NOTHING_LOST, "RackAwareReplicaSelector": NOTHING_LOST}, _LEADER_ONLY
    ),
    "metric.reporters": ClassSetting({"JmxReporter": _NO_JMX}, _NOT_CALLED),
    "kafka.metrics.reporters": ClassSetting(
        {"KafkaCSVMetricsReporter": NOTHING_LOST, "ConsoleReporter": NOTHING_LOST}, _NOT_CALLED
    ),
}


def class_warnings(properties: Mapping[str, object]) -> Iterator[str]:
    """One line for each class in these settings whose function is missing."""
    for setting, meaning in SETTINGS.items():
        for name in filter(None, (word.strip() for word in str(properties.get(setting, "")).split(","))):
            lost = meaning.known.get(name.rpartition(".")[2], meaning.otherwise)
            if lost and not (setting in _REPORTERS and find_class(name, REPORTER_METHODS)):
                yield f"{setting}={name}: {lost}"
