"""Admin calls on settings: describe and change the configuration of topics and brokers.

Requests for a broker's own settings are sent to that broker, others to any broker.
Source: KIP-133, KIP-339; KafkaAdminClient.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from kafka_py.base.errors import KafkaError
from kafka_py.clients.admin.core import AdminCore, error_of
from kafka_py.clients.admin.resources import (
    AlterConfig,
    ConfigEntry,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
    ConfigSynonym,
    ConfigType,
)
from kafka_py.clients.admin.results import Results
from kafka_py.wire.messages import alter_configs as alter_messages
from kafka_py.wire.messages import incremental_alter_configs as incremental_messages
from kafka_py.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
)

ANY_BROKER = None


async def describe_configs(
    core: AdminCore,
    resources: Collection[ConfigResource] | Mapping[ConfigResource, Collection[str] | None],
    *,
    include_synonyms: bool = False,
    include_documentation: bool = False,
    timeout: float | None = None,
) -> Results[ConfigResource, dict[str, ConfigEntry]]:
    """The settings of each resource, by name; a mapping limits the names of each resource (None: all)."""
    keys: dict[ConfigResource, Collection[str] | None] = (
        dict(resources) if isinstance(resources, Mapping) else dict.fromkeys(resources)
    )

    async def ask(
        node_id: int | None, some: list[ConfigResource], timeout_ms: int
    ) -> dict[ConfigResource, dict[str, ConfigEntry] | KafkaError]:
        request = DescribeConfigsRequest(
            resources=[_asked(resource, keys[resource]) for resource in some],
            include_synonyms=include_synonyms,
            include_documentation=include_documentation,
        )
        response = await _ask_node(core, node_id, request, timeout_ms)
        return {
            ConfigResource(ConfigResourceType(result.resource_type), result.resource_name): _answered(result)
            for result in response.results
        }

    async def attempt(
        some: list[ConfigResource], timeout_ms: int
    ) -> dict[ConfigResource, dict[str, ConfigEntry] | KafkaError]:
        parts = await asyncio.gather(*(ask(node_id, part, timeout_ms) for node_id, part in _by_node(some).items()))
        return {resource: answer for part in parts for resource, answer in part.items()}

    return await core.per_item(keys, attempt, timeout)


async def incremental_alter_configs(
    core: AdminCore,
    changes: Mapping[ConfigResource, Collection[AlterConfig]],
    *,
    validate_only: bool = False,
    timeout: float | None = None,
) -> Results[ConfigResource, None]:
    """Changes single settings of each resource, or only validates the changes; other settings are not changed."""

    def make(some: list[ConfigResource]) -> Any:
        resources = [
            incremental_messages.AlterConfigsResource(
                resource_type=resource.type,
                resource_name=resource.name,
                configs=[
                    incremental_messages.AlterableConfig(
                        name=change.name, config_operation=change.operation, value=change.value
                    )
                    for change in changes[resource]
                ],
            )
            for resource in some
        ]
        return incremental_messages.IncrementalAlterConfigsRequest(
            resources=resources, validate_only=validate_only
        )

    return await _alter(core, changes, make, timeout)


async def alter_configs(
    core: AdminCore,
    configs: Mapping[ConfigResource, Mapping[str, str]],
    *,
    validate_only: bool = False,
    timeout: float | None = None,
) -> Results[ConfigResource, None]:
    """Replaces all settings of each resource: those that are not named are reset to their defaults."""

    def make(some: list[ConfigResource]) -> Any:
        resources = [
            alter_messages.AlterConfigsResource(
                resource_type=resource.type,
                resource_name=resource.name,
                configs=[
                    alter_messages.AlterableConfig(name=name, value=value)
                    for name, value in configs[resource].items()
                ],
            )
            for resource in some
        ]
        return alter_messages.AlterConfigsRequest(resources=resources, validate_only=validate_only)

    return await _alter(core, configs, make, timeout)


async def _alter(
    core: AdminCore,
    resources: Iterable[ConfigResource],
    make: Callable[[list[ConfigResource]], Any],
    timeout: float | None,
) -> Results[ConfigResource, None]:
    """make: makes the request for some of the resources."""

    async def ask(
        node_id: int | None, some: list[ConfigResource], timeout_ms: int
    ) -> dict[ConfigResource, KafkaError | None]:
        response = await _ask_node(core, node_id, make(some), timeout_ms)
        return {
            ConfigResource(ConfigResourceType(each.resource_type), each.resource_name): error_of(
                each.error_code, each.error_message, each.resource_name
            )
            for each in response.responses
        }

    async def attempt(some: list[ConfigResource], timeout_ms: int) -> dict[ConfigResource, KafkaError | None]:
        parts = await asyncio.gather(*(ask(node_id, part, timeout_ms) for node_id, part in _by_node(some).items()))
        return {resource: answer for part in parts for resource, answer in part.items()}

    return await core.per_item(resources, attempt, timeout)


async def _ask_node(core: AdminCore, node_id: int | None, request: Any, timeout_ms: int) -> Any:
    if node_id is ANY_BROKER:
        return await core.cluster.send_any(request, timeout_ms=timeout_ms)
    if core.cluster.view.fetched_ms is None:
        await core.refresh()
    return await core.cluster.send(node_id, request, timeout_ms=timeout_ms)


def _by_node(resources: Iterable[ConfigResource]) -> dict[int | None, list[ConfigResource]]:
    by_node: dict[int | None, list[ConfigResource]] = {}
    for resource in resources:
        own = resource.type in (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER) and resource.name.isdigit()
        by_node.setdefault(int(resource.name) if own else ANY_BROKER, []).append(resource)
    return by_node


def _asked(resource: ConfigResource, keys: Collection[str] | None) -> DescribeConfigsResource:
    return DescribeConfigsResource(
        resource_type=resource.type,
        resource_name=resource.name,
        configuration_keys=None if keys is None else list(keys),
    )


def _answered(result: DescribeConfigsResult) -> dict[str, ConfigEntry] | KafkaError:
    error = error_of(result.error_code, result.error_message, result.resource_name)
    return error if error is not None else {each.name: _entry(each) for each in result.configs}


def _entry(each: DescribeConfigsResourceResult) -> ConfigEntry:
    source = ConfigSource.of(each.config_source)
    if each.is_default:  # version 0 has no sources
        source = ConfigSource.DEFAULT_CONFIG
    synonyms = tuple(ConfigSynonym(one.name, one.value, ConfigSource.of(one.source)) for one in each.synonyms)
    return ConfigEntry(
        each.name,
        each.value,
        source,
        each.read_only,
        each.is_sensitive,
        synonyms,
        ConfigType.of(each.config_type),
        each.documentation,
    )
