"""FindCoordinator: which broker coordinates a group; transactions only another broker can coordinate.

The first question about a group makes the offsets topic. Source: docs/reference/groups.md, section 1.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.broker.requests import transactions
from kafka_py.broker.requests.authorization import Operation, ResourceType
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.coordinator.groups.metadata_store import TOPIC
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

GROUP = 0
TRANSACTION = 1

_RIGHTS = {
    GROUP: (ResourceType.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
    TRANSACTION: (ResourceType.TRANSACTIONAL_ID, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
}


async def handle(node: Node, context: RequestContext, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    """The leader of the partition that the id falls into; COORDINATOR_NOT_AVAILABLE when there is none, for now."""
    rights = _RIGHTS.get(request.key_type)
    if rights is None:
        return _nobody(ErrorCode.INVALID_REQUEST)
    resource_type, refusal = rights
    if not node.authorizer.allows(context, Operation.DESCRIBE, resource_type, request.key):
        return _nobody(refusal)
    if request.key_type == TRANSACTION:
        return _of_transactions(node, context, request.key)
    if not node.metadata.has_topic(TOPIC):
        await node.auto_creation.create(TOPIC)
        return _nobody(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    partition = TopicPartition(TOPIC, node.coordinators.groups.runtime.partition_for(request.key))
    info = node.metadata.partition(partition)
    return _nobody(ErrorCode.COORDINATOR_NOT_AVAILABLE) if info is None else _broker(node, context, info.leader)


def _of_transactions(node: Node, context: RequestContext, transactional_id: str) -> FindCoordinatorResponse:
    try:
        return _broker(node, context, transactions.coordinator_of(node, transactional_id))
    except KafkaError as error:
        return _nobody(error.code, error.detail)


def _broker(node: Node, context: RequestContext, broker_id: int) -> FindCoordinatorResponse:
    address = node.metadata.address(broker_id, context.listener_name)
    if address is None:
        return _nobody(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return FindCoordinatorResponse(
        error_code=ErrorCode.NONE,
        error_message="NONE",
        node_id=broker_id,
        host=address.host,
        port=address.port,
    )


def _nobody(code: ErrorCode, detail: str = "") -> FindCoordinatorResponse:
    return FindCoordinatorResponse(error_code=code, error_message=detail or code.meaning, node_id=-1, host="", port=-1)
