"""DescribeAcls: the ACLs that a filter selects, from memory. Source: docs/reference/security/acls.md, section 5."""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.acl_requests import UnknownWord, filter_of
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import ANSWERS_LATER, RequestContext
from kafka_py.security.acls.bindings import ResourcePattern
from kafka_py.security.acls.vocabulary import Operation, Permission
from kafka_py.wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)

_UNTIMED = 32
"""The clock is read after so many ACLs."""


async def handle(node: Node, context: RequestContext, request: DescribeAclsRequest) -> object:
    """The ACLs by resource pattern. Stored words that are not known cannot be sent; such entries are left out."""
    try:
        wanted = filter_of(request)
    except UnknownWord as error:
        context.drop_connection(str(error))
        return ANSWERS_LATER
    acls = node.authorizer.acls()
    turn = Turn(node.clock)
    resources: list[DescribeAclsResource] = []
    last: ResourcePattern | None = None
    for number, binding in enumerate(acls):
        if not number % _UNTIMED:
            await turn.maybe_yield()
        pattern, entry = binding
        if entry.operation is Operation.UNKNOWN or entry.permission is Permission.UNKNOWN:
            continue
        if not wanted.matches(binding):
            continue
        if pattern != last:
            last = pattern
            resources.append(
                DescribeAclsResource(
                    resource_type=pattern.type, resource_name=pattern.name, pattern_type=pattern.pattern_type, acls=[]
                )
            )
        resources[-1].acls.append(
            AclDescription(
                principal=entry.principal, host=entry.host, operation=entry.operation, permission_type=entry.permission
            )
        )
    return DescribeAclsResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, error_message=None, resources=resources)
