"""kafka-configs.sh: shows and changes the settings of topics and brokers, the log levels of brokers, and quotas.

The option table, its rules (`entity_of`, `changes_of`) and what is printed; the work is the admin client's, or with
--zookeeper that of configs_zookeeper.py. Quotas and SCRAM credentials (users, clients, ips): client_quotas.py, and with
--zookeeper configs_quotas.py. Source: docs/reference/tools.md, section 3.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_py.base.errors import ConfigError, KafkaError
from kafka_py.base.properties import read_properties
from kafka_py.cli.common.command import CommandParser, Refused, UsageError, log_warnings, run
from kafka_py.cli.common.connection_options import add_connection, admin_properties
from kafka_py.cli.common.documents import output_option, print_document
from kafka_py.cli.config_admin.entities import BROKERS, LOGGERS, TOPICS, Changes, Entity, in_hash_order
from kafka_py.cli.config_admin.shown_arguments import shown_arguments
from kafka_py.cli.java_compat.java_errors import exception_text

if TYPE_CHECKING:
    from kafka_py.clients.admin.client import AdminClient
    from kafka_py.clients.admin.resources import ConfigEntry, ConfigResource

TYPES = (TOPICS, "clients", "users", BROKERS, "ips", LOGGERS)
SHORT_FORMS = {"topic": TOPICS, "client": "clients", "user": "users", "broker": BROKERS, "broker-logger": LOGGERS,
               "ip": "ips"}  # fmt: skip
DEFAULTS = {"client-defaults": "clients", "user-defaults": "users", "broker-defaults": BROKERS, "ip-defaults": "ips"}
QUOTAS = ("clients", "users", "ips")
"""What has quotas."""
TIMEOUT_S = 30
_COMMAS = re.compile(r",(?=[^\]]*(?:\[|$))")
_EQUALS = re.compile(r"=(?=[^\]]*(?:\[|$))")
_BRACKETS = str.maketrans("", "", "[]")


def parser() -> CommandParser:
    table = CommandParser("kafka-configs.sh", "Show and change settings of topics and brokers.")
    add_connection(table)
    table.option("--zookeeper", "DEPRECATED: the ZooKeeper servers with an optional chroot path, host:port/path.",
                 metavar="String: hosts")  # fmt: skip
    table.option("--zk-tls-config-file", "Property file with zookeeper.ssl.* for the connection of --zookeeper.",
                 metavar="String: file")  # fmt: skip
    table.flag("--alter", "Change the settings of an entity.")
    table.flag("--describe", "Show the settings of an entity.")
    table.repeatable("--entity-type", "The kind of entity: topics, brokers or broker-loggers.")
    table.repeatable("--entity-name", "Its name: a topic, or a broker's id.")
    table.flag("--entity-default", "The settings that all brokers have in common.")
    table.option("--topic", "The topic.")
    table.option("--broker", "The broker's id.")
    table.option("--broker-logger", "The id of the broker whose log levels are meant.")
    table.flag("--broker-defaults", "The settings that all brokers have in common.")
    for name in ("client", "user", "ip"):
        table.option(f"--{name}", f"The {name} whose quotas or credentials are meant.")
        table.flag(f"--{name}-defaults", f"The quotas of every {name} without its own.")
    table.option("--add-config", "Settings to add or change: k=v,k2=[a,b]; brackets protect commas.")
    table.option("--add-config-file", "Property file with settings to add or change.", metavar="String: file")
    table.option("--delete-config", "Settings to set back to their defaults: k,k2.")
    table.flag("--all", "With --describe: static and default values too.")
    table.flag("--force", "Accepted without effect: no question is ever asked.")
    output_option(table)
    return table


# ---- what is asked for


Short = list[tuple[str, str]]
"""Type and name of each short form that is given; the name "" is the default of the type."""


def _types_of(options: argparse.Namespace) -> tuple[list[str], Short]:
    """The types that the options name, in order, and what their short forms say. Raises Refused."""
    short: Short = []
    for option, kind in SHORT_FORMS.items():
        name = _given(options, option)
        if name is not None:
            short.append((kind, name))
    short += [(kind, "") for name, kind in DEFAULTS.items() if _given(options, name)]
    long_types = list(options.entity_type or ())
    types = long_types + [kind for kind, _ in short]
    twice = [kind for kind, times in Counter(types).items() if times > 1]
    if twice:
        raise Refused(f"Duplicate entity type(s) specified: {','.join(twice)}")
    if not types:
        raise Refused("At least one entity type must be specified")
    if len(types) > 1 and set(types) != {"users", "clients"}:
        raise Refused("Only 'users' and 'clients' entity types may be specified together")
    known, option = (TYPES[:-1], "--zookeeper") if options.zookeeper else (TYPES, "--bootstrap-server")
    for kind in types:
        if kind not in known:
            raise Refused(
                f"Invalid entity type {kind}, the entity type must be one of {','.join(known)} "
                f"with the {option} argument"
            )
    if short and (long_types or options.entity_name or options.entity_default):
        raise Refused("--entity-{type,name,default} should not be used in conjunction with specific entity flags")
    return types, short


def quota_parts_of(options: argparse.Namespace, arguments: Sequence[str]) -> list[tuple[str, str | None]] | None:
    """Types and names (None where none is given) of users, clients and ips; None for other entities. Raises Refused.

    arguments: the command line; names and defaults belong to the types in the order in which they stand there.
    """
    types, short = _types_of(options)
    if not any(kind in QUOTAS for kind in types):
        return None
    if short:
        return list(short)
    names = []
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if word == "--entity-default":
            names.append("")
        elif word == "--entity-name":
            names.append(following)
        elif word.startswith("--entity-name="):
            names.append(word.partition("=")[2])
    return list(itertools.zip_longest(types, names[: len(types)]))


def entity_of(options: argparse.Namespace) -> Entity:
    """The one entity, or kind of entity, that the options name. Raises Refused."""
    types, short = _types_of(options)
    if short:
        name: str | None = short[0][1]
    else:
        name = "" if options.entity_default else (options.entity_name or [None])[0]
    return _checked(Entity(types[0], name), options)


def _given(options: argparse.Namespace, name: str) -> str | None:
    value: str | None = getattr(options, name.replace("-", "_"))
    return value


def _checked(entity: Entity, options: argparse.Namespace) -> Entity:
    if entity.type in (BROKERS, LOGGERS) and entity.name and not re.fullmatch(r"-?\d+", entity.name):
        text = f"The entity name for {entity.type} must be a valid integer broker id, but it is: {entity.name}"
        raise Refused(text)
    if entity.type == LOGGERS and not entity.name:
        action = "--describe" if options.describe else "--alter"
        raise Refused(f"an entity name must be specified with {action} of {entity.type}")
    if options.alter and entity.name is None:
        if entity.type == BROKERS:
            text = "an entity-name or default entity must be specified with --alter of users, clients, brokers or ips"
            raise Refused(text)
        raise Refused(f"an entity name must be specified with --alter of {entity.type}")
    if options.alter and entity.type == TOPICS and not entity.name:
        raise Refused(f"an entity name must be specified with --alter of {entity.type}")
    return entity


def changes_of(options: argparse.Namespace) -> Changes:
    """What to add and to delete. Raises Refused, ConfigError for a bad file."""
    if options.add_config is not None and options.add_config_file is not None:
        raise Refused("Only one of --add-config or --add-config-file must be specified")
    if options.add_config is None and options.add_config_file is None and options.delete_config is None:
        text = "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        raise Refused(text)
    added = read_properties(options.add_config_file) if options.add_config_file else _pairs(options.add_config or "")
    deleted = [name.strip() for name in (options.delete_config or "").split(",") if name.strip()]
    return Changes(added, deleted)


def _pairs(text: str) -> dict[str, str]:
    """`k=v,k2=[a,b]`; Raises Refused."""
    added = {}
    for part in filter(None, _COMMAS.split(text)):
        pair = _EQUALS.split(part)
        if len(pair) != 2:
            raise Refused(
                'requirement failed: Invalid entity config: all configs to be added must be in the format "key=val".'
            )
        added[pair[0].strip()] = pair[1].translate(_BRACKETS).strip()
    return added


# ---- describe


def describe(admin: AdminClient, entity: Entity, *, everything: bool) -> None:
    """Prints the settings of an entity, or of every entity of its kind."""
    for name in _names(admin, entity):
        if name:
            print(f"{'All' if everything else 'Dynamic'} configs for {entity.one} {name} are:", flush=True)
        else:
            print(f"Default configs for {entity.type} in the cluster are:", flush=True)
        for entry in _settings(admin, Entity(entity.type, name), everything=everything, synonyms=True):
            print(f"  {line_of(entry)}")


def _names(admin: AdminClient, entity: Entity) -> list[str]:
    if entity.name is not None:
        return [entity.name]
    if entity.type == TOPICS:
        return sorted(admin.list_topics(list_internal=True))
    return [*(str(node.id) for node in sorted(admin.describe_cluster().nodes, key=lambda node: node.id)), ""]


def _settings(admin: AdminClient, entity: Entity, *, everything: bool, synonyms: bool = False) -> list[ConfigEntry]:
    """The settings of an entity; only those that were set for just this entity unless `everything`."""
    resource = resource_of(entity)
    found = admin.describe_configs([resource], include_synonyms=synonyms, timeout=TIMEOUT_S).value(resource)
    is_own = _own_source(entity)
    return [found[name] for name in in_hash_order(found) if everything or is_own(found[name])]


def _own_source(entity: Entity) -> Callable[[ConfigEntry], bool]:
    from kafka_py.clients.admin.resources import ConfigSource

    if entity.type == LOGGERS:
        return lambda entry: True
    if entity.type == TOPICS:
        source = ConfigSource.DYNAMIC_TOPIC_CONFIG
    else:
        source = ConfigSource.DYNAMIC_BROKER_CONFIG if entity.name else ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    return lambda entry: entry.source is source


def resource_of(entity: Entity) -> ConfigResource:
    """The entity as the admin client names it."""
    from kafka_py.clients.admin.resources import ConfigResource, ConfigResourceType

    types = {
        TOPICS: ConfigResourceType.TOPIC,
        BROKERS: ConfigResourceType.BROKER,
        LOGGERS: ConfigResourceType.BROKER_LOGGER,
    }
    return ConfigResource(types[entity.type], entity.name or "")


def line_of(entry: ConfigEntry) -> str:
    """`segment.bytes=1048576 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:segment.bytes=1048576, ...}`."""
    synonyms = ", ".join(f"{one.source.name}:{one.name}={_shown(one.value)}" for one in entry.synonyms)
    sensitive = "true" if entry.is_sensitive else "false"
    return f"{entry.name}={_shown(entry.value)} sensitive={sensitive} synonyms={{{synonyms}}}"


def _shown(value: str | None) -> str:
    return "null" if value is None else value


# ---- alter


def alter(admin: AdminClient, entity: Entity, changes: Changes) -> None:
    """Carries the changes out. Raises Refused, KafkaError."""
    if entity.type == BROKERS:
        _replace(admin, entity, changes)
    else:
        _edit(admin, entity, changes)
    if entity.name:
        print(f"Completed updating config for {entity.one} {entity.name}.")
    else:
        print(f"Completed updating default config for {entity.type} in the cluster.")


def _edit(admin: AdminClient, entity: Entity, changes: Changes) -> None:
    from kafka_py.clients.admin.resources import AlterConfig, AlterOperation

    known = {entry.name for entry in _settings(admin, entity, everything=False)}
    if entity.type == LOGGERS:
        _require_known([*changes.deleted, *changes.added], known, "broker logger(s)")
    else:
        _require_known(changes.deleted, known, "config(s)")
    edits = [AlterConfig(name, value) for name, value in changes.added.items()]
    edits += [AlterConfig(name, None, AlterOperation.DELETE) for name in changes.deleted]
    admin.incremental_alter_configs({resource_of(entity): edits}, timeout=TIMEOUT_S).all()


def _replace(admin: AdminClient, entity: Entity, changes: Changes) -> None:
    """A broker's settings go there as a whole, and secrets, which are never shown, must all be given again."""
    present: Mapping[str, str | None] = {
        entry.name: entry.value for entry in _settings(admin, entity, everything=False)
    }
    _require_known(changes.deleted, present, "config(s)")
    wanted = {**present, **changes.added}
    for name in changes.deleted:
        wanted.pop(name, None)
    hidden = [name for name, value in wanted.items() if value is None]
    if hidden:
        text = f"missing entries: Set({', '.join(hidden)})"
        raise Refused(f"All sensitive broker config entries must be specified for --alter, {text}")
    given = {name: value for name, value in wanted.items() if value is not None}
    admin.alter_configs({resource_of(entity): given}, timeout=TIMEOUT_S).all()


