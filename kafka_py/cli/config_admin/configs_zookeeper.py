"""kafka-configs.sh --zookeeper: overrides read and written straight in ZooKeeper, past the brokers (deprecated).

Brokers hear of a change by its notification. A broker's own settings may be changed this way only while it is down,
but for the rates of replication. Passwords are encrypted by the settings `password.encoder.` among them, which are not
stored. Source: docs/reference/tools.md, section 3; docs/reference/zookeeper.md, section 10; ConfigCommand.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.broker.settings.config_edits import check_settings
from kafka_py.broker.settings.dynamic_passwords import password_encoder
from kafka_py.broker.settings.security_configs import PasswordOptions
from kafka_py.broker.settings.setting_names import is_stored_password
from kafka_py.cli.common.command import Refused
from kafka_py.cli.common.zookeeper_connection import on_zookeeper
from kafka_py.cli.config_admin.entities import BROKERS, TOPICS, Changes, Entity, in_hash_order
from kafka_py.log.model.configs import LogConfig
from kafka_py.security.zookeeper.protections import command_protection
from kafka_py.zk.config_znodes import DEFAULT_ENTITY, entity_path
from kafka_py.zk.store import ZkStore

WARNING = (
    "Warning: --zookeeper is deprecated and will be removed in a future version of Kafka.\n"
    "Use --bootstrap-server instead to specify a broker to connect to."
)
ENCODER = "password.encoder."
WHILE_RUNNING = frozenset(
    {
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    }
)


def run_on_zookeeper(
    connect: str, work: Callable[[ZkStore], Awaitable[None]], tls_file: str | None = None
) -> None:
    """Warns, then describes or changes an entity, which is the work. tls_file: of --zk-tls-config-file.

    Raises Refused, ConfigError for a malformed connect string and for settings, and what the work raises.
    """
    protection = command_protection(os.environ, tls_file, certificate_counts=True)

    async def warned(store: ZkStore) -> None:
        print(WARNING, flush=True)
        await work(store)

    on_zookeeper(connect, warned, Refused, protection)


async def describe(store: ZkStore, entity: Entity) -> None:
    """Prints the overrides of an entity, or of every one of its kind."""
    found = {entity.name: await store.configs.of_entity(path_of(entity))} if entity.name is not None else None
    if found is None:
        found = dict(await store.configs.of_all(entity.type))
    for name, overrides in found.items():
        shown = ",".join(f"{key}={overrides[key]}" for key in in_hash_order([*reversed(overrides)]))
        print(f"Configs for {title_of(Entity(entity.type, '' if name == DEFAULT_ENTITY else name))} are {shown}")


def title_of(entity: Entity) -> str:
    """`topic 't'`, `brokers '0'`, `default brokers`."""
    if not entity.name:
        return f"default {entity.type}"
    return f"{'topic' if entity.type == TOPICS else entity.type} '{entity.name}'"


def path_of(entity: Entity) -> str:
    """The entity's path below /config."""
    name = str(int(entity.name)) if entity.name and entity.type == BROKERS else entity.name
    return entity_path((entity.type, name or DEFAULT_ENTITY))


async def alter(store: ZkStore, entity: Entity, given: Changes) -> None:
    """Changes the overrides and tells the brokers. Raises Refused, KafkaError."""
    changes = given
    if entity.type != TOPICS:
        await _check_broker(store, entity, given)
        changes = with_encoded_passwords(given, entity)

    async def edit(present: dict[str, str]) -> dict[str, str]:
        unknown = [name for name in changes.deleted if name not in present]
        if unknown:
            raise Refused(f"Invalid config(s): {','.join(unknown)}")
        wanted = {**present, **changes.added}
        for name in changes.deleted:
            wanted.pop(name, None)
        if entity.type == TOPICS:
            await _check_topic(store, entity, wanted)
        return wanted

    await store.configs.edit(path_of(entity), edit)
    print(f"Completed updating config for entity: {title_of(entity)}.")


async def _check_topic(store: ZkStore, entity: Entity, wanted: Mapping[str, str]) -> None:
    assert entity.name
    if entity.name not in await store.topics.names():
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{entity.name}' does not exist.")
    LogConfig.check(wanted)


async def _check_broker(store: ZkStore, entity: Entity, changes: Changes) -> None:
    """What is stored already is not looked at: the brokers leave aside what they cannot use."""
    others = sorted({*changes.added, *changes.deleted} - WHILE_RUNNING)
    running = sorted(await store.brokers.all())
    if others and (int(entity.name) in running if entity.name else running):
        which = f"when broker {entity.name} is running" if entity.name else "if any broker is running"
        raise Refused(
            f"requirement failed: --bootstrap-server option must be specified to update broker configs "
            f"Set({', '.join(others)}). {which}. Broker configuration updates using ZooKeeper are supported for "
            "bootstrapping before brokers are started"
        )


def with_encoded_passwords(changes: Changes, entity: Entity) -> Changes:
    """The changes as they are stored: passwords encrypted, without what says how. Raises Refused, ConfigError."""
    added = {name: value for name, value in changes.added.items() if not name.startswith(ENCODER)}
    check_settings(added, is_default=not entity.name)
    passwords = [name for name in added if is_stored_password(name)]
    if not passwords:
        return Changes(added, changes.deleted)
    how = {name: value for name, value in changes.added.items() if name.startswith(ENCODER)}
    encoder = password_encoder(PasswordOptions.parse(how), Chance())
    if encoder is None:
        raise Refused(
            f"requirement failed: password.encoder.secret must be specified to update Set({', '.join(passwords)}). "
            "It and the other settings password.encoder.*, which may be given too, are not stored in ZooKeeper."
        )
    return Changes({**added, **{name: encoder.encode(added[name]) for name in passwords}}, changes.deleted)
