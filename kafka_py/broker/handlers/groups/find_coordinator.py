"""FindCoordinator: which broker coordinates a group or a transactional id.

The first question about either creates its topic. Source: docs/reference/groups.md, section 1.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.broker.requests.throttling import mutations_of
from kafka_py.coordinator.runtime import CoordinatorRuntime
from kafka_py.security.acls.vocabulary import Operation, ResourceType
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
    runtime = _runtime(node, request.key_type)
    if not node.metadata.has_topic(runtime.topic):
        await node.auto_creation.create(runtime.topic, mutations_of(node, context, is_strict=False).take)
        return _nobody(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    info = node.metadata.partition(TopicPartition(runtime.topic, runtime.partition_for(request.key)))
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


def _runtime(node: Node, key_type: int) -> CoordinatorRuntime:
    coordinators = node.coordinators
    return coordinators.groups.runtime if key_type == GROUP else coordinators.transactions.store.runtime


def _nobody(code: ErrorCode) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(error_code=code, error_message=code.meaning, node_id=-1, host="", port=-1)
