"""Config changes: computes the new overrides of a topic or broker, and checks them.

Pure: values in, values out; the handlers of AlterConfigs and IncrementalAlterConfigs read and write ZooKeeper. Admin
tools show the error texts.
Source: KIP-133, KIP-226, KIP-339; docs/reference/configs.tsv (column dynamic).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.base.options import Kind, Option
from kafka_py.broker.settings import loggers
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.settings.live_config import LiveConfig
from kafka_py.broker.settings.setting_names import Misplaced, check_value, is_stored_password, misplaced
from kafka_py.log.model.configs import LogConfig
from kafka_py.net.endpoints import listening_of

LISTENER_SETTINGS = frozenset({"listeners", "advertised.listeners", "listener.security.protocol.map"})
"""The settings of listeners, which are dynamic."""
_THREAD_POOLS = (
    "background.threads",
    "log.cleaner.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
)
"""Numbers of threads, which may at most double or halve in one change."""


class EditOperation(IntEnum):
    """Operation on one setting, with the numbers of the protocol."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Edit(NamedTuple):
    """One change. operation: as received, may be unknown to EditOperation. value: None for DELETE only."""

    name: str
    operation: int
    value: str | None


def check_edits(edits: Sequence[Edit]) -> None:
    """Checks the list of changes itself. Raises KafkaError(INVALID_REQUEST)."""
    twice = [name for name, times in Counter(edit.name for edit in edits).items() if times > 1]
    if twice:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Error due to duplicate config keys : {','.join(twice)}")
    for edit in edits:
        if edit.operation not in EditOperation._value2member_map_:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown operation {edit.operation} on {edit.name}")
    null = [edit for edit in edits if edit.value is None and edit.operation != EditOperation.DELETE]
    if null:
        shown = ",".join(f"{EditOperation(edit.operation).name}:{edit.name}" for edit in null)
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {shown}")


def edited(current: Mapping[str, str], edits: Sequence[Edit], rows: Mapping[str, Option[Any]]) -> dict[str, str]:
    """The overrides after these changes, applied in order. rows: the settings' types and defaults.

    Deleting a setting that is not set changes nothing. Raises KafkaError(INVALID_REQUEST) for a list operation on a
    setting of another type.
    """
    overrides = dict(current)
    for name, number, value in edits:
        operation = EditOperation(number)
        if operation is EditOperation.SET:
            overrides[name] = value or ""
        elif operation is EditOperation.DELETE:
            overrides.pop(name, None)
        else:
            overrides[name] = _edited_list(overrides.get(name), operation, value or "", name, rows.get(name))
    return overrides


def _edited_list(
    current: str | None, operation: EditOperation, value: str, name: str, row: Option[Any] | None
) -> str:
    if row is None or row.kind is not Kind.LIST:
        word = operation.name.lower()
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Config value {word} is not allowed for config key: {name}")
    if current is None:
        current = row.text(row.default) or ""
    items, given = current.split(","), value.split(",")
    if operation is EditOperation.APPEND:
        return ",".join([*items, *given])
    return ",".join(item for item in items if item not in given)


def check_topic(overrides: Mapping[str, str], live: LiveConfig) -> None:
    """Checks the overrides of a topic.

    Raises KafkaError(INVALID_CONFIG) for an unknown name, ConfigError for an invalid value.
    """
    for name in overrides:
        if name not in LogConfig.ROWS:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
    LogConfig.for_topic(live.current, overrides)


def usable(stored: Mapping[str, str], *, is_default: bool) -> dict[str, str]:
    """The stored settings of a broker without those that no broker accepts, to which changes are applied.

    A tool may have written such settings to ZooKeeper; if they were kept, every later change would be rejected.
    """
    return {name: value for name, value in stored.items() if _is_usable(name, value, is_default=is_default)}


def _is_usable(name: str, value: str, *, is_default: bool) -> bool:
    if misplaced(name, is_default=is_default) is not None:
        return False
    try:
        check_value(name, value)
    except ConfigError:
        return False
    return True


