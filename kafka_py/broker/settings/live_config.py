"""The broker's settings in force: the property file, and over it what ZooKeeper says for all brokers and for this one.

No I/O; keeps the present layers. The `live` column of the tables says what may change at run time; any other setting in
ZooKeeper is ignored and logged.
Source: docs/reference/configs.tsv (column dynamic); docs/reference/zookeeper.md, section 10.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from kafka_py.base.errors import ConfigError
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.settings.setting_names import is_stored_password, misplaced, row_of

log = logging.getLogger(__name__)


class LiveConfig:
    """Three layers of settings and the table they come to.

    static: as the broker was started. cluster_wide: `/config/brokers/<default>`. own: `/config/brokers/<id>`; wins.
    """

    def __init__(self, static: BrokerConfig) -> None:
        self.static = static
        self.cluster_wide: dict[str, str] = {}
        self.own: dict[str, str] = {}
        self.current = static

    def set_cluster_wide(self, overrides: Mapping[str, str]) -> BrokerConfig:
        """Replaces what holds for all brokers; returns what is in force now."""
        self.cluster_wide = self._accepted(overrides, is_default=True)
        return self._build()

    def set_own(self, overrides: Mapping[str, str]) -> BrokerConfig:
        """Replaces what holds for this broker alone; returns what is in force now."""
        self.own = self._accepted(overrides, is_default=False)
        return self._build()

    def _accepted(self, overrides: Mapping[str, str], *, is_default: bool) -> dict[str, str]:
        accepted = {}
        for name, value in overrides.items():
            row = row_of(name)
            if misplaced(name, is_default=is_default) is not None:
                log.error("The dynamic setting %s is not one that may be set there; it is left aside", name)
                continue
            if is_stored_password(name):
                log.error("The dynamic setting %s is left aside: stored passwords are not supported", name)
                continue
            try:
                if row is not None:
                    row.parse(value)
            except ConfigError as error:
                log.error("A dynamic setting is left aside: %s", error.detail)
                continue
            accepted[name] = value  # an unknown name may mean something to a plug-in, and is shown to who asks
        return accepted

    def _build(self) -> BrokerConfig:
        try:
            self.current = self.static.override({**self.cluster_wide, **self.own})
        except ConfigError as error:
            log.error("The dynamic settings do not fit together, the previous ones stay: %s", error.detail)
        return self.current
