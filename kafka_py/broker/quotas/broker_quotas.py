"""The quotas that this broker enforces, as ZooKeeper has them (I/O): read at start-up and at each change notification.

Source: docs/reference/quotas.md, section 1; docs/reference/zookeeper.md, section 10; ClientIdConfigHandler.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Mapping
from ipaddress import ip_address
from itertools import chain

from kafka_py.base.clock import Clock
from kafka_py.base.options import MAX_INT
from kafka_py.base.supervision import Every, Supervisor
from kafka_py.base.turns import Turn, finish, sliced, take_in_turns
from kafka_py.broker.quotas.callback import load_quota_callback
from kafka_py.broker.quotas.client_quotas import ClientQuotas
from kafka_py.broker.quotas.manager import SCAN_MS
from kafka_py.broker.quotas.quota_keys import CLIENT_KEYS, CONNECTION_RATE, IP_KEYS, QuotaEntity, limit_in
from kafka_py.broker.quotas.stored_quotas import is_address
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.net.address_rates import AddressRates
from kafka_py.net.listener import plain_address
from kafka_py.security.sasl.scram_credentials import DIGESTS
from kafka_py.zk.config_znodes import DEFAULT_ENTITY, desanitize, entity_path
from kafka_py.zk.entity_configs import ConfigStore

_log = logging.getLogger(__name__)

_IDLE_BUDGETS = "removal of idle quota budgets"


class BrokerQuotas:
    """Feeds the quotas of one broker. clients, addresses: what enforces them.

    Raises ConfigError for a plug-in that is not there.
    """

    def __init__(self, config: BrokerConfig, clock: Clock) -> None:
        callback = load_quota_callback(config.client_quota_callback_class, config.originals)
        self.clients = ClientQuotas(config, callback)
        self.addresses = AddressRates(self.clients.produce.window)
        self._clock = clock

    async def load(self, stored: ConfigStore, users: Mapping[str, Mapping[str, str]]) -> None:
        """Takes over the quotas of users, and reads those of all other entities."""
        for name, settings in users.items():
            await self.apply(entity_path(("users", name)), settings)
        async for some in sliced(list(users), 64):
            for name in some:
                user = entity_path(("users", name))
                for client, settings in (await stored.of_all(f"{user}/clients")).items():
                    await self.apply(f"{user}/{entity_path(('clients', client))}", settings)
        for kind in ("clients", "ips"):
            for name, settings in (await stored.of_all(kind)).items():
                await self.apply(entity_path((kind, name)), settings)

    async def apply(self, entity: str, settings: Mapping[str, str]) -> None:
        """Takes over the settings of an entity, given by its path, such as `users/alice/clients/c1`."""
        owner = entity_of(entity)
        known = IP_KEYS if owner is None else {**CLIENT_KEYS, **DIGESTS}
        unused = sorted(settings.keys() - known.keys())
        if unused:
            _log.warning("%s of %s in ZooKeeper: this broker does not enforce them yet", ", ".join(unused), entity)
        if owner is None:
            await self._apply_to_address(desanitize(entity.partition("/")[2]), settings)
        else:
            await finish(self.clients.applying(owner, settings), self._clock.monotonic_ms)

    async def _apply_to_address(self, name: str, settings: Mapping[str, str]) -> None:
        try:
            limit = limit_in(settings, CONNECTION_RATE)
            if limit is not None and limit < 0:
                raise ValueError(f"{limit} is below 0")
            addresses: list[str | None] = [None] if name == DEFAULT_ENTITY else [*await _addresses_of(name)]
        except (ValueError, OSError) as error:
            _log.error("The quota %s of address %s is ignored: %s", CONNECTION_RATE, name, error)
            return
        for address in addresses:
            self.addresses.set_limit(address, None if limit is None or limit >= MAX_INT else int(limit))

    def start(self, every: Every, supervisor: Supervisor) -> None:
        """Begins to remove budgets that are idle."""

        def scan() -> None:
            now_ms = self._clock.monotonic_ms()
            steps = chain(self.clients.removing_idle(now_ms), self.addresses.removing_idle(now_ms))
            supervisor.spawn(take_in_turns(steps, Turn(self._clock)), _IDLE_BUDGETS)

        every(SCAN_MS, scan, _IDLE_BUDGETS)


async def _addresses_of(name: str) -> list[str]:
    """The addresses of a host, or the address itself, as connections have them. Raises OSError."""
    if is_address(name):
        address = ip_address(name)
        family = socket.AF_INET if address.version == 4 else socket.AF_INET6
        return [plain_address(socket.inet_ntop(family, address.packed))]
    found = await asyncio.get_running_loop().getaddrinfo(name, None)
    return sorted({plain_address(str(row[4][0])) for row in found})


def entity_of(path: str) -> QuotaEntity | None:
    """The owner of client quotas at a path below /config; None for another one."""
    kind, _, rest = path.partition("/")
    if kind == "clients":
        return QuotaEntity(None, rest)
    if kind != "users":
        return None
    user, _, client = rest.partition("/clients/")
    return QuotaEntity(user, client or None)
