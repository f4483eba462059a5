"""DeleteGroups: deletes empty groups with their offsets. Source: docs/reference/groups.md, section 8; KIP-229."""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.group_requests import check_group
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.security.acls.vocabulary import Operation
from kafka_py.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse


async def handle(node: Node, context: RequestContext, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    """One error code per group."""
    turn = Turn(node.clock)
    results = []
    for group_id in dict.fromkeys(request.groups_names):
        code = ErrorCode.NONE
        try:
            check_group(node, context, Operation.DELETE, group_id)
            node.coordinators.membership.delete(group_id)
        except KafkaError as error:
            code = error.code
            context.metrics.count_error(code.name)
        results.append(DeletableGroupResult(group_id=group_id, error_code=code))
        await turn.maybe_yield()
    return DeleteGroupsResponse(throttle_time_ms=0, results=results)
