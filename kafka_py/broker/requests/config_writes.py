"""Config changes of one resource: authorization, checks, and the write to ZooKeeper with its notification (I/O).

Shared by IncrementalAlterConfigs and AlterConfigs; config_edits.py computes the new overrides.
Source: KIP-133, KIP-226, KIP-339, KIP-412.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence

from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.base.ids import parse_broker_id
from kafka_py.base.texts import paired
from kafka_py.broker.requests.item_errors import ItemError, error_of
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.broker.settings.alter_policy import Resource
from kafka_py.broker.settings.config_edits import (
    Edit,
    apply_to_loggers,
    check_broker,
    check_edits,
    check_loggers,
    check_topic,
    edited,
    usable,
)
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.settings.setting_names import shown
from kafka_py.log.model.configs import LogConfig
from kafka_py.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType
from kafka_py.zk.config_znodes import DEFAULT_ENTITY, entity_path

TOPIC = 2
BROKER = 4
BROKER_LOGGER = 8
TYPE_NAMES = {TOPIC: "TOPIC", BROKER: "BROKER", BROKER_LOGGER: "BROKER_LOGGER"}

_WITHOUT_MESSAGE = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)

_log = logging.getLogger(__name__)


def check_types(types: Iterable[int], served: Collection[int]) -> None:
    """Raises KafkaError(INVALID_REQUEST) if a resource has another type: then the whole request is refused."""
    for each in types:
        if each == BROKER_LOGGER and each not in served:
            text = "AlterConfigs is deprecated and does not support the resource type BROKER_LOGGER"
            raise KafkaError(ErrorCode.INVALID_REQUEST, text)
        if each not in served:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Unexpected resource type UNKNOWN")


async def edit_settings(
    node: Node, context: RequestContext, resource: Resource, edits: Sequence[Edit], *, validate_only: bool
) -> ItemError | None:
    """Changes single settings of a resource; the error, or None."""
    try:
        _authorize(node, context, resource)
        check_edits(edits)
        if resource.type == BROKER_LOGGER:
            _require_self(node, resource.name, or_none=True)
            check_loggers(edits)
            if not validate_only:
                apply_to_loggers(edits)
                node.request_metrics.exchanges.look_again()
                levels = paired({edit.name: edit.value for edit in edits})
                _log.info("Log levels changed by %s: %s", context.principal, levels)
            return None
        entity = _entity(node, resource)
        rows = LogConfig.ROWS if resource.type == TOPIC else BrokerConfig.ROWS

        passwords = node.live_config.passwords

        async def edit(stored: dict[str, str]) -> dict[str, str] | None:
            if resource.type == TOPIC:
                overrides = edited(stored, edits, rows)
                return await _checked(node, resource, entity, overrides, validate_only=validate_only, stored=stored)
            plain = await passwords.decoded(stored)
            overrides = edited(usable(plain, is_default=not resource.name), edits, rows)
            wanted = await _checked(node, resource, entity, overrides, validate_only=validate_only, stored=plain)
            return None if wanted is None else await passwords.encoded(wanted, stored, plain)

        # Under a lock: requests overlap, and a later one must see the changes of an earlier one.
        async with node.config_locks.hold(entity):
            if await node.store.configs.edit(entity, edit):
                await _use(node, entity)
    except Exception as error:  # an error of a policy, too, affects only this resource
        return _failure(resource, error)
    return None


async def replace_settings(
    node: Node, context: RequestContext, resource: Resource, overrides: Mapping[str, str | None], *, validate_only: bool
) -> ItemError | None:
    """Replaces all settings of a resource; the error, or None."""
    try:
        _authorize(node, context, resource)
        entity = _entity(node, resource)
        null = [name for name, value in overrides.items() if value is None]
        if null:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {','.join(null)}")
        given = {name: value for name, value in overrides.items() if value is not None}
        async with node.config_locks.hold(entity):
            if await _checked(node, resource, entity, given, validate_only=validate_only) is not None:
                if resource.type != TOPIC:
                    given = await node.live_config.passwords.encoded(given, {}, {})
                await node.store.configs.change(entity, given)
                await _use(node, entity)
    except Exception as error:
        return _failure(resource, error)
    return None


async def _use(node: Node, entity: str) -> None:
    """Applies the new settings on this broker. An error does not fail the request, because the notification follows."""
    try:
        await node.apply_settings(entity)
    except Exception as error:
        error_of(error, _log, f"The settings of {entity} are stored, but could not be applied at once")


def _authorize(node: Node, context: RequestContext, resource: Resource) -> None:
    if resource.type == TOPIC:
        kind, name, refusal = ResourceType.TOPIC, resource.name, ErrorCode.TOPIC_AUTHORIZATION_FAILED
    else:
        kind, name, refusal = ResourceType.CLUSTER, CLUSTER_NAME, ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    if not node.authorizer.allows(context, Operation.ALTER_CONFIGS, kind, name):
        raise KafkaError(refusal)


def _require_self(node: Node, name: str, *, or_none: bool = False) -> None:
    """Raises KafkaError for another broker's id, because a broker changes only its own settings."""
    if or_none and not name:
        return
    broker_id = parse_broker_id(name)
    if broker_id is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
    if broker_id != node.broker_id:
        text = f"Unexpected broker id, expected {node.broker_id}, but received {name}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, text)


def _entity(node: Node, resource: Resource) -> str:
    """The path of the resource's overrides. Raises KafkaError when the resource does not exist here."""
    if resource.type == TOPIC:
        if not resource.name:
            raise ConfigError("the topic has no name")
        if not node.metadata.has_topic(resource.name):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{resource.name}' does not exist.")
        return entity_path(("topics", resource.name))
    if not resource.name:
        return entity_path(("brokers", DEFAULT_ENTITY))
    _require_self(node, resource.name)
    return entity_path(("brokers", str(node.broker_id)))  # the name may have leading zeros


async def _checked(
    node: Node, resource: Resource, entity: str, overrides: dict[str, str], *, validate_only: bool,
    stored: Mapping[str, str] | None = None,
) -> dict[str, str] | None:  # fmt: skip
    """The overrides to write, None with `validate_only`. Raises KafkaError, ConfigError."""
    if resource.type == TOPIC:
        check_topic(overrides, node.live_config)
    else:
        check_broker(overrides, node.live_config, is_default=not resource.name, stored=stored)
        if resource.name:  # a setting of a store may have been deleted, or its file may have changed
            values = await node.live_config.passwords.looked_up(overrides)
            await node.check_stores(node.live_config.with_own(values))
    if node.alter_policy is not None:
        node.alter_policy.validate(resource, overrides)
    if validate_only:
        return None
    _log.info("New settings of %s: %s", entity, shown(overrides, known=LogConfig.ROWS))
    return overrides


def _failure(resource: Resource, error: Exception) -> ItemError:
    if isinstance(error, ConfigError):
        text = f"Invalid config value for resource {_shown(resource)}: {error.detail}"
        return ItemError(ErrorCode.INVALID_REQUEST, text)
    if isinstance(error, KafkaError) and error.code in _WITHOUT_MESSAGE:
        return ItemError(error.code, "")
    return error_of(error, _log, f"The settings of {_shown(resource)} were not changed")


def _shown(resource: Resource) -> str:
    return f"ConfigResource(type={TYPE_NAMES.get(resource.type, 'UNKNOWN')}, name='{resource.name}')"
