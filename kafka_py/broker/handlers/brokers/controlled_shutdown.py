"""ControlledShutdown: a broker asks the controller to move its leaders away.

Source: docs/reference/controller.md, section 11.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.wire.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)


async def handle(
    node: Node, context: RequestContext, request: ControlledShutdownRequest
) -> ControlledShutdownResponse:
    """The replicated partitions that the broker still leads. Raises KafkaError like Controller.controlled_shutdown."""
    remaining = await node.controller.controlled_shutdown(request.broker_id, request.broker_epoch)
    return ControlledShutdownResponse(
        error_code=ErrorCode.NONE,
        remaining_partitions=[
            RemainingPartition(topic_name=topic, partition_index=partition) for topic, partition in sorted(remaining)
        ],
    )