def _require_known(names: Iterable[str], known: Iterable[str], what: str) -> None:
    unknown = [name for name in names if name not in set(known)]
    if unknown:
        raise Refused(f"Invalid {what}: {','.join(unknown)}")


def _check_connection(options: argparse.Namespace) -> None:
    if options.bootstrap_server is None and options.zookeeper is None:
        raise Refused("One of the required --bootstrap-server or --zookeeper arguments must be specified")
    if options.bootstrap_server is not None and options.zookeeper is not None:
        raise Refused("Only one of --bootstrap-server or --zookeeper must be specified")
    if options.zk_tls_config_file is not None and options.zookeeper is None:
        raise Refused("--zk-tls-config-file is about the connection of --zookeeper, which is not given")
    if options.all and options.zookeeper is not None:
        raise Refused("--bootstrap-server must be specified for --all")


def _quotas(options: argparse.Namespace, parts: list[tuple[str, str | None]], changes: Changes | None) -> None:
    """Shows or changes what users, clients and ips have. Raises as `main` expects it."""
    from kafka_py.cli.config_admin import client_quotas, configs_quotas

    owner = configs_quotas.quota_entity_of(parts, alter=options.alter)
    if options.zookeeper is None:
        from kafka_py.clients.admin.client import AdminClient

        with AdminClient(admin_properties(options)) as admin:
            if options.output is not None:
                print_document(client_quotas.documents(admin, owner), options.output)
            elif changes is None:
                client_quotas.describe(admin, owner)
            else:
                client_quotas.alter(admin, owner, changes, Entity(*parts[0]))
        return
    from kafka_py.cli.config_admin.configs_zookeeper import run_on_zookeeper

    run_on_zookeeper(
        options.zookeeper,
        lambda store: (
            configs_quotas.describe(store, owner) if changes is None else configs_quotas.alter(store, owner, changes)
        ),
        options.zk_tls_config_file,
    )


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    if options.describe == options.alter:
        raise UsageError("Command must include exactly one action: --describe, --alter")
    changes: Changes | None = None
    try:
        _check_connection(options)
        quota_parts = quota_parts_of(options, arguments)
        changes = changes_of(options) if options.alter else None
        if options.output is not None and (options.alter or options.zookeeper):
            raise Refused("--output is for --describe with --bootstrap-server")
        log_warnings()
        if quota_parts is not None:
            _quotas(options, quota_parts, changes)
            return 0
        entity = entity_of(options)
        if options.zookeeper is not None:
            from kafka_py.cli.config_admin import configs_zookeeper

            configs_zookeeper.run_on_zookeeper(
                options.zookeeper,
                lambda store: (
                    configs_zookeeper.describe(store, entity)
                    if changes is None
                    else configs_zookeeper.alter(store, entity, changes)
                ),
                options.zk_tls_config_file,
            )
            return 0
        from kafka_py.cli.config_admin.config_documents import documents
        from kafka_py.clients.admin.client import AdminClient

        with AdminClient(admin_properties(options)) as admin:
            if options.output is not None:
                print_document(documents(entity.type, _names(admin, entity), lambda name: _settings(
                    admin, Entity(entity.type, name), everything=options.all)), options.output)  # fmt: skip
            elif changes is None:
                describe(admin, entity, everything=options.all)
            else:
                alter(admin, entity, changes)
    except (Refused, ConfigError) as error:
        print(error.message if isinstance(error, ConfigError) else error, file=sys.stderr)
        return 1
    except KafkaError as error:
        sys.stdout.flush()
        shown = shown_arguments(arguments, {} if changes is None else changes.added)
        print(f"Error while executing config command with args '{shown}'", file=sys.stderr)
        print(exception_text(error), file=sys.stderr)
        return 1
    return 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
