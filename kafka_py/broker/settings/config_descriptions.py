"""Settings in the form of DescribeConfigs and CreateTopics: value, source, synonyms, documentation.

Pure: reads the tables and the layers of settings.
Source: KIP-226 (sources and synonyms), KIP-569 (types and documentation); ConfigHelper (leaves a broker synonym out
unless the setting's own first name is among the layers).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

from kafka_py.broker.settings import loggers
from kafka_py.broker.settings.configs import BrokerConfig, own_settings
from kafka_py.broker.settings.live_config import LiveConfig
from kafka_py.broker.settings.setting_names import base_name, is_secret, row_of
from kafka_py.log.model.configs import TOPIC_SYNONYMS, LogConfig


class ConfigLayer(IntEnum):
    """The source of a value, with the numbers of the protocol."""

    UNKNOWN = 0
    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6


UNKNOWN_TYPE = 0

# In Apache Kafka 2.8.2 these are dynamic settings only: not listed unless set.
_RUN_TIME_ONLY = frozenset(
    {
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    }
)

_SAME_THING = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
"""The same time in several units, in order of precedence."""


class Synonym(NamedTuple):
    """One layer that sets the value; the first one of a list is in effect."""

    name: str
    value: str | None
    source: ConfigLayer


class Description(NamedTuple):
    """One setting. value: None when it is unset or sensitive. type: the protocol's number of the value's type."""

    name: str
    value: str | None
    source: ConfigLayer
    is_sensitive: bool
    is_read_only: bool
    synonyms: list[Synonym]
    type: int
    documentation: str


def describe_topic(overrides: Mapping[str, str], live: LiveConfig) -> Iterator[Description]:
    """Every setting of a topic with these overrides, on a broker with the settings `live`."""
    config = LogConfig.for_topic(live.current, overrides)
    for row, value in config.describe_values():
        broker_names = TOPIC_SYNONYMS.get(row.name, ())
        synonyms = _broker_synonyms(broker_names, live, broker_names[0]) if broker_names else []
        if row.name in overrides:
            synonyms.insert(0, Synonym(row.name, overrides[row.name], ConfigLayer.DYNAMIC_TOPIC))
        about = row.about or (BrokerConfig.ROWS[broker_names[0]].about if broker_names else "")
        source = synonyms[0].source if synonyms else ConfigLayer.DEFAULT
        yield Description(row.name, value, source, False, False, synonyms, row.kind.value, about)


def describe_broker(live: LiveConfig) -> Iterator[Description]:
    """Every setting of this broker, and the unknown names in its properties, whose values are not shown."""
    config = live.current
    own = own_settings()
    for row in BrokerConfig.describe():
        if row.name in _RUN_TIME_ONLY and row.name not in live.own and row.name not in live.cluster_wide:
            continue
        if row.name in own and row.name not in live.static.originals:
            continue
        value = None if row.sensitive else config.text(row.name)
        yield _describe_broker_row(row.name, value, _broker_synonyms(_names_of(row.name), live, row.name))
    for name in config.unknown:
        names = tuple(dict.fromkeys((name, base_name(name))))
        value = _shown(name, str(config.originals[name]))
        yield _describe_broker_row(name, value, _broker_synonyms(names, live, name))


def describe_cluster_default(overrides: Mapping[str, str]) -> Iterator[Description]:
    """The dynamic settings of all brokers."""
    for name, value in overrides.items():
        shown = _shown(name, value)
        yield _describe_broker_row(name, shown, [Synonym(name, shown, ConfigLayer.DYNAMIC_DEFAULT_BROKER)])


def _describe_broker_row(name: str, value: str | None, synonyms: list[Synonym]) -> Description:
    source = synonyms[0].source if synonyms else ConfigLayer.DEFAULT
    row = row_of(name)
    kind, about = (UNKNOWN_TYPE, "") if row is None else (row.kind.value, row.about)
    is_read_only = name not in BrokerConfig.ROWS or not BrokerConfig.ROWS[name].live.is_live
    return Description(name, value, source, is_secret(name), is_read_only, synonyms, kind, about)


def _names_of(name: str) -> tuple[str, ...]:
    """The settings with the same meaning, in order of precedence."""
    if name == "log.flush.interval.ms":
        return (name, "log.flush.scheduler.interval.ms")  # its default, which has no synonym itself
    return next((names for names in _SAME_THING if name in names), (name,))


def _broker_synonyms(names: tuple[str, ...], live: LiveConfig, first: str) -> list[Synonym]:
    """The layers that set one of the names, in order of precedence, starting with one that sets `first`."""
    found: list[Synonym] = []
    layers: tuple[tuple[Mapping[str, object], ConfigLayer], ...] = (
        (live.own, ConfigLayer.DYNAMIC_BROKER),
        (live.cluster_wide, ConfigLayer.DYNAMIC_DEFAULT_BROKER),
        (live.static.originals, ConfigLayer.STATIC_BROKER),
    )
    for layer, source in layers:
        for name in names:
            if name in layer:
                found.append(Synonym(name, _shown(name, str(layer[name])), source))
    for name in names:
        row = BrokerConfig.ROWS.get(name)
        if row is not None and row.default is not None and name not in _RUN_TIME_ONLY:
            found.append(Synonym(name, _shown(name, row.text(row.default)), ConfigLayer.DEFAULT))
    while found and found[0].name != first:
        del found[0]
    return found


def _shown(name: str, value: str | None) -> str | None:
    return None if is_secret(name) else value


def describe_loggers() -> Iterator[Description]:
    """The levels of this process's loggers (KIP-412); the root one is called `root`."""
    for name, level in loggers.levels().items():
        yield Description(name, level, ConfigLayer.DYNAMIC_BROKER_LOGGER, False, False, [], UNKNOWN_TYPE, "")
