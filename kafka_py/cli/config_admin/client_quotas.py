"""kafka-configs.sh --bootstrap-server for users, clients and ips: their quotas, and the SCRAM credentials of users.

Source: docs/reference/tools.md, section 3; docs/reference/quotas.md, sections 9 and 10.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.options import java_double
from kafka_py.broker.quotas.quota_keys import CLIENT_KEYS, IP_KEYS, QUOTA_KEYS, double_of
from kafka_py.cli.common.command import CommandFailed, Refused
from kafka_py.cli.config_admin.configs_quotas import CLIENTS, IPS, USERS, ConfigEntity
from kafka_py.cli.config_admin.entities import Changes, Entity, in_hash_order
from kafka_py.cli.config_admin.scram_credentials import DIGESTS, given_password
from kafka_py.cli.java_compat.java_errors import exception_text

if TYPE_CHECKING:
    from kafka_py.clients.admin.client import AdminClient
    from kafka_py.clients.admin.quotas import ClientQuotaEntity

TIMEOUT_S = 30
_KINDS = {USERS: "user", CLIENTS: "client-id", IPS: "ip"}
"""The types of entities as the protocol has them, by those of the command."""
_SHOWN = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}


def describe(admin: AdminClient, asked: ConfigEntity) -> None:
    """Prints the quotas of an entity, or of all that are meant, and the credentials of users."""
    for entity, limits in _described(admin, asked).items():
        values = ", ".join(f"{key}={java_double(limits[key])}" for key in _in_order(limits))
        print(f"Quota configs for {title_of(entity)} are {values}")
    users = [part.name for part in asked.parts if part.type == USERS]
    if asked.parts == [asked.root] and users and users != [""]:
        _describe_credentials(admin, [name for name in users if name])


def documents(admin: AdminClient, asked: ConfigEntity) -> list[dict[str, Any]]:
    """For --output: an object for each entity with its quotas; a name is null for the default.

    Of users, where no clients are asked for, also the mechanisms of their SCRAM credentials with the iterations.
    """
    rows: dict[ClientQuotaEntity, dict[str, Any]] = {
        entity: {"entity": dict(entity), "quotas": dict(sorted(limits.items()))}
        for entity, limits in sorted(_described(admin, asked).items(), key=lambda each: title_of(each[0]))
    }
    if asked.parts == [asked.root] and asked.root.type == USERS and asked.root.name != "":
        names = [asked.root.name] if asked.root.name else []
        for user, found in sorted(admin.describe_user_scram_credentials(names, timeout=TIMEOUT_S).items()):
            if not isinstance(found, KafkaError):
                row = rows.setdefault((("user", user),), {"entity": {"user": user}, "quotas": {}})
                row["scram_credentials"] = {each.mechanism: each.iterations for each in found}
    return list(rows.values())


def _describe_credentials(admin: AdminClient, users: Collection[str]) -> None:
    for user, found in admin.describe_user_scram_credentials(users, timeout=TIMEOUT_S).items():
        if isinstance(found, KafkaError):
            print(f"Error retrieving SCRAM credential configs for user-principal '{user}': {exception_text(found)}")
        else:
            shown = ", ".join(f"{each.mechanism}=iterations={each.iterations}" for each in found)
            print(f"SCRAM credential configs for user-principal '{user}' are {shown}")


def _in_order(names: Collection[str]) -> list[str]:
    """As in a HashMap that was made for as many entries."""
    return in_hash_order(names, capacity=1)


def _described(admin: AdminClient, asked: ConfigEntity) -> dict[ClientQuotaEntity, dict[str, float]]:
    from kafka_py.clients.admin.quotas import ANY

    components = {_KINDS[part.type]: ANY if part.name is None else part.name or None for part in asked.parts}
    return admin.describe_client_quotas(components, strict=True, timeout=TIMEOUT_S)


def title_of(entity: ClientQuotaEntity) -> str:
    """`user-principal 'alice', the default client-id`."""
    named = dict(entity)
    return ", ".join(
        f"the default {shown}" if named[kind] is None else f"{shown} '{named[kind]}'"
        for kind, shown in _SHOWN.items()
        if kind in named
    )


def alter(admin: AdminClient, entity: ConfigEntity, changes: Changes, head: Entity) -> None:
    """Changes the quotas of an entity. head: its part that the command line names first. Raises Refused, KafkaError."""
    _check_names(entity, changes)
    if DIGESTS.keys() & {*changes.added, *changes.deleted}:
        _alter_credentials(admin, entity.root.name or "", changes)
        print(f"Completed updating config for {head.one} {head.name}.")
        return
    changed: dict[str, float | None] = {name: _number(name, text) for name, text in changes.added.items()}
    changed |= dict.fromkeys(changes.deleted)
    owner = tuple((_KINDS[part.type], part.name or None) for part in entity.parts)
    present = _described(admin, entity)
    known: Mapping[str, float] = next(iter(present.values()), {})
    unknown = [name for name in changes.deleted if name not in known]
    if unknown:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Invalid config(s): {','.join(unknown)}")
    admin.alter_client_quotas({owner: changed}, timeout=TIMEOUT_S).all()
    if head.name:
        print(f"Completed updating config for {head.one} {head.name}.")
    else:
        print(f"Completed updating default config for {head.type} in the cluster.")


def _alter_credentials(admin: AdminClient, user: str, changes: Changes) -> None:
    """Raises Refused, KafkaError."""
    from kafka_py.clients.admin.credentials import ScramPassword

    try:
        given = {name: given_password(name, value) for name, value in changes.added.items()}
    except CommandFailed as failure:
        raise Refused(str(failure)) from None
    wanted: dict[str, ScramPassword | None] = {
        name: ScramPassword(each.password, each.iterations) for name, each in given.items()
    }
    wanted |= dict.fromkeys(changes.deleted)
    admin.alter_user_scram_credentials({user: wanted}, timeout=TIMEOUT_S).all()


def _number(name: str, text: str) -> float:
    try:
        return double_of(text)
    except ValueError:
        raise Refused(f"Cannot parse quota configuration value for {name}: {text}") from None


def _check_names(entity: ConfigEntity, changes: Changes) -> None:
    """Raises Refused for a setting that the entity cannot have, or cannot be given this way."""
    names = {*changes.added, *changes.deleted}
    if entity.root.type == IPS:
        _refuse("Only connection quota configs can be added for 'ips'", names - IP_KEYS.keys())
        return
    is_user = entity.parts == [entity.root] and entity.root.type == USERS
    if not is_user:
        _refuse_both("Only quota configs", CLIENTS, changes, CLIENT_KEYS)
        return
    _refuse_both("Only quota and SCRAM credential configs", USERS, changes, {**QUOTA_KEYS, **DIGESTS})
    if not names & DIGESTS.keys():
        return
    if not entity.root.name:
        raise Refused(
            "The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials "
            "using --bootstrap-server."
        )
    if names & QUOTA_KEYS.keys():
        raise Refused(
            "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using --bootstrap-server."
        )


def _refuse_both(what: str, kind: str, changes: Changes, known: Iterable[str]) -> None:
    allowed = set(known)
    _refuse(f"{what} can be added for '{kind}'", changes.added.keys() - allowed)
    _refuse(f"{what} can be deleted for '{kind}'", set(changes.deleted) - allowed)


def _refuse(what: str, unexpected: Collection[str]) -> None:
    if unexpected:
        names = ",".join(sorted(unexpected))
        raise Refused(f"{what} using --bootstrap-server. Unexpected config names: {names}")