def check_broker(
    overrides: Mapping[str, str], live: LiveConfig, *, is_default: bool, stored: Mapping[str, str] | None = None
) -> None:
    """Checks the dynamic settings of this broker, or of all brokers (`is_default`). Raises ConfigError.

    Unknown names are accepted, because a plug-in may use them. stored: the current settings; an unchanged password
    is accepted.
    """
    check_settings(overrides, is_default=is_default)
    before = stored or {}
    changed = [name for name, value in overrides.items() if before.get(name) != value]
    check_passwords(changed, has_secret=live.static.password_encoder_secret is not None)
    both = {**overrides, **live.own} if is_default else {**live.cluster_wide, **overrides}
    after = live.static.override(both)
    _check_pools(live.current, after, overrides)
    if not is_default and not LISTENER_SETTINGS.isdisjoint({*overrides, *live.own}):
        check_listeners(live.current, after)


def check_passwords(names: Iterable[str], *, has_secret: bool) -> None:
    """Rejects passwords that could not be encrypted. Raises ConfigError.

    has_secret: whether password.encoder.secret is set.
    """
    passwords = [name for name in names if is_stored_password(name)]
    if passwords and not has_secret:
        raise ConfigError("Password encoder secret not configured")


def check_listeners(before: BrokerConfig, after: BrokerConfig) -> None:
    """Checks a change of listeners. Raises ConfigError."""
    protocols = {one.listener_name: one.security_protocol for one in listening_of(before).listeners}
    listening = listening_of(after)
    for endpoint in listening.listeners:
        if protocols.get(endpoint.listener_name, endpoint.security_protocol) is not endpoint.security_protocol:
            raise ConfigError(f"Security protocol cannot be updated for existing listener {endpoint.listener_name}")
    inter_broker = listening_of(before).inter_broker_listener
    if inter_broker not in {endpoint.listener_name for endpoint in listening.advertised}:
        raise ConfigError(f"Advertised listener must be specified for inter-broker listener {inter_broker}")


def check_settings(overrides: Mapping[str, str], *, is_default: bool) -> None:
    """Checks that each setting is dynamic, has a valid value, and may be set at this level.

    Raises ConfigError for the first violated rule, with the settings that violate it.
    """
    found: dict[Misplaced, list[str]] = {}
    for name in overrides:
        fault = misplaced(name, is_default=is_default)
        if fault is not None:
            found.setdefault(fault, []).append(name)
    _refuse(found, Misplaced.FIXED)
    _refuse(found, Misplaced.WITHOUT_LISTENER)
    for name, value in overrides.items():
        check_value(name, value)
    _refuse(found, Misplaced.NEEDS_BROKER)


def _refuse(found: Mapping[Misplaced, Sequence[str]], fault: Misplaced) -> None:
    if fault in found:
        raise ConfigError(f"{fault.value}: Set({', '.join(found[fault])})")


def _check_pools(before: BrokerConfig, after: BrokerConfig, changed: Mapping[str, str]) -> None:
    for name in _THREAD_POOLS:
        if name not in changed:
            continue
        attribute = BrokerConfig.ROWS[name].attribute
        old, new = getattr(before, attribute), getattr(after, attribute)
        if new < old // 2:
            raise ConfigError(
                f"Dynamic thread count update validation failed for {name}={new}: "
                f"value should be at least half the current value {old}"
            )
        if new > old * 2:
            raise ConfigError(
                f"Dynamic thread count update validation failed for {name}={new}: "
                f"value should not be greater than double the current value {old}"
            )


def check_loggers(edits: Sequence[Edit]) -> None:
    """Checks changes of log levels. Raises KafkaError(INVALID_REQUEST), ConfigError."""
    for edit in edits:
        operation = EditOperation(edit.operation)
        if operation in (EditOperation.APPEND, EditOperation.SUBTRACT):
            text = f"{operation.name} operation is not allowed for the BROKER_LOGGER resource"
            raise KafkaError(ErrorCode.INVALID_REQUEST, text)
        if operation is EditOperation.SET:
            loggers.check_level(edit.name, edit.value)
        else:
            loggers.check_unset(edit.name)


def apply_to_loggers(edits: Sequence[Edit]) -> None:
    """Changes the levels of this process's loggers, after check_loggers."""
    for edit in edits:
        if edit.operation == EditOperation.SET:
            loggers.set_level(edit.name, edit.value or "")
        else:
            loggers.unset_level(edit.name)
