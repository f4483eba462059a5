"""DeleteAcls: removes what filters select. Source: docs/reference/security/acls.md, section 5."""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.acl_requests import UnknownWord, filter_of
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import ANSWERS_LATER, RequestContext
from kafka_py.security.acls.authorization import Removal
from kafka_py.wire.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)


async def handle(node: Node, context: RequestContext, request: DeleteAclsRequest) -> object:
    """What each filter removed, in the order of the request; an ACL is in the result of the first one only."""
    turn = Turn(node.clock)
    filters = []
    try:
        for row in request.filters:
            await turn.maybe_yield()
            filters.append(filter_of(row))
    except UnknownWord as error:
        context.drop_connection(str(error))
        return ANSWERS_LATER
    results = []
    for removed in await node.authorizer.delete_acls(filters):
        rows = []
        for removal in removed:
            await turn.maybe_yield()
            rows.append(_row(context, removal))
        results.append(
            DeleteAclsFilterResult(error_code=ErrorCode.NONE, error_message=None, matching_acls=rows)
        )
    return DeleteAclsResponse(throttle_time_ms=0, filter_results=results)


def _row(context: RequestContext, removal: Removal) -> DeleteAclsMatchingAcl:
    (pattern, entry), error = removal
    if error is not None:
        context.metrics.count_error(error.code.name)
    return DeleteAclsMatchingAcl(
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.message,
        resource_type=pattern.type,
        resource_name=pattern.name,
        pattern_type=pattern.pattern_type,
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation,
        permission_type=entry.permission,
    )
