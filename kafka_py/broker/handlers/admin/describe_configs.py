"""DescribeConfigs: the settings of topics, of this broker, of all brokers, and the levels of its loggers."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import parse_broker_id
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.config_writes import BROKER, BROKER_LOGGER, TOPIC
from kafka_py.broker.requests.item_errors import error_of
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.broker.settings.config_descriptions import (
    ConfigLayer,
    Description,
    describe_broker,
    describe_cluster_default,
    describe_loggers,
    describe_topic,
)
from kafka_py.broker.settings.scala_order import of_strings
from kafka_py.controller import topic_names
from kafka_py.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType
from kafka_py.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from kafka_py.wire.version_meanings import DESCRIBE_CONFIGS_HAS_IS_DEFAULT
from kafka_py.zk.config_znodes import DEFAULT_ENTITY, entity_path

_log = logging.getLogger(__name__)


async def handle(node: Node, context: RequestContext, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    """One result per distinct resource and set of keys; an error affects only its resource.

    Raises KafkaError(INVALID_REQUEST) for the whole if one of them is of another type.
    """
    turn = Turn(node.clock)
    results = []
    answered: set[tuple[int, str, frozenset[str]]] = set()
    for resource in request.resources:
        await turn.maybe_yield()
        if resource.resource_type not in (TOPIC, BROKER, BROKER_LOGGER):
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Unexpected resource type UNKNOWN")
    for resource in request.resources:
        await turn.maybe_yield()
        asked = _identity(resource)
        if asked in answered:
            continue
        answered.add(asked)
        result = DescribeConfigsResult(
            error_code=ErrorCode.NONE,
            error_message="",
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
            configs=[],
        )
        try:
            _authorize(node, context, resource)
            wanted = set(resource.configuration_keys or ())
            result.configs = [
                _entry(context, request, description)
                for description in _ordered(await _describe(node, resource), wanted)
            ]
        except Exception as failure:  # an error of this resource only
            error = error_of(failure, _log, f"The settings of {resource.resource_name!r} are not described")
            result.error_code = error.code
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:  # sent without a message
                result.error_message = error.message
            context.metrics.count_error(error.code.name)
        results.append(result)
    return DescribeConfigsResponse(throttle_time_ms=0, results=results)


def _identity(resource: DescribeConfigsResource) -> tuple[int, str, frozenset[str]]:
    """Key of a resource in the request; a broker's id may have leading zeros."""
    name = resource.resource_name
    if resource.resource_type != TOPIC:
        broker_id = parse_broker_id(name)
        name = name if broker_id is None else str(broker_id)
    return resource.resource_type, name, frozenset(resource.configuration_keys or ())


def _authorize(node: Node, context: RequestContext, resource: DescribeConfigsResource) -> None:
    if resource.resource_type == TOPIC:
        kind, name, refusal = ResourceType.TOPIC, resource.resource_name, ErrorCode.TOPIC_AUTHORIZATION_FAILED
    else:
        kind, name, refusal = ResourceType.CLUSTER, CLUSTER_NAME, ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    if not node.authorizer.allows(context, Operation.DESCRIBE_CONFIGS, kind, name):
        raise KafkaError(refusal)


def _ordered(descriptions: Iterable[Description], wanted: Collection[str]) -> list[Description]:
    """The requested descriptions (all for an empty list) in the order of a Scala hash table, which clients show."""
    found = {each.name: each for each in descriptions if not wanted or each.name in wanted}
    return [found[name] for name in of_strings(found)]


async def _describe(node: Node, resource: DescribeConfigsResource) -> Iterable[Description]:
    """Raises KafkaError for what cannot be described."""
    name = resource.resource_name
    if resource.resource_type == TOPIC:
        topic_names.validate(name)
        if not node.metadata.has_topic(name):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return describe_topic(await node.store.configs.of_topic(name), node.live_config)
    if resource.resource_type == BROKER and not name:
        # From ZooKeeper, so that every broker shows a change at once.
        return describe_cluster_default(await node.store.configs.of_entity(entity_path(("brokers", DEFAULT_ENTITY))))
    if resource.resource_type in (BROKER, BROKER_LOGGER):
        _require_self(node, name)
        return describe_broker(node.live_config) if resource.resource_type == BROKER else describe_loggers()
    raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {resource.resource_type}")


def _require_self(node: Node, name: str) -> None:
    """Raises KafkaError for another broker, because each broker describes only itself."""
    broker_id = parse_broker_id(name)
    if broker_id is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
    if broker_id != node.broker_id:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {node.broker_id} or empty string, but received {name}",
        )


def _entry(
    context: RequestContext, request: DescribeConfigsRequest, description: Description
) -> DescribeConfigsResourceResult:
    entry = DescribeConfigsResourceResult(
        name=description.name,
        value=description.value,
        read_only=description.is_read_only,
        config_source=int(description.source),
        is_sensitive=description.is_sensitive,
        config_type=description.type,
        documentation=description.documentation if request.include_documentation else None,
    )
    if DESCRIBE_CONFIGS_HAS_IS_DEFAULT[context.api_version]:
        entry.is_default = description.source is ConfigLayer.DEFAULT
    if request.include_synonyms:
        entry.synonyms = [
            DescribeConfigsSynonym(name=synonym.name, value=synonym.value, source=int(synonym.source))
            for synonym in description.synonyms
        ]
    return entry
