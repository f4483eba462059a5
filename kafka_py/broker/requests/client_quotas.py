"""Client quotas in ZooKeeper, and the filters of DescribeClientQuotas (KIP-546).

Reads only: this broker does not enforce quotas. Source: KIP-546; ClientQuotaFilter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.turns import sliced
from kafka_py.zk.config_znodes import DEFAULT_ENTITY, entity_path
from kafka_py.zk.entity_configs import ConfigStore

USER, CLIENT_ID, IP = "user", "client-id", "ip"
KEYS = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
    "connection_creation_rate",
)

Entity = Mapping[str, str | None]
"""An entity: name by type, e.g. {"user": "alice", "client-id": None}; None is the default of that type."""


class Component(NamedTuple):
    """One condition of a filter. match: the exact name, None for the default; is_any: any name."""

    type: str
    match: str | None
    is_any: bool = False

    def accepts(self, entity: Entity) -> bool:
        return self.type in entity and (self.is_any or entity[self.type] == self.match)


class Quota(NamedTuple):
    """The limits of one entity by key."""

    entity: Entity
    limits: Mapping[str, float]


def check_filter(components: Sequence[Component]) -> None:
    """Raises KafkaError(INVALID_REQUEST, UNSUPPORTED_VERSION) for an invalid filter."""
    types = [component.type for component in components]
    for name in types:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "a filter component has no entity type")
        if name not in (USER, CLIENT_ID, IP):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"Custom entity type '{name}' not supported")
        if types.count(name) > 1:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"the entity type {name} occurs twice in the filter")
    if IP in types and len(types) > 1:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "an ip cannot be combined with a user or client id")


def matching(quotas: Sequence[Quota], components: Sequence[Component], *, strict: bool) -> list[Quota]:
    """The quotas that match every component. strict: only quotas without other entity types."""
    return [
        quota
        for quota in quotas
        if all(component.accepts(quota.entity) for component in components)
        and not (strict and len(quota.entity) > len(components))
    ]


async def stored_quotas(stored: ConfigStore) -> list[Quota]:
    """Every entity with a quota, without the credentials that are stored with users' quotas."""
    found: list[tuple[Entity, Mapping[str, str]]] = []
    for name, config in (await stored.of_all("users")).items():
        found.append(({USER: _name(name)}, config))
        clients = await stored.of_all(f"{entity_path(('users', name))}/clients")
        found += [({USER: _name(name), CLIENT_ID: _name(client)}, one) for client, one in clients.items()]
    found += [({CLIENT_ID: _name(name)}, one) for name, one in (await stored.of_all("clients")).items()]
    found += [({IP: _name(name)}, one) for name, one in (await stored.of_all("ips")).items()]
    quotas: list[Quota] = []
    async for some in sliced(found):
        quotas += (Quota(entity, limits) for entity, config in some if (limits := _limits(config)))
    return quotas


def _name(name: str) -> str | None:
    return None if name == DEFAULT_ENTITY else name


def _limits(config: Mapping[str, str]) -> dict[str, float]:
    limits = {}
    for key in KEYS:
        try:
            limits[key] = float(config[key])
        except (KeyError, ValueError):
            continue
    return limits
