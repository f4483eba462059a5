"""The table of what is sampled: name, what it belongs to, its shape, and how coarser resolutions sum it up.

A scalar is one number. A vector has one number per partition of a topic, in order, MISSING where it is unknown.
The entity of a broker is its id as text, of a topic its name, of a group its id, of a group's topic `group_topic`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from kafka_py.operations.groups import lag

MISSING = lag.MISSING
"""In a vector: the value of this partition is not known."""

CLUSTER_ENTITY = ""

_SEPARATOR = "\0"


class Belongs(StrEnum):
    """What an entity is."""

    CLUSTER = "cluster"
    BROKER = "broker"
    TOPIC = "topic"
    GROUP = "group"
    GROUP_TOPIC = "group-topic"


class Fold(StrEnum):
    """What a coarser resolution keeps of the samples in one of its intervals."""

    LAST = "last"
    MEAN = "mean"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class HistoryMetric:
    """One row of the table.

    fold: what coarser resolutions keep. is_counter: a value that grows, whose rate is of interest. is_age: of several
    partitions the greatest counts, not the sum.
    """

    name: str
    of: Belongs
    unit: str
    fold: Fold
    is_vector: bool = False
    is_counter: bool = False
    is_age: bool = False


COLLECTED = HistoryMetric("collected", Belongs.CLUSTER, "ms", Fold.MEAN)
"""How long the observation took; written in every round."""
BROKERS = HistoryMetric("brokers", Belongs.CLUSTER, "brokers", Fold.LAST)
TOPICS = HistoryMetric("topics", Belongs.CLUSTER, "topics", Fold.LAST)
PARTITIONS = HistoryMetric("partitions", Belongs.CLUSTER, "partitions", Fold.LAST)
UNDER_REPLICATED = HistoryMetric("under_replicated", Belongs.CLUSTER, "partitions", Fold.MAX)
OFFLINE = HistoryMetric("offline", Belongs.CLUSTER, "partitions", Fold.MAX)
RECORDS_RATE = HistoryMetric("records_per_second", Belongs.CLUSTER, "records/s", Fold.MEAN)
CLUSTER_SIZE = HistoryMetric("size", Belongs.CLUSTER, "bytes", Fold.LAST)

BROKER_LEADERS = HistoryMetric("broker_leaders", Belongs.BROKER, "partitions", Fold.LAST)
BROKER_REPLICAS = HistoryMetric("broker_replicas", Belongs.BROKER, "partitions", Fold.LAST)
BROKER_RECORDS_RATE = HistoryMetric("broker_records_per_second", Belongs.BROKER, "records/s", Fold.MEAN)
BROKER_SIZE = HistoryMetric("broker_size", Belongs.BROKER, "bytes", Fold.LAST)

TOPIC_END = HistoryMetric("log_end_offset", Belongs.TOPIC, "records", Fold.LAST, is_vector=True, is_counter=True)
TOPIC_START = HistoryMetric("log_start_offset", Belongs.TOPIC, "records", Fold.LAST, is_vector=True, is_counter=True)
TOPIC_SIZE = HistoryMetric("topic_size", Belongs.TOPIC, "bytes", Fold.LAST, is_vector=True)

GROUP_LAG = HistoryMetric("group_lag", Belongs.GROUP, "records", Fold.MAX)
GROUP_LAG_MS = HistoryMetric("group_lag_ms", Belongs.GROUP, "ms", Fold.MAX)
GROUP_MEMBERS = HistoryMetric("group_members", Belongs.GROUP, "members", Fold.LAST)
COMMITTED = HistoryMetric(
    "committed_offset", Belongs.GROUP_TOPIC, "records", Fold.LAST, is_vector=True, is_counter=True
)
LAG = HistoryMetric("lag", Belongs.GROUP_TOPIC, "records", Fold.LAST, is_vector=True)
LAG_MS = HistoryMetric("lag_ms", Belongs.GROUP_TOPIC, "ms", Fold.LAST, is_vector=True, is_age=True)

METRICS = {
    metric.name: metric
    for metric in (
        COLLECTED, BROKERS, TOPICS, PARTITIONS, UNDER_REPLICATED, OFFLINE, RECORDS_RATE, CLUSTER_SIZE,
        BROKER_LEADERS, BROKER_REPLICAS, BROKER_RECORDS_RATE, BROKER_SIZE,
        TOPIC_END, TOPIC_START, TOPIC_SIZE,
        GROUP_LAG, GROUP_LAG_MS, GROUP_MEMBERS, COMMITTED, LAG, LAG_MS,
    )
}  # fmt: skip
"""All metrics by name."""


class PastSample(NamedTuple):
    """One value of one entity: a number, or a tuple with one number per partition."""

    metric: HistoryMetric
    entity: str
    value: float | tuple[int, ...]


def group_topic(group: str, topic: str) -> str:
    """The entity of a topic's partitions as far as a group consumes them. Neither name contains the separator."""
    return f"{group}{_SEPARATOR}{topic}"


def parts_of_group_topic(entity: str) -> tuple[str, str]:
    """The group and the topic of such an entity."""
    group, _, topic = entity.rpartition(_SEPARATOR)
    return group, topic


def metric_named(name: str) -> HistoryMetric:
    """The metric of that name. Raises ValueError for an unknown one."""
    found = METRICS.get(name)
    if found is None:
        raise ValueError(f"there is no metric {name!r}; known are {', '.join(METRICS)}")
    return found
