"""IncrementalAlterConfigs: single settings of topics and brokers, and the levels of a broker's loggers.

Source: KIP-339, KIP-412.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.config_writes import TYPE_NAMES, check_types, edit_settings
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.broker.settings.alter_policy import Resource
from kafka_py.broker.settings.config_edits import Edit
from kafka_py.wire.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


async def handle(
    node: Node, context: RequestContext, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    """One result per resource; if a resource occurs twice, the last occurrence counts.

    Raises KafkaError(INVALID_REQUEST) for the whole if one of them is of another type.
    """
    turn = Turn(node.clock)
    asked = {}
    for each in request.resources:
        asked[Resource(each.resource_type, each.resource_name)] = each.configs
        await turn.maybe_yield()
    check_types((resource.type for resource in asked), TYPE_NAMES)
    responses = []
    for resource, configs in asked.items():
        await turn.maybe_yield()
        edits = [Edit(config.name, config.config_operation, config.value) for config in configs]
        error = await edit_settings(node, context, resource, edits, validate_only=request.validate_only)
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
    return IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=responses)
