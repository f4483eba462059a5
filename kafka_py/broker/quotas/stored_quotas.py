"""Quotas in ZooKeeper: filters of DescribeClientQuotas, and changes of AlterClientQuotas (KIP-546).

Knows the store, not whether a quota is enforced. Source: docs/reference/quotas.md, sections 9 and 10; KIP-546.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.options import java_double
from kafka_py.base.turns import sliced
from kafka_py.broker.quotas.quota_keys import (
    CLIENT_ID,
    CLIENT_KEYS,
    CONNECTION_RATE,
    IP,
    IP_KEYS,
    QUOTA_KEYS,
    USER,
    double_of,
)
from kafka_py.zk.config_znodes import DEFAULT_ENTITY, entity_path
from kafka_py.zk.entity_configs import ConfigStore

_TYPES = (USER, CLIENT_ID, IP)
_NO_FRACTION = 1e-6

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
    for number, name in enumerate(types):
        if name in types[:number]:
            kind = "client" if name == CLIENT_ID else name
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Duplicate {kind} filter component entity type")
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Unexpected empty filter component entity type")
        if name not in _TYPES:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"Custom entity type '{name}' not supported")
    if IP in types and len(types) > 1:
        text = "Invalid filter: an ip cannot be combined with a user or client id."
        raise KafkaError(ErrorCode.INVALID_REQUEST, text)


def matching(quotas: Sequence[Quota], components: Sequence[Component], *, strict: bool) -> list[Quota]:
    """The quotas that match every component. strict: only quotas without other entity types."""
    return [
        quota
        for quota in quotas
        if all(component.accepts(quota.entity) for component in components)
        and not (strict and len(quota.entity) != len(components))
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
    for key in QUOTA_KEYS:
        try:
            limits[key] = double_of(config[key])
        except (KeyError, ValueError):
            continue
    return limits


# ---- changes


class QuotaOp(NamedTuple):
    """One operation. value: None removes the key."""

    key: str
    value: float | None


def path_of(entity: Entity) -> str:
    """The path of an entity's settings below /config. Raises KafkaError(INVALID_REQUEST) for an invalid entity."""
    if not entity:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Invalid empty client quota entity")
    for kind, name in entity.items():
        if kind not in _TYPES:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Empty {kind} not supported")
    if IP in entity:
        if len(entity) > 1:
            text = "Invalid quota entity: an ip cannot be combined with a user or client id."
            raise KafkaError(ErrorCode.INVALID_REQUEST, text)
        return entity_path(("ips", _element(entity[IP])))
    folders = ((USER, "users"), (CLIENT_ID, "clients"))
    return entity_path(*((folder, _element(entity[kind])) for kind, folder in folders if kind in entity))


def _element(name: str | None) -> str:
    return DEFAULT_ENTITY if name is None else name


def is_address(name: str) -> bool:
    """Whether the name of an ip entity is an address, so that it need not be resolved."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def changed(present: Mapping[str, str], entity: Entity, changes: Iterable[QuotaOp]) -> dict[str, str]:
    """An entity's settings after these operations. Raises KafkaError(INVALID_REQUEST) for the first invalid one."""
    known = IP_KEYS if IP in entity else CLIENT_KEYS
    wanted = dict(present)
    for key, value in changes:
        if value is None:
            wanted.pop(key, None)
            continue
        row = known.get(key)
        if row is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Invalid configuration key {key}")
        wanted[key] = _text_of(key, row.kind, value)
    return wanted


def _text_of(key: str, kind: str, value: float) -> str:
    if kind == "DOUBLE":
        return java_double(value)
    whole = round(value) if abs(value) < float(1 << 63) else None
    if whole is None or abs(whole - value) > _NO_FRACTION or (kind == "INT" and not -(1 << 31) <= whole < 1 << 31):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Configuration {key} must be a {kind} value")
    if key == CONNECTION_RATE and whole < 0:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Configuration {key} must be at least 0")
    return str(whole)
