"""The current settings of topics: the overrides from ZooKeeper on top of the broker's settings.

All topics without overrides share one value. Knows neither ZooKeeper nor logs; config_changes.py calls it.
Source: docs/reference/zookeeper.md, section 10.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping

from kafka_py.base.errors import ConfigError
from kafka_py.base.turns import sliced
from kafka_py.log.model.broker_options import LogOptions
from kafka_py.log.model.configs import LogConfig

_log = logging.getLogger(__name__)

BUILT_A_TURN = 64
"""Topics whose settings are computed in one turn of the loop; each takes some 25 microseconds."""


class TopicConfigs:
    """Overrides by topic, and the resulting LogConfig."""

    def __init__(self, broker: LogOptions) -> None:
        self._broker = broker
        self._overrides: dict[str, dict[str, str]] = {}
        self._default = LogConfig.for_topic(broker)
        self._configs: dict[str, LogConfig] = {}
        self._set_meanwhile: list[set[str]] = []  # one per running `read_with`

    def of(self, topic: str) -> LogConfig:
        """The current settings of a topic's logs."""
        return self._configs.get(topic, self._default)

    def overrides(self, topic: str) -> Mapping[str, str]:
        """The overrides of the topic."""
        return self._overrides.get(topic, {})

    def set_overrides(self, topic: str, overrides: Mapping[str, str]) -> LogConfig:
        """Replaces a topic's overrides; an invalid one is logged and ignored. Returns the resulting settings."""
        for topics in self._set_meanwhile:
            topics.add(topic)
        if overrides:
            self._overrides[topic] = dict(overrides)
            self._configs[topic] = self._build(topic)
        else:
            self.forget(topic)
        return self.of(topic)

    async def read_with(self, read: Awaitable[Mapping[str, Mapping[str, str]]]) -> None:
        """Sets the overrides that `read` returns, but not of topics set meanwhile, which are newer."""
        set_meanwhile: set[str] = set()
        self._set_meanwhile.append(set_meanwhile)
        try:
            found = await read
            async for some in sliced(found.items(), BUILT_A_TURN):
                for topic, overrides in some:
                    if topic not in set_meanwhile:
                        self.set_overrides(topic, overrides)
        finally:
            self._set_meanwhile = [topics for topics in self._set_meanwhile if topics is not set_meanwhile]

    def forget(self, topic: str) -> None:
        """Removes a topic that was deleted, or has no overrides."""
        self._overrides.pop(topic, None)
        self._configs.pop(topic, None)

    async def set_broker(self, broker: LogOptions) -> None:
        """Replaces the broker's settings, and recomputes those of all topics, very many of them in turns."""
        self._broker = broker
        self._default = LogConfig.for_topic(broker)
        async for topics in sliced(list(self._overrides), BUILT_A_TURN):
            for topic in topics:
                if topic in self._overrides:  # it may have been removed meanwhile
                    self._configs[topic] = self._build(topic)

    def _build(self, topic: str) -> LogConfig:
        overrides = self._overrides[topic]
        try:
            return LogConfig.for_topic(self._broker, overrides)
        except ConfigError as error:
            _log.error("Settings of topic %s: %s", topic, error.detail)
        usable = {name: value for name, value in overrides.items() if self._is_usable(name, value)}
        try:
            return LogConfig.for_topic(self._broker, usable)
        except ConfigError:  # each is valid, but they contradict each other
            return self._default

    def _is_usable(self, name: str, value: str) -> bool:
        try:
            LogConfig.for_topic(self._broker, {name: value})
        except ConfigError:
            return False
        return True
