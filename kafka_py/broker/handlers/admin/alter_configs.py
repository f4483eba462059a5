"""AlterConfigs: replaces all settings of topics and brokers; settings not in the request get their default.

Source: KIP-133, KIP-339 (IncrementalAlterConfigs replaces it).
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.config_writes import BROKER, TOPIC, check_types, replace_settings
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.broker.settings.alter_policy import Resource
from kafka_py.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


async def handle(node: Node, context: RequestContext, request: AlterConfigsRequest) -> AlterConfigsResponse:
    """One result per resource; if a resource occurs twice, the last occurrence counts.

    Raises KafkaError(INVALID_REQUEST) for the whole if one of them is of another type.
    """
    turn = Turn(node.clock)
    asked = {}
    for each in request.resources:
        asked[Resource(each.resource_type, each.resource_name)] = each.configs
        await turn.maybe_yield()
    check_types((resource.type for resource in asked), (TOPIC, BROKER))
    responses = []
    for resource, configs in asked.items():
        await turn.maybe_yield()
        overrides = {config.name: config.value for config in configs}
        error = await replace_settings(node, context, resource, overrides, validate_only=request.validate_only)
        if error is not None:
            context.metrics.count_error(error.code.name)
        responses.append(
            AlterConfigsResourceResponse(
                error_code=ErrorCode.NONE if error is None else error.code,
                error_message=None if error is None else error.message or None,
                resource_type=resource.type,
                resource_name=resource.name,
            )
        )
    return AlterConfigsResponse(throttle_time_ms=0, responses=responses)
