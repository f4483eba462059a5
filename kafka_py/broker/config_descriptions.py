"""Settings as DescribeConfigs and CreateTopics show them: value, where it comes from, its synonyms, its documentation.

Pure: reads the tables and the layers of settings. Source: KIP-226 (sources and synonyms), KIP-569 (types and
documentation); the reference leaves a broker synonym out unless the setting's own first name is among the layers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any, NamedTuple

from kafka_py.base.options import Live, Option
from kafka_py.broker import loggers
from kafka_py.broker.configs import BrokerConfig, own_settings
from kafka_py.broker.live_config import LiveConfig
from kafka_py.log.configs import TOPIC_SYNONYMS, LogConfig


class Source(IntEnum):
    """Where a value comes from; the numbers of the protocol."""

    UNKNOWN = 0
    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6


UNKNOWN_TYPE = 0

# Known to the classic as settings of a running broker only: not listed unless set.
_RUN_TIME_ONLY = frozenset(
    {
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    }
)


class Synonym(NamedTuple):
    """One place where the value could come from; the first of a list is where it does."""

    name: str
    value: str | None
    source: Source


class Description(NamedTuple):
    """One setting. value: None when it is unset or sensitive. type: the protocol's number of the value's type."""

    name: str
    value: str | None
    source: Source
    is_sensitive: bool
    is_read_only: bool
    synonyms: list[Synonym]
    type: int
    documentation: str


def describe_topic(overrides: Mapping[str, str], live: LiveConfig) -> Iterator[Description]:
    """Every setting of a topic with these overrides, on a broker with those settings."""
    config = LogConfig.for_topic(live.current, overrides)
    for row, value in config.describe_values():
        broker_names = TOPIC_SYNONYMS.get(row.name, ())
        synonyms = _broker_synonyms(broker_names, live)
        if row.name in overrides:
            synonyms.insert(0, Synonym(row.name, overrides[row.name], Source.DYNAMIC_TOPIC))
        about = row.about or (BrokerConfig.ROWS[broker_names[0]].about if broker_names else "")
        source = synonyms[0].source if synonyms else Source.DEFAULT
        yield Description(row.name, value, source, False, False, synonyms, row.kind.value, about)


def describe_broker(live: LiveConfig) -> Iterator[Description]:
    """Every setting of this broker; given names that mean nothing here are listed too, their values hidden."""
    config = live.current
    own = own_settings()
    for row in BrokerConfig.describe():
        if row.name in _RUN_TIME_ONLY and row.name not in live.own and row.name not in live.cluster_wide:
            continue
        if row.name in own and row.name not in live.static.originals:
            continue
        value = None if row.sensitive else config.text(row.name)
        yield _describe_broker_row(row, value, _broker_synonyms((row.name,), live))
    for name in config.unknown:
        synonyms = [Synonym(name, None, Source.STATIC_BROKER)]
        yield Description(name, None, Source.STATIC_BROKER, True, True, synonyms, UNKNOWN_TYPE, "")


def describe_cluster_default(live: LiveConfig) -> Iterator[Description]:
    """What is set for all brokers at run time, and nothing else."""
    for name, value in live.cluster_wide.items():
        row = BrokerConfig.ROWS[name]
        shown = None if row.sensitive else value
        yield _describe_broker_row(row, shown, [Synonym(name, shown, Source.DYNAMIC_DEFAULT_BROKER)])


def _describe_broker_row(row: Option[Any], value: str | None, synonyms: list[Synonym]) -> Description:
    source = synonyms[0].source if synonyms else Source.DEFAULT
    return Description(
        row.name, value, source, row.sensitive, row.live is Live.READ_ONLY, synonyms, row.kind.value, row.about
    )


def _broker_synonyms(names: tuple[str, ...], live: LiveConfig) -> list[Synonym]:
    """The layers in which the names occur, strongest first; none before the first that has names[0]."""
    found: list[Synonym] = []
    layers: tuple[tuple[Mapping[str, object], Source], ...] = (
        (live.own, Source.DYNAMIC_BROKER),
        (live.cluster_wide, Source.DYNAMIC_DEFAULT_BROKER),
        (live.static.originals, Source.STATIC_BROKER),
    )
    for layer, source in layers:
        for name in names:
            if name in layer:
                found.append(Synonym(name, _shown(name, str(layer[name])), source))
    for name in names:
        row = BrokerConfig.ROWS[name]
        if row.default is not None and name not in _RUN_TIME_ONLY:
            found.append(Synonym(name, _shown(name, row.text(row.default)), Source.DEFAULT))
    while found and found[0].name != names[0]:
        del found[0]
    return found


def _shown(name: str, value: str | None) -> str | None:
    return None if BrokerConfig.ROWS[name].sensitive else value


def describe_loggers() -> Iterator[Description]:
    """The levels of this process's loggers (KIP-412); the root one is called `root`."""
    for name, level in loggers.levels().items():
        yield Description(name, level, Source.DYNAMIC_BROKER_LOGGER, False, False, [], UNKNOWN_TYPE, "")
