"""FindCoordinator: which broker coordinates a group; none coordinates transactions yet, clients ask again.

The first question about a group makes the offsets topic. Source: group and transaction facts, section 1.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.broker.authorization import Operation, ResourceType
from kafka_py.broker.node import Node
from kafka_py.broker.requests import RequestContext
from kafka_py.coordinator.groups.store import TOPIC
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
        return _nobody(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if not node.metadata.has_topic(TOPIC):
        await node.auto_creation.create(TOPIC)
        return _nobody(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    partition = TopicPartition(TOPIC, node.coordinators.groups.runtime.partition_for(request.key))
    info = node.metadata.partition(partition)
    address = None if info is None else node.metadata.address(info.leader, context.listener_name)
    if info is None or address is None:
        return _nobody(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return FindCoordinatorResponse(
        error_code=ErrorCode.NONE,
        error_message="NONE",
        node_id=info.leader,
        host=address.host,
        port=address.port,
    )


def _nobody(code: ErrorCode) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(error_code=code, error_message=code.meaning, node_id=-1, host="", port=-1)
