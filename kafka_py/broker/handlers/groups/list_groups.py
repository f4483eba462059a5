"""ListGroups: the groups that this broker coordinates.

Source: docs/reference/groups.md, section 8; KIP-518 (by state).
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType
from kafka_py.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse


async def handle(node: Node, context: RequestContext, request: ListGroupsRequest) -> ListGroupsResponse:
    """All groups if the principal may describe the cluster, else those that it may describe.

    While a partition of the offsets topic is loading, its groups are missing and the error is
    COORDINATOR_LOAD_IN_PROGRESS.
    """
    membership, authorizer = node.coordinators.membership, node.authorizer
    groups = membership.list_groups(request.states_filter)
    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if membership.is_loading else ErrorCode.NONE
    if not authorizer.allows(context, Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME):
        turn = Turn(node.clock)
        visible = []
        for group in groups:
            await turn.maybe_yield()
            if authorizer.allows(context, Operation.DESCRIBE, ResourceType.GROUP, group.group_id):
                visible.append(group)
        groups = visible
    return ListGroupsResponse(
        error_code=code,
        groups=[
            ListedGroup(group_id=group_id, protocol_type=protocol_type, group_state=state)
            for group_id, protocol_type, state in groups
        ],
    )
