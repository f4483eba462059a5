"""The broker's current settings: the property file, overridden by ZooKeeper for all brokers and for this one.

No I/O; holds the layers. The `live` column of the tables marks dynamic settings; any other setting in ZooKeeper is
ignored and logged.
Source: docs/reference/configs.tsv (column dynamic); docs/reference/zookeeper.md, section 10.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ConfigError
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.settings.dynamic_passwords import DynamicPasswords
from kafka_py.broker.settings.setting_names import check_value, misplaced

_log = logging.getLogger(__name__)


class LiveConfig:
    """Three layers of settings and the resulting table.

    static: the property file. cluster_wide: `/config/brokers/<default>`. own: `/config/brokers/<id>`, which takes
    precedence. passwords: decrypts those in ZooKeeper; the layers have them plain, and references as they are.
    """

    def __init__(self, static: BrokerConfig, chance: Chance | None = None) -> None:
        self.static = static
        self.passwords = DynamicPasswords(static, chance or Chance())
        self.cluster_wide: dict[str, str] = {}
        self.own: dict[str, str] = {}
        self._own_values: dict[str, str] = {}
        self.current = static

    def set_cluster_wide(self, overrides: Mapping[str, str]) -> BrokerConfig:
        """Replaces the settings of all brokers; returns the resulting table."""
        self.cluster_wide = self._accepted(overrides, is_default=True)
        return self._build()

    def set_own(self, overrides: Mapping[str, str], values: Mapping[str, str] | None = None) -> BrokerConfig:
        """Replaces the settings of this broker; returns the resulting table.

        values: the same with references looked up, where there are any, and without those that cannot be looked up.
        """
        self.own = self._accepted(overrides, is_default=False)
        self._own_values = self.own if values is None else {name: values[name] for name in self.own if name in values}
        return self._build()

    def overrides(self) -> dict[str, str]:
        """All dynamic settings that count here."""
        return {**self.cluster_wide, **self.own}

    def with_own(self, overrides: Mapping[str, str]) -> BrokerConfig:
        """The table that these settings of this broker would result in. Raises ConfigError."""
        return self.static.override({**self.cluster_wide, **overrides})

    def _accepted(self, overrides: Mapping[str, str], *, is_default: bool) -> dict[str, str]:
        accepted = {}
        for name, value in overrides.items():
            if misplaced(name, is_default=is_default) is not None:
                _log.error("The dynamic setting %s may not be set at this level and is ignored", name)
                continue
            try:
                check_value(name, value)
            except ConfigError as error:
                _log.error("A dynamic setting is ignored: %s", error.detail)
                continue
            accepted[name] = value  # a plug-in may use an unknown name, and DescribeConfigs shows it
        return accepted

    def _build(self) -> BrokerConfig:
        try:
            self.current = self.static.override({**self.cluster_wide, **self._own_values})
        except ConfigError as error:
            _log.error("The dynamic settings contradict each other, the previous ones are kept: %s", error.detail)
        return self.current
