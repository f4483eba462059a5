"""kafka-configs.sh --zookeeper for users, clients and ips: their quotas and SCRAM credentials (deprecated way).

Brokers hear of a change by its notification.
Source: docs/reference/tools.md, section 3; docs/reference/zookeeper.md, sections 1, 10 and 14.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.broker.quotas.quota_keys import CLIENT_KEYS, IP_KEYS
from kafka_py.cli.common.command import CommandFailed, Refused
from kafka_py.cli.config_admin.entities import Changes, Entity, in_hash_order
from kafka_py.cli.config_admin.scram_credentials import DIGESTS, stored_credential
from kafka_py.zk.config_znodes import DEFAULT_ENTITY, entity_path
from kafka_py.zk.store import ZkStore

USERS, CLIENTS, IPS = "users", "clients", "ips"
TITLES = {USERS: "user-principal", CLIENTS: "client-id", IPS: IPS}


class ConfigEntity(NamedTuple):
    """Whose quotas: of one kind, or those of clients of a user. A name None stands for all, "" for the default."""

    root: Entity
    child: Entity | None = None

    @property
    def parts(self) -> list[Entity]:
        return [self.root] if self.child is None else [self.root, self.child]

    @property
    def title(self) -> str:
        """`user-principal 'alice', default client-id`."""
        return ", ".join(
            f"{TITLES[part.type]} '{part.name}'" if part.name else f"default {TITLES[part.type]}" for part in self.parts
        )

    @property
    def path(self) -> str:
        """The path of its overrides below /config."""
        return "/".join(_path_of(part) for part in self.parts)


def _path_of(part: Entity) -> str:
    return entity_path((part.type, part.name)) if part.name else f"{part.type}/{DEFAULT_ENTITY}"


def quota_entity_of(parts: Sequence[tuple[str, str | None]], *, alter: bool) -> ConfigEntity:
    """parts: type and name, in the order of the command line; where a name is missing it is None. Raises Refused."""
    if alter and any(name is None for _, name in parts):
        if len(parts) > 1:
            raise Refused("--entity-name or --entity-default must be specified with each --entity-type for --alter")
        raise Refused(
            "an entity-name or default entity must be specified with --alter of users, clients, brokers or ips"
        )
    entities = [Entity(kind, name) for kind, name in parts]
    for entity in entities:
        if entity.type == IPS and entity.name and not _resolves(entity.name):
            raise Refused(f"The entity name for ips must be a valid IP or resolvable host, but it is: {entity.name}")
    entities.sort(key=lambda entity: entity.type != USERS)
    return ConfigEntity(*entities)


def _resolves(host: str) -> bool:
    try:
        socket.getaddrinfo(host, None)
    except (OSError, UnicodeError):  # unknown, or no name of a host at all
        return False
    return True


# ---- describe


async def describe(store: ZkStore, asked: ConfigEntity) -> None:
    """Prints the overrides of an entity, or of all that are meant."""
    for entity in await entities_of(store, asked):
        overrides = await store.configs.of_entity(entity.path)
        if overrides or asked != ConfigEntity(Entity(USERS, None)):  # users with quotas of clients only are left out
            shown = ",".join(f"{key}={overrides[key]}" for key in in_hash_order([*reversed(overrides)]))
            print(f"Configs for {entity.title} are {shown}")


async def entities_of(store: ZkStore, asked: ConfigEntity) -> list[ConfigEntity]:
    """The entities that are meant, where a name that is not given stands for all."""
    if asked.root.name is not None and (asked.child is None or asked.child.name is not None):
        return [asked]
    roots = [asked.root]
    if asked.root.name is None:
        roots = [Entity(asked.root.type, _named(name)) for name in await store.configs.entity_names(asked.root.type)]
    if asked.child is None:
        return [ConfigEntity(root) for root in roots]
    return [
        ConfigEntity(root, Entity(asked.child.type, _named(name)))
        for root in roots
        for name in await store.configs.entity_names(f"{_path_of(root)}/{asked.child.type}")
    ]


def _named(name: str) -> str:
    return "" if name == DEFAULT_ENTITY else name


# ---- alter


async def alter(store: ZkStore, entity: ConfigEntity, changes: Changes) -> None:
    """Changes the overrides and tells the brokers. Raises Refused, KafkaError."""
    added = dict(changes.added)
    if entity.root.type == USERS:
        added = with_credentials(added)

    async def edit(present: dict[str, str]) -> dict[str, str]:
        unknown = [name for name in changes.deleted if name not in present]
        if unknown:
            raise Refused(f"Invalid config(s): {','.join(unknown)}")
        wanted = {**present, **added}
        for name in changes.deleted:
            wanted.pop(name, None)
        check(entity, wanted)
        return wanted

    await store.configs.edit(entity.path, edit)
    print(f"Completed updating config for entity: {entity.title}.")


def with_credentials(added: Mapping[str, str]) -> dict[str, str]:
    """The settings with passwords made into credentials. Raises Refused."""
    try:
        return {
            name: stored_credential(name, value).text() if name in DIGESTS else value for name, value in added.items()
        }
    except CommandFailed as failure:
        raise Refused(str(failure)) from None


def check(entity: ConfigEntity, settings: Mapping[str, str]) -> None:
    """Whether the entity may have these settings. Raises Refused for a name, KafkaError(INVALID_CONFIG) for a value."""
    kinds = IP_KEYS if entity.root.type == IPS else CLIENT_KEYS
    own = set(DIGESTS) if entity.root.type == USERS and entity.root.name and entity.child is None else set()
    unknown = [name for name in settings if name not in kinds and name not in own]
    if unknown:
        raise Refused(f"requirement failed: Unknown Dynamic Configuration: HashSet({', '.join(unknown)}).")
    for name, value in settings.items():
        fault = kinds[name].fault_of(value) if name in kinds else None
        if fault is not None:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Invalid value {value} for configuration {name}: {fault}")
