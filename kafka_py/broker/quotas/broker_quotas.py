"""The quotas that this broker enforces, as ZooKeeper has them (I/O): read at start-up and at each change notification.

Source: docs/reference/quotas.md, section 1; docs/reference/zookeeper.md, section 10; ClientIdConfigHandler.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from kafka_py.base.clock import Clock
from kafka_py.base.supervision import Every, Supervisor
from kafka_py.base.turns import finish, sliced
from kafka_py.broker.quotas.callback import load_quota_callback
from kafka_py.broker.quotas.client_quotas import ClientQuotas
from kafka_py.broker.quotas.manager import SCAN_MS
from kafka_py.broker.quotas.quota_keys import CLIENT_KEYS, QuotaEntity
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.zk.config_znodes import entity_path
from kafka_py.zk.entity_configs import ConfigStore

_log = logging.getLogger(__name__)

_IDLE_BUDGETS = "removal of idle quota budgets"


class BrokerQuotas:
    """Feeds the quotas of one broker. clients: those of clients. Raises ConfigError for a plug-in that is not there."""

    def __init__(self, config: BrokerConfig, clock: Clock) -> None:
        callback = load_quota_callback(config.client_quota_callback_class, config.originals)
        self.clients = ClientQuotas(config, callback)
        self._clock = clock

    async def load(self, stored: ConfigStore) -> None:
        """Reads the quotas of all entities."""
        users = await stored.of_all("users")
        for name, settings in users.items():
            await self.apply(entity_path(("users", name)), settings)
        async for some in sliced(list(users), 64):
            for name in some:
                user = entity_path(("users", name))
                for client, settings in (await stored.of_all(f"{user}/clients")).items():
                    await self.apply(f"{user}/{entity_path(('clients', client))}", settings)
        for name, settings in (await stored.of_all("clients")).items():
            await self.apply(entity_path(("clients", name)), settings)

    async def apply(self, entity: str, settings: Mapping[str, str]) -> None:
        """Takes over the settings of an entity, given by its path, such as `users/alice/clients/c1`."""
        owner = entity_of(entity)
        if owner is None:
            return
        unused = sorted(settings.keys() - CLIENT_KEYS.keys())
        if unused:
            _log.warning("%s of %s in ZooKeeper: this broker does not enforce them yet", ", ".join(unused), entity)
        await finish(self.clients.applying(owner, settings), self._clock.monotonic_ms)

    def start(self, every: Every, supervisor: Supervisor) -> None:
        """Begins to remove budgets that are idle."""

        def scan() -> None:
            steps = self.clients.removing_idle(self._clock.monotonic_ms())
            supervisor.spawn(finish(steps, self._clock.monotonic_ms), _IDLE_BUDGETS)

        every(SCAN_MS, scan, _IDLE_BUDGETS)


def entity_of(path: str) -> QuotaEntity | None:
    """The owner of client quotas at a path below /config; None for another one."""
    kind, _, rest = path.partition("/")
    if kind == "clients":
        return QuotaEntity(None, rest)
    if kind != "users":
        return None
    user, _, client = rest.partition("/clients/")
    return QuotaEntity(user, client or None)
