"""FindCoordinator: which broker coordinates a group or a transactional id. No broker does yet; clients ask again.

Source: group and transaction facts, section 1.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.authorization import Operation, ResourceType
from kafka_py.broker.node import Node
from kafka_py.broker.requests import RequestContext
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

GROUP = 0
TRANSACTION = 1

_RIGHTS = {
    GROUP: (ResourceType.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
    TRANSACTION: (ResourceType.TRANSACTIONAL_ID, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
}


def handle(node: Node, context: RequestContext, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    """COORDINATOR_NOT_AVAILABLE, which every client takes for "later"."""
    rights = _RIGHTS.get(request.key_type)
    if rights is None:
        return _nobody(ErrorCode.INVALID_REQUEST)
    resource_type, refusal = rights
    if not node.authorizer.allows(context, Operation.DESCRIBE, resource_type, request.key):
        return _nobody(refusal)
    return _nobody(ErrorCode.COORDINATOR_NOT_AVAILABLE)


def _nobody(code: ErrorCode) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(error_code=code, error_message=code.meaning, node_id=-1, host="", port=-1)
